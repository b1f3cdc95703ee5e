//go:build eo_failpoints

package failpoint

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Enabled says whether this build has crash points.
const Enabled = true

// plan is made once, before main, and only its counters change.
var plan = mustParse(os.Getenv(Env))

// armed is a point that kills, or stops, when remaining reaches zero.
type armed struct {
	point     Point
	pass      int64
	stops     bool
	remaining atomic.Int64
}

// Hit kills or stops the process if p is armed for this pass. SIGKILL cannot be caught: no deferred call runs and no buffer is
// flushed, as when the machine's operator or the kernel's out-of-memory killer ends it.
func Hit(p Point) {
	for _, a := range plan {
		if a.point == p && a.remaining.Add(-1) == 0 {
			if a.stops {
				halt(p)
				continue
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal may take a moment: nothing may happen behind the point
		}
	}
}

// halt stops the process, as a machine does that is suspended, and goes on when it is woken up. The line that it prints says that
// nothing behind the point has happened yet; a SIGCONT that comes before the SIGSTOP has taken effect counts too.
func halt(p Point) {
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	defer signal.Stop(woken)
	fmt.Fprintf(os.Stderr, "%s: stopped at %s\n", Env, p)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-woken
}

// Missed returns the armed points that were not passed often enough, as `point:n (passed m times)`.
func Missed() []string {
	var missed []string
	for _, a := range plan {
		if left := a.remaining.Load(); left > 0 {
			missed = append(missed, fmt.Sprintf("%s:%d (passed %d times)", a.point, a.pass, a.pass-left))
		}
	}
	return missed
}

func mustParse(text string) []*armed {
	plan, err := parse(text)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Env, err)
		os.Exit(2) // failure.Usage
	}
	return plan
}

func parse(text string) ([]*armed, error) {
	if text == "" {
		return nil, nil
	}
	var plan []*armed
	for part := range strings.SplitSeq(text, ",") {
		name, rest, _ := strings.Cut(strings.TrimSpace(part), ":")
		count, action, acts := strings.Cut(rest, ":")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 1 || acts && action != "stop" {
			return nil, fmt.Errorf("%q: want point:n or point:n:stop, where n counts passes from 1", part)
		}
		if !slices.Contains(All(), Point(name)) {
			return nil, fmt.Errorf("there is no point %q; points are\n%s", name, list())
		}
		a := &armed{point: Point(name), pass: n, stops: acts}
		a.remaining.Store(n)
		plan = append(plan, a)
	}
	return plan, nil
}

func list() string {
	var b strings.Builder
	for _, p := range All() {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	return b.String()
}
