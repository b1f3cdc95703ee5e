package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// stepRecords is how many records are processed before a task looks for a barrier: a few hundred
// microseconds of work.
const stepRecords = 1024

// sourceTask reads a set of partitions and takes their records as far as the exchange; without
// keyed tasks, or alone, through the whole pipeline.
type sourceTask struct {
	id       int
	spec     *Spec
	worker   Worker
	out      *outlet
	tracker  *tracker
	readers  []Reader              // one for each connection and isolation level in use
	byKind   map[readerKind]Reader // the same
	parts    []*sourcePart
	commands chan command
	acks     chan<- ack
	active   func() // records were read, or a window closed: there is something for a checkpoint

	moved <-chan struct{} // from the tracker: W of an operator has moved
	w     []int64         // W of each operator as last sent on
	now   []int64         // scratch
}

// sourcePart is one partition of a source task.
type sourcePart struct {
	Partition
	cluster  string // as in checkpoint.Partition
	topicID  checkpoint.ID
	reader   Reader
	next     int64
	bound    int64 // where a bounded run ends; -1 for none
	reach    *reach
	finished bool
}

// command is what the coordinator asks of a source task: a barrier, or to read one more partition.
type command struct {
	barrier *barrier
	add     *sourcePart
}

// fetched is a poll of one reader.
type fetched struct {
	Fetched
	err error
}

func (t *sourceTask) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var polling sync.WaitGroup
	defer polling.Wait()
	defer stop()
	polls := make(chan fetched)
	for _, r := range t.readers {
		polling.Go(func() { poll(ctx, r, polls) })
	}
	for _, p := range t.parts {
		t.settle(p)
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case c := <-t.commands:
			if final, err := t.obey(ctx, c); final || err != nil {
				return err
			}
		case <-t.moved:
			if err := t.forward(); err != nil {
				return err
			}
		case f := <-polls:
			if f.err != nil {
				return f.err
			}
			final, err := t.process(ctx, f.Chunks)
			f.Release()
			if final || err != nil {
				return err
			}
		}
	}
}

// poll hands the fetches of a reader to its task until ctx ends.
func poll(ctx context.Context, r Reader, to chan<- fetched) {
	for ctx.Err() == nil {
		f, err := r.Poll(ctx)
		if err == nil && len(f.Chunks) == 0 {
			f.Release()
			continue
		}
		select {
		case to <- fetched{f, err}:
		case <-ctx.Done():
			if err == nil {
				f.Release()
			}
		}
	}
}

// process takes fetched records through the pipeline. Between steps it obeys what the coordinator asks, so that
// a barrier need not wait for a large fetch.
func (t *sourceTask) process(ctx context.Context, chunks []Chunk) (final bool, err error) {
	for _, c := range chunks { // all that have records hold W, before it follows the first of them
		p := t.part(c.Source, c.Partition)
		if p == nil {
			return false, failure.New(failure.Internal, "", nil, "a fetch brought %s/%d, which this task does not read", c.Topic, c.Partition)
		}
		p.reach.saw(c.End, c.Stable)
		if len(c.Records) > 0 {
			t.tracker.wake(p.Slot)
		}
	}
	for _, c := range chunks {
		p := t.part(c.Source, c.Partition)
		records, next := c.Records, c.Next
		if p.bound >= 0 {
			n, _ := slices.BinarySearchFunc(records, p.bound, func(r record.Record, bound int64) int { return cmp.Compare(r.Offset, bound) })
			records, next = records[:n], min(next, p.bound)
		}
		for len(records) > 0 && ctx.Err() == nil {
			n := min(stepRecords, len(records))
			if err := t.step(p, records[:n]); err != nil {
				return false, err
			}
			records = records[n:]
			if final, err := t.pending(ctx); final || err != nil {
				return final, err
			}
		}
		if len(records) == 0 && next > p.next {
			p.next = next
			t.tracker.advance(p.Slot, p.next, p.Watermark)
		}
		t.settle(p)
	}
	return false, nil
}

// step processes records of one partition and tells what that means for W.
func (t *sourceTask) step(p *sourcePart, records []record.Record) error {
	if floor := t.tracker.begin(p.Slot); floor != nil {
		p.Floor = floor
	}
	if err := t.worker.Process(&p.Partition, records); err != nil {
		return err
	}
	p.next = records[len(records)-1].Offset + 1
	t.active()
	if t.tracker.advance(p.Slot, p.next, p.Watermark) {
		if err := t.forward(); err != nil {
			return err
		}
	}
	t.hold(p)
	return nil
}

