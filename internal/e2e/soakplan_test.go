//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/faultproxy"
)

// fault is one thing that goes wrong in a soak. Faults come one after the other; each finds the program alive or
// dead, as the fault before has left it.
type fault struct {
	kind faultKind

	// Of the life that begins, if one does.
	parallelism int
	interval    time.Duration

	point string // crash point of kill, "" for a random moment
	pass  int
	// How long a life or a condition lasts, whichever is set: pieces that the feeder sends, results that are committed, or plain time.
	pieces, results int
	moment          time.Duration

	request  string // of cut and of what disturbs: the kind of request, by its name in Kafka's protocol
	answered bool   // of cut and stuck: the broker carries it out
	starts   bool   // of what disturbs: it is a request of a start, else of a program that runs
	dies     bool   // ″: the program is killed while the request is on its way, and started again
	later    bool   // of replace: the paused program wakes up when its successor has gone on
	victim   role   // of killNode, stopNode and freeze
	pick     int    // where there is a choice: which source, which node
	records  int    // of foreign, held and grow: how many
}

// faultKind is what goes wrong.
type faultKind string

const (
	kill     faultKind = "kill"      // the program, at a crash point or a random moment
	stop     faultKind = "stop"      // the program, by SIGTERM
	hurry    faultKind = "hurry"     // the program, by SIGTERM and soon after by SIGKILL
	pause    faultKind = "pause"     // SIGSTOP, later SIGCONT
	replace  faultKind = "replace"   // SIGSTOP, a successor on a copy of the state, SIGCONT
	second   faultKind = "second"    // a second copy on the same state
	expire   faultKind = "expire"    // the broker aborts what is open, as after the transaction's timeout
	cut      faultKind = "cut"       // a connection, at a request
	late     faultKind = "late"      // a request that its sender has given up reaches the broker later
	repeat   faultKind = "repeat"    // a request reaches the broker at once, and later once more
	delay    faultKind = "delay"     // a request is held up, and with it what comes behind it on its connection
	stuck    faultKind = "stuck"     // a request gets no answer, on a connection that stays
	freeze   faultKind = "freeze"    // a broker: SIGSTOP, and SIGCONT before anybody's patience is at its end
	full     faultKind = "full"      // the file system of the state
	restart  faultKind = "restart"   // the broker, in order, when nothing is under way
	killNode faultKind = "kill-node" // one of three
	stopNode faultKind = "stop-node" // one of three, in order
	foreign  faultKind = "foreign"   // an aborted transaction of another producer in the input
	held     faultKind = "held"      // one that stays open for a while, and is aborted
	grow     faultKind = "grow"      // a further partition of a source
)

// kinds are all of them, in the order in which they are drawn.
func kinds() []faultKind {
	return []faultKind{stop, hurry, pause, replace, second, expire, cut, late, repeat, delay, stuck, freeze, full, restart, killNode, stopNode, foreign, held, grow, kill}
}

// role is what a node is to the pipeline.
type role string

const (
	leads     role = "leader of a sink's partition"
	ends      role = "transaction coordinator"
	marks     role = "group coordinator"
	whichever role = "any node"
)

// roles are the victims.
func roles() []role { return []role{leads, ends, marks, whichever} }

// String says all that is set.
func (f fault) String() string {
	text := string(f.kind)
	v := reflect.ValueOf(f)
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		switch {
		case i == 0 || value.IsZero():
		case field.Type == reflect.TypeFor[time.Duration]():
			text += fmt.Sprintf(" %s=%v", field.Name, time.Duration(value.Int()))
		default:
			text += fmt.Sprintf(" %s=%v", field.Name, value)
		}
	}
	return text
}

// site is where a soak goes on, and what can go wrong there.
type site struct {
	name    string
	version int  // of transactions; 0: of one pipeline 2, of the next 1
	own     bool // the broker is the soak's own: it is restarted, and hangs
	nodes   bool // it is a cluster of three, whose nodes are killed and stopped one by one
}

// weights say how often what goes wrong, in a thousand.
func (s site) weights() map[faultKind]int {
	w := map[faultKind]int{
		stop: 50, hurry: 30, pause: 20, replace: 25, second: 10, expire: 30, foreign: 25, held: 15, grow: 10,
		cut: 40, late: 30, repeat: 20, delay: 20, stuck: 12, full: 12,
	}
	switch {
	case s.nodes:
		w[killNode], w[stopNode], w[freeze] = 90, 20, 10
	case s.own:
		w[restart], w[freeze] = 8, 6
	}
	w[kill] = 1000
	for kind, n := range w {
		if kind != kill {
			w[kill] -= n
		}
	}
	return w
}

