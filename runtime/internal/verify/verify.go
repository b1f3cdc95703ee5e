// Package verify is the verb `verify` of a program: it counts whether all that was read and written is there. It compares counts of the newest committed
// checkpoint with each other (conserve.go), the marker of the consumer group with the checkpoint, and what a reader of committed records finds in the topics
// of exactly_once sinks with what brokers have acknowledged (outputs.go). It takes no lock, writes nothing, and may be used beside a running program.
//
// docs/operations.md says what it proves and what not.
package verify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/kafka"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
	"github.com/eoc-lang/eoc/runtime/internal/state"
	"github.com/eoc-lang/eoc/runtime/internal/ui"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// Verdict is what came of a comparison.
type Verdict string

const (
	Holds     Verdict = "holds"
	Differs   Verdict = "differs"   // it was compared, and is not as it has to be
	Unknown   Verdict = "unknown"   // it cannot be compared: the text says why
	Unchecked Verdict = "unchecked" // nothing was promised that could be compared
)

// Report is the answer. Its names in JSON do not change; new ones may come.
type Report struct {
	Pipeline    string   `json:"pipeline"`
	File        string   `json:"file"`
	Verdict     Verdict  `json:"verdict"`    // differs if anything differs, else unknown if anything is, else holds
	Checkpoint  int64    `json:"checkpoint"` // that the counts are of
	Incarnation string   `json:"incarnation"`
	Checks      []Check  `json:"checks"`
	Sources     []Source `json:"sources"` // one for each partition
	Sinks       []Sink   `json:"sinks"`   // one for each partition of a topic of exactly_once sinks
}

// Check is a comparison of everything at once, or why there is none.
type Check struct {
	Check   string  `json:"check"` // state, marker, counts, sinks
	Subject string  `json:"subject,omitempty"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
	Help    string  `json:"help,omitempty"`
}

// Source is what became of the records of a partition.
type Source struct {
	Source    string           `json:"source"`
	Topic     string           `json:"topic"`
	Partition int32            `json:"partition"`
	Counts    map[string]int64 `json:"counts"` // by name, over all operators, since checkpoint Since
	Since     int64            `json:"since"`
	Verdict   Verdict          `json:"verdict"`
	Text      string           `json:"text,omitempty"` // what does not add up
}

// Sink is a partition of a topic that transactions write to.
type Sink struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Since     int64  `json:"since"` // checkpoint behind which records were compared
	From      int64  `json:"from"`  // offsets that were read
	To        int64  `json:"to"`
	Written   int64  `json:"written"` // records that brokers have acknowledged in committed transactions
	Found     int64  `json:"found"`   // records of this pipeline that a reader of committed records gets
	Others    int64  `json:"others"`  // records of other producers
	// Behind is what was read behind the checkpoint.
	Behind  int64   `json:"behind"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
	Help    string  `json:"help,omitempty"`
}

// Config is what there is to verify.
type Config struct {
	Settings settings.Settings
	Spec     engine.Spec
	Graph    []ui.Node
	State    state.Options
	// Progress is told how many offsets were read, of how many. It may be nil.
	Progress func(read, all int64)
}

// Code is the exit code.
func (r *Report) Code() failure.Kind {
	switch r.Verdict {
	case Differs:
		return failure.Differs
	case Unknown:
		return failure.Unproved
	}
	return 0
}

// auditor is one run.
type auditor struct {
	Config
	report  *Report
	cluster *kafka.Cluster
	view    *state.View
	proven  int64 // the newest checkpoint that was known to be committed when the marker was read
	marker  *checkpoint.Marker
	cp      *checkpoint.Checkpoint // the newest that is known to be committed
}

