package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// TestClockJumps sets the clock of the program's machine, hours to and fro, while it runs and between two lives: what is counted in time is counted by a
// clock that is not set, so nothing becomes idle or times out, and nothing is late that would not be.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	const hours = 5
	text := replaced(t, "orders", "watermark 5s", "watermark 5s\n  idle      1h")
	p := declare(t, "orders", text, brokers.Broker(t, 2))
	p.broker.CreateTopic(t, p.topics["orders"], inPartitions)
	for _, topic := range p.outputs() { // which take the time of a clock that is ahead
		p.broker.CreateTopic(t, topic, outPartitions, fmt.Sprint("message.timestamp.after.max.ms=", (48*time.Hour).Milliseconds()))
	}
	jumps := []time.Duration{hours * time.Hour, -hours * time.Hour, 30 * time.Hour}
	r := newRun(t, p, failpoints, 3, makeLoad(p.graph, seed(t), 1500*(3*len(jumps)+1)))
	next := r.feeder.shares(3*len(jumps) + 1)
	alive := startAt(t, r, 0)
	for _, jump := range jumps {
		next()
		r.awaitMore(t, alive, 30)
		alive.SetClock(t, jump)
		next()
		r.awaitMore(t, alive, 30)
		awaitClock(t, alive, jump)
		if strings.Contains(alive.Log(), "partition is idle") || strings.Contains(alive.Log(), "the pipeline cannot run") {
			t.Fatalf("after a jump of the clock by %v:\n%s", jump, alive.Tail(20))
		}
		alive.Kill(t)
		next()
		r.env = []string{"EO_FAILPOINT=after-store:2"}
		if exit := startAt(t, r, -jump).Wait(t, dieLimit, "a life whose clock is set back"); !exit.Killed() {
			t.Fatalf("a life whose clock is %v ahead: %v, want it killed at its point", -jump, exit)
		}
		r.env = nil
		alive = startAt(t, r, jump/2)
	}
	r.complete(t, alive)
}

// startAt starts the program with a clock that is so far ahead.
func startAt(t *testing.T, r *run, by time.Duration) *program.Process {
	t.Helper()
	return program.Start(t, r.binary, program.Config{Env: append(append(r.environment(r.state, r.parallelism, r.interval), r.env...), debug), Clock: &by})
}

// awaitClock waits until the program has logged something at the time that its clock should show. So the jump was one.
func awaitClock(t *testing.T, p *program.Process, by time.Duration) {
	t.Helper()
	poll(t, p, fmt.Sprintf("to log with a clock %v ahead", by), func() bool {
		var line struct{ Time time.Time }
		if json.Unmarshal([]byte(p.Tail(1)), &line) != nil {
			return false
		}
		off := time.Until(line.Time) - by
		return off.Abs() < time.Hour
	})
}

// TestClockAheadOfBrokers: a program whose clock is ahead takes event times for past that brokers take for future, and refuse. It says
// that clocks differ, loses nothing, and goes on when its clock is set.
func TestClockAheadOfBrokers(t *testing.T) {
	t.Parallel()
	r := newCase(t, "clicks", 1)
	r.feeder.stop()
	<-r.feeder.done
	alive := startAt(t, r, 5*time.Hour)
	soon := time.Now().Add(3 * time.Hour)
	click := fmt.Sprintf(`{"id":"1","user_id":"u","page":"/","status":200,"at":%d}`, soon.UnixMilli())
	r.broker.Produce(t, r.topics["clicks"], kafkatest.Record{Value: []byte(click)})
	poll(t, alive, "to say that clocks differ", func() bool {
		return strings.Contains(alive.Log(), "INVALID_TIMESTAMP") && strings.Contains(alive.Log(), "compare the clocks")
	})
	alive.SetClock(t, 0)
	r.reread(t)
	r.end(t, alive)
}