// episode is one pipeline of a soak, from its first start until it is judged.
type episode struct {
	number  int
	example string
	version int    // of transactions
	load    uint64 // seed of its input
	faults  []fault
}

// name is that of its test.
func (e episode) name() string { return fmt.Sprintf("%d-%s", e.number, e.example) }

// fills says whether the disk gets full, so that the state has to be on one of its own.
func (e episode) fills() bool {
	return slices.ContainsFunc(e.faults, func(f fault) bool { return f.kind == full })
}

// examples are the pipelines of a soak.
func examples() []string { return []string{"orders", "payments", "clicks"} }

// planEpisode makes the n-th episode of a site. It depends on its arguments alone: the seed of a soak is the soak.
func planEpisode(seed uint64, s site, n, faults int) episode {
	nodes := 1
	if s.nodes {
		nodes = 3
	}
	if s.version == 0 {
		s.version = 2 - n%2
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)<<16|uint64(nodes)<<8|uint64(s.version)))
	e := episode{number: n, example: examples()[rng.IntN(len(examples()))], version: s.version, load: rng.Uint64()}
	for range 1 + rng.IntN(2) { // what comes once in the life of a state
		f := s.life(rng)
		f.kind, f.point, f.pass, f.results = kill, firstPoints[rng.IntN(len(firstPoints))], 1, 20
		e.faults = append(e.faults, f)
	}
	for len(e.faults) < faults {
		e.faults = append(e.faults, s.draw(rng)...)
	}
	// A topic grows once: the records of its further partition come behind all others.
	grown := false
	e.faults = slices.DeleteFunc(e.faults, func(f fault) bool {
		again := f.kind == grow && grown
		grown = grown || f.kind == grow
		return again
	})
	return e
}

// life is a fault of which nothing is known but how the life begins that it may begin.
func (s site) life(rng *rand.Rand) fault {
	return fault{parallelism: 1 + rng.IntN(4), interval: []time.Duration{20, 50, 100}[rng.IntN(3)] * time.Millisecond}
}

// draw makes one fault, or some that belong together.
func (s site) draw(rng *rand.Rand) []fault {
	weights := s.weights()
	left := rng.IntN(1000)
	f := s.life(rng)
	for _, kind := range kinds() {
		if left -= weights[kind]; left < 0 {
			f.kind = kind
			break
		}
	}
	switch f.kind {
	case kill:
		return killed(rng, f)
	case stop, second, restart:
		f.results = 1 + rng.IntN(100)
	case hurry:
		f.results, f.moment = 1+rng.IntN(100), time.Duration(rng.IntN(60))*time.Millisecond
	case pause:
		f.results, f.pieces = 1+rng.IntN(60), 1+rng.IntN(40)
	case replace:
		f.results, f.later = 1+rng.IntN(60), rng.IntN(2) == 0
	case cut:
		f.results, f.request, f.answered = 1+rng.IntN(30), one(rng, s.requests()).Name(), rng.IntN(2) == 0
	case late, repeat, delay, stuck:
		return s.disturbed(rng, f)
	case freeze:
		longest := 3000
		if s.nodes {
			longest = 6000 // the others take a node for gone after 4 s
		}
		f.moment = time.Duration(500+rng.IntN(longest-500)) * time.Millisecond
		if f.results = 1 + rng.IntN(60); s.nodes {
			f.victim, f.pick = one(rng, roles()), rng.IntN(6)
		}
	case full:
		f.results, f.pieces = 1+rng.IntN(60), 10+rng.IntN(30)
	case killNode, stopNode:
		f.results, f.victim, f.pick = 1+rng.IntN(60), one(rng, roles()), rng.IntN(6)
	case foreign, held:
		f.pick, f.records, f.pieces = rng.IntN(2), 1+rng.IntN(50), 1+rng.IntN(20)
	case grow:
		f.pick, f.records = rng.IntN(2), 50+rng.IntN(200)
	}
	return []fault{f}
}

// requests are those at which connections are cut.
func (s site) requests() []faultproxy.Key {
	if s.version == 1 {
		return slices.Concat(requests, requestsV1)
	}
	return requests
}

func one[T any](rng *rand.Rand, of []T) T { return of[rng.IntN(len(of))] }

