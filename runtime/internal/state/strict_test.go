package state_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/eoc-lang/eoc/internal/faultdisk"
	"github.com/eoc-lang/eoc/internal/skip"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// These tests have a disk that loses what was not synced, see package faultdisk. Where the system does not let a process watch its own calls they are skipped.

// held is what a store has to hold.
type held struct {
	newest, before *step
	confirmed      bool
}

// String is all of it, as heldBy reads it from a store.
func (h held) String() string {
	text := func(s *step) string {
		if s == nil {
			return "none"
		}
		c := *s.c
		c.Deltas = nil
		return fmt.Sprintf("%+v", c)
	}
	table := map[string]map[string]string{}
	if h.newest != nil {
		table = h.newest.table
	}
	return fmt.Sprint(text(h.newest), "\nbefore ", text(h.before), "\nconfirmed ", h.newest != nil && h.confirmed, "\n", table)
}

func heldBy(t rapid.TB, b *state.Bolt) string {
	t.Helper()
	newest, before, confirmed, err := b.Load()
	must(t, err)
	h := held{confirmed: confirmed}
	if newest != nil {
		h.newest = &step{newest, contents(t, b)}
	}
	if before != nil {
		h.before = &step{c: before}
	}
	return h.String()
}

// change is one call that changes what a store holds.
type change struct {
	name string
	do   func(*state.Bolt) error
	to   held
}

// drawChange draws a call that is allowed.
func drawChange(t *rapid.T, h held) change {
	var w int64
	if h.newest != nil {
		w = h.newest.c.Watermarks[0].W
	}
	var list []change
	if h.newest == nil || h.confirmed {
		next := drawStep(t, h.newest, &w)
		save := change{"save", func(b *state.Bolt) error { return b.Save(next.c) }, held{newest: next, before: h.newest}}
		list = append(list, save, save, save)
	}
	if h.newest != nil && !h.confirmed {
		n := h.newest.c.Number
		confirm := change{"confirm", func(b *state.Bolt) error { return b.Confirm(n) }, held{newest: h.newest, confirmed: true}}
		list = append(list, confirm, confirm, confirm)
		if h.before != nil {
			list = append(list, change{"drop", func(b *state.Bolt) error { return b.Drop(n) }, held{newest: h.before, confirmed: true}})
		}
	}
	if h.newest != nil {
		c := *h.newest.c
		c.IDs = []string{"p-0", "p-1", "q"}
		list = append(list, change{"adopt", func(b *state.Bolt) error { return b.Adopt(c.IDs) }, held{&step{&c, h.newest.table}, h.before, h.confirmed}})
	}
	return rapid.SampledFrom(list).Draw(t, "change")
}

// moment is what a store holds when so many calls of the system have returned.
type moment struct {
	calls int
	held  held
}

// allowed is what a store may hold after a crash behind the first calls: what it held when the last change returned, or what the one under
// way makes of it. Nothing older, and no mixture.
func allowed(history []moment, calls int) []held {
	i := len(history) - 1
	for history[i].calls > calls {
		i--
	}
	list := []held{history[i].held}
	if i+1 < len(history) {
		list = append(list, history[i+1].held)
	}
	return list
}

// cleaner is a test or a draw of rapid.
type cleaner interface {
	rapid.TB
	Cleanup(func())
}

func watch(t rapid.TB, dir string) *faultdisk.Disk {
	t.Helper()
	d, err := faultdisk.Watch(dir)
	must(t, err)
	return d
}

func needFaults(t *testing.T) {
	t.Helper()
	d, err := faultdisk.Watch(t.TempDir())
	if errors.Is(err, faultdisk.ErrUnsupported) {
		skip.Loudly(t, "what a crash leaves of the state is not tested: %v", err)
	}
	must(t, err)
	d.Close()
}

