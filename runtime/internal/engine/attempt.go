package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failpoint"
)

// attempt is one life of the pipeline between two failures: everything that is made anew when it starts
// again in the same process. Tasks, watchers, the writer and the coordinator run until the first of them fails,
// or all are done.
type attempt struct {
	*Engine
	clusters  Clusters
	anchorage anchorage
	log       *slog.Logger
	stop      <-chan struct{}

	base    *checkpoint.Checkpoint // what it goes on from
	last    *checkpoint.Checkpoint // the newest that was stored, or base
	proofs  *checkpoint.Proofs     // transactions that are committed; the coordinator's
	bounded bool
	known   []checkpoint.Partition // as they were when the attempt learnt of them; discover appends

	tracker  *tracker
	sources  []*sourceTask
	keyed    []*keyedTask
	writer   *writer
	sink     Sink
	acks     chan ack
	prepares chan prepare
	readers  []Reader
	lag      chan []Position // the newest that tools are to see
	restored <-chan error    // of a restore that was left behind: it still writes to the workers until this has something; nil: none was

	newest   atomic.Pointer[checkpoint.Checkpoint] // that is confirmed
	looked   atomic.Pointer[time.Time]             // when the broker has last told of every source
	activity atomic.Int64                          // grows whenever there is something new for a checkpoint
	progress bool                                  // a checkpoint was confirmed

	mu       sync.Mutex
	assigned []slot                  // by slot
	machine  *checkpoint.Coordinator // nil before the coordinator runs
	began    time.Time               // when the last barrier was sent
}

// slot names the partition that a slot of the tracker stands for.
type slot struct {
	slot, source int
	id           int32
	bound        int64
	reach        *reach
}

func (a *attempt) slots() []slot {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.assigned)
}

// commandDepth is how many commands a source task may have waiting: a barrier and some new partitions.
const commandDepth = 4

// build makes the tasks for the partitions and the state of the base checkpoint.
func (a *attempt) build(ctx context.Context) error {
	w := a.restoredWatermarks()
	a.tracker = newTracker(a.Spec, w)
	n := max(1, a.Options.Parallelism)
	keyed := 0
	if n > 1 && len(a.Spec.Operators) > 0 {
		keyed = n
	}
	a.acks, a.prepares = make(chan ack, n+keyed), make(chan prepare)
	a.writer.begin(n+keyed, a.base.Number)
	active := func() { a.activity.Add(1) }

	for i := range keyed {
		t := newKeyedTask(n+i, n, w)
		t.acks, t.active = a.acks, active
		t.out = &outlet{ctx: ctx, writer: a.writer, txn: a.base.Number + 1, memory: a.Options.Memory}
		t.worker = a.Spec.New(t.out, keyed)
		a.keyed = append(a.keyed, t)
	}
	var inboxes []*inbox
	for _, t := range a.keyed {
		inboxes = append(inboxes, t.inbox)
	}
	for i := range n {
		t := &sourceTask{
			id: i, spec: a.Spec, tracker: a.tracker, commands: make(chan command, commandDepth), acks: a.acks, active: active,
			moved: a.tracker.subscribe(), w: slices.Clone(w), now: make([]int64, len(w)),
		}
		t.out = &outlet{ctx: ctx, writer: a.writer, txn: a.base.Number + 1, sender: i, inboxes: inboxes, memory: a.Options.Memory}
		t.worker = a.Spec.New(t.out, keyed)
		a.sources = append(a.sources, t)
	}
	if err := a.restore(ctx, w); err != nil {
		return err
	}
	return a.assign()
}

// restoredWatermarks is W of each operator in the base checkpoint.
func (a *attempt) restoredWatermarks() []int64 {
	w := make([]int64, len(a.Spec.Operators))
	for i, op := range a.Spec.Operators {
		w[i] = minTime
		for _, saved := range a.base.Watermarks {
			if saved.Operator == op.ID {
				w[i] = saved.W
			}
		}
	}
	return w
}

// restore gives every delta to the worker that owns its key group. Workers learn of W first: windows that it has passed are
// closed, and what a delta still says of them is skipped.
func (a *attempt) restore(ctx context.Context, w []int64) error {
	workers := []Worker{a.sources[0].worker}
	if len(a.keyed) > 0 {
		workers = workers[:0]
		for _, t := range a.keyed {
			workers = append(workers, t.worker)
		}
	}
	for _, worker := range workers {
		for op := range w {
			if _, err := worker.Advance(op, w[op]); err != nil {
				return err
			}
		}
	}
	locks := make([]sync.Mutex, len(workers))
	bytes := atomic.Int64{}
	late, err := bounded(ctx, func() error {
		return a.Store.Restore(ctx, func(d checkpoint.Delta) error {
			failpoint.Hit(failpoint.DuringRestore)
			i := checkpoint.Owner(d.Group, len(workers))
			locks[i].Lock()
			defer locks[i].Unlock()
			bytes.Add(int64(len(d.Data)))
			return workers[i].Restore(d)
		})
	})
	a.restored = late
	if err == nil && bytes.Load() > 0 {
		a.log.Info("restored the state", "checkpoint", a.base.Number, "bytes", bytes.Load())
	}
	return err
}

