//go:build unix

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/faultdisk"
	"github.com/eoc-lang/eoc/internal/faultproxy"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

const (
	soakStep    = 200 * time.Millisecond // from one event to the next: a window needs few records
	soakRecords = 1000                   // for each fault
	reserve     = 3                      // faults' worth of input that is kept back, for what goes out while nothing is awaited
)

// soaker carries out the faults of an episode.
type soaker struct {
	*run
	site    site
	cluster *kafkatest.Cluster // of a site with nodes
	proxy   *faultproxy.Proxy  // between the program and the brokers
	ledger  *ledger
	alive   *program.Process // nil if it is dead
}

// newSoaker prepares an episode on a broker.
func newSoaker(t testing.TB, e episode, s site, on place, l *ledger) *soaker {
	p := newPipeline(t, e.example, patient(example(t, e.example)), on.broker)
	r := newRun(t, p, failpoints, 1, newLoad(p.graph, e.load, soakRecords*(len(e.faults)+reserve), soakStep))
	k := &soaker{run: r, site: s, cluster: on.cluster, ledger: l}
	k.site.version = e.version
	k.proxy = faultproxy.Start(t, strings.Split(on.broker.Addr, ",")...)
	r.env = []string{"EO_BROKERS=" + strings.Join(k.proxy.Addrs, ",")}
	if e.fills() {
		var err error
		if r.disk, err = faultdisk.Mount(t, "size=128m"); err != nil {
			t.Logf("the disk does not get full here: %v", err)
		}
		r.state = filepath.Join(r.place(t), "state")
	}
	return k
}

// episode carries out all faults and judges.
func (s *soaker) episode(t testing.TB, e episode) {
	var so []string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the faults until then:\n%s", strings.Join(so, "\n"))
		}
	})
	for i, f := range e.faults {
		so = append(so, fmt.Sprintf("%3d %v", i, f))
		s.ledger.at(s.site, fmt.Sprintf("%s at fault %d of %d", e.name(), i+1, len(e.faults)))
		s.feeder.phase(s.feeder.left() / (len(e.faults) - i + reserve))
		s.suffer(t, f)
	}
	s.ledger.at(s.site, e.name()+" comes to its end")
	s.end(t)
}

// suffer carries out a fault, and counts it when it has come.
func (s *soaker) suffer(t testing.TB, f fault) {
	switch f.kind {
	case kill:
		s.kill(t, f)
	case stop:
		s.running(t, f)
		s.run.stop(t, s.alive)
		s.alive = nil
	case hurry:
		s.hurry(t, f)
	case pause:
		s.running(t, f)
		s.alive.Freeze(t)
		s.pieces(t, f.pieces)
		s.alive.Signal(t, syscall.SIGCONT)
		s.more(t, 1)
	case replace:
		s.running(t, f)
		before := s.state
		s.alive = s.run.replace(t, s.alive, f.later)
		if s.disk != "" && s.state != before { // it has no room for each copy
			if err := os.RemoveAll(before); err != nil {
				t.Fatal(err)
			}
		}
	case second:
		s.running(t, f)
		exits(t, s.start(t), 4, s.state)
		s.more(t, 1)
	case expire:
		s.fell(t)
		for _, id := range s.transactionalIDs() {
			s.broker.Fence(t, id)
		}
	case cut:
		s.running(t, f)
		deed := faultproxy.Cut
		if f.answered {
			deed = faultproxy.Lose
		}
		awaitFault(t, s.alive, s.proxy.Arm(faultproxy.Fault{Key: f.key(t), Do: deed}))
		s.more(t, f.results)
	case late, repeat, delay, stuck:
		s.disturb(t, f)
	case freeze:
		s.freeze(t, f)
	case full:
		if s.disk == "" { // nobody but root may mount one
			return
		}
		s.full(t, f)
	case restart:
		s.running(t, f)
		s.restart(t)
	case killNode, stopNode:
		s.node(t, f)
	case foreign:
		s.broker.ProduceTxn(t, false, s.topic(f.pick), s.others(f)...)
	case held:
		open := s.broker.OpenTxn(t, s.name+".held", s.topic(f.pick), s.others(f)...)
		s.pieces(t, f.pieces)
		if err := open.Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
	case grow:
		s.grow(t, f)
	default:
		t.Fatalf("nobody knows how to carry out %v", f)
	}
	s.ledger.add(s.site, string(f.kind), 1)
}

