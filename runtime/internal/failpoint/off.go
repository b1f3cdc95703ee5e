//go:build !eo_failpoints

package failpoint

// Enabled says whether this build has crash points. A program without them refuses to run with Env set: a
// test that meant to kill it would pass for the wrong reason.
const Enabled = false

// Hit kills the process if p is armed for this pass.
func Hit(Point) {}

// Missed returns the armed points that were not passed often enough.
func Missed() []string { return nil }
