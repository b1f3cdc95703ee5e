package state_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

var (
	_ engine.Store = (*state.Bolt)(nil)
	_ engine.Sized = (*state.Bolt)(nil)
	_ engine.Store = (*state.Memory)(nil)
)

// The deltas of these tests are lines `window key value`: the last line of a window and key holds. A
// window w closes when the watermark is above w.

// mergeLines is the Merge of such deltas.
func mergeLines(_ string, _ int, deltas [][]byte, w int64) ([]byte, error) {
	table := map[string]string{}
	for _, d := range deltas {
		if err := addLines(table, d); err != nil {
			return nil, err
		}
	}
	var b []byte
	for _, k := range slices.Sorted(maps.Keys(open(table, w))) {
		b = fmt.Appendf(b, "%s %s\n", k, table[k])
	}
	return b, nil
}

func addLines(table map[string]string, delta []byte) error {
	for line := range strings.Lines(string(delta)) {
		window, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		key, value, ok2 := strings.Cut(rest, " ")
		if !ok || !ok2 {
			return fmt.Errorf("bad line %q", line)
		}
		table[window+" "+key] = value
	}
	return nil
}

// open leaves out the windows that w has passed.
func open(table map[string]string, w int64) map[string]string {
	table = maps.Clone(table)
	maps.DeleteFunc(table, func(k, _ string) bool {
		var window int64
		fmt.Sscan(k, &window)
		return window < w
	})
	return table
}

// contents restores a store into one table for each operator and group.
func contents(t rapid.TB, s engine.Store) map[string]map[string]string {
	t.Helper()
	newest, _, _, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	all := map[string]map[string]string{}
	err = s.Restore(context.Background(), func(d checkpoint.Delta) error {
		mu.Lock()
		defer mu.Unlock()
		id := fmt.Sprintf("%s/%d", d.Operator, d.Group)
		if all[id] == nil {
			all[id] = map[string]string{}
		}
		return addLines(all[id], d.Data)
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, table := range all {
		if newest != nil {
			table = open(table, newest.Watermarks[0].W)
		}
		if all[id] = table; len(table) == 0 {
			delete(all, id)
		}
	}
	return all
}

func options() state.Options {
	return state.Options{Pipeline: "p", Merge: mergeLines, Forms: []checkpoint.Form{
		{ID: "orders", Place: "p.eo:3", Form: "topic orders"},
		{ID: "totals/window", Place: "p.eo:8", Form: "tumbling 1m by user string: sum(amount)"},
	}}
}

func openBolt(t rapid.TB, dir string, opt state.Options) *state.Bolt {
	t.Helper()
	b, err := state.OpenBolt(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var incarnation = checkpoint.ID{1, 2, 3}

// made is checkpoint n of a test.
func made(n, w int64, deltas ...checkpoint.Delta) *checkpoint.Checkpoint {
	id := ""
	if n > 0 {
		id = fmt.Sprintf("p-%d", n%2)
	}
	return &checkpoint.Checkpoint{
		Number: n, Incarnation: incarnation, Pipeline: "p", Group: "eo-p", IDs: []string{"p-0", "p-1"}, Exactly: true,
		Committable: checkpoint.Committable{TransactionalID: id, ProducerID: 4000, Epoch: int16(n), EndTxnVersion: 5, Checkpoint: n, Incarnation: incarnation},
		Partitions:  []checkpoint.Partition{{Source: "orders", Topic: "orders", Next: 10 * n, Watermark: w, Bound: -1}},
		Watermarks:  []checkpoint.Watermark{{Operator: "totals/window", W: w}, {Operator: "other/window", W: w}}, Deltas: deltas,
	}
}

func delta(group int, text string) checkpoint.Delta {
	return checkpoint.Delta{Operator: "totals/window", Group: group, Data: []byte(text)}
}

// must fails the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantKind fails the test unless err is of the kind and says all of parts.
func wantKind(t rapid.TB, err error, kind failure.Kind, parts ...string) {
	t.Helper()
	if err == nil || failure.KindOf(err) != kind {
		t.Fatalf("got %v, want a failure of kind %d", err, kind)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q is missing in: %v", p, err)
		}
	}
}

// TestModel runs random sequences against a model: a list of what was saved. The bolt store is closed and
// opened again at random, as after a crash.
func TestModel(t *testing.T) {
	t.Run("bolt", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { model(t, true) }) })
	t.Run("memory", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { model(t, false) }) })
}

