package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/ui"
)

// shop is a program with everything that rows can meet: two sources with dead-letter topics of their own, a union, clauses, a route with conditions and a
// window with late rows.
var shop = []ui.Node{
	{ID: "card", Kind: "source", Place: "f:1", Out: []ui.Edge{{To: "all/from"}, {To: "pick/where"}, {To: "CARD_DLQ", Rows: deadLetters}}},
	{ID: "bank", Kind: "source", Place: "f:2", Out: []ui.Edge{{To: "all/from"}, {To: "bank.dlq", Rows: deadLetters}}},
	{ID: "all/from", Kind: "union", Place: "f:3", Out: []ui.Edge{{To: "all/let"}}},
	{ID: "all/let", Kind: "project", Place: "f:4", Out: []ui.Edge{{To: "all/exchange"}, {To: "CARD_DLQ", Rows: deadLetters}, {To: "bank.dlq", Rows: deadLetters}}},
	{ID: "all/exchange", Kind: "exchange", Place: "f:5", Out: []ui.Edge{{To: "all/window"}}},
	{ID: "all/window", Kind: "window", Place: "f:5", Out: []ui.Edge{{To: "late", Rows: "late"}, {To: "all/having"}, {To: "CARD_DLQ", Rows: deadLetters}, {To: "bank.dlq", Rows: deadLetters}}},
	{ID: "all/having", Kind: "filter", Place: "f:6", Out: []ui.Edge{{To: "totals"}, {To: "CARD_DLQ", Rows: deadLetters}}},
	{ID: "pick/where", Kind: "filter", Place: "f:7", Out: []ui.Edge{{To: "pick/to"}}},
	{ID: "pick/to", Kind: "route", Place: "f:8", Out: []ui.Edge{{To: "every"}, {To: "some", If: "if x > 1"}}},
	{ID: "totals", Kind: "sink"}, {ID: "late", Kind: "sink"}, {ID: "every", Kind: "sink"}, {ID: "some", Kind: "sink"},
	{ID: "CARD_DLQ", Kind: deadLetter, Place: "f:1"}, {ID: "bank.dlq", Kind: deadLetter, Place: "f:2"},
}

var shopParts = []checkpoint.Partition{{Source: "card", Topic: "c", ID: 0}, {Source: "card", Topic: "c", ID: 1}, {Source: "bank", Topic: "b", ID: 0}}

var shopSinks = []engine.SinkSpec{
	{Name: "totals", Place: "f:20"}, {Name: "late", Place: "f:21"}, {Name: "every", Place: "f:22"}, {Name: "some", Place: "f:23"},
	{Name: "card.dlq-staging", Place: "f:1"}, {Name: "bank.dlq", Place: "f:2"},
}

// count is a count of partition 0 of a topic; topic "": of results.
func count(operator, name, topic string, n int64) checkpoint.Count {
	c := checkpoint.Count{Operator: operator, Name: name, Topic: topic, N: n}
	if topic == "" {
		c.Partition = -1
	}
	return c
}

// shopCounts are counts that add up.
func shopCounts() []checkpoint.Count {
	return []checkpoint.Count{
		count("card", "read", "c", 100), count("card", "null", "c", 3), count("card", "rejected", "c", 7), count("card", "ahead", "c", 5), // 90 go on, twice
		count("all/let", "rejected", "c", 10), count("all/window", "late", "c", 20), count("all/window", "aggregated", "c", 59), count("all/window", "rejected", "c", 1),
		count("late", "out", "c", 20), count("card.dlq-staging", "out", "c", 18),
		count("pick/where", "filtered", "c", 40), count("every", "out", "c", 50), count("some", "out", "c", 13),
		count("bank", "read", "b", 50), count("all/let", "rejected", "b", 5), count("all/window", "aggregated", "b", 45), count("bank.dlq", "out", "b", 5),
		count("totals", "out", "", 9), count("all/having", "filtered", "", 2), count("all/having", "rejected", "", 4), count("card.dlq-staging", "out", "", 4),
	}
}

func (f *flows) all() string {
	var out []string
	for _, p := range shopParts {
		out = append(out, f.faults(p.Topic, p.ID)...)
	}
	return strings.Join(append(out, f.faults("", -1)...), "\n")
}

func shopFlows(now, before []checkpoint.Count) *flows {
	f := newFlows(shop, shopParts, now, before)
	f.letterboxes(shopSinks)
	return f
}