// tempDir is a directory on a fast file system, until the test or the draw is over.
func tempDir(t cleaner) string {
	t.Helper()
	dir, err := os.MkdirTemp(fastDir(), "state")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestCrashes makes, confirms, drops and folds checkpoints, closes, opens and compacts the file, and crashes at any write or sync, also while it
// recovers from a crash. What is there afterwards is what was durable.
func TestCrashes(t *testing.T) {
	needFaults(t)
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) { crashes(t, seen) })
	t.Logf("crashes at %v", seen)
	for _, op := range []string{"write", "sync", "truncate", "rename", "sync directory"} {
		if seen[op] == 0 {
			t.Errorf("no crash at a %s", op)
		}
	}
}

func crashes(t *rapid.T, seen map[string]int) {
	opt := options().Small(rapid.IntRange(2, 4).Draw(t, "fold after"))
	dir := tempDir(t)
	d := watch(t, dir)
	past := []moment{{0, held{}}}
	defer func() { d.Close() }()
	for range rapid.IntRange(1, 3).Draw(t, "lives") {
		history := live(t, d, dir, opt, past)
		last, calls := d, d.Calls()
		for range 6 {
			at := rapid.IntRange(0, len(calls)).Draw(t, "crash")
			if at > 0 {
				seen[string(calls[at-1].Op)]++
			}
			d.Close()
			d, dir = crash(t, last, at)
			before, now := afterCrash(t, dir, opt, history, at)
			past = []moment{{0, before}, {d.Count(), now}} // before it was opened, a kill may have shown what was not durable
		}
	}
}

// crash makes the directory that a crash leaves behind, of the machine or of the process alone.
func crash(t *rapid.T, d *faultdisk.Disk, calls int) (*faultdisk.Disk, string) {
	dir := tempDir(t)
	if rapid.Bool().Draw(t, "power") {
		must(t, d.PowerLoss(calls, draws(t)).Write(dir))
		return watch(t, dir), dir
	}
	next, err := d.Restart(calls, dir)
	must(t, err)
	return next, dir
}

// live opens a store and changes it. It continues the history of what the store held at which call.
func live(t *rapid.T, d *faultdisk.Disk, dir string, opt state.Options, history []moment) []moment {
	b := openBolt(t, dir, opt)
	defer func() { must(t, b.Close()) }()
	now := history[len(history)-1].held
	for range rapid.IntRange(1, 12).Draw(t, "changes") {
		switch rapid.IntRange(0, 7).Draw(t, "beside") {
		case 0:
			must(t, b.Close())
			b = openBolt(t, dir, opt)
		case 1, 2:
			b.AwaitFold()
		}
		c := drawChange(t, now)
		must(t, c.do(b))
		now = c.to
		history = append(history, moment{d.Count(), now})
	}
	if rapid.Bool().Draw(t, "await the fold") {
		b.AwaitFold()
	}
	return history
}

// afterCrash opens what a crash has left, and returns what is in it, and what it might have been.
func afterCrash(t *rapid.T, dir string, opt state.Options, history []moment, calls int) (older, now held) {
	b, err := state.OpenBolt(dir, opt)
	if err != nil {
		t.Fatalf("after a crash at call %d: %v", calls, err)
	}
	defer b.Close()
	got, want := heldBy(t, b), allowed(history, calls)
	for _, h := range want {
		if h.String() == got {
			return want[0], h
		}
	}
	t.Fatalf("after a crash at call %d\n got %s\nwant %s", calls, got, want)
	return
}

// TestFailingDisk lets each call to the disk fail, one after the other, with each error that matters: the change fails as the disk's, nothing is written after
// it, and who opens the state again, after a loss of power or at once, goes on from what was durable. A sync that failed is not believed later: what it
// has lost is seen by the next start, while the checkpoint before is still whole.
func TestFailingDisk(t *testing.T) {
	needFaults(t)
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EDQUOT} {
		t.Run(errno.Error(), func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { failing(t, errno) }) })
	}
}

