// Package crashpoint knows what has to happen before a program passes a crash point: some are passed in every checkpoint, some
// only by a start that finds what a certain death has left. The points are those of runtime/internal/failpoint, which says what is
// durable at each; a program that was built with them lists them itself.
package crashpoint

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Env arms points in a program that was built with them, as `point:n`: it kills itself when it passes the point for the n-th time.
const Env = "EO_FAILPOINT"

// ExitMissed is the exit code of a program that has ended well, and has not passed an armed point often enough.
const ExitMissed = 70

// Points by what they need. A start passes some points only in a certain situation, which the death before it makes.
var (
	// First are passed while the state is new.
	First = []string{"startup-after-checkpoint-0", "startup-before-marker-0", "startup-after-marker-0"}
	// Checkpoint are passed in every checkpoint.
	Checkpoint = []string{
		"before-barrier", "after-source-snapshot", "after-operator-snapshot", "before-marker", "after-marker", "after-flush",
		"before-store", "inside-store", "after-confirm",
	}
	// Prepared are passed in every checkpoint too. A death there leaves a transaction that is prepared and its
	// checkpoint durable and not confirmed.
	Prepared = []string{"after-store", "before-end-txn", "after-end-txn-sent", "after-end-txn", "before-confirm"}
	// Commit are passed by a start that finds such a transaction.
	Commit = []string{
		"startup-before-end-txn", "startup-after-end-txn", "startup-before-marker-read", "startup-before-confirm", "startup-after-confirm",
	}
	// Drop are passed by a start that finds such a transaction aborted.
	Drop = []string{"startup-before-drop", "startup-after-drop"}
	// Start are passed by every start, more than once.
	Start = []string{"startup-before-fence", "startup-after-fence"}
	// Restore are passed, more than once, by a start with state in its checkpoint.
	Restore = []string{"during-restore"}
)

// All are the points of all groups.
func All() []string { return slices.Concat(First, Checkpoint, Prepared, Commit, Drop, Start, Restore) }

// NeedsPrepared reports whether a point is passed only behind a death that has left a prepared transaction.
func NeedsPrepared(point string) bool {
	return slices.Contains(Commit, point) || slices.Contains(Drop, point)
}

// NeedsTransactions reports whether a point is passed only by a program with a sink that is exactly_once.
func NeedsTransactions(point string) bool {
	for _, word := range []string{"end-txn", "marker", "fence", "-drop"} {
		if strings.Contains(point, word) {
			return true
		}
	}
	return false
}

// Of asks a binary for its crash points, in the order of the steps at which they stand.
func Of(ctx context.Context, binary string) ([]string, error) {
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = []string{Env + "=?:1"} // there is no such point, and the answer says which there are
	text, err := cmd.CombinedOutput()
	const usage = 2
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != usage {
		return nil, fmt.Errorf("%s does not list its crash points; was it built with `eoc build --failpoints`? (%v)\n%s", binary, err, text)
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "  "); ok {
			points = append(points, strings.TrimSpace(name))
		}
	}
	return points, nil
}
