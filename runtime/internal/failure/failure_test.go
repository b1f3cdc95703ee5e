package failure_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// What a failure quotes of a record is shown to nobody, however deep it is.
func TestShown(t *testing.T) {
	const hidden = "a record or result is at fault; the log says which, and why"
	record := failure.OfRecord("look at it", errors.New("refused."), "orders (o.eo:8): no number: 4711", "orders (o.eo:8): no number")
	for _, c := range []struct {
		err         error
		text, shown string
	}{
		{errors.New("x"), "x", "x"},
		{failure.New(failure.Transient, "", errors.New("refused."), "no %s", "way"), "no way: refused", "no way: refused"},
		{record, "orders (o.eo:8): no number: 4711: refused; look at it", "orders (o.eo:8): no number: refused; look at it"},
		{fmt.Errorf("task 1: %w", record), "task 1: orders (o.eo:8): no number: 4711: refused; look at it", "orders (o.eo:8): no number: refused; look at it"},
		{failure.New(failure.Internal, "help", record, "waited"), "waited: orders (o.eo:8): no number: 4711: refused; look at it; help", "waited: orders (o.eo:8): no number: refused; look at it; help"},
		{failure.New(failure.Record, "look", nil, "4711"), "4711; look", hidden},
		{failure.New(failure.Deadline, "help", failure.New(failure.Record, "look", nil, "4711"), "stopped"), "stopped: 4711; look; help", "stopped: " + hidden + "; help"},
	} {
		if c.err.Error() != c.text || failure.Shown(c.err) != c.shown {
			t.Errorf("%s\nshown as %s\nwant     %s", c.err, failure.Shown(c.err), c.shown)
		}
	}
}
