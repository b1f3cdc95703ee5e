package verify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/ui"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// conservation checks for each partition of a source that every record that was read is in a window, in a side output, in a sink or in a count (I8).
func (a *auditor) conservation() {
	const name = "counts"
	account := a.cp.Account
	switch {
	case account == nil:
		a.add(name, "", Unknown, "run the program once: from its next checkpoint on it keeps what is needed", "the state was written by an earlier version of eoc, which does not say of which operators its counts are")
		return
	case account.Program != a.Spec.Program:
		a.add(name, "", Unknown, "verify with the program that wrote the state, or run this one once", "the state was written by a program with other operators, and its counts are about those")
		return
	}
	f := newFlows(a.Graph, a.cp.Partitions, a.cp.Counts, account.Counts)
	f.letterboxes(a.Spec.Sinks)
	bad := 0
	for _, p := range a.cp.Partitions {
		s := Source{Source: p.Source, Topic: p.Topic, Partition: p.ID, Counts: f.total(p.Topic, p.ID), Since: account.Since, Verdict: Holds}
		if faults := f.faults(p.Topic, p.ID); len(faults) > 0 {
			s.Verdict, s.Text = Differs, strings.Join(faults, "; ")
			bad++
		}
		a.report.Sources = append(a.report.Sources, s)
	}
	if faults := f.faults("", -1); len(faults) > 0 {
		a.add(name, "results", Differs, bug, "results of windows: %s", strings.Join(faults, "; "))
	}
	a.tallies()
	if bad > 0 {
		a.add(name, "", Differs, bug, "of %d of %s the counts do not add up", bad, words.Many(len(a.cp.Partitions), "source partition"))
		return
	}
	since := "since checkpoint 0"
	if account.Since > 0 {
		since = fmt.Sprintf("since checkpoint %d, when the program got its operators", account.Since)
	}
	a.add(name, "", Holds, "", "of %s every record that was read is accounted for, %s", words.Many(len(a.cp.Partitions), "source partition"), since)
}

const bug = "this is a bug of eoc, or the state was changed: please report it with the output of `state --json`"

// tallies compares the counters of sinks with the records that brokers have acknowledged.
func (a *auditor) tallies() {
	account := a.cp.Account
	want, have := map[string]int64{}, map[string]int64{}
	for _, o := range account.Outputs {
		have[o.Topic] += o.Records - o.Base
	}
	for _, s := range a.Spec.Sinks {
		if _, ok := have[s.Topic]; !ok || s.Deliver != engine.ExactlyOnce {
			continue
		}
		for _, c := range a.cp.Counts {
			if c.Operator == s.Name && c.Name == "out" {
				want[s.Topic] += c.N
			}
		}
		for _, c := range account.Counts {
			if c.Operator == s.Name && c.Name == "out" {
				want[s.Topic] -= c.N
			}
		}
	}
	for topic, n := range have {
		if want[topic] != n {
			a.add("counts", topic, Differs, bug, "the operators have made %s for topic %s, and brokers have acknowledged %d", words.Many(want[topic], "record"), topic, n)
		}
	}
}

// place is an operator and a source partition; topic "", partition -1: rows that come from many, results of windows.
type place struct {
	operator, topic string
	partition       int32
}

// flows are the counts of a checkpoint on the operators and the ways between them.
type flows struct {
	nodes   []ui.Node
	n       map[place]map[string]int64 // by name
	letters map[string][]string        // by topic: where its sources send what they refuse, "" for one that does not send it anywhere
	boxes   map[string]string          // by dead-letter topic, as the operators have it: what its counts are called
}

func newFlows(nodes []ui.Node, parts []checkpoint.Partition, now, before []checkpoint.Count) *flows {
	f := &flows{nodes: nodes, n: map[place]map[string]int64{}, letters: map[string][]string{}, boxes: map[string]string{}}
	for _, p := range parts {
		to := ""
		if i := slices.IndexFunc(nodes, func(n ui.Node) bool { return n.ID == p.Source }); i >= 0 {
			for _, e := range nodes[i].Out {
				if e.Rows == deadLetters {
					to = e.To
				}
			}
		}
		if !slices.Contains(f.letters[p.Topic], to) {
			f.letters[p.Topic] = append(f.letters[p.Topic], to)
		}
	}
	add := func(c checkpoint.Count, sign int64) {
		at := place{c.Operator, c.Topic, c.Partition}
		if f.n[at] == nil {
			f.n[at] = map[string]int64{}
		}
		f.n[at][c.Name] += sign * c.N
	}
	for _, c := range now {
		add(c, 1)
	}
	for _, c := range before {
		add(c, -1)
	}
	return f
}

// total is the counts of a partition by name, over all operators.
func (f *flows) total(topic string, partition int32) map[string]int64 {
	sum := map[string]int64{}
	for at, counts := range f.n {
		if at.topic == topic && at.partition == partition {
			for name, n := range counts {
				sum[name] += n
			}
		}
	}
	return sum
}

// span is a number of rows that is known to lie between two bounds: how many take a way with a condition is not counted.
type span struct{ low, high int64 }

func exactly(n int64) span { return span{n, n} }

func (s span) plus(o span) span {
	if s.high == math.MaxInt64 || o.high == math.MaxInt64 {
		return span{s.low + o.low, math.MaxInt64}
	}
	return span{s.low + o.low, s.high + o.high}
}

func (s span) holds(n int64) bool { return s.low <= n && n <= s.high }

func (s span) String() string {
	switch {
	case s.low == s.high:
		return words.Many(s.low, "row")
	case s.high == math.MaxInt64:
		return "at least " + words.Many(s.low, "row")
	}
	return fmt.Sprintf("%d to %d rows", s.low, s.high)
}

