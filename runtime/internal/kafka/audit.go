package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Stretch is part of a partition: its offsets from From to before To.
type Stretch struct {
	Topic     string
	Partition int32
	From, To  int64
}

// Committed is a record as a reader of committed records gets it, without its contents.
type Committed struct {
	Topic     string
	Partition int32
	Offset    int64
	Producer  int64 // its producer id; -1: none
}

// stallLimit is how long reading waits for more of what is there.
const stallLimit = 30 * time.Second

// ReadCommitted shows every committed record of the stretches to visit, from one goroutine, those of a partition in the order of their offsets. What it keeps
// in memory does not depend on how many there are. To has to be at most the last stable offset. After each answer it says to heard how many offsets it has
// passed. An error of kind failure.Lost: records were deleted before they were read.
func (c *Cluster) ReadCommitted(ctx context.Context, stretches []Stretch, visit func(Committed), heard func(passed int64)) error {
	ends, from := map[partition]Stretch{}, map[string]map[int32]kgo.Offset{}
	for _, s := range stretches {
		if s.From >= s.To {
			continue
		}
		ends[partition{s.Topic, s.Partition}] = s
		if from[s.Topic] == nil {
			from[s.Topic] = map[int32]kgo.Offset{}
		}
		from[s.Topic][s.Partition] = kgo.NewOffset().At(s.From)
	}
	if len(ends) == 0 {
		return ctx.Err()
	}
	pool := &fetchPool{}
	unpacker, err := newUnpacker(pool)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append(c.options(c.txns), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumePartitions(from),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.KeepControlRecords(), kgo.FetchMaxBytes(fetchBytes), kgo.FetchMaxPartitionBytes(partitionBytes),
		kgo.MaxConcurrentFetches(fetches), kgo.FetchMaxWait(fetchWait), kgo.WithDecompressor(unpacker), kgo.WithPools(pool))...)
	if err != nil {
		return failure.New(failure.Internal, "", err, "set up a reader")
	}
	defer client.Close()
	for len(ends) > 0 {
		limited, cancel := context.WithTimeout(ctx, stallLimit)
		got := client.PollFetches(limited)
		stalled := limited.Err() != nil
		cancel()
		switch err := c.auditError(got); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && stalled:
			return failure.New(failure.Transient, "look at the brokers, and run it again", err, "no record came within %v, with %s not read to the end", stallLimit, left(ends))
		case err != nil:
			return err
		}
		if got.NumRecords() == 0 && refused(got) && pool.lent.isFull() && client.BufferedFetchRecords() == 0 {
			pool.lent.collect()
		}
		passed := int64(0)
		got.EachRecord(func(r *kgo.Record) {
			at := partition{r.Topic, r.Partition}
			s, open := ends[at]
			if open && r.Offset >= s.From {
				passed += min(r.Offset+1, s.To) - s.From
				s.From = r.Offset + 1
				ends[at] = s
				if r.Offset < s.To && !r.Attrs.IsControl() {
					visit(Committed{r.Topic, r.Partition, r.Offset, r.ProducerID})
				}
				if s.From >= s.To {
					delete(ends, at)
					client.PauseFetchPartitions(map[string][]int32{r.Topic: {r.Partition}})
				}
			}
			r.Recycle()
		})
		heard(passed)
	}
	return nil
}

// left names partitions that are not read to their ends, at most some of them.
func left(ends map[partition]Stretch) string {
	const shown = 5
	var names []string
	for at, s := range ends {
		names = append(names, fmt.Sprintf("%s/%d (at %d of %d)", at.topic, at.id, s.From, s.To))
	}
	slices.Sort(names)
	if more := len(names) - shown; more > 0 {
		names = append(names[:shown], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// auditError is what says most of the errors of a fetch.
func (c *Cluster) auditError(got kgo.Fetches) (err error) {
	got.EachError(func(topic string, id int32, e error) {
		var loss *kgo.ErrDataLoss
		var large *kgo.ErrDecompressTooLarge
		switch {
		case errors.Is(e, errFull):
		case errors.Is(e, kerr.OffsetOutOfRange) || errors.As(e, &loss):
			err = failure.New(failure.Lost, "let the topic keep its records longer, and run it again", e, "records of topic %s, partition %d were deleted while they were to be read", topic, id)
		case err == nil && errors.As(e, &large):
			err = failure.New(failure.Record, "have the producer write smaller batches", nil, "%s", unpacksTooLarge(large))
		case err == nil:
			err = c.failed(needs(e, reads(topic)), "read topic %s, partition %d", topic, id)
		}
	})
	return err
}
