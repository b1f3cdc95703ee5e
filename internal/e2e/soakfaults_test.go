//go:build unix

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/faultproxy"
)

// key is the kind of request of a fault.
func (f fault) key(t testing.TB) faultproxy.Key {
	t.Helper()
	all := slices.Concat(requests, requestsV1, requestsOfStart)
	i := slices.IndexFunc(all, func(k faultproxy.Key) bool { return k.Name() == f.request })
	if i < 0 {
		t.Fatalf("%v: there is no such request", f)
	}
	return all[i]
}

// deed is what becomes of the request.
func (f fault) deed() faultproxy.Deed {
	switch {
	case f.kind == late:
		return faultproxy.Strand
	case f.kind == repeat:
		return faultproxy.Repeat
	case f.kind == delay:
		return faultproxy.Hold
	case f.answered:
		return faultproxy.Mute
	}
	return faultproxy.Drop
}

// disturb does something to a request of a start, or of a program that runs. What the proxy keeps of it arrives when the program, or the next one,
// has gone on; only who waits for a request that is held up gets it while he cannot.
func (s *soaker) disturb(t testing.TB, f fault) {
	takes := f.key(t) == initProducerID && f.kind != stuck // and may do so late
	var env []string
	if takes {
		env = []string{debug}
	}
	if f.starts || takes {
		s.fell(t)
	}
	if f.starts {
		s.proxy.AwaitAlone(t)
	} else {
		s.begin(t, f, env...)
		s.more(t, f.results)
	}
	met := s.proxy.Arm(faultproxy.Fault{Key: f.key(t), Do: f.deed()})
	s.begin(t, f, env...)
	awaitFault(t, s.alive, met)
	if f.dies {
		s.fell(t)
		s.begin(t, f, env...)
	}
	if f.kind == delay && !f.dies {
		s.pieces(t, f.pieces)
	} else {
		s.more(t, f.results)
	}
	ctx, cancel := context.WithTimeout(t.Context(), dieLimit)
	defer cancel()
	answers, err := met.Release(ctx)
	if err != nil {
		t.Fatalf("%v: %v", f, err)
	}
	if kept := f.kind == late || f.kind == repeat; kept != (len(answers) == 1) {
		t.Fatalf("%v: the broker has answered %d requests that were kept", f, len(answers))
	}
	if takes { // no copy has started, so who has the id takes it again
		if exit, ended := s.survives(t, s.alive); ended {
			t.Fatalf("%v: %v; the end of its log:\n%s", f, exit, s.alive.Tail(40))
		}
	}
	s.more(t, 1)
}

// freeze has a broker hang for a moment.
func (s *soaker) freeze(t testing.TB, f fault) {
	s.running(t, f)
	n := s.broker
	if s.cluster != nil {
		n = s.victim(t, s.cluster, f.victim, f.pick)
	}
	signal := func(sig syscall.Signal) {
		if err := syscall.Kill(n.Pid(), sig); err != nil {
			t.Fatalf("%v to broker %d: %v", sig, n.Pid(), err)
		}
	}
	signal(syscall.SIGSTOP)
	select {
	case <-time.After(f.moment): // so long it hangs, and nobody can be asked
	case <-s.alive.Done():
	}
	signal(syscall.SIGCONT)
	if s.cluster != nil {
		s.cluster.AwaitWhole(t)
	}
	s.more(t, f.results)
}

// full fills the disk of the state up, until the program has ended, or is killed while it goes on in the space that its file has.
func (s *soaker) full(t testing.TB, f fault) {
	s.running(t, f)
	ballast := filepath.Join(s.disk, "ballast")
	fillUp(t, ballast)
	ctx, cancel := s.whileFed(t)
	defer cancel()
	s.settle(t, s.feeder.await(ctx, f.pieces))
	_ = s.alive.SignalIfAlive(syscall.SIGKILL) // it may have ended
	if exit := s.alive.Wait(t, dieLimit, f.String()); exit.Killed() {
		s.ledger.add(s.site, atMoment, 1)
	} else {
		exits(t, s.alive, 6, "no space left on device", "nothing is lost: free space or repair the disk, then start again")
		s.ledger.add(s.site, noSpace, 1)
	}
	s.alive = nil
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.begin(t, f)
	s.more(t, 1)
}
