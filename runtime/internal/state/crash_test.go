//go:build unix

package state_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

const childEnv = "STATE_TEST_CHILD"

// TestMain is also the process that the tests below kill, or put short of space.
func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "forever":
		child(func(b *state.Bolt, n int64) error {
			fmt.Println("saving", n)
			if err := b.Save(numbered(n)); err != nil {
				return err
			}
			fmt.Println("saved", n)
			if err := b.Confirm(n); err != nil {
				return err
			}
			fmt.Println("confirmed", n)
			return nil
		})
	case "full":
		signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit fails with EFBIG, as one on a full disk does with ENOSPC
		limit := unix.Rlimit{Cur: 200 << 10, Max: 200 << 10}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		child(func(b *state.Bolt, n int64) error {
			if err := b.Save(numbered(n)); err != nil {
				if again := b.Confirm(n - 1); n > 0 && again != nil {
					return fmt.Errorf("what is confirmed: %w", again)
				}
				if again := b.Save(numbered(n)); again == nil {
					return errors.New("a store whose write has failed goes on")
				}
				return err
			}
			fmt.Println("saved", n)
			if err := b.Confirm(n); err != nil {
				return err
			}
			fmt.Println("confirmed", n)
			return nil
		})
	}
}

// child opens the store in the directory of the environment and makes checkpoint after checkpoint. It exits with the kind of the failure.
func child(next func(b *state.Bolt, n int64) error) {
	b, err := state.OpenBolt(os.Getenv("STATE_TEST_DIR"), options().Small(3))
	if err == nil {
		newest, _, confirmed, _ := b.Load()
		n := int64(0)
		if newest != nil {
			if n = newest.Number + 1; !confirmed {
				err = b.Confirm(n - 1)
			}
		}
		for ; err == nil; n++ {
			err = next(b, n)
		}
	}
	fmt.Println(err)
	os.Exit(int(failure.KindOf(err)))
}

func startChild(t *testing.T, mode, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+mode, "STATE_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// TestKill kills a process that makes checkpoints and folds, again and again, and looks at what it left.
func TestKill(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	dir := scratch(t)
	for range 15 {
		cmd, lines := startChild(t, "forever", dir)
		said := map[string]int64{"saving": -1, "saved": -1, "confirmed": -1}
		for range 5 + rnd.IntN(40) {
			if !lines.Scan() {
				t.Fatalf("the child ended by itself: %v", said)
			}
			verb, n, _ := strings.Cut(lines.Text(), " ")
			number, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				t.Fatalf("the child says %q", lines.Text())
			}
			said[verb] = number
		}
		must(t, cmd.Process.Kill())
		for lines.Scan() { // what it said until it died
			verb, n, _ := strings.Cut(lines.Text(), " ")
			if number, err := strconv.ParseInt(n, 10, 64); err == nil {
				said[verb] = number
			}
		}
		_ = cmd.Wait()
		wantSaid(t, dir, said)
	}
}

// wantSaid compares a store with what its process said before it was killed.
func wantSaid(t *testing.T, dir string, said map[string]int64) {
	t.Helper()
	b := openBolt(t, dir, options().Small(3))
	defer b.Close()
	newest, before, confirmed, err := b.Load()
	must(t, err)
	if newest == nil {
		t.Fatalf("there is nothing after %v", said)
	}
	last := newest.Number
	if !confirmed {
		last--
		if before != nil && before.Number != last {
			t.Fatalf("checkpoint %d is kept below %d", before.Number, newest.Number)
		}
	}
	if newest.Number < said["saved"] || newest.Number > said["saving"] || last < said["confirmed"] {
		t.Fatalf("checkpoint %d, confirmed %d, after %v", newest.Number, last, said)
	}
	wantContents(t, b, newest.Number)
}

// wantContents compares what a store restores with what checkpoints up to n of numbered hold.
func wantContents(t *testing.T, b *state.Bolt, n int64) {
	t.Helper()
	want := map[string]map[string]string{}
	w := int64(0)
	for i := range n + 1 {
		c := numbered(i)
		w = c.Watermarks[0].W
		for _, d := range c.Deltas {
			id := fmt.Sprintf("%s/%d", d.Operator, d.Group)
			if want[id] == nil {
				want[id] = map[string]string{}
			}
			must(t, addLines(want[id], d.Data))
		}
	}
	for id := range want {
		want[id] = open(want[id], w)
	}
	if got := contents(t, b); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("checkpoint %d\n got %v\nwant %v", n, got, want)
	}
}