func failing(t *rapid.T, errno syscall.Errno) {
	opt := options().Small(2)
	dir := tempDir(t)
	d := watch(t, dir)
	defer d.Close()
	at := rapid.IntRange(0, 60).Draw(t, "failing call")
	fails := func(c faultdisk.Call) bool {
		return errno == syscall.EIO || c.Op == faultdisk.Write || c.Op == faultdisk.Truncate // no space: syncs find space that was set aside
	}
	var first atomic.Int64 // the first call that has failed, from 1; the disk asks on a goroutine of its own
	d.Seed(rapid.Uint64().Draw(t, "fate of failed syncs"))
	d.Fail(func(n int, c faultdisk.Call) syscall.Errno {
		switch {
		case c.Name == "lock" || !fails(c):
			return 0
		case first.Load() == 0 && n >= at:
			first.Store(int64(n) + 1)
			return errno
		case first.Load() != 0 && errno != syscall.EIO: // space does not come back by itself; of an error a sync speaks once
			return errno
		}
		return 0
	})
	now := held{}
	history := []moment{{0, now}}
	b, err := state.OpenBolt(dir, opt)
	for range 12 {
		if err != nil {
			break
		}
		c := drawChange(t, now)
		if err = c.do(b); err == nil {
			now = c.to
		}
		history = append(history, moment{d.Count(), c.to})
		if rapid.Bool().Draw(t, "await the fold") {
			b.AwaitFold()
		}
	}
	if b != nil {
		b.AwaitFold()
	}
	failed := int(first.Load()) - 1
	if b != nil {
		if failed >= 0 {
			wantKind(t, drawChange(t, now).do(b), failure.Disk) // also where only a fold has failed
		}
		_ = b.Close() // says once more what failed, or cannot know
	}
	if failed < 0 {
		must(t, err)
		return
	}
	if err != nil {
		wantKind(t, err, failure.Disk, "nothing is lost")
	}
	wantSilence(t, d.Calls()[failed:])
	d.Fail(nil)
	after, dir := crash(t, d, d.Count())
	goesOn(t, after, dir, opt, history, failed)
}

func draws(t *rapid.T) faultdisk.Choose {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "fate") }
}

// wantSilence looks at the calls from one that has failed on: nothing is written any more, and after a sync the system has forgotten what it has of the file.
func wantSilence(t *rapid.T, calls []faultdisk.Call) {
	forgotten := false
	for _, c := range calls[1:] {
		if (c.Op == faultdisk.Write || c.Op == faultdisk.Sync) && c.Failed == 0 && c.Name == "state.db" {
			t.Fatalf("%s of %s after a call that failed", c.Op, c.Name)
		}
		forgotten = forgotten || c.Op == faultdisk.Forget && c.Name == "state.db"
	}
	if calls[0].Op == faultdisk.Sync && calls[0].Name == "state.db" && !forgotten {
		t.Fatalf("the system was not told to forget its copy after a sync that failed")
	}
}

// goesOn opens what a failure has left, and makes a checkpoint of it that is durable. Then the power goes: it has to be there.
func goesOn(t *rapid.T, d *faultdisk.Disk, dir string, opt state.Options, history []moment, calls int) {
	defer d.Close()
	_, now := afterCrash(t, dir, opt, history, calls)
	b := openBolt(t, dir, opt)
	c := drawChange(t, now)
	must(t, c.do(b))
	b.AwaitFold()
	done := d.Count()
	must(t, b.Close())
	after := tempDir(t)
	must(t, d.PowerLoss(done, draws(t)).Write(after))
	afterCrash(t, after, opt, []moment{{done, c.to}}, done)
}

// TestWatchSees holds the watching itself against what is on the disk: a replay without a crash is the directory.
func TestWatchSees(t *testing.T) {
	needFaults(t)
	dir := tempDir(t)
	d := watch(t, dir)
	defer d.Close()
	fill(t, dir, 20)
	b := openBolt(t, dir, options().Small(4)) // perhaps compacts
	must(t, b.Close())
	image := d.Killed(d.Count())
	entries, err := os.ReadDir(dir)
	must(t, err)
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
		data, err := os.ReadFile(dir + "/" + e.Name())
		must(t, err)
		if string(data) != string(image[e.Name()]) {
			t.Errorf("%s has %d bytes, the replay %d, or others", e.Name(), len(data), len(image[e.Name()]))
		}
	}
	if got := slices.Sorted(maps.Keys(names)); !slices.Equal(got, image.Names()) {
		t.Errorf("the directory holds %v, the replay %v", got, image.Names())
	}
}