// TestEachCountIsMissed has counts that add up, and each of them one too many and one too few. What is not compared is listed: `ahead`, which takes nothing away,
// and what windows make of many rows.
func TestEachCountIsMissed(t *testing.T) {
	if faults := shopFlows(shopCounts(), nil).all(); faults != "" {
		t.Fatalf("they add up, but: %s", faults)
	}
	free := []string{"card ahead c", "totals out ", "all/having filtered ", "some out c"}
	for i, c := range shopCounts() {
		for _, by := range []int64{1, -1} {
			counts := shopCounts()
			counts[i].N += by
			name := fmt.Sprintf("%s %s %s", c.Operator, c.Name, c.Topic)
			if found := shopFlows(counts, nil).all(); (found == "") != slices.Contains(free, name) {
				t.Errorf("%s %+d: %q", name, by, found)
			}
		}
	}
	counts := shopCounts() // a way with a condition has bounds
	counts[slices.IndexFunc(counts, func(c checkpoint.Count) bool { return c.Operator == "some" })].N = 51
	if found := shopFlows(counts, nil).all(); !strings.Contains(found, "some (): 0 to 50 rows came in, 51 were written") {
		t.Errorf("more went through a condition than there were: %q", found)
	}
}

// What was counted before the program got its operators does not have to add up.
func TestCountsOfAnotherProgram(t *testing.T) {
	before := []checkpoint.Count{count("card", "read", "c", 1000), count("gone/where", "filtered", "c", 1000)}
	now := append(shopCounts(), before...)
	now[0].N += 0
	if found := shopFlows(now, before).all(); found != "" {
		t.Error(found)
	}
	if found := shopFlows(now, nil).all(); found == "" {
		t.Error("the counts of both programs together add up")
	}
}

// Two variables that name one dead-letter topic have one sink, of which nothing is said.
func TestOneTopicForTwoLetterboxes(t *testing.T) {
	f := newFlows(shop, shopParts, shopCounts(), nil)
	f.letterboxes(slices.DeleteFunc(slices.Clone(shopSinks), func(s engine.SinkSpec) bool { return s.Name == "bank.dlq" }))
	if found := f.all(); found != "" {
		t.Error(found)
	}
}

// The verdict on the state says of which program the counts are.
func TestConservationNeedsTheProgram(t *testing.T) {
	for _, c := range []struct {
		account *checkpoint.Account
		want    Verdict
		text    string
	}{
		{nil, Unknown, "earlier version of eoc"},
		{&checkpoint.Account{Program: "other"}, Unknown, "other operators"},
		{&checkpoint.Account{Program: "this"}, Holds, "since checkpoint 0"},
		{&checkpoint.Account{Program: "this", Since: 7}, Holds, "since checkpoint 7"},
	} {
		a := &auditor{report: &Report{}, Config: Config{Graph: shop, Spec: engine.Spec{Program: "this", Sinks: shopSinks}}}
		a.cp = &checkpoint.Checkpoint{Partitions: shopParts, Counts: shopCounts(), Account: c.account}
		a.conservation()
		if got := a.report.Checks[0]; got.Verdict != c.want || !strings.Contains(got.Text, c.text) {
			t.Errorf("%+v: %+v", c.account, got)
		}
	}
}

// TestCounted keeps what was written, and what was ahead of its clock, apart from the numbers that add up to what was read.
func TestCounted(t *testing.T) {
	for want, counts := range map[string]map[string]int64{
		"nothing was read": {},
		"7 read":           {"read": 7},
		"7 read, 4 aggregated, 1 filtered, 2 late; 3 out": {"out": 3, "late": 2, "aggregated": 4, "read": 7, "filtered": 1},
		"7 read, 5 aggregated, 2 late; 6 ahead; 3 out":    {"ahead": 6, "out": 3, "late": 2, "aggregated": 5, "read": 7},
		"7 read, 7 aggregated; 1 ahead":                   {"ahead": 1, "aggregated": 7, "read": 7},
	} {
		if got := counted(counts); got != want {
			t.Errorf("%v is %q, want %q", counts, got, want)
		}
	}
}

// TestOneOfIt: a number of things is a sentence, also if it is one.
func TestOneOfIt(t *testing.T) {
	one := &auditor{report: &Report{}, Config: Config{Graph: shop, Spec: engine.Spec{Program: "this", Sinks: shopSinks}}}
	one.cp = &checkpoint.Checkpoint{Partitions: shopParts[2:], Account: &checkpoint.Account{Program: "this"}}
	one.conservation()
	if got := one.report.Checks[0].Text; got != "of 1 source partition every record that was read is accounted for, since checkpoint 0" {
		t.Error(got)
	}
	for n, want := range map[int64]string{0: "all 0 records are there", 1: "the only record is there", 2: "all 2 records are there"} {
		if got := (&Sink{Written: n}).whole(""); got != want {
			t.Error(got)
		}
	}
	r := &Report{Verdict: Holds, Sinks: []Sink{{Verdict: Unchecked}}}
	if got := r.conclusion(); got != "The counts add up; no topic of a sink was compared: see `unchecked` above." {
		t.Error(got)
	}
	r.Sinks = append(r.Sinks, Sink{Verdict: Holds, Found: 1})
	if got := r.conclusion(); got != "It holds: 1 record in 1 partition of sinks, as it was written." {
		t.Error(got)
	}
}