// pending obeys the commands that wait.
func (t *sourceTask) pending(ctx context.Context) (final bool, err error) {
	for {
		select {
		case c := <-t.commands:
			if final, err := t.obey(ctx, c); final || err != nil {
				return final, err
			}
		default:
			return false, nil
		}
	}
}

func (t *sourceTask) obey(ctx context.Context, c command) (final bool, err error) {
	if p := c.add; p != nil {
		t.parts = append(t.parts, p)
		p.reader.Add(p.position())
		t.settle(p)
		return false, nil
	}
	if err := t.snapshot(ctx, c.barrier); err != nil {
		return false, err
	}
	return c.barrier.final, nil
}

// snapshot records the positions, and passes the barrier on: to the keyed tasks, W directly before it, and to the writer.
func (t *sourceTask) snapshot(ctx context.Context, b *barrier) error {
	if err := t.forward(); err != nil {
		return err
	}
	t.worker.Flush()
	a := ack{task: t.id, n: b.n, counts: t.worker.Counts(nil), refusals: t.worker.Refused(nil)}
	var positions []Position
	for _, p := range t.parts {
		_, active, _ := t.tracker.state(p.Slot)
		positions = append(positions, p.position())
		a.partitions = append(a.partitions, checkpoint.Partition{
			Source: t.spec.Sources[p.Source].Name, Cluster: p.cluster, Topic: p.Topic, TopicID: p.topicID, ID: p.ID,
			Next: p.next, Watermark: p.Watermark, Active: active, Bound: p.bound,
		})
	}
	failpoint.Hit(failpoint.AfterSourceSnapshot)
	if t.alone() {
		a.w, a.deltas, a.keys = slices.Clone(t.w), t.worker.Snapshot(), keysIn(t.worker, len(t.w))
		failpoint.Hit(failpoint.AfterOperatorSnapshot)
	}
	t.out.broadcast(message{barrier: b})
	if !t.out.writer.put(ctx, t.out.txn, output{barrier: b, positions: positions}) {
		return context.Cause(ctx)
	}
	t.out.txn = b.n + 1
	select {
	case t.acks <- a:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// alone: the worker keeps the windows itself.
func (t *sourceTask) alone() bool { return len(t.out.inboxes) == 0 }

// forward passes W on if it has moved: all rows that it covers have been sent.
func (t *sourceTask) forward() error {
	t.tracker.now(t.now)
	if slices.Equal(t.now, t.w) {
		return nil
	}
	copy(t.w, t.now)
	if !t.alone() {
		t.out.broadcast(message{w: slices.Clone(t.w)})
	} else {
		for op, w := range t.w {
			closed, err := t.worker.Advance(op, w)
			if err != nil {
				return err
			}
			if closed > 0 {
				t.active()
			}
		}
	}
	for _, p := range t.parts {
		if p.reach.paused.Load() {
			t.hold(p)
		}
	}
	return nil
}

// hold pauses a partition that runs too far ahead of W, and resumes it when W has followed.
func (t *sourceTask) hold(p *sourcePart) {
	if p.finished {
		return
	}
	ahead, paused := t.tracker.ahead(p.Slot, t.spec), p.reach.paused.Load()
	switch {
	case ahead && !paused:
		p.reader.Pause(p.Topic, p.ID)
	case !ahead && paused:
		p.reader.Resume(p.Topic, p.ID)
	}
	p.reach.paused.Store(ahead)
}

// settle notices that a bounded partition is at its end.
func (t *sourceTask) settle(p *sourcePart) {
	if p.bound >= 0 && p.next >= p.bound && !p.finished {
		p.finished = true
		t.tracker.finish(p.Slot)
		p.reader.Pause(p.Topic, p.ID)
	}
}

func (t *sourceTask) part(source int, id int32) *sourcePart {
	for _, p := range t.parts {
		if p.ID == id && p.Source == source {
			return p
		}
	}
	return nil
}

func (p *sourcePart) position() Position {
	return Position{Source: p.Source, Topic: p.Topic, TopicID: p.topicID, Partition: p.ID, Next: p.next}
}