// disturbed makes a request that is late, repeated, held up or never answered.
func (s site) disturbed(rng *rand.Rand, f fault) []fault {
	f.results, f.pieces, f.answered = 1+rng.IntN(40), 1+rng.IntN(20), rng.IntN(2) == 0
	f.dies = rng.IntN(2) == 0
	if f.kind == stuck { // a program that lives notices it after 10 s: few do
		f.dies = rng.IntN(4) > 0
	}
	if f.starts = rng.IntN(3) == 0; !f.starts {
		f.request = one(rng, s.protocol()).Name()
		return []fault{f}
	}
	f.request = one(rng, requestsOfStart).Name()
	before := s.life(rng) // leaves a transaction that the start has to end
	before.kind, before.point, before.pass, before.results = kill, "after-store", 1+rng.IntN(3), 20+rng.IntN(40)
	return []fault{before, f}
}

// protocol are those requests on which it depends whether results are there once: they are made all the time.
func (s site) protocol() []faultproxy.Key {
	return slices.DeleteFunc(slices.Clone(s.requests()), func(k faultproxy.Key) bool { return k == listOffsets || k == metadata })
}

// killed makes a kill: half of them at a random moment, half at a crash point, of which some are reached only by what the death
// before has left.
func killed(rng *rand.Rand, f fault) []fault {
	point := func(points ...[]string) fault {
		all := slices.Concat(points...)
		f := f
		f.point, f.pass, f.results = all[rng.IntN(len(all))], 1+rng.IntN(3), 20+rng.IntN(100)
		return f
	}
	start := func(points ...[]string) fault {
		f := point(points...)
		f.pass, f.parallelism = 1, 1+rng.IntN(4)
		return f
	}
	switch rng.IntN(10) {
	case 0, 1:
		f.pieces = 1 + rng.IntN(40)
	case 2, 3:
		f.results = 1 + rng.IntN(150)
	case 4:
		f.moment = time.Duration(rng.IntN(400)) * time.Millisecond
	case 5, 6:
		return []fault{point(checkpointPoints)}
	case 7:
		return []fault{start(startPoints, restorePoints)}
	case 8: // a prepared transaction, and a start that dies, perhaps twice
		again := []fault{point(preparedPoints)}
		for range 1 + rng.IntN(2) {
			again = append(again, start(commitPoints, startPoints, restorePoints))
		}
		return again
	default: // one that is aborted
		return []fault{point(preparedPoints), {kind: expire}, start(dropPoints, startPoints)}
	}
	return []fault{f}
}

// TestSoakIsItsSeed: the same seed makes the same faults, whatever was made before, and another one others. Every kind of fault, every request at
// which there are some, and every crash point comes.
func TestSoakIsItsSeed(t *testing.T) {
	sites := soakSites()
	const seed, episodes, faults = 42, 40, 60
	seen, points, disturbed := map[faultKind]bool{}, map[string]bool{}, map[faultKind]map[string]bool{}
	var all []episode
	for n := range episodes {
		for _, s := range sites {
			e := planEpisode(seed, s, n, faults)
			all = append(all, e)
			for _, f := range e.faults {
				seen[f.kind], points[f.point] = true, true
				if disturbed[f.kind] == nil {
					disturbed[f.kind] = map[string]bool{}
				}
				disturbed[f.kind][f.request] = true
			}
		}
	}
	for n := episodes - 1; n >= 0; n-- {
		for i, s := range sites {
			if e := planEpisode(seed, s, n, faults); !reflect.DeepEqual(e, all[n*len(sites)+i]) {
				t.Errorf("episode %d of site %d is another one when it is made again", n, i)
			}
			if e := planEpisode(seed+1, s, n, faults); reflect.DeepEqual(e.faults, all[n*len(sites)+i].faults) {
				t.Errorf("episode %d of site %d is the same with another seed", n, i)
			}
		}
	}
	for i, e := range all {
		for _, other := range all[:i] {
			if reflect.DeepEqual(e.faults, other.faults) {
				t.Errorf("episode %d repeats another one", i)
			}
		}
	}
	for _, kind := range kinds() {
		if !seen[kind] {
			t.Errorf("no fault of kind %s in %d episodes", kind, len(all))
		}
	}
	v1 := site{version: 1}
	for kind, requests := range map[faultKind][]faultproxy.Key{
		cut: v1.requests(), late: v1.protocol(), repeat: v1.protocol(), delay: v1.protocol(), stuck: v1.protocol(),
	} {
		if kind != cut {
			requests = slices.Concat(requests, requestsOfStart)
		}
		for _, key := range requests {
			if !disturbed[kind][key.Name()] {
				t.Errorf("no fault of kind %s at a request %s in %d episodes", kind, key.Name(), len(all))
			}
		}
	}
	for _, p := range slices.Concat(firstPoints, checkpointPoints, preparedPoints, commitPoints, dropPoints, startPoints, restorePoints) {
		if !points[p] {
			t.Errorf("no death at %s in %d episodes", p, len(all))
		}
	}
}
