//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/crashpoint"
	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
)

// nodeDeath is a node that is killed while the program stands at a crash point.
type nodeDeath struct {
	occasion
	victim  role
	pick    int  // where there is a choice: which
	clean   bool // the node is stopped in order instead
	program bool // the program is killed with it, else it goes on by itself
}

func (d nodeDeath) String() string {
	what, with := "killed", "the program goes on"
	if d.clean {
		what = "stopped"
	}
	if d.program {
		with = "the program is killed too"
	}
	return fmt.Sprintf("%v: %s %s, %s", d.occasion, d.victim, what, with)
}

// nodeDeaths is what happens to a cluster: each victim at each point of a checkpoint, with the program and without, in `make matrix`;
// one of each kind in `make test`.
func nodeDeaths(rng *rand.Rand, all bool) []nodeDeath {
	if !all {
		return []nodeDeath{
			{occasion: ofStart(rng, "startup-after-marker-0"), victim: marks, program: true},
			{occasion: ofStart(rng, "startup-after-end-txn"), victim: ends, pick: rng.IntN(2)},
			{occasion: occasion{point: "after-flush", pass: 2}, victim: leads, pick: rng.IntN(3), program: true},
			{occasion: occasion{point: "before-end-txn", pass: 2}, victim: ends, pick: rng.IntN(2)},
			{occasion: occasion{point: "after-marker", pass: 1}, victim: marks, clean: true},
		}
	}
	var deaths []nodeDeath
	for _, point := range slices.Concat(checkpointPoints, preparedPoints) {
		for _, victim := range roles() {
			for _, program := range []bool{false, true} {
				deaths = append(deaths, nodeDeath{occasion: occasion{point: point, pass: 1 + rng.IntN(4)}, victim: victim, pick: rng.IntN(6), program: program})
			}
		}
		victim := roles()[rng.IntN(len(roles()))]
		deaths = append(deaths, nodeDeath{occasion: occasion{point: point, pass: 1 + rng.IntN(4)}, victim: victim, pick: rng.IntN(6), clean: true, program: rng.IntN(2) == 0})
	}
	rng.Shuffle(len(deaths), func(i, j int) { deaths[i], deaths[j] = deaths[j], deaths[i] })
	return deaths
}

// startDeaths is what happens to a cluster while programs start: with V2 each victim at each point of a start; with V1 one at one of the points that need
// the same. Each schedule is that of a pipeline.
func startDeaths(rng *rand.Rand, version int) [][]nodeDeath {
	var deaths []nodeDeath
	add := func(point string, victim role, program bool) {
		deaths = append(deaths, nodeDeath{occasion: ofStart(rng, point), victim: victim, pick: rng.IntN(6), program: program})
	}
	if version == 1 {
		turn := rng.IntN(len(roles()))
		for i, points := range groupsOfStart() {
			add(points[rng.IntN(len(points))], roles()[(turn+i)%len(roles())], rng.IntN(2) == 0)
		}
	} else {
		for i, point := range pointsOfStart() {
			for j, victim := range roles() {
				add(point, victim, (i+j)%2 == 0)
			}
		}
	}
	return deal(rng, deaths, func(d nodeDeath) occasion { return d.occasion })
}

// TestEveryNodeDeathIsScheduled holds what TestNodeMatrix does against the points that there are. With V2 each victim is killed at each; with V1 at each of a
// checkpoint, and one at a point of each group of starts.
func TestEveryNodeDeathIsScheduled(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	killed := func(version int) map[string][]role {
		victims := map[string][]role{}
		for _, d := range append(nodeDeaths(rng, true), slices.Concat(startDeaths(rng, version)...)...) {
			if !d.clean && !slices.Contains(victims[d.point], d.victim) {
				victims[d.point] = append(victims[d.point], d.victim)
			}
		}
		return victims
	}
	v1, v2 := killed(1), killed(2)
	for _, point := range crashpoint.All() {
		if len(v2[point]) < len(roles()) {
			t.Errorf("V2: at %s these are killed: %v", point, v2[point])
		}
		if n := len(v1[point]); n < len(roles()) && !slices.Contains(pointsOfStart(), point) {
			t.Errorf("V1: at %s these are killed: %v", point, v1[point])
		}
		delete(v2, point)
	}
	for _, points := range groupsOfStart() {
		if !slices.ContainsFunc(points, func(p string) bool { return len(v1[p]) > 0 }) {
			t.Errorf("V1: nobody is killed at any of %v", points)
		}
	}
	if len(v2) > 0 {
		t.Errorf("nodes are killed at points that there are not: %v", v2)
	}
}

// TestNodeMatrix kills and stops nodes of a cluster of three. EO_MATRIX=1 does all of it.
func TestNodeMatrix(t *testing.T) {
	t.Parallel()
	all := os.Getenv("EO_MATRIX") == "1"
	one := func(version int) func(t *testing.T) {
		return func(t *testing.T) {
			seed := seed(t)
			nodesDie(t, brokers.Cluster(t, version), seed, nodeDeaths(rand.New(rand.NewPCG(seed, 3)), all))
		}
	}
	starts := func(version int) func(t *testing.T) {
		return func(t *testing.T) {
			cluster, seed := brokers.Cluster(t, version), seed(t)
			for i, deaths := range startDeaths(rand.New(rand.NewPCG(seed, 5)), version) {
				t.Run(fmt.Sprint(i), func(t *testing.T) { nodesDie(t, cluster, seed+uint64(i), deaths) })
			}
		}
	}
	t.Run("one/V2", one(2))
	t.Run("two", func(t *testing.T) { twoNodesDie(t, 0, false) })
	if !all {
		return
	}
	t.Run("two/timeout", func(t *testing.T) { twoNodesDie(t, outage, false) })
	t.Run("two/timeout/killed", func(t *testing.T) { twoNodesDie(t, outage, true) })
	t.Run("starts/V2", starts(2))
	t.Run("starts/V1", starts(1))
	t.Run("one/V1", one(1))
}

