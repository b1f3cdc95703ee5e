//go:build unix

package state_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/internal/faultdisk"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %v, want %v", path, got, want)
	}
}

// TestPrivate: nobody else may read what a state holds, whatever the directory was before.
func TestPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	must(t, os.MkdirAll(dir, 0o755))
	fill(t, dir, 10)
	for _, name := range []string{"state.db", "lock"} {
		wantMode(t, filepath.Join(dir, name), 0o600)
	}
	wantMode(t, dir, 0o755)                                  // what somebody has made is not ours to close: it may be /
	must(t, os.Chmod(filepath.Join(dir, "state.db"), 0o644)) // as a copy has it
	b := openBolt(t, dir, options())
	defer b.Close()
	wantMode(t, filepath.Join(dir, "state.db"), 0o600)
	for mode, want := range map[fs.FileMode]fs.FileMode{0o755: 5, 0o770: 0, 0o700: 0, 0o777: 7} {
		must(t, os.Chmod(dir, mode))
		if got, err := b.Exposed(); err != nil || got != want {
			t.Errorf("a directory of mode %v is exposed by %v, %v; want %v", mode, got, err, want)
		}
	}
}

// TestPrivateDamaged: a file that --fresh has put aside is as private as it was.
func TestPrivateDamaged(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "state.db"), []byte("junk"), 0o644))
	opt := options()
	opt.Fresh = true
	must(t, openBolt(t, dir, opt).Close())
	kept, err := filepath.Glob(filepath.Join(dir, "state.db.damaged-*"))
	must(t, err)
	if len(kept) != 1 {
		t.Fatalf("kept %v", kept)
	}
	wantMode(t, kept[0], 0o600)
	wantMode(t, filepath.Join(dir, "state.db"), 0o600)
}

// TestNotOwn: a directory that holds other things and no state was named by mistake. Nothing in it is touched.
func TestNotOwn(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		must(t, os.WriteFile(filepath.Join(home, name), nil, 0o644))
	}
	for _, dir := range []string{"/", home} {
		before, err := os.ReadDir(dir)
		must(t, err)
		info, err := os.Stat(dir)
		must(t, err)
		_, err = state.OpenBolt(dir, options())
		wantKind(t, err, failure.Usage, "directory "+dir+" holds other things (", ", …)", "with --state name one that is empty", filepath.Join(dir, "state"))
		place, lookErr := state.LookAt(dir)
		must(t, lookErr)
		if place.Denied == nil || failure.KindOf(place.Denied) != failure.Usage {
			t.Errorf("who looks at %s is told %v", dir, place.Denied)
		}
		after, err := os.ReadDir(dir)
		must(t, err)
		if len(after) != len(before) {
			t.Errorf("%s held %d entries, now %d", dir, len(before), len(after))
		}
		wantMode(t, dir, info.Mode().Perm())
	}
	for _, name := range []string{"lost+found", ".snapshot", "lock", "state.db.new", "state.db.damaged-20260131T000000.000000Z"} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
		must(t, openBolt(t, dir, options()).Close())
	}
	must(t, os.Rename(filepath.Join(home, "a"), filepath.Join(home, "README"))) // beside a state other things may lie
	fill(t, filepath.Join(home, "state"), 1)
	must(t, os.WriteFile(filepath.Join(home, "state", "README"), nil, 0o644))
	must(t, openBolt(t, filepath.Join(home, "state"), options()).Close())
}