// faults follows the rows of one source partition from operator to operator and says where more or fewer came out than went in.
func (f *flows) faults(topic string, partition int32) (out []string) {
	in := map[string]span{}
	for _, node := range f.ordered() {
		id := node.ID
		if node.Kind == deadLetter {
			if id = f.boxes[node.ID]; id == "" {
				continue
			}
		}
		n := f.n[place{id, topic, partition}]
		on, fault := f.through(node, in[node.ID], n, topic)
		if fault != "" {
			out = append(out, node.ID+" ("+node.Place+"): "+fault)
		}
		for _, e := range node.Out {
			in[e.To] = in[e.To].plus(on(e))
		}
	}
	return out
}

// through is what an operator makes of the rows that come in: how many take each of its ways. Without a topic the rows are results of
// windows, of which nobody counts how many a window makes.
func (f *flows) through(node ui.Node, in span, n map[string]int64, topic string) (on func(ui.Edge) span, fault string) {
	results := topic == ""
	side := func(e ui.Edge, rest func(ui.Edge) span) span {
		switch e.Rows {
		case deadLetters:
			return f.refused(node, e.To, topic, n["rejected"])
		case "late":
			return exactly(n["late"])
		}
		return rest(e)
	}
	all := func(s span) func(ui.Edge) span {
		return func(e ui.Edge) span { return side(e, func(ui.Edge) span { return s }) }
	}
	switch node.Kind {
	case "source":
		left := n["read"] - n["null"] - n["rejected"]
		if left < 0 {
			fault = fmt.Sprintf("%s read, but %d had no value and %d were rejected", words.Many(n["read"], "record")+words.Does(n["read"], " was", " were"), n["null"], n["rejected"])
		}
		return all(exactly(left)), fault
	case "window":
		if kept := n["late"] + n["aggregated"] + n["rejected"]; !results && !in.holds(kept) {
			fault = fmt.Sprintf("%v came in, %d are aggregated, %d late and %d rejected", in, n["aggregated"], n["late"], n["rejected"])
		}
		made := exactly(0)
		if results {
			made = span{0, math.MaxInt64}
		}
		return all(made), fault
	case "sink", deadLetter:
		if !in.holds(n["out"]) {
			fault = fmt.Sprintf("%v came in, %d were written", in, n["out"])
		}
		return all(exactly(0)), fault
	}
	gone := n["filtered"] + n["rejected"]
	if in.high < gone {
		fault = fmt.Sprintf("%v came in, but %d were filtered and %d rejected", in, n["filtered"], n["rejected"])
	}
	left := span{max(0, in.low-gone), in.high}
	if in.high != math.MaxInt64 {
		left.high = max(0, in.high-gone)
	}
	if node.Kind != "route" {
		return all(left), fault
	}
	return func(e ui.Edge) span {
		return side(e, func(e ui.Edge) span {
			if e.If == "" {
				// A row without any target is filtered, so one way without a condition takes them all.
				return left
			}
			return span{0, left.high}
		})
	}, fault
}

const (
	deadLetters = "dead-letters" // a way
	deadLetter  = "dead-letter"  // a kind of operator
)

// letterboxes finds the sink of each dead-letter topic. An operator has the name that the .eo file gives the topic, which may be that of a variable, and its sink
// that of the topic; both belong to a source. If two variables give one topic there is one sink for two, and none of them is compared.
func (f *flows) letterboxes(sinks []engine.SinkSpec) {
	places := map[string]string{} // of sources, by place
	declared := map[string]bool{}
	for _, n := range f.nodes {
		declared[n.ID] = declared[n.ID] || n.Kind == "sink"
	}
	for _, s := range sinks {
		if !declared[s.Name] {
			places[s.Place] = s.Name
		}
	}
	whole := true
	for _, box := range f.nodes {
		if box.Kind != deadLetter {
			continue
		}
		for _, n := range f.nodes {
			takes := slices.ContainsFunc(n.Out, func(e ui.Edge) bool { return e.To == box.ID && e.Rows == deadLetters })
			if name := places[n.Place]; n.Kind == "source" && takes && name != "" {
				f.boxes[box.ID] = name
			}
		}
		whole = whole && f.boxes[box.ID] != ""
	}
	if !whole {
		clear(f.boxes)
	}
}

// refused is how many of the rows that an operator has rejected go to a dead-letter topic: a record goes to that of its source, a result to that of the
// strictest source of its window.
func (f *flows) refused(node ui.Node, to, topic string, rejected int64) span {
	var possible []string
	if topic != "" {
		possible = f.letters[topic]
	} else {
		for _, e := range node.Out {
			if e.Rows == deadLetters {
				possible = append(possible, e.To)
			}
		}
	}
	switch {
	case !slices.Contains(possible, to):
		return exactly(0)
	case len(possible) > 1:
		return span{0, rejected}
	}
	return exactly(rejected)
}

// ordered is the operators, each behind those that its rows come from.
func (f *flows) ordered() []ui.Node {
	waits := map[string]int{}
	for _, n := range f.nodes {
		for _, e := range n.Out {
			waits[e.To]++
		}
	}
	var out []ui.Node
	left := slices.Clone(f.nodes)
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(n ui.Node) bool { return waits[n.ID] == 0 })
		if i < 0 {
			break // a circle, which no program has
		}
		out = append(out, left[i])
		for _, e := range left[i].Out {
			waits[e.To]--
		}
		left = slices.Delete(left, i, i+1)
	}
	return out
}
