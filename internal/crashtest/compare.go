package crashtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/eoc-lang/eoc/internal/judge"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// Difference is how the records of one topic differ from those of the run without a crash, or from the reference.
type Difference struct {
	Topic     string
	Got, Want int            // records
	Reference bool           // Want and Missing are the reference's, whose records stand nowhere
	Missing   []judge.Record // where they stand without a crash
	TooMany   []judge.Record // where they stand
}

// compare tells how the records of a topic differ from what they should be; nil: they do not. Those that two runs
// may order differently are compared without their order: between the keys of a partition it depends on the tasks, and a
// record without a key goes to any partition. Order within a key is for judge.Order.
//
// A time that is not before since was cut to the broker's clock. A sink that is at_least_once may have records more than once,
// one that is none may lack some, too, also without a crash: so for these want is what the reference says, and only keys
// and values are compared.
func compare(o output, got, want []judge.Record, since time.Time) *Difference {
	gotGroups, wantGroups := group(o, got, since), group(o, want, since)
	all := map[string]bool{}
	for text := range gotGroups {
		all[text] = true
	}
	for text := range wantGroups {
		all[text] = true
	}
	d := &Difference{Topic: o.topic, Got: len(got), Want: len(want), Reference: !o.exactly()}
	for _, text := range slices.Sorted(maps.Keys(all)) {
		g, w := gotGroups[text], wantGroups[text]
		switch {
		case len(g) < len(w) && missed(o, len(g)):
			d.Missing = append(d.Missing, w[len(g):]...)
		case len(g) > len(w) && (o.exactly() || len(w) == 0):
			d.TooMany = append(d.TooMany, g[len(w):]...)
		}
	}
	if len(d.Missing)+len(d.TooMany) == 0 {
		return nil
	}
	byPlace(d.Missing)
	byPlace(d.TooMany)
	return d
}

// missed says whether it is a loss to have fewer of a record than without a crash, if there are so many.
func missed(o output, got int) bool {
	return o.exactly() || o.deliver == planner.DeliverAtLeastOnce && got == 0
}

// group puts records together that are the same.
func group(o output, records []judge.Record, since time.Time) map[string][]judge.Record {
	groups := map[string][]judge.Record{}
	for _, r := range records {
		text := identity(o, r, since)
		groups[text] = append(groups[text], r)
	}
	return groups
}

// identity is what makes a record the same in two runs.
func identity(o output, r judge.Record, since time.Time) string {
	var b strings.Builder
	if r.Key != nil {
		fmt.Fprintf(&b, "key %q ", r.Key)
	}
	text, _ := reference.Blank(r.Value, o.inexact)
	fmt.Fprintf(&b, "value %q null %t", text, r.Value == nil)
	if !o.exactly() {
		return b.String()
	}
	if r.Key != nil {
		fmt.Fprintf(&b, " partition %d", r.Partition)
	}
	for _, h := range r.Headers {
		fmt.Fprintf(&b, " %q=%q", h.Key, h.Value)
	}
	if r.Time.Before(since) {
		fmt.Fprintf(&b, " at %d", r.Time.UnixMilli())
	}
	return b.String()
}

// byPlace sorts records by partition and offset.
func byPlace(records []judge.Record) {
	slices.SortFunc(records, func(a, b judge.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
}

// missing is what a report calls a record that is not there.
const missing = "missing"

// mostShown is how many records of a kind a report shows.
const mostShown = 3

// String is the difference in some lines, the first records of each kind with their places.
func (d *Difference) String() string {
	var b strings.Builder
	says := "without a crash"
	if d.Reference {
		says = "as the interpreter of plans says"
	}
	fmt.Fprintf(&b, "%s: %s, %d %s: %d missing, %d too many", d.Topic, many(d.Got, "record"), d.Want, says, len(d.Missing), len(d.TooMany))
	list := func(kind, where string, records []judge.Record) {
		for _, r := range records[:min(len(records), mostShown)] {
			fmt.Fprintf(&b, "\n  %-8s  %s", kind, recordText(r))
			if kind != missing || !d.Reference {
				fmt.Fprintf(&b, "\n            "+where, r.Partition, r.Offset)
			}
		}
		if more := len(records) - mostShown; more > 0 {
			fmt.Fprintf(&b, "\n  %-8s  and %d more", kind, more)
		}
	}
	list(missing, "without a crash it is at partition %d, offset %d", d.Missing)
	list("too many", "it is at partition %d, offset %d", d.TooMany)
	return b.String()
}

func recordText(r judge.Record) string {
	return fmt.Sprintf("key %s, value %s, of %s", keyText(r.Key), printable(r.Value), r.Time.UTC().Format(time.RFC3339Nano))
}

func keyText(key []byte) string {
	if key == nil {
		return "-"
	}
	return printable(key)
}

// printable is text that stays on its line.
func printable(text []byte) string {
	s := string(text)
	if utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	return strconv.Quote(s)
}
