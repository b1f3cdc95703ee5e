package state_test

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"github.com/eoc-lang/eoc/internal/race"
	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// An entry of TestMillionKeys is a window, a key and a value.
const (
	entryBytes = 64
	entryKey   = 16 // of it are window and key
)

func window(entry []byte) int64 { return int64(binary.BigEndian.Uint64(entry)) }
func value(entry []byte) int64  { return int64(binary.BigEndian.Uint64(entry[entryKey:])) }

// mergeEntries is the Merge of such entries: of a window and key the last one holds, and windows before w are closed.
func mergeEntries(_ string, _ int, deltas [][]byte, w int64) ([]byte, error) {
	var out []byte
	at := map[[entryKey]byte]int{}
	for _, d := range deltas {
		for ; len(d) > 0; d = d[entryBytes:] {
			entry := d[:entryBytes]
			if window(entry) < w {
				continue
			}
			i, known := at[[entryKey]byte(entry)]
			if !known {
				i = len(out)
				at[[entryKey]byte(entry)], out = i, append(out, entry...)
			}
			copy(out[i:], entry)
		}
	}
	return out, nil
}

// entries are those of all keys of a window from one number to before another, dealt into all key groups.
func entries(window int64, from, to uint64, value int64) []checkpoint.Delta {
	deltas := make([]checkpoint.Delta, checkpoint.Groups)
	for g := range deltas {
		deltas[g] = checkpoint.Delta{Operator: "totals/window", Group: g}
	}
	for key := from; key < to; key++ {
		var entry [entryBytes]byte
		binary.BigEndian.PutUint64(entry[:], uint64(window))
		binary.BigEndian.PutUint64(entry[8:], key)
		binary.BigEndian.PutUint64(entry[entryKey:], uint64(value))
		d := &deltas[key%checkpoint.Groups]
		d.Data = append(d.Data, entry[:]...)
	}
	return deltas
}

// TestMillionKeys: a million keys come in a hundred windows, ten thousand in each, and each is written twice. Two windows are open at a time, and the file
// stays as large as they made it. What is there at the end is what is open.
func TestMillionKeys(t *testing.T) {
	windows := int64(100)
	if race.Enabled {
		windows = 20
	}
	const keys, parts = 10_000, 10 // keys of a window, and checkpoints in which they come
	opt := options()
	opt.Merge = mergeEntries
	b := openBolt(t, scratch(t), opt)
	defer b.Close()
	must(t, b.Save(made(0, 0)))
	must(t, b.Confirm(0))
	n, early, most := int64(0), int64(0), int64(0)
	last := map[[entryKey]byte]int64{} // what was written last, of the windows that are open at the end
	for w := range windows {
		for part := range uint64(2 * parts) { // all keys once, then all once more
			n++
			from := part % parts * keys / parts
			deltas := entries(w, from, from+keys/parts, n)
			if w >= windows-2 {
				for _, d := range deltas {
					for e := d.Data; len(e) > 0; e = e[entryBytes:] {
						last[[entryKey]byte(e)] = value(e)
					}
				}
			}
			must(t, b.Save(made(n, w-1, deltas...)))
			must(t, b.Confirm(n))
			b.AwaitFold() // how far it lags behind is the scheduler's business
		}
		size, err := b.Size()
		must(t, err)
		if most = max(most, size); w == windows/10 {
			early = most
		}
	}
	written := windows * 2 * keys * entryBytes
	t.Logf("%d MiB were written; the file had %d KiB after a tenth of the windows, and %d KiB at most", written>>20, early>>10, most>>10)
	if most > early*5/4 {
		t.Errorf("the file had %d bytes after a tenth of the windows, and grew to %d", early, most)
	}
	var mu sync.Mutex
	held := map[int][][]byte{} // by key group
	must(t, b.Restore(context.Background(), func(d checkpoint.Delta) error {
		mu.Lock()
		defer mu.Unlock()
		held[d.Group] = append(held[d.Group], slices.Clone(d.Data))
		return nil
	}))
	open := 0
	for group, deltas := range held {
		merged, err := mergeEntries("", group, deltas, windows-2)
		must(t, err)
		for e := merged; len(e) > 0; e = e[entryBytes:] {
			if want, there := last[[entryKey]byte(e)]; !there || value(e) != want {
				t.Fatalf("window %d, key %d: %d is restored, want %d", window(e), binary.BigEndian.Uint64(e[8:]), value(e), want)
			}
			open++
		}
	}
	if open != 2*keys {
		t.Errorf("%d keys of open windows are restored, want %d", open, 2*keys)
	}
}
