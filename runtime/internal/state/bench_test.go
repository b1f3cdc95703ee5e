package state_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/skip"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// dealt is n entries of 64 bytes, dealt into all key groups.
func dealt(n int, seed uint64) []checkpoint.Delta {
	deltas := make([]checkpoint.Delta, checkpoint.Groups)
	for g := range deltas {
		data := make([]byte, 0, n/checkpoint.Groups*64)
		for range n / checkpoint.Groups {
			var entry [64]byte
			seed = seed*6364136223846793005 + 1442695040888963407
			binary.LittleEndian.PutUint64(entry[:], seed)
			data = append(data, entry[:]...)
		}
		deltas[g] = checkpoint.Delta{Operator: "totals/window", Group: g, Data: data}
	}
	return deltas
}

func concat(_ string, _ int, deltas [][]byte, _ int64) ([]byte, error) {
	var b []byte
	for _, d := range deltas {
		b = append(b, d...)
	}
	return b, nil
}

// benchStore is a store on the disk of the temporary directory, where syncing costs what it costs.
func benchStore(b *testing.B, merge checkpoint.Merge) *state.Bolt {
	b.Helper()
	dir, err := os.MkdirTemp("", "state")
	must(b, err)
	opt := options()
	opt.Merge = merge
	s := openBolt(b, dir, opt)
	b.Cleanup(func() { s.Close(); os.RemoveAll(dir) })
	must(b, s.Save(made(0, 0)))
	must(b, s.Confirm(0))
	return s
}

// BenchmarkSave: a checkpoint of 100,000 changed entries of 64 bytes, stored and confirmed.
func BenchmarkSave(b *testing.B) {
	s := benchStore(b, func(string, int, [][]byte, int64) ([]byte, error) { return nil, nil })
	deltas := dealt(100_000, 1)
	b.SetBytes(100_000 / checkpoint.Groups * checkpoint.Groups * 64)
	n := int64(0)
	for b.Loop() {
		n++
		must(b, s.Save(made(n, 0, deltas...)))
		must(b, s.Confirm(n))
	}
}

// BenchmarkSaveSmall: a checkpoint of 1,000 entries, where two syncs are most of it.
func BenchmarkSaveSmall(b *testing.B) {
	s := benchStore(b, func(string, int, [][]byte, int64) ([]byte, error) { return nil, nil })
	deltas := dealt(1000, 1)
	n := int64(0)
	for b.Loop() {
		n++
		must(b, s.Save(made(n, 0, deltas...)))
		must(b, s.Confirm(n))
	}
}

// BenchmarkRestore: the state of a million keys of 64 bytes, half of it folded, half in 40 deltas.
func BenchmarkRestore(b *testing.B) {
	s := benchStore(b, concat)
	n := int64(0)
	for range 80 {
		n++
		must(b, s.Save(made(n, 0, dealt(12_800, uint64(n))...)))
		must(b, s.Confirm(n))
	}
	b.SetBytes(80 * 12_800 * 64)
	for b.Loop() {
		must(b, s.Restore(context.Background(), func(checkpoint.Delta) error { return nil }))
	}
}

// BenchmarkOpen: what a start pays for looking at each page of such a file.
func BenchmarkOpen(b *testing.B) {
	dir, err := os.MkdirTemp("", "state")
	must(b, err)
	defer os.RemoveAll(dir)
	opt := options()
	opt.Merge = concat
	s := openBolt(b, dir, opt)
	for n := range int64(81) {
		must(b, s.Save(made(n, 0, dealt(12_800, uint64(n))...)))
		must(b, s.Confirm(n))
	}
	must(b, s.Close())
	for b.Loop() {
		must(b, openBolt(b, dir, opt).Close())
	}
}

// TestWrittenOnce: a checkpoint writes its own bytes and little else, whatever the file holds.
func TestWrittenOnce(t *testing.T) {
	written := func() (n int64) {
		text, err := os.ReadFile("/proc/self/io")
		if err != nil {
			skip.Loudly(t, "the system does not count what a process writes")
		}
		for line := range strings.Lines(string(text)) {
			if _, err := fmt.Sscanf(line, "wchar: %d", &n); err == nil {
				return n
			}
		}
		t.Fatalf("no wchar in %s", text)
		return 0
	}
	opt := options()
	opt.Merge = nil // nothing is folded in between
	b := openBolt(t, scratch(t), opt)
	defer b.Close()
	must(t, b.Save(made(0, 0)))
	must(t, b.Confirm(0))
	deltas := dealt(12_800, 1)
	const size = 12_800 * 64
	for n := int64(1); n <= 10; n++ {
		before := written()
		must(t, b.Save(made(n, 0, deltas...)))
		must(t, b.Confirm(n))
		if got := written() - before; got < size || got > size*5/4 {
			t.Errorf("checkpoint %d of %d bytes has written %d", n, size, got)
		}
	}
}
