package runtime

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// minutes is a pipeline of windows of a minute.
func minutes() *counting {
	return &counting{source: SourceSpec{Watermark: Hour}, window: TumblingSpec[int64, struct{}]{Size: Minute, Grace: Second}}
}

// contents is what a task holds, by window and key.
func (c countingTask) contents() map[string]int64 {
	all := map[string]int64{}
	for _, p := range c.w.panes {
		for key, n := range p.All() {
			all[fmt.Sprintf("%d %s", p.Start/Minute, key)] = *n
		}
	}
	return all
}

func randomRecords(r *rand.Rand, n, keys int) []record.Record {
	records := make([]record.Record, n)
	for i := range records {
		key := fmt.Sprintf("key-%d", r.IntN(keys))
		if r.IntN(5) == 0 {
			key += strings.Repeat("-long", 1+r.IntN(10))
		}
		records[i] = at(Time(r.IntN(3))*Minute, key)
	}
	return records
}

// TestRoundTrip restores a base and many deltas, some merged before, into other numbers of tasks.
func TestRoundTrip(t *testing.T) {
	r := seeded(t)
	c := minutes()
	task := c.task(t, nil, 0)
	p := newPartition(0)
	byGroup := map[int][][]byte{}
	w := MinTime
	for i := range 30 {
		task.process(t, p, randomRecords(r, 1+r.IntN(500), 200)...)
		if i == 15 {
			w = Minute + Second
			task.advance(t, w)
			p.Floor[0] = int64(w)
		}
		for _, d := range task.Snapshot() {
			byGroup[d.Group] = append(byGroup[d.Group], bytes.Clone(d.Data))
		}
	}
	if len(task.Snapshot()) != 0 {
		t.Error("nothing has changed, but there are deltas")
	}
	want := task.contents()
	for _, targets := range []int{1, 2, 5, checkpoint.Groups, 200} {
		got := map[string]int64{}
		for owner := range targets {
			restored := c.task(t, nil, targets)
			restored.advance(t, w)
			for group, deltas := range byGroup {
				if checkpoint.Owner(group, targets) != owner {
					continue
				}
				if n := r.IntN(len(deltas) + 1); n > 0 {
					base, err := restored.t.operators[0].merge(group, deltas[:n], w)
					if err != nil {
						t.Fatal(err)
					}
					deltas = append([][]byte{base}, deltas[n:]...)
				}
				for _, data := range deltas {
					if err := restored.Restore(checkpoint.Delta{Operator: "s/window", Group: group, Data: data}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if len(restored.Snapshot()) != 0 {
				t.Error("what was restored counts as changed")
			}
			maps.Copy(got, restored.contents())
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%d tasks: %d keys, want %d", targets, len(got), len(want))
		}
	}
}

// TestMerge shows that merging is the same in one step and in many, and drops closed windows.
func TestMerge(t *testing.T) {
	r := seeded(t)
	c := minutes()
	task := c.task(t, nil, 0)
	p := newPartition(0)
	var deltas [][]byte
	for range 20 {
		task.process(t, p, randomRecords(r, 500, 500)...)
		for _, d := range task.Snapshot() {
			if d.Group == 5 {
				deltas = append(deltas, bytes.Clone(d.Data))
			}
		}
	}
	merge := func(w Time, deltas ...[]byte) []byte {
		t.Helper()
		b, err := task.w.merge(5, deltas, w)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole := merge(MinTime, deltas...)
	var steps []byte
	for i, d := range deltas {
		if i == 0 {
			steps = d
			continue
		}
		steps = merge(MinTime, steps, d)
	}
	if !bytes.Equal(whole, steps) || !bytes.Equal(whole, merge(MinTime, whole)) {
		t.Error("the order of merging shows")
	}
	if one := merge(Minute+Second, deltas...); len(one) >= len(whole) || !bytes.Equal(one, merge(Minute+Second, whole)) {
		t.Errorf("%d bytes without the closed window, %d with it", len(one), len(whole))
	}
	if none := merge(MaxTime, deltas...); len(none) != 1 {
		t.Errorf("%d bytes of closed windows", len(none))
	}
}

// TestDeltaCost shows that a checkpoint hands over what changed, not what there is.
func TestDeltaCost(t *testing.T) {
	task := minutes().task(t, nil, 0)
	p := newPartition(0)
	feed := func(n int) (size int) {
		for i := range n {
			task.process(t, p, at(0, fmt.Sprintf("user-%07d", i)))
		}
		for _, d := range task.Snapshot() {
			size += len(d.Data)
		}
		return size
	}
	all, some, none := feed(100_000), feed(100), feed(0)
	task.advance(t, MaxTime)
	closed := feed(0)
	if all > 100_000*17 || some > 100*25 || none != 0 || closed != 0 {
		t.Errorf("100,000 keys: %d bytes; 100 of them: %d; none: %d; the window closed: %d", all, some, none, closed)
	}
}

// TestSkipClosed shows that windows that W has passed are not restored.
func TestSkipClosed(t *testing.T) {
	c := minutes()
	task := c.task(t, nil, 0)
	task.process(t, newPartition(0), at(0, "a"), at(Minute, "b"))
	deltas := task.Snapshot()
	restored := c.task(t, nil, 0)
	restored.advance(t, Minute+Second)
	for _, d := range deltas {
		if err := restored.Restore(d); err != nil {
			t.Fatal(err)
		}
	}
	if got := restored.contents(); len(got) != 1 || got["1 b"] != 1 {
		t.Errorf("got %v", got)
	}
}

// TestRefused is about deltas that do not belong here.
func TestRefused(t *testing.T) {
	c := minutes()
	task := c.task(t, nil, 0)
	task.process(t, newPartition(0), at(0, "a"))
	good := task.Snapshot()[0]
	refused := func(what string, d checkpoint.Delta, change func(*counting)) {
		t.Helper()
		c := minutes()
		if change != nil {
			change(c)
		}
		err := c.task(t, nil, 0).Restore(d)
		if failure.KindOf(err) != failure.State || err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("does not have", checkpoint.Delta{Operator: "t/window", Group: good.Group, Data: good.Data}, nil)
	refused("key of another group", checkpoint.Delta{Operator: good.Operator, Group: good.Group ^ 1, Data: good.Data}, nil)
	refused("another size", checkpoint.Delta{Operator: good.Operator, Group: good.Group, Data: good.Data}, func(c *counting) { c.window.Offset = 1 })
	refused("unknown format", checkpoint.Delta{Operator: good.Operator, Group: good.Group}, nil)
	refused("unknown format", checkpoint.Delta{Operator: good.Operator, Group: good.Group, Data: []byte{9, 0}}, nil)
	for n := 2; n < len(good.Data); n++ {
		refused("damaged", checkpoint.Delta{Operator: good.Operator, Group: good.Group, Data: good.Data[:n]}, nil)
		if _, err := task.w.merge(good.Group, [][]byte{good.Data[:n]}, MinTime); err == nil {
			t.Errorf("%d bytes could be merged", n)
		}
	}
	twice := append(append([]byte{}, good.Data...), good.Data[1:]...)
	if _, err := task.w.merge(good.Group, [][]byte{twice}, MinTime); err == nil {
		t.Error("a window twice could be merged")
	}
}

// FuzzDelta shows that damaged bytes are refused or read, but never do harm, and that what can be merged can be
// restored with the same result.
func FuzzDelta(f *testing.F) {
	c := minutes()
	task := c.task(f, nil, 0)
	task.process(f, newPartition(0), randomRecords(rand.New(rand.NewPCG(1, 2)), 2000, 300)...)
	for _, d := range task.Snapshot()[:8] {
		f.Add(d.Data, uint8(d.Group))
	}
	f.Add([]byte{deltaFormat, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, group uint8) {
		g := int(group) % checkpoint.Groups
		direct, viaMerge := c.task(t, nil, 0), c.task(t, nil, 0)
		merged, err := direct.w.merge(g, [][]byte{data, data}, Time(math.MinInt64))
		errDirect := direct.Restore(checkpoint.Delta{Operator: "s/window", Group: g, Data: data})
		if err != nil || errDirect != nil {
			return
		}
		if err := viaMerge.Restore(checkpoint.Delta{Operator: "s/window", Group: g, Data: merged}); err != nil {
			t.Fatalf("%x, merged %x: %v", data, merged, err)
		}
		if !maps.Equal(direct.contents(), viaMerge.contents()) {
			t.Fatalf("%x, merged %x: %v and %v", data, merged, direct.contents(), viaMerge.contents())
		}
	})
}
