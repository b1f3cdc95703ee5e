package checkpoint

import (
	"flag"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// scenario is what a search begins with.
type scenario struct {
	name     string
	v2       bool
	maxEpoch int8
	budget   budget
	second   bool // a second process with an empty directory from the beginning
	renamed  bool // the copy has other transactional ids, and the first process, which is at work, is not started again
	latest   bool // the start offsets move on with every start
	beside   bool // a producer is renewed beside what else its process does, and not before
	deep     bool // it takes minutes to search all of it, so it is searched with -deep
	inputs   int8 // records; 0 is two
	refuse   map[failure.Kind]bool
}

func (sc scenario) begin() *world {
	w := &world{broker: broker{v2: sc.v2, maxEpoch: sc.maxEpoch}, budget: sc.budget, begin: noMark, latest: sc.latest, inputs: sc.inputs}
	if w.inputs == 0 {
		w.inputs = 2
	}
	w.procs[0].exists = true
	w.procs[1].exists = sc.second
	w.renamed, w.beside = sc.renamed, sc.beside
	return w
}

// What starts may be refused for: another copy, and that which they cannot know.
var (
	copies   = map[failure.Kind]bool{failure.State: true, failure.Fenced: true}
	doubtful = map[failure.Kind]bool{failure.State: true, failure.Fenced: true, failure.Unknown: true}
)

// deep makes the searches much larger: minutes instead of seconds.
var deep = flag.Bool("deep", false, "search larger worlds")

// scenarios are searched to the end: budgets make them finite.
func scenarios() []scenario {
	more := int8(0)
	if *deep {
		more = 1
	}
	var list []scenario
	for _, v2 := range []bool{false, true} {
		v := map[bool]string{false: "V1", true: "V2"}[v2]
		list = append(list,
			scenario{name: v + " one process", v2: v2, maxEpoch: 100, beside: true, budget: budget{starts: 2 + more, crashes: 2, timeouts: 1, ghosts: 1}},
			scenario{name: v + " epochs run out", v2: v2, maxEpoch: 1, beside: true, budget: budget{starts: 2, crashes: 1, timeouts: 1, ghosts: 1}},
			scenario{name: v + " first starts at latest", v2: v2, maxEpoch: 100, budget: budget{starts: 3, crashes: 2, timeouts: more}, latest: true},
			scenario{name: v + " copied directory", v2: v2, maxEpoch: 100, budget: budget{starts: 3, crashes: more, timeouts: more, copies: 1}, refuse: copies},
			scenario{name: v + " copied directory, renewals beside", v2: v2, maxEpoch: 100, beside: true, budget: budget{starts: 2, crashes: more, ghosts: more, copies: 1}, refuse: copies},
			scenario{name: v + " copied directory, forgotten ids, epochs run out", v2: v2, maxEpoch: 1, beside: true, deep: true, budget: budget{starts: 2, forgets: 1, copies: 1}, refuse: doubtful},
			scenario{name: v + " zombie with other ids", v2: v2, maxEpoch: 100, beside: true, budget: budget{starts: 2 + more, crashes: more, timeouts: more, copies: 1}, renamed: true, refuse: copies},
			scenario{name: v + " zombie with other ids, forgotten ids", v2: v2, maxEpoch: 100, beside: true, budget: budget{starts: 2, forgets: 1, copies: 1}, renamed: true, refuse: doubtful},
			scenario{name: v + " two first starts", v2: v2, maxEpoch: 100, budget: budget{starts: 2 + more, crashes: more}, second: true, latest: true, refuse: copies},
			scenario{name: v + " lost marker, forgotten id", v2: v2, maxEpoch: 100, budget: budget{starts: 2 + more, crashes: 1 + more, timeouts: 1, losses: 1, forgets: 1},
				refuse: map[failure.Kind]bool{failure.Unknown: true}},
		)
	}
	return list
}
