package verify

import (
	"context"
	"errors"
	"slices"
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

// The state is looked at before the marker, for what it has to show, and behind it, for what it belongs to. A new state that is begun between the looks is
// not held against the marker of the one before.
func TestReadMarker(t *testing.T) {
	const none = -1
	number := func(m *checkpoint.Marker) int64 {
		if m == nil {
			return none
		}
		return m.Checkpoint
	}
	old, fresh := checkpoint.ID{1}, checkpoint.ID{2}
	confirmed := func(id checkpoint.ID, n int64) *state.View {
		return &state.View{Newest: &checkpoint.Checkpoint{Incarnation: id, Number: n, Exactly: true}, Confirmed: true}
	}
	prepared := func(id checkpoint.ID, n int64) *state.View {
		v := &state.View{Newest: &checkpoint.Checkpoint{Incarnation: id, Number: n, Exactly: true}}
		if n > 0 {
			v.Before = &checkpoint.Checkpoint{Incarnation: id, Number: n - 1, Exactly: true}
		}
		return v
	}
	marker := func(id checkpoint.ID, n int64) *checkpoint.Marker {
		return &checkpoint.Marker{Incarnation: id, Checkpoint: n}
	}
	unmarked := &state.View{Newest: &checkpoint.Checkpoint{Incarnation: fresh, Number: 3}, Confirmed: true}
	// inVain are the looks for one that does not come.
	inVain := func(m *checkpoint.Marker) []*checkpoint.Marker {
		return slices.Repeat([]*checkpoint.Marker{m}, int(settleLimit/settlePause)+2)
	}
	for _, c := range []struct {
		name    string
		views   []*state.View // by the looks
		markers []*checkpoint.Marker
		proven  int64
		checked int64 // number of the marker; none
	}{
		{"at rest", []*state.View{confirmed(old, 7), confirmed(old, 7)}, []*checkpoint.Marker{marker(old, 6), marker(old, 7)}, 7, 7},
		{"a commit between the looks", []*state.View{confirmed(old, 6), confirmed(old, 7)}, []*checkpoint.Marker{marker(old, 6)}, 6, 6},
		{"prepared", []*state.View{prepared(old, 7), prepared(old, 7)}, []*checkpoint.Marker{marker(old, 5), marker(old, 6)}, 6, 6},
		{"a first start", []*state.View{prepared(old, 0), confirmed(old, 0)}, []*checkpoint.Marker{nil, marker(old, 0)}, -1, 0},
		{"a first start that is slow", []*state.View{prepared(old, 0), confirmed(old, 0), confirmed(old, 0)}, append(inVain(nil), marker(old, 0)), 0, 0},
		{"a new state", []*state.View{confirmed(old, 700), confirmed(fresh, 3), confirmed(fresh, 4)}, []*checkpoint.Marker{marker(old, 700), marker(fresh, 2), marker(fresh, 3)}, 3, 3},
		{"a new state without markers", []*state.View{confirmed(old, 700), unmarked}, []*checkpoint.Marker{marker(old, 700)}, 3, none},
		// A program that runs confirms one checkpoint after the other, and what is looked at is another cluster's group.
		{"none beside a program that runs", []*state.View{confirmed(old, 7), confirmed(old, 17)}, inVain(nil), 7, none},
		{"one of another state beside a program that runs", []*state.View{confirmed(old, 7), confirmed(old, 17)}, inVain(marker(fresh, 90)), 7, 90},
		{"none beside a first start", []*state.View{prepared(old, 0), confirmed(old, 7), confirmed(old, 17)}, append(inVain(nil), inVain(nil)...), 7, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &auditor{}
				views, markers := c.views[1:], c.markers
				read := func(context.Context, string) (*checkpoint.Marker, error) {
					m := markers[0]
					markers = markers[1:]
					return m, nil
				}
				look := func() (*state.View, error) {
					v := views[0]
					views = views[1:]
					return v, nil
				}
				view, err := a.readMarker(t.Context(), c.views[0], read, look)
				if err != nil {
					t.Fatal(err)
				}
				if last := c.views[len(c.views)-1]; view != last || len(markers) > 0 || a.proven != c.proven || number(a.marker) != c.checked {
					t.Errorf("state of checkpoint %d, marker %+v, proven %d, %d markers not read", view.Newest.Number, a.marker, a.proven, len(markers))
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
