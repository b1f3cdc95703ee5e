package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/memory"
	"github.com/eoc-lang/eoc/runtime/internal/words"
)

// memoryEvery is how often it is looked how much memory is held. Go's collector is at work much more often when little is left, so
// what it says is never older.
const memoryEvery = 100 * time.Millisecond

// watchMemory ends everything when the process holds too much memory.
func (e *Engine) watchMemory(ctx context.Context, cancel context.CancelCauseFunc) {
	if e.Options.Memory == nil {
		return
	}
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	var said limiter
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			tight, err := e.Options.Memory.Look()
			if err != nil {
				cancel(outgrown(err))
				return
			}
			if tight && said.due(now) {
				e.Options.Log.Warn("memory is getting short: when nine tenths of what the process may have are held, it ends", "limit", e.Options.Memory.String())
			}
		}
	}
}

// outgrown is the failure for want of memory.
func outgrown(err error) error {
	return failure.New(failure.Memory, "give the process more memory, or the next start ends like this one; nothing is lost, it goes on from the last checkpoint. "+
		"To need less: smaller windows, grace and watermark, or keys of which there are fewer", err, "the state has outgrown the memory")
}

// holding is how much of an operator is in memory.
type holding struct {
	operator      OperatorSpec
	windows, keys int
	bytes         int64
}

// restoreEnd is how long a restore that is to end is waited for: it is asked between two deltas, and a disk may not answer.
const restoreEnd = 2 * time.Second

// noteHoldings counts what is in memory if that is why the attempt has failed. Its tasks have ended; a restore that was left behind may
// not have, and then nothing is counted: what it writes to cannot be read.
func (a *attempt) noteHoldings(err error) {
	if failure.KindOf(err) != failure.Memory {
		return
	}
	if !a.restoreEnded() {
		a.uncounted = true
		return
	}
	starts := make([]map[int64]bool, len(a.Spec.Operators))
	a.holdings = make([]holding, len(a.Spec.Operators))
	for op, spec := range a.Spec.Operators {
		a.holdings[op].operator, starts[op] = spec, map[int64]bool{}
	}
	note := func(op int, start int64, keys int, bytes int64) {
		a.holdings[op].keys += keys
		a.holdings[op].bytes += bytes
		starts[op][start] = true
	}
	for _, t := range a.sources {
		t.worker.Held(note)
	}
	for _, t := range a.keyed {
		t.worker.Held(note)
	}
	for op := range starts {
		a.holdings[op].windows = len(starts[op])
	}
}

// leastLimit is the least limit that is proposed: what is on its way from and to Kafka needs room, too.
const leastLimit = 64 << 20

// tooSmall is the failure of a program that does not fit into its memory whatever its state is: alone it would need so much.
func tooSmall(over *memory.Exceeded, needs int64, keys int) error {
	proposed := (max(leastLimit, 2*needs) + 1<<20 - 1) >> 20
	set := fmt.Sprintf("give the process %d MiB of memory or more", proposed)
	if over.From == "GOMEMLIMIT" {
		set = fmt.Sprintf("set GOMEMLIMIT=%dMiB or more", proposed)
	}
	return failure.New(failure.Memory, fmt.Sprintf("without any state it needs %d MiB: %s, and what its state takes beside that; nothing is lost, the next start goes on from the last checkpoint",
		(needs+1<<20-1)>>20, set), over, "the memory limit is too small for the program itself, whose windows have %s", words.Many(keys, "key"))
}

// restoreEnded says whether nothing writes to the workers any more.
func (a *attempt) restoreEnded() bool {
	if a.restored == nil {
		return true
	}
	select {
	case <-a.restored:
		return true
	case <-time.After(restoreEnd):
		return false
	}
}

// withHoldings says in a failure for want of memory what holds it. Another error it returns as it is.
func (e *Engine) withHoldings(err error) error {
	var known *failure.Error
	if failure.KindOf(err) != failure.Memory || !errors.As(err, &known) || e.uncounted {
		return err
	}
	var keys int
	var state int64
	for _, h := range e.holdings {
		keys, state = keys+h.keys, state+h.bytes
	}
	// Of what a store in memory holds, and what an attempt has left that has ended for another reason, the size is not known.
	all := !e.built || e.holdings != nil && !e.Spec.Memory
	var over *memory.Exceeded
	if all && errors.As(err, &over) && over.Needs(state) > over.Limit {
		return tooSmall(over, over.Needs(state), keys)
	}
	var list []string
	for _, h := range e.holdings {
		list = append(list, fmt.Sprintf("%s (%s) has %s in %s", h.operator.ID, h.operator.Place, words.Many(h.keys, "key"), words.Many(h.windows, "open window")))
	}
	if len(list) == 0 {
		return err
	}
	return failure.New(known.Kind, known.Help, known.Err, "%s: %s", known.What, strings.Join(list, ", "))
}
