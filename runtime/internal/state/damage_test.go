package state_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

// scratch is a directory on a fast file system.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(fastDir(), "state")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// fill makes a store with segments, deltas, values of several pages, and an unconfirmed checkpoint. Each
// checkpoint's contents follow from its number.
func fill(t testing.TB, dir string, to int64) {
	t.Helper()
	b := openBolt(t, dir, options().Small(4))
	for n := range to + 1 {
		must(t, b.Save(numbered(n)))
		if n < to {
			must(t, b.Confirm(n))
		}
		if n == to/2 {
			b.AwaitFold() // so that there are segments, whatever Close cuts short
		}
	}
	must(t, b.Close())
}

func numbered(n int64) *checkpoint.Checkpoint {
	var deltas []checkpoint.Delta
	for group := range 3 {
		var text []byte
		for k := range 40 {
			text = fmt.Appendf(text, "%d k%d v%d %s\n", n/4+1, (int(n)*7+k)%90, n, strings.Repeat("x", 30))
		}
		if n > 0 {
			deltas = append(deltas, delta(group*50, string(text)))
		}
	}
	return made(n, n/4, deltas...)
}

// picture is all that a store says about itself, as text.
func picture(t testing.TB, b *state.Bolt) string {
	t.Helper()
	newest, before, confirmed, err := b.Load()
	must(t, err)
	return fmt.Sprintf("%+v %+v %v %v", newest, before, confirmed, contents(t, b))
}

// open opens a file image and returns its picture; err is what the opening or restoring says.
func openImage(t testing.TB, image []byte) (string, error) {
	t.Helper()
	dir, err := os.MkdirTemp(fastDir(), "state")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.WriteFile(filepath.Join(dir, "state.db"), image, 0o600))
	b, err := state.OpenBolt(dir, options().Small(100))
	if err != nil {
		return "", err
	}
	defer b.Close()
	if err := b.Restore(context.Background(), func(checkpoint.Delta) error { return nil }); err != nil {
		return "", err
	}
	return picture(t, b), nil
}

// image reads the file of a closed store.
func image(t testing.TB, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "state.db"))
	must(t, err)
	return data
}

