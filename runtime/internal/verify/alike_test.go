package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/settings"
)

// TestAlike: all partitions begin at the checkpoint that was asked for, or the next of which it is known what had been written. To one partition nothing was written
// behind checkpoint 5, so that it can begin anywhere there.
func TestAlike(t *testing.T) {
	const last = 1000
	busy := func() *output { // places: 0, 5 and 900
		o := &output{parts: []part{
			{after: 0, upTo: 5, want: checkpoint.Tally{Next: 10, Records: 3}},
			{after: 5, upTo: 900, want: checkpoint.Tally{Next: 20, Records: 4}},
			{after: 900, upTo: last, want: checkpoint.Tally{Next: 30, Records: 2}},
		}}
		o.sink.Written = 9
		return o
	}
	quiet := func() *output {
		o := &output{parts: []part{
			{after: 0, upTo: 5, want: checkpoint.Tally{Next: 10, Records: 3}},
			{after: 5, upTo: last, want: checkpoint.Tally{Next: 20}},
		}}
		o.sink.Written = 3
		return o
	}
	made := func() *output { return &output{parts: []part{{after: 0, upTo: last}}} } // a partition that nothing was ever written to
	kept := func(o *output) *output {
		o.sink.Written -= o.parts[0].want.Records
		o.parts = o.parts[1:]
		return o
	}
	for _, c := range []struct {
		name    string
		out     []*output
		since   int64 // -1: kept
		after   []int64
		written []int64
	}{
		{"from the beginning", []*output{busy(), quiet(), made()}, 0, []int64{0, 0, 0}, []int64{9, 3, 0}},
		{"at a place", []*output{busy(), quiet(), made()}, 5, []int64{5, 5, 5}, []int64{6, 0, 0}},
		{"between places", []*output{busy(), quiet(), made()}, 600, []int64{900, 600, 600}, []int64{2, 0, 0}},
		{"behind all places", []*output{busy(), quiet(), made()}, 950, []int64{-1, 950, 950}, []int64{0, 0, 0}},
		{"at the last checkpoint", []*output{quiet(), made()}, last, []int64{-1, -1}, []int64{0, 0}},
		{"behind the last checkpoint", []*output{quiet(), made()}, last + 1, []int64{-1, -1}, []int64{0, 0}},
		{"where all are kept", []*output{kept(busy()), quiet(), made()}, -1, []int64{5, 5, 5}, []int64{6, 0, 0}},
	} {
		a := &auditor{Config: Config{Settings: settings.Settings{Since: max(0, c.since), SinceKept: c.since < 0}}, report: &Report{}, cp: &checkpoint.Checkpoint{Number: last}}
		a.alike(c.out)
		for i, o := range c.out {
			switch {
			case c.after[i] < 0:
				text := "none is remembered but the last"
				if c.since > last {
					text = fmt.Sprintf("there is no checkpoint %d yet", c.since)
				}
				if o.sink.Verdict != Unknown || len(o.parts) > 0 || !strings.Contains(o.sink.Text, text) {
					t.Errorf("%s, %d: %+v", c.name, i, o.sink)
				}
			case o.sink.Verdict != "" || o.parts[0].after != c.after[i] || o.sink.Written != c.written[i] || o.sink.From != o.parts[0].want.Next && c.since != 0:
				t.Errorf("%s, %d: begins at %d with %d records, %+v", c.name, i, o.parts[0].after, o.sink.Written, o.sink)
			}
		}
	}
}
