package kafkatest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Follower reads what is committed to some topics as it becomes visible, also across restarts of the broker.
type Follower struct {
	mu      sync.Mutex
	counts  map[string]int
	failed  error         // what the last fetch said; a broker that is down is no reason to stop
	changed chan struct{} // closed and replaced when a count changes
}

// Follow follows topics from their start until the test ends. If each is not nil it is called with
// every record, from one goroutine.
func (b *Broker) Follow(t testing.TB, each func(topic string, r Record), topics ...string) *Follower {
	t.Helper()
	client, err := b.dial(kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.MetadataMinAge(metadataAge), kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	f := &Follower{counts: map[string]int{}, changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			f.take(client.PollFetches(ctx), each)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		client.Close()
	})
	return f
}

func (f *Follower) take(fetches kgo.Fetches, each func(string, Record)) {
	if each != nil {
		fetches.EachRecord(func(r *kgo.Record) { each(r.Topic, record(r)) })
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = fetches.Err()
	if fetches.NumRecords() == 0 {
		return
	}
	fetches.EachRecord(func(r *kgo.Record) { f.counts[r.Topic]++ })
	close(f.changed)
	f.changed = make(chan struct{})
}

// Counts is how many records of each topic have been seen.
func (f *Follower) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// Total is how many records have been seen.
func (f *Follower) Total() int {
	total := 0
	for _, n := range f.Counts() {
		total += n
	}
	return total
}

// Await waits until enough says that the counts are as they should be.
func (f *Follower) Await(ctx context.Context, enough func(counts map[string]int) bool) error {
	for {
		f.mu.Lock()
		counts, failed, changed := maps.Clone(f.counts), f.failed, f.changed
		f.mu.Unlock()
		if enough(counts) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for committed records: %w; seen so far: %v; last fetch: %v", context.Cause(ctx), counts, failed)
		}
	}
}