// Run compares everything. An error says that there is nothing to compare, or that it was not possible; its kind is the exit code.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	a := &auditor{Config: cfg, report: &Report{Pipeline: cfg.Spec.Name, File: cfg.Spec.File, Checks: []Check{}, Sources: []Source{}, Sinks: []Sink{}}}
	view, err := a.look()
	if err != nil {
		return nil, err
	}
	if view.Newest.Exactly {
		to := cfg.Settings.Reach(0)
		a.cluster, err = kafka.Open(ctx, kafka.Config{Brokers: to.Brokers, Unnamed: to.Unnamed, Connection: to.Connection, ClientID: "eo-" + cfg.Spec.Name + "-verify", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, unreachable(err)
		}
		defer a.cluster.Close()
		if view, err = a.readMarker(ctx, view, a.cluster.LastMarker, a.look); err != nil {
			return nil, unreachable(err)
		}
	}
	a.view = view
	a.choose()
	if a.cp == nil {
		return nil, failure.New(failure.Unproved, "start the program once, which finds out whether it is", nil, "checkpoint %d is the only one, and it is not known whether it is committed", view.Newest.Number)
	}
	a.report.Checkpoint, a.report.Incarnation = a.cp.Number, a.cp.Incarnation.String()
	a.judgeMarker()
	a.conservation()
	if err := a.outputs(ctx); err != nil {
		return nil, unreachable(err)
	}
	return a.report.sum(), nil
}

// unreachable makes what a program would try again a failure of the cluster.
func unreachable(err error) error {
	var known *failure.Error
	if errors.As(err, &known) && known.Kind == failure.Transient {
		plain := *known
		plain.Kind = failure.Cluster
		return &plain
	}
	return err
}

// look reads the state, which has to be this program's.
func (a *auditor) look() (*state.View, error) {
	if a.Spec.Memory {
		return nil, failure.New(failure.State, failure.MemoryHelp, nil, "there is no state directory: %s keeps its state in memory", a.Spec.File)
	}
	dir := a.Settings.StateDir
	view, err := state.Look(dir)
	switch {
	case err != nil:
		return nil, err
	case view == nil || view.Newest == nil:
		return nil, state.None(dir)
	}
	return view, view.Fits(dir, a.State)
}

// markerReader reads the marker of a group as it is now, see kafka.Cluster.LastMarker.
type markerReader func(ctx context.Context, group string) (*checkpoint.Marker, error)

// readMarker reads the marker, and the state once more. The marker comes before the state: a checkpoint is on disk before its transaction is committed, so
// the state is not older. If a new state was begun between the looks, the marker belongs to the one before or was waited for in vain, and it is read again;
// and so once if its first marker was waited for in vain, and is there by now.
func (a *auditor) readMarker(ctx context.Context, view *state.View, read markerReader, look func() (*state.View, error)) (*state.View, error) {
	for {
		before := view.Newest
		a.proven = proven(view)
		var err error
		if a.marker, err = a.settledMarker(ctx, before, read); err != nil {
			return nil, err
		}
		if view, err = look(); err != nil {
			return nil, err
		}
		n, found := view.Newest, a.marker != nil && a.marker.Incarnation == view.Newest.Incarnation
		switch {
		case !n.Exactly: // a new state without markers
			a.marker, a.proven = nil, proven(view)
			return view, nil
		case n.Incarnation != before.Incarnation:
		case found, a.proven >= 0, proven(view) < 0:
			return view, nil
		}
	}
}

// proven is the newest checkpoint of a state that its program has found to be committed.
func proven(v *state.View) int64 {
	switch {
	case v.Confirmed:
		return v.Newest.Number
	case v.Before != nil:
		return v.Before.Number
	}
	return -1
}

