package dev

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/devkafka"
	"github.com/eoc-lang/eoc/planner"
)

func graphOf(t *testing.T, text string) *planner.Graph {
	t.Helper()
	g, diags := plan("x.eo", []byte(text))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return g
}

const several = `
type Click { user: string  at: timestamp(s) }
type View  { page: string  at: timestamp }
source clicks: Click from kafka(env("CLICKS")) { time at  watermark 2s  on_error dlq("bad") }
source views: View from kafka(env("VIEWS", "views")) { watermark 1m  idle never }
stream a { from clicks  window tumbling 1h by user grace 3s late to shared  aggregate n = count()  to kafka("a") }
stream b { from views  window tumbling 90s late to lates  aggregate n = count()  to kafka("b") }
stream c { from clicks  to shared }
sink shared to kafka("shared")
sink lates to kafka("lates")
`

func TestTopics(t *testing.T) {
	g := graphOf(t, several)
	o := Options{Key: map[string]string{"": "user", "views": "page"}, Time: map[string]string{"views": "seen"}}
	env := func(name string) (string, bool) { return map[string]string{"CLICKS": "c"}[name], name == "CLICKS" }
	list, err := o.resolve(g, env)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]topic{
		"c":      {"c", input, devkafka.Rule{Key: "user", Time: "at", Unit: time.Second}},
		"views":  {"views", input, devkafka.Rule{Key: "page", Time: "seen"}},
		"a":      {name: "a", role: result},
		"b":      {name: "b", role: result},
		"shared": {name: "shared", role: result}, // it gets others, too
		"lates":  {name: "lates", role: late},
		"bad":    {name: "bad", role: refused},
	}
	for _, got := range list {
		if got != want[got.name] {
			t.Errorf("got %+v, want %+v", got, want[got.name])
		}
	}
	if len(list) != len(want) {
		t.Errorf("got %d topics: %v", len(list), list)
	}
	if _, err := o.resolve(g, func(string) (string, bool) { return "", false }); err == nil || !strings.Contains(err.Error(), "CLICKS, which is not set") {
		t.Errorf("without the variable: %v", err)
	}
	if _, err := o.resolve(g, func(string) (string, bool) { return "c c", true }); err == nil || !strings.Contains(err.Error(), `CLICKS, which is "c c": a topic's name is 1 to 249 of`) {
		t.Errorf("with a name that is none: %v", err)
	}
}