// fastDir is a file system in memory, where syncing costs nothing, if there is one.
func fastDir() string {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err == nil && info.IsDir() {
		return shm
	}
	return ""
}

type step struct {
	c     *checkpoint.Checkpoint
	table map[string]map[string]string
}

func model(t *rapid.T, bolt bool) {
	dir, err := os.MkdirTemp(fastDir(), "state")
	must(t, err)
	defer os.RemoveAll(dir)
	var store engine.Store = state.NewMemory(options().Small(3))
	if bolt {
		store = openBolt(t, dir, options().Small(3))
	}
	defer func() { store.Close() }()
	var newest, before *step
	confirmed := false
	w := int64(0)
	t.Repeat(map[string]func(*rapid.T){
		"save": func(t *rapid.T) {
			if newest != nil && !confirmed {
				t.Skip()
			}
			next := drawStep(t, newest, &w)
			must(t, store.Save(next.c))
			for _, d := range next.c.Deltas { // as the next snapshot writes over them
				clear(d.Data)
			}
			before, newest, confirmed = newest, next, false
		},
		"save too early": func(t *rapid.T) {
			if newest == nil || confirmed {
				t.Skip()
			}
			wantKind(t, store.Save(made(newest.c.Number+1, w)), failure.Internal)
		},
		"confirm": func(t *rapid.T) {
			if newest == nil {
				wantKind(t, store.Confirm(0), failure.Internal)
				t.Skip()
			}
			must(t, store.Confirm(newest.c.Number))
			before, confirmed = nil, true
		},
		"drop": func(t *rapid.T) {
			if newest == nil || before == nil {
				t.Skip()
			}
			must(t, store.Drop(newest.c.Number))
			newest, before, confirmed = before, nil, true
			w = newest.c.Watermarks[0].W
		},
		"adopt": func(t *rapid.T) {
			if newest == nil {
				t.Skip()
			}
			ids := []string{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "id")}
			must(t, store.Adopt(ids))
			c := *newest.c
			c.IDs = ids
			newest = &step{&c, newest.table}
		},
		"reopen": func(t *rapid.T) {
			if !bolt {
				t.Skip()
			}
			must(t, store.Close())
			store = openBolt(t, dir, options().Small(3))
		},
		"": func(t *rapid.T) {
			n, b, ok, err := store.Load()
			must(t, err)
			sameCheckpoint(t, n, newest)
			sameCheckpoint(t, b, before)
			if ok != (newest != nil && confirmed) {
				t.Fatalf("confirmed is %v", ok)
			}
			want := map[string]map[string]string{}
			if newest != nil {
				want = newest.table
			}
			if got := contents(t, store); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("restored\n got %v\nwant %v", got, want)
			}
		},
	})
}

// drawStep draws a checkpoint behind newest, with deltas, and moves the watermark w.
func drawStep(t *rapid.T, newest *step, w *int64) *step {
	next := &step{table: map[string]map[string]string{}}
	n := int64(0)
	if newest != nil {
		n = newest.c.Number + 1
		for id, table := range newest.table {
			next.table[id] = maps.Clone(table)
		}
	}
	*w += rapid.Int64Range(0, 2).Draw(t, "watermark")
	var deltas []checkpoint.Delta
	for range rapid.IntRange(0, 5).Draw(t, "deltas") {
		if n == 0 {
			break
		}
		d := delta(rapid.SampledFrom([]int{0, 1, 64, 127}).Draw(t, "group"), "")
		d.Operator = rapid.SampledFrom([]string{"totals/window", "other/window"}).Draw(t, "operator")
		for range rapid.IntRange(1, 3).Draw(t, "lines") {
			d.Data = fmt.Appendf(d.Data, "%d k%d v%d\n", *w+rapid.Int64Range(0, 3).Draw(t, "window"), rapid.IntRange(0, 4).Draw(t, "key"), n)
		}
		id := fmt.Sprintf("%s/%d", d.Operator, d.Group)
		if next.table[id] == nil {
			next.table[id] = map[string]string{}
		}
		must(t, addLines(next.table[id], d.Data))
		deltas = append(deltas, d)
	}
	for id := range next.table {
		if next.table[id] = open(next.table[id], *w); len(next.table[id]) == 0 {
			delete(next.table, id)
		}
	}
	next.c = made(n, *w, deltas...)
	return next
}

