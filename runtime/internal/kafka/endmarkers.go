package kafka

import (
	"context"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

const (
	// markersLimit is how long the end markers of a committed transaction may take. A start waits for them, too, and says then who holds readers back.
	markersLimit = 20 * time.Second
	// othersAfter is after how long leaders are asked whether it is a transaction of somebody else that holds readers back.
	othersAfter = 200 * time.Millisecond
)

// awaitMarkers waits until the end markers of a transaction whose commit was answered are in all partitions that it wrote to: until they are, its producer must write
// nothing there. A broker can lose one (KAFKA-20734). Then the leader takes what the producer writes next for part of the transaction that is still open for it,
// and if that is aborted, so are records that are committed. An error of kind Transient: they are not there by markersLimit.
func (c *Cluster) awaitMarkers(ctx context.Context, t transaction, written []checkpoint.Written) error {
	for began, tries := time.Now(), 1; ; tries++ {
		left, err := c.unmarked(ctx, written)
		if err == nil && len(left) > 0 && time.Since(began) > othersAfter {
			left, err = c.openFor(ctx, t.producer, left)
		}
		switch late := time.Since(began) > markersLimit; {
		case err != nil && failure.KindOf(err) == failure.Cluster:
			return nil // it is not told; the watch of the output warns of what stays invisible
		case err == nil && len(left) == 0:
			return nil
		case err != nil && late:
			return err
		case late:
			return failure.New(failure.Transient, "", nil, "the commit of transactional id %s, producer id %d, epoch %d, was answered %v ago, and topic %s, partition %d, lacks its end marker",
				t.id, t.producer, t.epoch, markersLimit, left[0].Topic, left[0].Partition)
		case !sleep(ctx, pause(tries)):
			return c.failed(ctx.Err(), "wait for the end markers of transactional id %s", t.id)
		case err == nil:
			written = left
		}
	}
}

// unmarked are the places that readers of committed records cannot read to behind the records there.
func (c *Cluster) unmarked(ctx context.Context, written []checkpoint.Written) (left []checkpoint.Written, err error) {
	for topic, places := range writtenTo(written) {
		stable, err := c.Offsets(ctx, topic, partitionsOf(places), engine.OffsetAt{Kind: engine.LastStable})
		if err != nil {
			return nil, err
		}
		for _, w := range places {
			if w.Untold > 0 || stable[w.Partition] < w.Next { // where all its records are, a broker did not tell
				left = append(left, w)
			}
		}
	}
	return left, nil
}

// openFor are the places where the leader has an open transaction of a producer, which begins at its records there or before them.
func (c *Cluster) openFor(ctx context.Context, producer int64, written []checkpoint.Written) (left []checkpoint.Written, err error) {
	for topic, places := range writtenTo(written) {
		open, err := c.producing(ctx, topic, partitionsOf(places))
		if err != nil {
			return nil, err
		}
		for _, w := range places {
			for _, x := range open {
				if x.Partition == w.Partition && x.ProducerID == producer {
					left = append(left, w)
				}
			}
		}
	}
	return left, nil
}

func writtenTo(written []checkpoint.Written) map[string][]checkpoint.Written {
	out := map[string][]checkpoint.Written{}
	for _, w := range written {
		out[w.Topic] = append(out[w.Topic], w)
	}
	return out
}

func partitionsOf(written []checkpoint.Written) (ids []int32) {
	for _, w := range written {
		ids = append(ids, w.Partition)
	}
	return ids
}
