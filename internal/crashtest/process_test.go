//go:build unix

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/dev"
)

// A broker that is too slow is told from a test that has ended.
func TestOverdue(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	late := fmt.Errorf("produce: %w", context.DeadlineExceeded)
	if err := overdue(ctx, late); !errors.Is(err, late) || !strings.Contains(err.Error(), "longer than 30s: produce: ") || !strings.Contains(err.Error(), "take fewer records") {
		t.Errorf("a broker that is too slow: %v", err)
	}
	other := errors.New("refused")
	if err := overdue(ctx, other); err != other {
		t.Errorf("another error: %v", err)
	}
	cancel()
	if err := overdue(ctx, late); err != late {
		t.Errorf("a test that has ended: %v", err)
	}
}

// A life ends by itself, at a moment, at the limit, or with the test; and it is over then.
func TestLife(t *testing.T) {
	t.Setenv("EO_NAME", "other") // is not for the program
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	const forEver = "echo begun $EO_NAME$EO_FAILPOINT; exec sleep 1000"
	for _, c := range []struct {
		name, script string
		ctx          context.Context
		limit, after time.Duration
		code         int
		err          error
	}{
		{"by itself", "exit 7", t.Context(), time.Minute, 0, 7, nil},
		{"by a signal", "kill -9 $$", t.Context(), time.Minute, 0, dev.ExitKilled, nil},
		{"before its moment", "exit 0", t.Context(), time.Minute, time.Minute, 0, nil},
		{"at its moment", forEver, t.Context(), time.Minute, time.Millisecond, dev.ExitKilled, nil},
		{"at the limit", forEver, t.Context(), time.Millisecond, time.Minute, dev.ExitKilled, errStuck},
		{"with the test", forEver, interrupted, time.Minute, 0, dev.ExitKilled, context.Canceled},
	} {
		log := filepath.Join(t.TempDir(), "log")
		p, err := start([]string{eoc, dev.GuardVerb, "sh", "-c", c.script}, []string{"EO_FAILPOINT=here"}, log)
		if err != nil {
			t.Fatal(err)
		}
		code, err := p.wait(c.ctx, c.limit, c.after)
		if code != c.code || !errors.Is(err, c.err) {
			t.Errorf("%s: code %d (%v), want %d (%v)", c.name, code, err, c.code, c.err)
		}
		if p.cmd.ProcessState == nil {
			t.Errorf("%s: it runs on", c.name)
		}
	}
	log := filepath.Join(t.TempDir(), "log")
	p, err := start([]string{eoc, dev.GuardVerb, "sh", "-c", "echo $EO_NAME$EO_FAILPOINT"}, []string{"EO_FAILPOINT=here"}, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.wait(t.Context(), time.Minute, 0); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(log); err != nil || strings.TrimSpace(string(text)) != "here" {
		t.Errorf("the environment of a program is %q (%v)", text, err)
	}
}