// begin makes sure that the program runs.
func (s *soaker) begin(t testing.TB, f fault, env ...string) {
	if s.alive == nil {
		s.parallelism, s.interval = f.parallelism, f.interval
		s.alive = s.start(t, env...)
	}
}

// running makes sure that it has committed something in this fault.
func (s *soaker) running(t testing.TB, f fault) {
	s.begin(t, f)
	s.more(t, f.results)
}

// fell kills a program that is alive.
func (s *soaker) fell(t testing.TB) {
	if s.alive != nil {
		s.alive.Kill(t)
		s.alive = nil
		s.ledger.add(s.site, atMoment, 1)
	}
}

// kill waits until the program has died at its point, or the moment has come to kill it.
func (s *soaker) kill(t testing.TB, f fault) {
	var env []string
	if f.point != "" {
		s.fell(t)
		env = []string{fmt.Sprintf("EO_FAILPOINT=%s:%d", f.point, f.pass)}
	}
	s.begin(t, f, env...)
	p := s.alive
	ctx, cancel := s.whileFed(t)
	defer cancel()
	var err error
	switch {
	case f.pieces > 0:
		err = s.feeder.await(ctx, f.pieces)
	case f.results > 0:
		err = s.committedMore(ctx, f.results)
	default:
		select {
		case <-time.After(f.moment): // this moment is the fault, and waits for nothing
		case <-ctx.Done():
		}
	}
	s.settle(t, err)
	where := atMoment
	if p.SignalIfAlive(syscall.SIGKILL) != nil {
		where = atPoint
	}
	if exit := p.Wait(t, dieLimit, f.String()); !exit.Killed() || where == atPoint && f.point == "" {
		t.Fatalf("%v: %v; the end of its log:\n%s", f, exit, p.Tail(40))
	}
	s.alive = nil
	s.ledger.add(s.site, where, 1)
}

// hurry kills the program while it stops.
func (s *soaker) hurry(t testing.TB, f fault) {
	s.running(t, f)
	runs(t, s.alive)
	s.alive.Signal(t, syscall.SIGTERM)
	select {
	case <-time.After(f.moment): // this moment is the fault
	case <-s.alive.Done():
	}
	_ = s.alive.SignalIfAlive(syscall.SIGKILL) // it may have stopped
	exit := s.alive.Wait(t, stopLimit, f.String())
	switch {
	case exit.Killed():
		s.ledger.add(s.site, atMoment, 1)
	case exit.Code != 0:
		t.Fatalf("%v: %v; the end of its log:\n%s", f, exit, s.alive.Tail(40))
	}
	s.alive = nil
}

// restart stops the broker in order when no transaction is under way (see TestBrokerRestarts), and starts it again.
func (s *soaker) restart(t testing.TB) {
	s.feeder.pause()
	s.quiet(t) // not all need be read: a partition that has run ahead waits for the others
	s.broker.Stop(t)
	s.broker.Restart(t)
	s.feeder.phase(soakRecords)
	s.more(t, 1)
}

// node stops or kills a node, and starts it again when the program has gone on with the other two.
func (s *soaker) node(t testing.TB, f fault) {
	s.running(t, f)
	n := s.victim(t, s.cluster, f.victim, f.pick)
	if f.kind == killNode {
		n.Kill(t)
	} else {
		n.Stop(t)
	}
	s.more(t, f.results)
	n.Restart(t)
	s.cluster.AwaitWhole(t)
}