// nodesDie ends nodes, each while the program stands at a crash point: the node that leads a partition of a sink, those
// that coordinate its transactions and its group, and any. With the other two the program goes on, by itself or when it is started again.
func nodesDie(t *testing.T, cluster *kafkatest.Cluster, seed uint64, deaths []nodeDeath) {
	p := newPipeline(t, "orders", patient(example(t, "orders")), cluster.All)
	r := newRun(t, p, failpoints, 3, newLoad(p.graph, seed, 2000*(len(deaths)+1), soakStep))
	next := r.feeder.shares(len(deaths) + 1)
	for _, d := range deaths {
		next()
		t.Log(d)
		r.nodeDies(t, cluster, d)
	}
	alive := r.start(t)
	r.feeder.finish(t, p, r.last)
	r.reread(t)
	r.end(t, alive)
}

// nodeDies brings the program to a point, ends a node there, and sees that the program goes on without it.
func (r *run) nodeDies(t testing.TB, c *kafkatest.Cluster, d nodeDeath) {
	t.Helper()
	const more = 20
	p := r.haltThere(t, d.occasion)
	n := r.victim(t, c, d.victim, d.pick)
	if d.clean {
		n.Stop(t)
	} else {
		n.Kill(t)
	}
	if d.program {
		p.Kill(t)
		p = r.start(t)
	} else {
		p.Signal(t, syscall.SIGCONT)
	}
	r.awaitMore(t, p, more)
	if n.Running() {
		t.Fatalf("%v: the node runs", d)
	}
	n.Restart(t)
	c.AwaitWhole(t)
	r.awaitMore(t, p, 1)
	p.Kill(t)
}

// haltAt starts the program and waits until it has stopped at a crash point. It goes on with SIGCONT.
func (r *run) haltAt(t testing.TB, point string, pass int, env ...string) *program.Process {
	t.Helper()
	p := r.start(t, append(env, fmt.Sprintf("EO_FAILPOINT=%s:%d:stop", point, pass))...)
	poll(t, p, "to stop at "+point, func() bool { return strings.Contains(p.Log(), "stopped at "+point+"\n") })
	program.AwaitStopped(t, p.Pid()) // it says so before: a SIGCONT that comes between would be in vain
	return p
}

// haltThere is haltAt for an occasion.
func (r *run) haltThere(t testing.TB, m occasion, env ...string) *program.Process {
	t.Helper()
	if m.left.point != "" {
		r.dieAt(t, 0, m.left)
	}
	if m.abort {
		r.abort(t)
	}
	return r.haltAt(t, m.point, m.pass, env...)
}

// victim is the node that has a role for the pipeline. Where several have one, n chooses.
func (r *run) victim(t testing.TB, c *kafkatest.Cluster, which role, n int) *kafkatest.Broker {
	t.Helper()
	switch which {
	case leads:
		outputs := r.outputs()
		slices.Sort(outputs)
		return c.Leader(t, outputs[n/outPartitions%len(outputs)], int32(n%outPartitions))
	case ends:
		return c.TxnCoordinator(t, r.transactionalIDs()[n%2])
	case marks:
		return c.GroupCoordinator(t, r.group())
	}
	return c.Nodes[n%len(c.Nodes)]
}

const (
	// shortestTimeout is a timeout of transactions that a program takes with an interval of 1 s: interval, checkpoint and restart have to fit.
	shortestTimeout = 91 * time.Second
	// outage is long enough for a transaction to time out: the broker looks for those every 10 s.
	outage = shortestTimeout + 15*time.Second
)

// twoNodesDie leaves one node of three, which takes no records alone, and brings the others back after a while. The program, with
// a prepared transaction, waits for them or is killed too and started then.
func twoNodesDie(t *testing.T, away time.Duration, killed bool) {
	cluster := brokers.Cluster(t, 2)
	text := patient(example(t, "orders"))
	if away > 0 {
		text += fmt.Sprintf("\njob orders {\n  txn_timeout %v\n}\n", shortestTimeout)
	}
	p := newPipeline(t, "orders", text, cluster.All)
	r := newRun(t, p, failpoints, 3, newLoad(p.graph, seed(t), caseRecords, soakStep))
	r.feeder.phase(r.feeder.left() / 2)
	alive := r.haltAt(t, "before-end-txn", 3)
	r.feeder.pause()
	first := r.victim(t, cluster, ends, 0)
	second := cluster.Nodes[slices.Index(cluster.Nodes, first)%2]
	if second == first {
		second = cluster.Nodes[2]
	}
	first.Kill(t)
	second.Kill(t)
	if killed {
		alive.Kill(t)
	} else {
		alive.Signal(t, syscall.SIGCONT)
	}
	<-time.After(away) // that time passes is what is tested
	cluster.Heal(t)
	if killed {
		cluster.All.AwaitSettled(t, r.outputs()...) // a coordinator that comes up looks for what is too old, and not at once
		id := r.transactionalIDs()[1]               // checkpoint 3 is odd
		if got := r.broker.TransactionalIDs(t, id); len(got) != 1 || !strings.Contains(got[0], "Abort") {
			t.Fatalf("after %v the prepared transaction is not aborted: %q", away, got)
		}
		alive = r.start(t)
	}
	r.feeder.phase(r.feeder.left() / 2)
	r.awaitMore(t, alive, 20)
	r.feeder.finish(t, p, r.last)
	r.reread(t)
	r.end(t, alive)
}