// TestLinks: the directory may be a link, and is the same one then; what lies in it may not.
func TestLinks(t *testing.T) {
	top := t.TempDir()
	dir, link, victim := filepath.Join(top, "state"), filepath.Join(top, "link"), filepath.Join(top, "victim")
	must(t, os.Symlink(dir, link))
	_, err := state.OpenBolt(link, options())
	wantKind(t, err, failure.Usage, link, "--state wants a directory") // it leads nowhere
	fill(t, dir, 3)
	b := openBolt(t, link, options())
	_, err = state.OpenBolt(dir, options())
	wantKind(t, err, failure.Fenced, "is in use")
	must(t, b.Close())

	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	for _, name := range []string{"lock", "state.db"} {
		path := filepath.Join(dir, name)
		must(t, os.Rename(path, path+".kept"))
		must(t, os.Symlink(victim, path))
		_, err := state.OpenBolt(dir, options())
		wantKind(t, err, failure.Disk, path, "link")
		if name == "state.db" {
			_, err := state.Look(dir)
			wantKind(t, err, failure.Disk, path, "is no regular file but a symbolic link")
		}
		must(t, os.Rename(path+".kept", path))
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("what a link leads to is %q now, %v", text, err)
	}
	must(t, openBolt(t, dir, options()).Close())
}

// TestReadOnly: where nothing can be written, the start says so, and not that the state is damaged or empty.
func TestReadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	fill(t, dir, 3)
	must(t, os.Chmod(dir, 0o500))
	must(t, os.Chmod(filepath.Join(dir, "state.db"), 0o400))
	must(t, os.Chmod(filepath.Join(dir, "lock"), 0o400))
	defer os.Chmod(dir, 0o700)
	if f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0); !errors.Is(err, fs.ErrPermission) {
		f.Close()
		t.Log("this user may write everywhere: only the file system is tried")
	} else {
		_, err := state.OpenBolt(dir, options())
		wantKind(t, err, failure.Disk, dir, "needs the right to read and write there")
	}
	small := faultdisk.Tmpfs(t, "size=4m")
	fill(t, small, 3)
	faultdisk.ReadOnly(t, small)
	_, err := state.OpenBolt(small, options())
	wantKind(t, err, failure.Disk, small, "needs the right to read and write there")
	_, err = state.OpenBolt(filepath.Join(small, "new"), options())
	wantKind(t, err, failure.Disk, small, "needs the right to read and write there")
	for _, dir := range []string{small, filepath.Join(small, "new")} {
		place, err := state.LookAt(dir)
		must(t, err)
		wantKind(t, place.Denied, failure.Disk, small, "needs the right to read and write there")
	}
}

// TestDiskFillsUp fills a file system under a store. The checkpoint that finds no space fails, and nothing before it is lost; when
// there is space again, a start goes on from there.
func TestDiskFillsUp(t *testing.T) {
	dir := faultdisk.Tmpfs(t, "size=3m")
	opt := options().Small(3)
	opt.Merge = nil // so that every checkpoint takes space
	b := openBolt(t, dir, opt)
	n := int64(0)
	save := func() error {
		if err := b.Save(numbered(n)); err != nil {
			return err
		}
		if err := b.Confirm(n); err != nil {
			return err
		}
		n++
		return nil
	}
	for n < 20 {
		must(t, save())
	}
	ballast := filepath.Join(dir, ".ballast")
	must(t, os.WriteFile(ballast, make([]byte, 1<<20), 0o600))
	f, err := os.OpenFile(ballast, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	must(t, f.Close())
	err = nil
	for err == nil && n < 5000 {
		err = save()
	}
	wantKind(t, err, failure.Disk, "no space left on device", "nothing is lost: free space")
	again := save()
	wantKind(t, again, failure.Disk, "no space left on device")
	_ = b.Close() // says what has failed
	_, err = state.OpenBolt(filepath.Join(dir, "another"), opt)
	if err == nil || failure.KindOf(err) != failure.Disk || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("a first start on a full disk: %v", err)
	}

	must(t, os.Remove(ballast))
	b = openBolt(t, dir, opt)
	defer b.Close()
	newest, _, confirmed, err := b.Load()
	must(t, err)
	if newest.Number < n-1 || newest.Number > n {
		t.Fatalf("checkpoint %d is there, %d was the last one confirmed", newest.Number, n-1)
	}
	wantContents(t, b, newest.Number)
	if !confirmed {
		must(t, b.Confirm(newest.Number))
	}
	for n = newest.Number + 1; n < newest.Number+20; {
		must(t, save())
	}
	wantContents(t, b, n-1)
}
