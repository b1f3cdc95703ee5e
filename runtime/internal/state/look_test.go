package state_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// What Look says is what a store says that is opened.
func TestLook(t *testing.T) {
	dir := scratch(t)
	if v, err := state.Look(dir); v != nil || err != nil {
		t.Errorf("an empty directory: %v, %v", v, err)
	}
	fill(t, dir, 21)
	path := filepath.Join(dir, "state.db")
	before, err := os.ReadFile(path)
	must(t, err)
	v, err := state.Look(dir)
	must(t, err)
	after, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("looking has changed the file")
	}
	if v.Bytes != int64(len(before)) || v.Live <= 0 || v.Live > v.Bytes {
		t.Errorf("%d bytes, %d live; the file has %d", v.Bytes, v.Live, len(before))
	}
	b := openBolt(t, dir, options())
	newest, previous, confirmed, err := b.Load()
	must(t, err)
	if got, want := fmt.Sprintf("%+v %+v %v", v.Newest, v.Before, v.Confirmed), fmt.Sprintf("%+v %+v %v", newest, previous, confirmed); got != want {
		t.Errorf("it sees %s, want %s", got, want)
	}
	if len(v.Operators) != 1 || v.Operators[0].Groups != 3 || v.Operators[0].Segments < 3 || v.Operators[0].Deltas == 0 || v.Operators[0].Bytes() == 0 {
		t.Errorf("operators: %+v", v.Operators)
	}
	must(t, v.Fits(dir, options()))
	other := options()
	other.Pipeline = "other"
	if err := v.Fits(dir, other); failure.KindOf(err) != failure.State {
		t.Errorf("another pipeline: %v", err)
	}
}

// A store that is written as fast as possible is seen at one moment each time, and never as damaged.
func TestLookBesideAWriter(t *testing.T) {
	dir := scratch(t)
	b := openBolt(t, dir, options().Small(4))
	must(t, b.Save(numbered(0)))
	must(t, b.Confirm(0))
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := int64(1); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := b.Save(numbered(n)); err != nil {
				t.Error(err)
				return
			}
			if err := b.Confirm(n); err != nil {
				t.Error(err)
				return
			}
		}
	})
	last := int64(-1)
	for moved := 0; moved < 100; {
		v, err := state.Look(dir)
		if err != nil {
			t.Error(err)
			break
		}
		if v.Newest.Number < last {
			t.Errorf("it went back from checkpoint %d to %d", last, v.Newest.Number)
		}
		if v.Newest.Number > last {
			moved++
		}
		last = v.Newest.Number
	}
	close(stop)
	writer.Wait()
}

// A file of which a byte has changed is damaged or the same: nothing else is ever seen.
func TestLookAtDamage(t *testing.T) {
	dir := scratch(t)
	fill(t, dir, 9)
	path := filepath.Join(dir, "state.db")
	good, err := os.ReadFile(path)
	must(t, err)
	v, err := state.Look(dir)
	must(t, err)
	want := fmt.Sprintf("%+v %+v", v.Newest, v.Operators)
	refused := 0
	for at := 0; at < len(good); at += 97 {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		must(t, os.WriteFile(path, bad, 0o600))
		v, err := state.Look(dir)
		switch {
		case failure.KindOf(err) == failure.State && err != nil:
			refused++
			if !strings.Contains(err.Error(), "is damaged") {
				t.Fatalf("byte %d: %v", at, err)
			}
		case err != nil:
			t.Fatalf("byte %d: %v", at, err)
		case fmt.Sprintf("%+v %+v", v.Newest, v.Operators) != want && v.Newest.Number != 8: // its newer meta page was hit: the tx before stands
			t.Fatalf("byte %d: it sees %+v %+v", at, v.Newest, v.Operators)
		}
	}
	if refused == 0 {
		t.Error("no damage was found")
	}
	must(t, os.WriteFile(path, good[:len(good)/2], 0o600))
	if _, err := state.Look(dir); failure.KindOf(err) != failure.State {
		t.Errorf("half of the file: %v", err)
	}
}

// Whether somebody has the directory is seen without taking it.
func TestLookAt(t *testing.T) {
	dir := filepath.Join(scratch(t), "a", "b")
	p, err := state.LookAt(dir)
	if err != nil || p.Exists || p.Use != state.Free || p.Denied != nil || p.Free == 0 {
		t.Errorf("no directory: %+v, %v", p, err)
	}
	b := openBolt(t, dir, options())
	p, err = state.LookAt(dir)
	if err != nil || !p.Exists || p.Mode != 0o700 || p.User != os.Getpid() || p.Use == state.Free {
		t.Errorf("a directory in use: %+v, %v", p, err)
	}
	must(t, b.Close())
	if p, err = state.LookAt(dir); err != nil || p.Use == state.InUse {
		t.Errorf("a directory that was in use: %+v, %v", p, err)
	}
	file := filepath.Join(dir, "state.db")
	for _, wrong := range []string{file, filepath.Join(file, "below")} {
		if _, err = state.LookAt(wrong); failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), "--state wants the directory that the file is in") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