// assign deals the partitions to the source tasks and opens their readers.
func (a *attempt) assign() error {
	starts := make([]map[readerKind][]Position, len(a.sources))
	for i := range starts {
		starts[i] = map[readerKind][]Position{}
	}
	for i, p := range a.base.Partitions {
		k := i % len(a.sources)
		part := a.open(a.sources[k], p)
		a.sources[k].parts = append(a.sources[k].parts, part)
		kind := a.Spec.Sources[part.Source].readBy()
		starts[k][kind] = append(starts[k][kind], part.position())
	}
	for k, t := range a.sources {
		t.byKind = map[readerKind]Reader{}
		for _, s := range a.Spec.Sources {
			kind := s.readBy()
			if t.byKind[kind] != nil {
				continue
			}
			r, err := a.clusters.of(s).NewReader(s.ReadUncommitted, starts[k][kind])
			if err != nil {
				return err
			}
			t.byKind[kind] = r
			a.readers = append(a.readers, r)
			t.readers = append(t.readers, r)
		}
		for _, p := range t.parts {
			p.reader = t.byKind[a.Spec.Sources[p.Source].readBy()]
		}
	}
	return nil
}

// readerKind is what sources must have in common to share a reader of a task.
type readerKind struct {
	connection  int
	uncommitted bool
}

func (s SourceSpec) readBy() readerKind { return readerKind{s.Connection, s.ReadUncommitted} }

// open makes a partition known to the tracker and prepares it for a task.
func (a *attempt) open(t *sourceTask, p checkpoint.Partition) *sourcePart {
	source := a.Spec.source(p.Source)
	r := newReach()
	n, floor := a.tracker.add(source, p.Next, p.Watermark, p.Active)
	a.mu.Lock()
	a.assigned = append(a.assigned, slot{n, source, p.ID, p.Bound, r})
	a.mu.Unlock()
	return &sourcePart{
		Partition: Partition{Source: source, Topic: p.Topic, ID: p.ID, Slot: n, Watermark: p.Watermark, Floor: floor},
		reach:     r, cluster: p.Cluster, topicID: p.TopicID, next: p.Next, bound: p.Bound,
		reader: t.byKind[a.Spec.Sources[source].readBy()],
	}
}

// run starts everything and waits for the end, or for the first failure, which it returns.
func (a *attempt) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, a.release)()
	tasks, watchers := &crew{ctx: ctx, cancel: cancel}, &crew{ctx: ctx, cancel: cancel}
	tasks.start(sinkWriter, func(ctx context.Context) error { return a.writer.run(ctx, a.prepares) })
	for _, t := range a.keyed {
		tasks.start(a.taskName(t.id), t.run)
	}
	for _, t := range a.sources {
		tasks.start(a.taskName(t.id), t.run)
	}
	watchers.start("the look for new partitions", a.discover)
	watchers.start("the watch for idle partitions", a.watch)
	watchers.start("the watch for output that nobody sees", a.watchOutput)
	if a.anchorage.elsewhere != nil {
		watchers.start("the commit of offsets for tools that show lag", a.showLag)
	}
	err := a.coordinate(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause // the first failure is the reason; what came after it, its consequence
	}
	if err == nil {
		err = tasks.wait(nil) // each has seen the final barrier
	}
	cancel(err)
	return watchers.wait(tasks.wait(err))
}

const sinkWriter = "sink writer"

// taskName names a task by its number, for messages about who is waited for.
func (a *attempt) taskName(id int) string {
	if n := len(a.sources); id >= n {
		return fmt.Sprintf("window task %d", id-n)
	}
	return fmt.Sprintf("source task %d", id)
}

// release wakes every task that waits for another one. It is called when the attempt is over, by whatever: a task
// that has failed cannot do it for those who wait for it.
func (a *attempt) release() {
	a.writer.close()
	for _, t := range a.keyed {
		t.inbox.close()
	}
}

func (a *attempt) close() {
	for _, r := range a.readers {
		r.Close()
	}
}
