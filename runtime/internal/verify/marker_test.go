package verify

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

func TestMarker(t *testing.T) {
	committable := func(n int64) checkpoint.Committable {
		return checkpoint.Committable{TransactionalID: "p-0", ProducerID: 5, Epoch: int16(n), Checkpoint: n, Incarnation: checkpoint.ID{1}, Records: 10 * n}
	}
	at := func(n int64) *checkpoint.Checkpoint {
		return &checkpoint.Checkpoint{Number: n, Incarnation: checkpoint.ID{1}, Pipeline: "p", Group: "eo-p", Exactly: true, Committable: committable(n)}
	}
	marker := func(n int64, change func(*checkpoint.Marker)) *checkpoint.Marker {
		m := committable(n).Marker("p")
		if change != nil {
			change(&m)
		}
		return &m
	}
	for _, c := range []struct {
		name      string
		marker    *checkpoint.Marker
		confirmed bool
		proven    int64
		chosen    int64
		want      Verdict
		text      string
	}{
		{"of the newest", marker(7, nil), true, 7, 7, Holds, "as the state has it"},
		{"not confirmed yet", marker(7, nil), false, 6, 7, Holds, "as the state has it"},
		{"not committed", marker(6, nil), false, 6, 6, Holds, "checkpoint 6"},
		{"of another copy, and not confirmed", marker(7, func(m *checkpoint.Marker) { m.Producer = "9/9" }), false, 6, 6, Holds, "checkpoint 7"},
		{"gone", nil, true, 7, 7, Unknown, "has no marker"},
		{"older, committed between the looks", marker(6, nil), true, 6, 7, Holds, "checkpoint 6"},
		{"older", marker(6, nil), true, 7, 7, Differs, "a commit that they have confirmed is gone"},
		{"newer", marker(8, nil), true, 7, 7, Unknown, "the state is an old copy"},
		{"of another incarnation", marker(7, func(m *checkpoint.Marker) { m.Incarnation = checkpoint.ID{2} }), true, 7, 7, Differs, "incarnation"},
		{"other records", marker(7, func(m *checkpoint.Marker) { m.Records++ }), true, 7, 7, Differs, "says 71 records"},
		{"written again", marker(7, func(m *checkpoint.Marker) { m.Records, m.Producer = 0, "5/8" }), true, 7, 7, Holds, "written again"},
	} {
		a := &auditor{report: &Report{}, proven: c.proven, marker: c.marker, view: &state.View{Newest: at(7), Confirmed: c.confirmed}}
		if !c.confirmed {
			a.view.Before = at(6)
		}
		a.choose()
		a.judgeMarker()
		got := a.report.Checks[0]
		if a.cp.Number != c.chosen || got.Verdict != c.want || !strings.Contains(got.Text+got.Help, c.text) {
			t.Errorf("%s: checkpoint %d, %+v", c.name, a.cp.Number, got)
		}
	}
}

// The marker of a commit shows a while behind the answer to it. It is waited for, and one that never shows is not waited for without end.
func TestSettledMarker(t *testing.T) {
	marker := func(n int64) *checkpoint.Marker {
		return &checkpoint.Marker{Incarnation: checkpoint.ID{1}, Checkpoint: n}
	}
	foreign := &checkpoint.Marker{Incarnation: checkpoint.ID{2}, Checkpoint: 9}
	broken := errors.New("no broker")
	for _, c := range []struct {
		name  string
		shows []*checkpoint.Marker // by the looks, the last of them for ever
		err   error
		want  *checkpoint.Marker
		waits bool // to the end
	}{
		{"at once", []*checkpoint.Marker{marker(7)}, nil, marker(7), false},
		{"newer", []*checkpoint.Marker{marker(8)}, nil, marker(8), false},
		{"late", []*checkpoint.Marker{marker(6), marker(6), marker(7)}, nil, marker(7), false},
		{"the first of a group, late", []*checkpoint.Marker{nil, nil, marker(7)}, nil, marker(7), false},
		{"behind that of a state before, late", []*checkpoint.Marker{foreign, marker(7)}, nil, marker(7), false},
		{"gone back", []*checkpoint.Marker{marker(6)}, nil, marker(6), true},
		{"gone", []*checkpoint.Marker{nil}, nil, nil, true},
		{"of a stranger", []*checkpoint.Marker{foreign}, nil, foreign, true},
		{"not to be read", []*checkpoint.Marker{nil}, broken, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				a := &auditor{proven: 7}
				got, err := a.settledMarker(t.Context(), &checkpoint.Checkpoint{Incarnation: checkpoint.ID{1}, Group: "eo-p"}, func(_ context.Context, group string) (*checkpoint.Marker, error) {
					m := c.shows[0]
					c.shows = c.shows[min(1, len(c.shows)-1):]
					if group != "eo-p" {
						m = nil
					}
					return m, c.err
				})
				if !errors.Is(err, c.err) || (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
					t.Errorf("%+v, %v, want %+v, %v", got, err, c.want, c.err)
				}
				if waited := time.Since(began); waited >= settleLimit != c.waits {
					t.Errorf("it waited %v, the limit is %v", waited, settleLimit)
				}
			})
		})
	}
}

// The report is as bad as the worst of its parts.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		parts []Verdict
		want  Verdict
		code  int
	}{
		{[]Verdict{Holds, Unchecked, Holds}, Holds, 0},
		{[]Verdict{Holds, Unknown, Holds}, Unknown, 12},
		{[]Verdict{Unknown, Differs, Holds}, Differs, 11},
		{[]Verdict{Holds, Differs, Unknown}, Differs, 11},
	} {
		r := &Report{Checks: []Check{{Verdict: c.parts[0]}}, Sources: []Source{{Verdict: c.parts[1]}}, Sinks: []Sink{{Verdict: c.parts[2]}}}
		if r.sum(); r.Verdict != c.want || int(r.Code()) != c.code {
			t.Errorf("%v: %s, code %d", c.parts, r.Verdict, r.Code())
		}
	}
}