// TestDiskFull: a write that fails is failure.Disk, and a later start goes on from what was stored before.
func TestDiskFull(t *testing.T) {
	dir := scratch(t)
	cmd, lines := startChild(t, "full", dir)
	did, said := map[string]int64{}, ""
	for lines.Scan() {
		said = lines.Text()
		if what, number, ok := strings.Cut(said, " "); ok && (what == "saved" || what == "confirmed") {
			n, err := strconv.ParseInt(number, 10, 64)
			must(t, err)
			did[what] = n
		}
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != int(failure.Disk) {
		t.Fatalf("the child ended with %v and says %q", err, said)
	}
	for _, part := range []string{"cannot ", "too large", "free space"} { // the checkpoint or the fold beside it
		if !strings.Contains(said, part) {
			t.Errorf("%q is missing in %q", part, said)
		}
	}
	n := did["saved"]
	if n < 1 {
		t.Fatalf("the child stored %v before the disk was full", did)
	}
	b := openBolt(t, dir, options().Small(3))
	defer b.Close()
	newest, _, confirmed, err := b.Load()
	must(t, err)
	if newest.Number != n || !confirmed && did["confirmed"] == n {
		t.Fatalf("the newest checkpoint is %d (confirmed: %v), the child had %v", newest.Number, confirmed, did)
	}
	wantContents(t, b, n)
	if !confirmed { // that was what failed
		must(t, b.Confirm(n))
	}
	must(t, b.Save(numbered(n+1)))
}

// TestUnreadable: a directory that cannot be used is a failure, not an empty state.
func TestUnreadable(t *testing.T) {
	dir := scratch(t)
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	_, err := state.OpenBolt(filepath.Join(file, "state"), options())
	wantKind(t, err, failure.Usage, "there cannot be a state directory", file+" is a file")
	must(t, os.Mkdir(filepath.Join(dir, "state.db"), 0o700))
	_, err = state.OpenBolt(dir, options())
	wantKind(t, err, failure.Disk, "state.db")
}

func TestRestoreEnds(t *testing.T) {
	dir := scratch(t)
	fill(t, dir, 10)
	b := openBolt(t, dir, options())
	defer b.Close()
	stop := errors.New("stop")
	if err := b.Restore(context.Background(), func(checkpoint.Delta) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the error of yield", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	if err := b.Restore(ctx, func(checkpoint.Delta) error { return nil }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the cause of the cancelled context", err)
	}
}

// TestBounded: many windows come and go, and the file stays about as large as what is open needs. It is compared with a file in which nothing is folded.
func TestBounded(t *testing.T) {
	const checkpoints = 2000
	size := func(merge checkpoint.Merge) int64 {
		dir := scratch(t)
		opt := options().Small(8)
		opt.Merge = merge
		b := openBolt(t, dir, opt)
		defer b.Close()
		for n := range int64(checkpoints) {
			must(t, b.Save(numbered(n)))
			must(t, b.Confirm(n))
			if n%16 == 0 {
				b.AwaitFold() // how far it lags behind is the scheduler's business
			}
		}
		if merge != nil {
			wantContents(t, b, checkpoints-1)
		}
		info, err := os.Stat(filepath.Join(dir, "state.db"))
		must(t, err)
		return info.Size()
	}
	folded, unfolded := size(mergeLines), size(nil)
	t.Logf("%d bytes, %d without folding", folded, unfolded)
	if folded > unfolded/3 {
		t.Errorf("the file has %d bytes, and %d without folding", folded, unfolded)
	}
}

// TestCompact: a file that was large gives its space back at the next start.
func TestCompact(t *testing.T) {
	dir := scratch(t)
	opt := options().Small(4)
	b := openBolt(t, dir, opt)
	must(t, b.Save(made(0, 0)))
	must(t, b.Confirm(0))
	const windows = 40
	for n := int64(1); n <= windows; n++ { // all open at first, closed at last
		w := int64(0)
		if n > windows-12 {
			w = windows + 1
		}
		must(t, b.Save(made(n, w, delta(int(n)%128, fmt.Sprintf("%d k %s\n", n, strings.Repeat("x", 20_000))))))
		must(t, b.Confirm(n))
	}
	must(t, b.Save(made(windows+1, windows+1, delta(7, "99 k last\n"))))
	must(t, b.Close())
	large := int64(len(image(t, dir)))

	for range 20 { // until the folds have dropped what is closed, and a start finds the file nearly empty
		b = openBolt(t, dir, opt)
		newest, _, confirmed, err := b.Load()
		must(t, err)
		if newest.Number > windows && !confirmed {
			must(t, b.Confirm(newest.Number))
		}
		for n := newest.Number + 1; n <= newest.Number+4; n++ { // so many that a fold is due, whatever is left to it
			must(t, b.Save(made(n, windows+1)))
			must(t, b.Confirm(n))
		}
		b.AwaitFold()
		want := map[string]map[string]string{"totals/window/7": {"99 k": "last"}}
		if got := contents(t, b); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("restored %v, want %v", got, want)
		}
		must(t, b.Close())
		if size := int64(len(image(t, dir))); size < large/4 {
			return
		}
	}
	t.Errorf("the file keeps %d bytes, it had %d", len(image(t, dir)), large)
}
