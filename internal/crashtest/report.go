package crashtest

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/internal/crashpoint"
	"github.com/eoc-lang/eoc/internal/judge"
	"github.com/eoc-lang/eoc/planner"
)

// Report is what a test has found.
type Report struct {
	File     string
	Seed     uint64
	Data     []string // files with data
	Missing  []string // files that are not there
	Records  int      // in the files
	Rounds   int      // how often they were fed
	Outputs  []Output // what a run without a crash writes, as the interpreter of plans says
	Planned  int      // runs that the test has
	Runs     []*Result
	Points   []Point // all of the program, or those of the only schedule
	Exactly  bool    // all sinks are exactly_once
	Took     time.Duration
	commands func(Case) string
}

// Output is a topic that the pipeline writes.
type Output struct {
	Topic   string
	Records int
}

// Point is a crash point of the program.
type Point struct {
	Name   string
	Deaths int    // how often the program died there
	Why    string // why it never did
}

// report collects what was found.
func (t *test) report() *Report {
	r := &Report{
		File: t.File, Seed: t.Seed, Data: t.sample.files, Missing: t.sample.missing, Records: t.sample.records, Rounds: t.sample.rounds,
		Exactly: !slices.ContainsFunc(t.outputs, func(o output) bool { return !o.exactly() }),
		Planned: t.screen.total, Runs: t.results, Took: time.Since(t.began), commands: t.command,
	}
	slices.SortStableFunc(r.Runs, func(a, b *Result) int { return strings.Compare(a.String(), b.String()) })
	for _, o := range t.outputs {
		r.Outputs = append(r.Outputs, Output{o.topic, len(t.expected(o))})
	}
	for _, name := range t.points {
		if t.Only == nil || slices.ContainsFunc(t.Only, func(s Step) bool { return s.Point == name }) {
			r.Points = append(r.Points, t.point(name))
		}
	}
	return r
}

// point sums up what became of a crash point.
func (t *test) point(name string) Point {
	p := Point{Name: name}
	var missed *Missed
	for _, r := range t.results {
		for _, step := range r.Deaths {
			if step.Point == name {
				p.Deaths++
			}
		}
		if r.Missed != nil && r.Missed.Step.Point == name && (missed == nil || r.Missed.Passed > missed.Passed) {
			missed = r.Missed
		}
	}
	if p.Deaths == 0 {
		p.Why = t.why(name, missed)
	}
	return p
}

// why says why the program never died at a point.
func (t *test) why(point string, missed *Missed) string {
	switch {
	case len(t.results) < t.screen.total:
		return "the test ended before, with failures"
	case crashpoint.NeedsTransactions(point) && !t.exactly():
		return "no sink is exactly_once, so there are no transactions"
	case slices.Contains(crashpoint.Restore, point) && t.stateless():
		return "the pipeline has no windows, so there is no state to restore"
	case missed == nil:
		return "the death before it, which leads to it, did not happen"
	case missed.Passed > 0:
		return fmt.Sprintf("it was passed %s, and %d are wanted", times(missed.Passed), missed.Step.Pass)
	}
	return "the program did not pass it"
}

// stateless reports whether the pipeline keeps nothing but positions.
func (t *test) stateless() bool {
	return !slices.ContainsFunc(t.Graph.Nodes, func(n *planner.Node) bool { _, ok := n.Op.(*planner.Window); return ok })
}

// judgedOrder reports whether the records of a key have to stand in the order of their windows: where none may come twice.
func judgedOrder(n *planner.Node, sink *planner.Sink) bool {
	return sink.Deliver == planner.DeliverExactlyOnce && judge.Ordered(n)
}

// command repeats just one case.
func (t *test) command(c Case) string {
	return fmt.Sprintf("%s --seed %d --transactions %d --parallelism %d --at %v", t.Repeat, t.Seed, c.Transactions, c.Parallelism, c.Schedule)
}

// Passed reports whether everything was as it should be.
func (r *Report) Passed() bool {
	return !slices.ContainsFunc(r.Runs, func(run *Result) bool { return len(run.Faults) > 0 })
}

// Tested reports whether the program died at all, if it was to: else there is nothing that can have failed.
func (r *Report) Tested() bool {
	return r.Deaths() > 0 || !slices.ContainsFunc(r.Runs, func(run *Result) bool { return len(run.Schedule) > 0 })
}

// Deaths is how often the program was killed.
func (r *Report) Deaths() (n int) {
	for _, run := range r.Runs {
		n += len(run.Deaths)
	}
	return n
}

// mostReported is how many failed runs the text of a report shows.
const mostReported = 3