// What results wait for is said in the terms of the file.
func TestAllRead(t *testing.T) {
	got := allRead(graphOf(t, several), 3)
	for _, want := range []string{
		"a closes a window of 1h when event time is 5s past its end, b closes a window of 1m30s when event time is 1m past its end.\n",
		"\nEach topic has 3 partitions, and one without records holds windows open for 30s, as if it were slow.\n",
		"time goes on with the clock after 30s: the next window would close within 3m. With --until-end all windows close at once",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if got := allRead(graphOf(t, several), 1); strings.Contains(got, "partitions") {
		t.Errorf("with a partition for each topic it says\n%s", got)
	}
	if got := allRead(graphOf(t, "type A { x: int }\nsource a: A from kafka(\"a\")\nstream s { from a  to kafka(\"b\") }"), 3); got != "all data is read" {
		t.Errorf("without windows: %s", got)
	}
}

func TestScreen(t *testing.T) {
	list := topics{{name: "totals", role: result}, {name: "bad", role: refused}}
	records := []devkafka.Record{
		{Topic: "totals", Key: []byte("a\tb"), Value: []byte(`{"n":1}`)},
		{Topic: "bad", Value: []byte{0xff}, Headers: []devkafka.Header{
			{Key: "eo.reason", Value: []byte("no JSON")}, {Key: "eo.operator", Value: []byte("orders (x.eo:3)")}}},
	}
	for _, c := range []struct {
		name            string
		columns, colour bool
		want            string
	}{
		{"plain", false, false, "result\ttotals\t\"a\\tb\"\t{\"n\":1}\ndead\tbad\t-\t\"\\xff\"\tno JSON; in orders (x.eo:3)\n"},
		{"columns", true, false, clear + "result  totals  \"a\\tb\"  {\"n\":1}\n" + clear + "dead    bad     -  \"\\xff\"  no JSON; in orders (x.eo:3)\n"},
		{"colour", true, true, clear + cyan + "result  totals" + plain + "  " + dim + "\"a\\tb\"" + plain + "  {\"n\":1}\n" +
			clear + red + "dead    bad   " + plain + "  " + dim + "-" + plain + "  \"\\xff\"  " + red + "no JSON; in orders (x.eo:3)" + plain + "\n"},
	} {
		var out, said bytes.Buffer
		s := newScreen(Options{Out: &out, Err: &said, Columns: c.columns, Colour: c.colour})
		s.begin(list, newPlaces(""))
		s.results(records)
		if out.String() != c.want {
			t.Errorf("%s: got\n%q\nwant\n%q", c.name, out.String(), c.want)
		}
		s.summary(list, counts{[]string{"orders  read 2"}, 4}) // one of four is a dead letter
		if got := strings.ReplaceAll(said.String(), clear, ""); got != "1 result in totals\n1 dead letter in bad\non_error has skipped 3 records; the first of each operator are named above\nwhat became of all records, by operator:\n  orders  read 2\n" {
			t.Errorf("%s: said %q", c.name, got)
		}
	}
}

// Records are named by their lines, those that others have written between them are not.
func TestPlaces(t *testing.T) {
	p := newPlaces("data")
	p.topic("a.b").note(2, 1, 7)
	p.topic("a.b").note(2, 2, byHand)
	for at, want := range map[[3]string]string{
		{"a.b", "2", "1"}: DataFile("data", "a.b") + ":7",
		{"a.b", "2", "2"}: "standard input",
		{"a.b", "2", "0"}: "",
		{"a.b", "2", "3"}: "",
		{"a.b", "0", "1"}: "",
		{"b", "2", "1"}:   "",
		{"a.b", "", "x"}:  "",
	} {
		if got := p.of(at[0], at[1], at[2]); got != want {
			t.Errorf("%v is %q, want %q", at, got, want)
		}
	}
	got := p.addTo("record of topic a.b, partition 2, offset 2: no JSON; topic a.b, partition 2, offset 99999999999999999999")
	if want := "record of topic a.b, partition 2, offset 2 (standard input): no JSON; topic a.b, partition 2, offset 99999999999999999999"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A page has the address that it is asked to have, unless somebody is there.
func TestFreeAddress(t *testing.T) {
	for tries := 1; ; tries++ { // somebody else may have it when it is free
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := taken.Addr().String()
		if got, err := freeAddress(address); err != nil || got == address {
			t.Errorf("%s is taken, got %s (%v)", address, got, err)
		}
		taken.Close()
		got, err := freeAddress(address)
		if err == nil && got == address {
			return
		}
		if tries == 10 {
			t.Fatalf("%s is free, got %s (%v)", address, got, err)
		}
	}
}

func TestTally(t *testing.T) {
	got := tally(map[string]any{"a/where filtered x/0": 1.0, "a/where filtered x/1": 2.0, "a/where rejected x/0": 0.0, "x read x/0": 7.0, "x rejected x/0": 2.0, "nonsense": 1.0})
	if strings.Join(got.lines, "\n") != "a/where  filtered 3\nx        read 7, rejected 2" || got.rejected != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestDataDir(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "orders.eo")
	for _, want := range []string{"", filepath.Join(dir, "data"), filepath.Join(dir, "data", "orders")} {
		if want != "" {
			if err := os.Mkdir(want, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := DataDir(file); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A file whose name is that of no topic is named where one is missing.
func TestOthers(t *testing.T) {
	l := &life{dev: &dev{Options: Options{Data: t.TempDir()}}, topics: topics{{name: "orders", role: input}, {name: "totals", role: result}}}
	if got := l.others(); got != "" {
		t.Errorf("got %q", got)
	}
	for _, name := range []string{"orders.jsonl", "order.jsonl", "totals.jsonl", "README"} {
		if err := os.WriteFile(filepath.Join(l.Data, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.others(); got != "; there is order.jsonl, totals.jsonl, but no source reads a topic of that name" {
		t.Errorf("got %q", got)
	}
	for _, name := range []string{"views.eu.jsonl", "views.json"} {
		if err := os.WriteFile(filepath.Join(l.Data, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(l.Data, "clicks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if clicks, views, eu := l.alike("clicks"), l.alike("views"), l.alike("views.eu"); clicks+eu != "" || !strings.Contains(views, "views.json is, but its name has to end in .jsonl") {
		t.Errorf("alike are %q, %q, %q", clicks, views, eu)
	}
}

func TestPacer(t *testing.T) {
	for rate, want := range map[float64]int{0: mostAtOnce, 0.5: 1, 10: 1, 50: 1, 1000: 20, 1e6: 20000} {
		p := newPacer(rate)
		if p.batch != want || (p.tick == nil) != (rate == 0) {
			t.Errorf("at %v a second %d go at once, want %d", rate, p.batch, want)
		}
		p.stop()
	}
}

// Whatever way an editor saves, it is seen; what is no change is not.
func TestWatchFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.eo")
	write := func(path, text string) { // at once: a file that is empty for a moment is another change
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	create := func(path, text string) {
		made := filepath.Join(t.TempDir(), "made")
		if err := os.WriteFile(made, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(made, path); err != nil {
			t.Fatal(err)
		}
	}
	create(name, "1")
	changed, stop, err := watchFile(name)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	wait := func(what string) {
		select {
		case <-changed:
		case <-time.After(limit):
			t.Fatalf("%s is not seen", what)
		}
	}
	write(name, "2")
	wait("a write")
	create(name+"~", "3")
	if err := os.Rename(name+"~", name); err != nil {
		t.Fatal(err)
	}
	wait("a rename")
	if err := os.Rename(name, name+".bak"); err != nil {
		t.Fatal(err)
	}
	create(name, "4")
	wait("a backup and a new file")
	write(name, "4")
	create(filepath.Join(filepath.Dir(name), "y.eo"), "5")
	write(name, "6")
	wait("a write behind others")
	select {
	case <-changed:
		t.Error("one change is seen twice")
	default:
	}
}

// What on_error skip drops is shown with its place and all digits of its offset, a result with its window.
func TestSkipped(t *testing.T) {
	var said bytes.Buffer
	s := newScreen(Options{Err: &said})
	s.places = newPlaces("data")
	s.places.topic("orders").note(0, 1_234_567, 9)
	log := `{"level":"INFO","msg":"on_error has skipped a record","operator":"orders","place":"x.eo:3","reason":"v: missing","topic":"orders","partition":0,"offset":1234567,"others":"are counted"}` + "\n" +
		`{"level":"INFO","msg":"on_error has skipped a result","operator":"s/window","place":"x.eo:8","reason":"does not fit an int","window_start":"A","window_end":"B"}` + "\n"
	(&process{}).read(strings.NewReader(log), "", "", s)
	want := "skipped: orders (x.eo:3): record of topic orders, partition 0, offset 1234567 (" + filepath.Join("data", "orders.jsonl") + ":9): v: missing; others of orders are only counted\n" +
		"skipped: s/window (x.eo:8): result of window [A, B): does not fit an int\n"
	if said.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &said, want)
	}
}

// An entry of any size in the program's log keeps neither the program from going on nor what comes behind it from being read.
func TestLongEntry(t *testing.T) {
	var said bytes.Buffer
	p := &process{}
	log := "{\"level\":\"INFO\",\"msg\":\"" + strings.Repeat("x", 3<<20) + "\"}\n" + `{"level":"INFO","msg":"stopped","counts":{"orders read orders/0":3}}` + "\n"
	p.read(strings.NewReader(log), "", "", newScreen(Options{Err: &said}))
	if want := fmt.Sprintf("line 1 of the program's log is not looked at: it has %d bytes\n", 3<<20+len(`{"level":"INFO","msg":""}`)); said.String() != want {
		t.Errorf("said %q, want %q", &said, want)
	}
	if !slices.Equal(p.counts.lines, []string{"orders  read 3"}) {
		t.Errorf("counted %+v", p.counts)
	}
}
