package doctor

import (
	"runtime"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/inspect"
	"github.com/eoc-lang/eoc/runtime/internal/state"
)

const (
	// leastRoom is the room that a state directory needs beside what is in use: a start copies a file that has grown, and checkpoints
	// come before what they replace is free.
	leastRoom = 64 << 20
	roomShare = 2 // times of what is in use
)

// directory checks the state directory and what it holds.
func (x *exam) directory() {
	if x.Spec.Memory {
		x.stored = true
		x.warn("state-directory", "", "say `store bolt(\"DIR\")` in the job, unless the output may be made anew",
			"state is kept in memory: it is lost at exit, and the next start reads once more from where the sources start, beside the output that is there")
		x.ok("state", "", "none is kept")
		x.ok("disk", "", "none is used")
		return
	}
	dir := x.Settings.StateDir
	place, err := state.LookAt(dir)
	if err != nil {
		x.fail("state-directory", "", err)
		x.unknown("state", "", "the directory cannot be looked at")
		x.unknown("disk", "", "the directory cannot be looked at")
		return
	}
	x.place = &place
	x.judgePlace()
	x.contents()
	x.room()
}

func (x *exam) judgePlace() {
	p := x.place
	const name = "state-directory"
	switch {
	case p.Denied != nil:
		x.fail(name, "", p.Denied)
	case !p.Exists:
		x.ok(name, "", "%s does not exist; the first start makes it", state.Where(p.Dir))
	case p.Use == state.InUse:
		x.ok(name, "", "%s is in use by process %d: the pipeline runs, and a second start would be refused", p.Dir, p.User)
	case p.Mode&0o077 != 0 && runtime.GOOS != "windows": // where every folder has the same mode
		x.warn(name, "", "chmod 700 "+p.Dir, "%s may be read by others (%v)", p.Dir, p.Mode)
	case p.Use == state.UseUnknown && p.User != 0:
		x.ok(name, "", "%s is writable; whether process %d, which had it last, still runs is not known", p.Dir, p.User)
	default:
		x.ok(name, "", "%s is writable and nobody uses it, as far as can be seen from here", p.Dir)
	}
}

// contents checks what is stored, as the start does.
func (x *exam) contents() {
	const name = "state"
	view, err := state.Look(x.place.Dir)
	if failure.KindOf(err) == failure.State && err != nil && x.Settings.Fresh {
		x.stored, x.damaged = true, true
		x.fail(name, "", err)
		x.soften("--fresh begins anew and keeps the damaged file under another name")
		return
	}
	if err != nil {
		x.unfit = true
		x.fail(name, "", err)
		return
	}
	x.view, x.stored = view, true
	switch {
	case view == nil || view.Newest == nil:
		x.ok(name, "", "there is none yet")
		return
	case !x.Settings.Fresh:
		err = view.Fits(x.place.Dir, x.State)
	}
	if err != nil {
		x.unfit = true
		x.fail(name, "", err)
		return
	}
	confirmed := "confirmed"
	if !view.Confirmed {
		confirmed = "not confirmed"
	}
	x.ok(name, "", "checkpoint %d, %s, last written %s ago; it fits this program", view.Newest.Number, confirmed, age(time.Since(view.Written)))
}

func (x *exam) room() {
	const name = "disk"
	free := x.place.Free
	if free == state.Unknown {
		x.unknown(name, "", "the system does not say how much room there is")
		return
	}
	live := int64(0)
	if x.view != nil {
		live = x.view.Live
	}
	need := max(leastRoom, roomShare*live)
	switch {
	case free < live || free < leastRoom/16:
		x.fail(name, "", failure.New(failure.Disk, "make room, or name another directory with --state", nil,
			"%s are free, the state takes %s: there is no room for its copy and for checkpoints", inspect.Size(free), inspect.Size(live)))
	case free < need:
		x.warn(name, "", "make room, or name another directory with --state", "%s are free, the state takes %s: it should be %s", inspect.Size(free), inspect.Size(live), inspect.Size(need))
	default:
		x.ok(name, "", "%s are free, the state takes %s", inspect.Size(free), inspect.Size(live))
	}
}

// running says whether the pipeline runs, as far as the directory tells.
func (x *exam) running() bool { return x.place != nil && x.place.Use == state.InUse }

// age is a duration in its two greatest units.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return days(d)
	case d >= time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
