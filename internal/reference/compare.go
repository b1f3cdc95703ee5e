package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Compare tells the first difference between what a program made and the reference, or "" if there is
// none. Records of a topic are compared without their order. What got leaves out is not compared: counts
// that are nil, times that are NoTime, dead letters without operators.
//
// A reference with failures stands for a program that stops at one of them. Then got must
// name one, and nothing else is compared.
func Compare(got, want *Result) string {
	if len(want.Failures) > 0 || len(got.Failures) > 0 {
		return compareFailures(got.Failures, want.Failures)
	}
	for _, sink := range names(got.Sinks, want.Sinks) {
		if d := compareSink(got.Sinks[sink], want.Sinks[sink], want.Inexact[sink]); d != "" {
			return "sink " + sink + ": " + d
		}
	}
	if d := compareDeadLetters(got.DeadLetters, want.DeadLetters); d != "" {
		return "dead letters: " + d
	}
	if got.Counts != nil {
		return compareCounts(got.Counts, want.Counts)
	}
	return ""
}

func names[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

func compareFailures(got, want []Refusal) string {
	if len(got) == 0 {
		return fmt.Sprintf("it did not fail, but must at %s, for example (of %d)", want[0], len(want))
	}
	for _, g := range got {
		if !slices.ContainsFunc(want, func(w Refusal) bool { return w.position() == g.position() }) {
			return fmt.Sprintf("it failed at %s, which is a good record", g)
		}
	}
	return ""
}

// String names the refused record and why.
func (r Refusal) String() string {
	return fmt.Sprintf("%s (%s: %s: %s)", r.position(), r.Operator, r.Class, r.Reason)
}

func (r Refusal) position() string {
	if r.Offset < 0 {
		return "a result"
	}
	return fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset)
}

// compareSink compares two multisets: records that are equal but for inexact fields and time
// belong together, in the order of these.
func compareSink(got, want []Output, inexact []string) string {
	gotGroups, wantGroups := group(got, inexact), group(want, inexact)
	var missing, extra []string
	differs := ""
	for _, text := range names(gotGroups, wantGroups) {
		g, w := gotGroups[text], wantGroups[text]
		for range len(w) - len(g) {
			missing = append(missing, text)
		}
		for range len(g) - len(w) {
			extra = append(extra, text)
		}
		for i := range min(len(g), len(w)) {
			if d := g[i].differs(w[i]); d != "" && differs == "" && len(g) == len(w) {
				differs = text + ": " + d
			}
		}
	}
	if len(missing)+len(extra) == 0 {
		return differs
	}
	return describe(len(got), len(want), missing, extra)
}

func describe(got, want int, missing, extra []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d records, want %d: %d missing, %d too many", got, want, len(missing), len(extra))
	if len(missing) > 0 {
		fmt.Fprintf(&b, "\nmissing:  %s", missing[0])
	}
	if len(extra) > 0 {
		like := extra[0]
		if len(missing) > 0 {
			like = nearest(missing[0], extra)
		}
		fmt.Fprintf(&b, "\ntoo many: %s", like)
	}
	return b.String()
}

// nearest is the text that shares the longest beginning with s.
func nearest(s string, texts []string) string {
	shared := func(t string) int {
		n := 0
		for n < min(len(s), len(t)) && s[n] == t[n] {
			n++
		}
		return n
	}
	return slices.MaxFunc(texts, func(x, y string) int { return cmp.Compare(shared(x), shared(y)) })
}

// loose is what is compared with tolerance.
type loose struct {
	floats []float64
	time   int64
}

func group(outputs []Output, inexact []string) map[string][]loose {
	groups := map[string][]loose{}
	for _, o := range outputs {
		text, floats := Blank(o.Value, inexact)
		key := "no key"
		if o.Key != nil {
			key = fmt.Sprintf("key %q", o.Key)
		}
		text = key + " " + text
		groups[text] = append(groups[text], loose{floats, o.Time})
	}
	for _, g := range groups {
		slices.SortFunc(g, func(x, y loose) int {
			return cmp.Or(slices.Compare(x.floats, y.floats), cmp.Compare(x.time, y.time))
		})
	}
	return groups
}

// Blank replaces the numbers of the given fields of an object by ~ and returns them. The text is otherwise that of the value, byte by byte.
func Blank(value []byte, fields []string) (string, []float64) {
	if len(fields) == 0 {
		return string(value), nil
	}
	var floats []float64
	var text bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(value))
	if _, err := d.Token(); err != nil {
		return string(value), nil
	}
	end := 0
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return string(value), nil
		}
		start := d.InputOffset()
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return string(value), nil
		}
		field, _ := name.(string)
		if f, err := strconv.ParseFloat(string(raw), 64); err == nil && slices.Contains(fields, field) {
			text.Write(value[end:start])
			text.WriteString(":~")
			end = int(d.InputOffset())
			floats = append(floats, f)
		}
	}
	text.Write(value[end:])
	return text.String(), floats
}

// differs says how g is not w. The clock of the broker may have cut a time that lies ahead.
func (g loose) differs(w loose) string {
	for i := range w.floats {
		tolerance := 1e-9 * max(math.Abs(g.floats[i]), math.Abs(w.floats[i]), 1e-300)
		if math.Abs(g.floats[i]-w.floats[i]) > tolerance {
			return fmt.Sprintf("%v instead of %v", g.floats[i], w.floats[i])
		}
	}
	if g.time != w.time && g.time != NoTime && w.time != NoTime && w.time < time.Now().UnixMilli() {
		return fmt.Sprintf("timestamp %d instead of %d", g.time, w.time)
	}
	return ""
}

func compareDeadLetters(got, want []DeadLetter) string {
	operators := slices.ContainsFunc(got, func(d DeadLetter) bool { return d.Operator != "" })
	gotGroups, wantGroups := texts(got, operators), texts(want, operators)
	var missing, extra []string
	for _, text := range names(gotGroups, wantGroups) {
		for range len(wantGroups[text]) - len(gotGroups[text]) {
			missing = append(missing, text+" ("+wantGroups[text][0].Reason+")")
		}
		for range len(gotGroups[text]) - len(wantGroups[text]) {
			extra = append(extra, text+" ("+gotGroups[text][0].Reason+")")
		}
	}
	if len(missing)+len(extra) == 0 {
		return ""
	}
	return describe(len(got), len(want), missing, extra)
}

// texts groups dead letters by what is compared of them.
func texts(letters []DeadLetter, operators bool) map[string][]DeadLetter {
	groups := map[string][]DeadLetter{}
	for _, d := range letters {
		text := d.text(operators)
		groups[text] = append(groups[text], d)
	}
	return groups
}

func (d DeadLetter) text(operator bool) string {
	text := d.Topic + " " + d.position()
	if operator {
		text += " " + d.Operator
	}
	if d.Key != nil {
		text += fmt.Sprintf(" key %q", d.Key)
	}
	text += fmt.Sprintf(" value %q", d.Value)
	for _, h := range d.Headers {
		text += fmt.Sprintf(" %s=%q", h.Key, h.Value)
	}
	return text
}

// compareCounts compares all counts but those named out, which a program need not keep.
func compareCounts(got, want map[Counter]int64) string {
	for _, c := range slices.SortedFunc(maps.Keys(union(got, want)), byName) {
		if c.Name != "out" && got[c] != want[c] {
			return fmt.Sprintf("counts: %s %s of %s/%d: %d, want %d", c.Operator, c.Name, c.Topic, c.Partition, got[c], want[c])
		}
	}
	return ""
}

func union(a, b map[Counter]int64) map[Counter]int64 {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
