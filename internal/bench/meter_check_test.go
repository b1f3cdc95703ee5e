//go:build unix

package bench

import (
	"os"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/skip"
)

func TestSteadyIsInterpolated(t *testing.T) {
	start := time.Unix(1000, 0)
	samples := []sample{
		{start, 0, 0},
		{start.Add(time.Second), 100, 2 * time.Second},
		{start.Add(3 * time.Second), 300, 4 * time.Second},
		{start.Add(4 * time.Second), 400, 4 * time.Second},
	}
	wall, cpu := steady(samples, 50, 350)
	if wall != 3*time.Second || cpu != 3*time.Second {
		t.Errorf("50 to 350 records took %v and %v of CPU, want 3s and 3s", wall, cpu)
	}
}

func TestPercentile(t *testing.T) {
	values := []time.Duration{5, 1, 4, 2, 3}
	if got := percentile(values, 0.5); got != 3 {
		t.Errorf("p50 of 1 to 5 is %d, want 3", got)
	}
	if got := percentile(values, 0.99); got != 5 {
		t.Errorf("p99 of 1 to 5 is %d, want 5", got)
	}
}

func TestOwnUsage(t *testing.T) {
	pid := os.Getpid()
	before, err := cpuTime(pid)
	if err != nil {
		skip.Loudly(t, "what a process uses is not known here: %v", err)
	}
	for at := before; at < before+3*tick; { // work until it shows
		if at, err = cpuTime(pid); err != nil {
			t.Fatal(err)
		}
	}
	if peak, err := peakMemory(pid); err != nil || peak < 1<<20 {
		t.Errorf("peak memory of this process: %d bytes (%v)", peak, err)
	}
}

// TestRecordsAreOfTheSizeMeasured keeps the records near the 200 bytes that figures are given for.
func TestRecordsAreOfTheSizeMeasured(t *testing.T) {
	for _, w := range workloads {
		if n := len(w.record(1_234_567, firstEvent).Value); n < 180 || n > 215 {
			t.Errorf("%s: a record has %d bytes, want about 200", w.example, n)
		}
	}
}