// grow gives a source a further partition. Its records come after all others, so that none of them is late: a program that runs has found it before
// the others have come to their end, and one that is started finds it before it reads.
func (s *soaker) grow(t testing.TB, f fault) {
	sources := s.sources()
	source := sources[f.pick%len(sources)]
	topic := s.topics[source.Topic.Text]
	gen := reference.Gen{Records: f.records, Partitions: 1, Start: lastEvent.AddDate(0, 0, -1), Step: soakStep, EdgeOneIn: edgeOneIn}
	records := gen.Input(s.seed, s.graph)[source.Name][0]
	s.broker.AddPartitions(t, topic, inPartitions+1)
	s.broker.Produce(t, topic, wire(inPartitions, records)...)
	s.input[source.Name] = append(s.input[source.Name], records)
	s.last[source.Name] = append(s.last[source.Name], s.last[source.Name][0])
	if s.alive != nil {
		s.awaitRead(t, s.alive, topic, inPartitions, 1)
	}
}

// sources are the pipeline's, in the order of the plan.
func (p *pipeline) sources() []*planner.Source {
	var all []*planner.Source
	for _, n := range p.graph.Nodes {
		if s, ok := n.Op.(*planner.Source); ok {
			all = append(all, s)
		}
	}
	return all
}

// topic is that of the source with a number.
func (s *soaker) topic(n int) string {
	all := s.sources()
	return s.topics[all[n%len(all)].Topic.Text]
}

// others are records of another producer, for all partitions.
func (s *soaker) others(f fault) []kafkatest.Record {
	all := s.sources()
	var records []kafkatest.Record
	for id, own := range s.input[all[f.pick%len(all)].Name] {
		records = slices.Concat(records, wire(int32(id), own[:min(f.records, len(own))]))
	}
	return records
}

// more waits until so many further records are committed, by a program that goes on, or until the input is used up.
func (s *soaker) more(t testing.TB, n int) {
	t.Helper()
	ctx, cancel := s.whileFed(t)
	defer cancel()
	s.settle(t, s.committedMore(ctx, n))
	select {
	case <-s.alive.Done():
		t.Fatalf("waiting for %d more results: the program has ended: %v; the end of its log:\n%s", n, s.alive.Exit(), s.alive.Tail(40))
	default:
	}
}

func (s *soaker) committedMore(ctx context.Context, n int) error {
	target := s.follower.Total() + n
	return s.follower.Await(ctx, func(counts map[string]int) bool { return total(counts) >= target })
}

// pieces waits until the feeder has sent so many more, or has no more.
func (s *soaker) pieces(t testing.TB, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), dieLimit)
	defer cancel()
	if err := s.feeder.await(ctx, n); err != nil && s.feeder.left() > 0 {
		t.Fatal(err)
	}
}

// whileFed is a context that ends with the program, with the input, or after a limit.
func (s *soaker) whileFed(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := whileAlive(t, s.alive, dieLimit)
	go func() {
		select {
		case <-s.feeder.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// settle fails the test for an error of waiting that has no good reason: neither has the program ended, nor the input.
func (s *soaker) settle(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	select {
	case <-s.alive.Done():
		return
	default:
	}
	if s.feeder.left() == 0 {
		return
	}
	t.Errorf("%v; of the feeder: %v", err, s.feeder.failure())
	s.explain(t, s.alive)
	t.FailNow()
}

// end brings the pipeline to its end, judges it, and counts what is lost and doubled, also if it does not come to its end.
func (s *soaker) end(t testing.TB) {
	s.begin(t, fault{parallelism: 3, interval: 50 * time.Millisecond})
	s.feeder.finish(t, s.pipeline, s.last)
	s.reread(t)
	late := s.awaited(t, s.alive)
	if late == nil {
		s.awaitInput(t, s.alive)
		s.run.stop(t, s.alive)
		s.broker.AwaitSettled(t, s.outputs()...)
	}
	got, err := s.committed(t)
	if err != nil {
		t.Fatal(err)
	}
	s.ledger.judged(s.site, reference.Count(got, s.want))
	if late != nil {
		t.Error(late)
		s.explain(t, s.alive)
		t.FailNow()
	}
	s.judge(t, s.alive)
	s.verify(t)
	for _, topic := range s.topics {
		s.broker.DeleteTopic(t, topic)
	}
}