// Write writes the report for people. paint colours a text as good or bad, or leaves it.
func (r *Report) Write(w io.Writer, paint func(text string, good bool) string) error {
	var b strings.Builder
	r.writeData(&b)
	r.writeCombinations(&b)
	r.writePoints(&b)
	r.writeFailures(&b, paint)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeData(b *strings.Builder) {
	fed := ""
	if r.Rounds > 1 {
		fed = fmt.Sprintf(", fed %s to last for some checkpoints,", times(r.Rounds))
	}
	var outputs []string
	for _, o := range r.Outputs {
		outputs = append(outputs, fmt.Sprintf("%d in %s", o.Records, o.Topic))
	}
	fmt.Fprintf(b, "%s: %s of %s%s lead to %s\n", filepath.Base(r.File), many(r.Records, "record"), strings.Join(r.Data, ", "), fed, strings.Join(outputs, ", "))
	for _, path := range r.Missing {
		fmt.Fprintf(b, "no data: %s is not there\n", path)
	}
	fmt.Fprintf(b, "seed %d\n", r.Seed)
}

// writeCombinations writes a line for each version of transactions with each parallelism.
func (r *Report) writeCombinations(b *strings.Builder) {
	type sum struct{ runs, deaths, failed int }
	sums := map[combination]*sum{}
	var order []combination
	for _, run := range r.Runs {
		at := combination{run.Transactions, run.Parallelism}
		if sums[at] == nil {
			sums[at] = &sum{}
			order = append(order, at)
		}
		sums[at].runs++
		sums[at].deaths += len(run.Deaths)
		if len(run.Faults) > 0 {
			sums[at].failed++
		}
	}
	for _, at := range order {
		s := sums[at]
		result := "all as without a crash"
		if s.failed > 0 {
			result = fmt.Sprintf("%d of the runs failed", s.failed)
		}
		fmt.Fprintf(b, "transactions V%d, parallelism %d: %s, %s: %s\n", at.transactions, at.parallelism, many(s.runs, "run"), many(s.deaths, "death"), result)
	}
}

// writePoints names the points at which the program did not die.
func (r *Report) writePoints(b *strings.Builder) {
	for _, p := range r.Points {
		if p.Deaths == 0 && r.Passed() { // else the test ended before
			fmt.Fprintf(b, "not reached: %s: %s\n", p.Name, p.Why)
		}
	}
	var short []string
	for _, run := range r.Runs {
		if m := run.Missed; m != nil && (m.Step.Point == "" || m.Passed > 0) {
			short = append(short, m.Step.String())
		}
	}
	slices.Sort(short)
	if short = slices.Compact(short); len(short) > 0 {
		fmt.Fprintf(b, "not hit, as the program had read everything before: %s; more data makes it last longer\n", strings.Join(short, ", "))
	}
}

func (r *Report) writeFailures(b *strings.Builder, paint func(string, bool) string) {
	failed, shown := 0, 0
	for _, run := range r.Runs {
		if len(run.Faults) == 0 {
			continue
		}
		if failed++; shown == mostReported {
			continue
		}
		shown++
		fmt.Fprintf(b, "\n%s\n", paint("FAILED "+run.String(), false))
		for _, f := range run.Faults {
			fmt.Fprintf(b, "  %s\n", strings.ReplaceAll(f.Text, "\n", "\n  "))
		}
		fmt.Fprintf(b, "  logs, state and the records that were read: %s\n  once more, just this:\n    %s\n", run.Dir, r.commands(run.Case))
	}
	if failed == 0 && !r.Tested() {
		return
	}
	if failed == 0 {
		hit := 0
		for _, p := range r.Points {
			if p.Deaths > 0 {
				hit++
			}
		}
		promise := "nothing was lost or doubled"
		if !r.Exactly {
			promise = "results are what `deliver` of the sinks promises"
		}
		text := fmt.Sprintf("passed: in %s the program died %s, at %d of %s; %s", many(len(r.Runs), "run"), times(r.Deaths()), hit, many(len(r.Points), "crash point"), promise)
		fmt.Fprintf(b, "%s\n", paint(text, true))
		return
	}
	rest := ""
	if left := r.Planned - len(r.Runs); left > 0 {
		rest = fmt.Sprintf("; %s were left out then", many(left, "run"))
	}
	fmt.Fprintf(b, "\n%s\n", paint(fmt.Sprintf("failed: %d of %s%s", failed, many(len(r.Runs), "run"), rest), false))
	b.WriteString("A pipeline cannot cause that: please report it at https://github.com/eoc-lang/eoc/issues/new, with the .eo file, the data and the lines above.\n")
}

// many is a number of things.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func times(n int) string { return many(n, "time") }