// settledMarker reads the marker of the state's group, and gives that of the proven checkpoint time to show: a broker writes the offsets of a
// transaction behind its answer to the commit. It waits for no other transaction, but for the first marker of a pipeline, which is
// that of checkpoint 0: a start may be about to write it.
func (a *auditor) settledMarker(ctx context.Context, n *checkpoint.Checkpoint, read markerReader) (*checkpoint.Marker, error) {
	for began := time.Now(); ; {
		m, err := read(ctx, n.Group)
		if err != nil || m != nil && m.Incarnation == n.Incarnation && m.Checkpoint >= a.proven || time.Since(began) > settleLimit {
			return m, err
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// choose finds the newest checkpoint whose transaction is known to be committed.
func (a *auditor) choose() {
	n, m := a.view.Newest, a.marker
	switch {
	case a.view.Confirmed, !n.Exactly, m != nil && *m == n.Committable.Marker(n.Pipeline):
		a.cp = n
	default:
		a.cp = a.view.Before
	}
}

func (a *auditor) add(check, subject string, v Verdict, help, text string, args ...any) {
	a.report.Checks = append(a.report.Checks, Check{check, subject, v, fmt.Sprintf(text, args...), help})
}

// judgeMarker compares the marker of the group with the checkpoint.
func (a *auditor) judgeMarker() {
	const name = "marker"
	n, m, group := a.view.Newest, a.marker, a.view.Newest.Group
	switch {
	case !n.Exactly:
		a.add(name, group, Unchecked, "", "no sink is exactly_once: there are no markers")
	case m == nil:
		a.add(name, group, Unknown, "doctor says what a start makes of it", "consumer group %s has no marker: it has expired, or was deleted", group)
	case m.Pipeline != n.Pipeline || m.Incarnation != n.Incarnation:
		a.add(name, group, Differs, "find the state directory of that incarnation", "consumer group %s holds the marker of pipeline %s, incarnation %s, and the state is of incarnation %s", group, m.Pipeline, m.Incarnation, n.Incarnation)
	case a.outrun():
		a.add(name, group, Unknown, "find the newer state directory and verify with that one", "consumer group %s holds the marker of checkpoint %d, and the newest of the state is %d: the state is an old copy, or two copies have run", group, m.Checkpoint, n.Number)
	case m.Checkpoint < a.proven:
		a.add(name, group, Differs, "look at the brokers: a commit that they have confirmed is gone. `txn list` shows the transactions",
			"consumer group %s holds the marker of checkpoint %d, although checkpoint %d was committed: what that transaction wrote may be gone too", group, m.Checkpoint, a.proven)
	case m.Checkpoint != a.cp.Number: // it was committed between the looks, or belongs to the one before it
		a.add(name, group, Holds, "", "consumer group %s holds the marker of checkpoint %d", group, m.Checkpoint)
	case m.Checkpoint > 0 && a.cp.Committable.TransactionalID != "" && *m != a.cp.Committable.Marker(n.Pipeline):
		a.judgeMarked(m)
	default:
		a.add(name, group, Holds, "", "consumer group %s holds the marker of checkpoint %d with %s, as the state has it", group, m.Checkpoint, words.Many(m.Records, "record"))
	}
}

// outrun says that the state is an old copy: the pipeline has gone on, so whatever stands behind the checkpoint may be what it has committed since.
func (a *auditor) outrun() bool {
	n, m := a.view.Newest, a.marker
	return m != nil && m.Pipeline == n.Pipeline && m.Incarnation == n.Incarnation && m.Checkpoint > n.Number
}

// judgeMarked takes a marker of the checkpoint that is not that of its transaction. A start writes the marker of its checkpoint again, by itself and so without records, when the group has lost it.
func (a *auditor) judgeMarked(m *checkpoint.Marker) {
	const name = "marker"
	want, group := a.cp.Committable.Marker(a.cp.Pipeline), a.cp.Group
	if m.Records == 0 {
		a.add(name, group, Holds, "", "consumer group %s holds the marker of checkpoint %d, written again by a start that did not find it", group, m.Checkpoint)
		return
	}
	a.add(name, group, Differs, "another copy of the state has run: find out which one is to go on, and delete the other",
		"the marker of checkpoint %d in consumer group %s says %s of producer %s, the state says %d of producer %s", m.Checkpoint, group, words.Many(m.Records, "record"), m.Producer, want.Records, want.Producer)
}

func (r *Report) sum() *Report {
	r.Verdict = Holds
	worse := func(v Verdict) {
		if v == Differs || v == Unknown && r.Verdict == Holds {
			r.Verdict = v
		}
	}
	for _, c := range r.Checks {
		worse(c.Verdict)
	}
	for _, s := range r.Sources {
		worse(s.Verdict)
	}
	for _, s := range r.Sinks {
		worse(s.Verdict)
	}
	return r
}

// settleLimit is how long to wait for the end markers of a transaction that is committed: brokers write them behind the answer.
const settleLimit = 10 * time.Second

// settlePause is how long to wait between two looks at them.
const settlePause = 100 * time.Millisecond