func sameCheckpoint(t *rapid.T, got *checkpoint.Checkpoint, want *step) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Fatalf("loaded %v, want %v", got, want)
	}
	if got == nil {
		return
	}
	c := *want.c
	c.Deltas = nil
	if fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", c) {
		t.Fatalf("loaded\n got %+v\nwant %+v", *got, c)
	}
}

func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "state")
	b := openBolt(t, dir, options())
	info, err := os.Stat(dir)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the directory's mode is %v", info.Mode())
	}
	_, err = state.OpenBolt(dir, options())
	wantKind(t, err, failure.Fenced, dir, fmt.Sprintf("process %d", os.Getpid()), "one copy of a pipeline runs at a time")
	must(t, b.Close())
	must(t, openBolt(t, dir, options()).Close())
}

// TestLockOfTheDying: a process that was killed keeps the lock for a moment, and the next one waits for it.
func TestLockOfTheDying(t *testing.T) {
	dir := t.TempDir()
	dying := openBolt(t, dir, options())
	synctest.Test(t, func(t *testing.T) {
		go func() {
			time.Sleep(time.Second)
			if err := dying.Close(); err != nil {
				t.Error(err)
			}
		}()
		began := time.Now()
		next, err := state.OpenBolt(dir, options())
		must(t, err)
		must(t, next.Close())
		if waited := time.Since(began); waited < time.Second {
			t.Errorf("the lock was free after %v: the test has shown nothing", waited)
		}
	})
}

func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	b := openBolt(t, dir, options())
	must(t, b.Save(made(0, 0)))
	must(t, b.Close())
	cases := []struct {
		name string
		edit func(*state.Options)
		want []string // nil: accepted
	}{
		{"moved", func(o *state.Options) { o.Forms[1].Place = "p.eo:99" }, nil},
		{"another pipeline", func(o *state.Options) { o.Pipeline = "q" }, []string{`of pipeline "p", this program is pipeline "q"`}},
		{"changed", func(o *state.Options) {
			o.Forms[1] = checkpoint.Form{ID: "totals/window", Place: "p.eo:9", Form: "tumbling 10s"}
		},
			[]string{"p.eo:9: totals/window: `tumbling 10s`, was `tumbling 1m`; `by user string` is gone; aggregate 1, `sum(amount)`, is gone; undo", "--fresh"}},
		{"added and removed", func(o *state.Options) { o.Forms[1] = checkpoint.Form{ID: "sums/window", Place: "p.eo:9", Form: "x"} },
			[]string{"p.eo:9: sums/window is new (x)", "totals/window, formerly at p.eo:8, is gone (tumbling 1m by user string: sum(amount))"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			opt := options()
			c.edit(&opt)
			b, err := state.OpenBolt(dir, opt)
			if c.want == nil {
				must(t, err)
				must(t, b.Close())
				return
			}
			wantKind(t, err, failure.State, c.want...)
			opt.Fresh = true
			b = openBolt(t, dir, opt)
			old, _, _, err := b.Load()
			must(t, err)
			if old == nil || !slices.Equal(old.IDs, []string{"p-0", "p-1"}) {
				t.Errorf("with Fresh the old ids are needed, got %+v", old)
			}
			must(t, b.Close())
		})
	}
	opt := options()
	opt.Pipeline, opt.Fresh = "q", true
	b = openBolt(t, dir, opt)
	must(t, b.Save(made(0, 0)))
	must(t, b.Close())
	opt.Fresh = false
	must(t, openBolt(t, dir, opt).Close())
}