// TestPowerLoss makes every file that a loss of power can leave behind while a checkpoint is saved, confirmed or dropped: the pages of the bbolt tx
// written in part, its meta page written or not, or torn. bbolt syncs between pages and meta page.
func TestPowerLoss(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for name, change := range map[string]func(*state.Bolt) error{
		"save":    func(b *state.Bolt) error { return b.Save(numbered(11)) },
		"confirm": func(b *state.Bolt) error { return b.Confirm(10) },
		"drop":    func(b *state.Bolt) error { return b.Drop(10) },
		"adopt":   func(b *state.Bolt) error { return b.Adopt([]string{"q-0", "q-1"}) },
		"fresh":   func(b *state.Bolt) error { return b.Save(made(0, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := scratch(t)
			fill(t, dir, 10)
			b := openBolt(t, dir, options().Small(100))
			if name == "save" {
				must(t, b.Confirm(10))
			}
			before, old := image(t, dir), picture(t, b)
			must(t, change(b))
			after, now := image(t, dir), picture(t, b)
			must(t, b.Close())
			pages, meta := changedPages(before, after)
			if len(pages) == 0 || len(meta) != 1 {
				t.Fatalf("pages %v and meta pages %v were written", pages, meta)
			}
			for i := range 40 { // prefixes, as the pages are written in order, then any subsets, as the disk may write them
				img := append(append([]byte{}, before...), make([]byte, len(after)-len(before))...)
				for j, p := range pages {
					if i < len(pages) && j < i || i >= len(pages) && rnd.IntN(2) == 0 {
						copyPage(img, after, p)
					}
				}
				wantPicture(t, img, old, "meta page not written")
				copy(img[meta[0]*pageSize:], after[meta[0]*pageSize:meta[0]*pageSize+16+int64(rnd.IntN(60))])
				wantPicture(t, img, old, "meta page torn")
			}
			wantPicture(t, after, now, "everything written")
			for _, p := range pages { // a disk that lies about having synced
				img := append([]byte{}, after...)
				if p*pageSize < int64(len(before)) {
					copyPage(img, before, p)
				} else {
					clear(img[p*pageSize : (p+1)*pageSize])
				}
				got, err := openImage(t, img)
				if err == nil && got != now {
					t.Fatalf("page %d is missing and nobody notices\n got %s\nwant %s", p, got, now)
				}
				if err != nil {
					wantKind(t, err, failure.State, "damaged", "--fresh")
				}
			}
		})
	}
}

var pageSize = int64(os.Getpagesize())

func copyPage(to, from []byte, p int64) {
	copy(to[p*pageSize:(p+1)*pageSize], from[p*pageSize:])
}

func changedPages(before, after []byte) (pages, meta []int64) {
	for p := int64(0); p*pageSize < int64(len(after)); p++ {
		page := after[p*pageSize : min((p+1)*pageSize, int64(len(after)))]
		if end := (p + 1) * pageSize; end <= int64(len(before)) && string(before[p*pageSize:end]) == string(page) {
			continue
		}
		if p < 2 {
			meta = append(meta, p)
		} else if strings.Trim(string(page), "\x00") != "" {
			pages = append(pages, p)
		}
	}
	return pages, meta
}

func wantPicture(t *testing.T, img []byte, want, why string) {
	t.Helper()
	got, err := openImage(t, img)
	if err != nil {
		t.Fatalf("%s: %v", why, err)
	}
	if got != want {
		t.Fatalf("%s\n got %s\nwant %s", why, got, want)
	}
}

// TestFlippedBits flips bits everywhere: what is opened and restored without an error is what was stored.
func TestFlippedBits(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	dir := scratch(t)
	fill(t, dir, 10)
	whole := image(t, dir)
	want, err := openImage(t, whole)
	must(t, err)
	noticed := 0
	for p := int64(0); p*pageSize < int64(len(whole)); p++ {
		used := int64(len(strings.TrimRight(string(whole[p*pageSize:(p+1)*pageSize]), "\x00")))
		if used == 0 {
			continue
		}
		for i := range 24 {
			at := int64(i) // headers and the first elements byte by byte, the rest at random
			if i >= 20 {
				at = rnd.Int64N(used)
			}
			img := append([]byte{}, whole...)
			img[p*pageSize+at] ^= 1 << rnd.IntN(8)
			got, err := openImage(t, img)
			switch {
			case err != nil:
				noticed++
				wantKind(t, err, failure.State, "damaged")
			case got != want && !sameButOlder(img, got):
				t.Fatalf("page %d, byte %d: nobody notices\n got %s\nwant %s", p, at, got, want)
			}
		}
	}
	if noticed < 100 {
		t.Errorf("only %d flipped bits were noticed", noticed)
	}
}

// sameButOlder says that a damaged newest meta page made the file what it was before the last tx. It is what
// bbolt does by design after a torn write, and a state of the protocol: the marker decides.
func sameButOlder(img []byte, got string) bool {
	valid := 0
	for p := range int64(2) {
		m := img[p*pageSize+16:]
		if binary.NativeEndian.Uint32(m) == 0xED0CDAED && fnv64a(m[:56]) == binary.NativeEndian.Uint64(m[56:]) {
			valid++
		}
	}
	return valid == 1 && strings.Contains(got, "Number:9 ")
}

func fnv64a(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

func TestTruncated(t *testing.T) {
	dir := scratch(t)
	fill(t, dir, 10)
	whole := image(t, dir)
	want, err := openImage(t, whole)
	must(t, err)
	for size := 0; size < len(whole); size += int(pageSize) / 2 {
		got, err := openImage(t, whole[:size])
		if err == nil {
			if got != want { // bbolt lets a file grow ahead of its use
				t.Fatalf("cut to %d bytes: nobody notices", size)
			}
			continue
		}
		wantKind(t, err, failure.State, "damaged", "--fresh")
	}
	_, err = openImage(t, []byte("this is not a database, but a text that is long enough to be one"))
	wantKind(t, err, failure.State, "damaged")
}

// TestFreshKeepsDamaged: --fresh begins anew and keeps the damaged file.
func TestFreshKeepsDamaged(t *testing.T) {
	dir := scratch(t)
	must(t, os.WriteFile(filepath.Join(dir, "state.db"), []byte("junk"), 0o600))
	opt := options()
	opt.Fresh = true
	b := openBolt(t, dir, opt)
	if newest, _, _, err := b.Load(); newest != nil || err != nil {
		t.Errorf("loaded %v, %v", newest, err)
	}
	must(t, b.Save(made(0, 0)))
	must(t, b.Close())
	kept, err := filepath.Glob(filepath.Join(dir, "state.db.damaged-*"))
	must(t, err)
	if len(kept) != 1 {
		t.Errorf("kept %v", kept)
	}
}
