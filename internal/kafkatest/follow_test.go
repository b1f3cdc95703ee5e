//go:build unix

package kafkatest

import (
	"context"
	"testing"
	"time"
)

func TestFollowerSeesCommitsAcrossRestart(t *testing.T) {
	b := Start(t, Options{})
	b.CreateTopic(t, "out", 2)
	f := b.Follow(t, nil, "out")
	b.ProduceTxn(t, false, "out", Record{Value: []byte("aborted")})
	b.ProduceTxn(t, true, "out", Record{Value: []byte("one")}, Record{Partition: 1, Value: []byte("two")})
	await := func(n int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), callLimit)
		defer cancel()
		if err := f.Await(ctx, func(counts map[string]int) bool { return counts["out"] >= n }); err != nil {
			t.Fatal(err)
		}
	}
	await(2)
	b.Stop(t)
	b.Restart(t)
	b.Produce(t, "out", Record{Value: []byte("three")})
	await(3)
	if f.Total() != 3 {
		t.Errorf("the follower has seen %d records, want 3: %v", f.Total(), f.Counts())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := f.Await(ctx, func(map[string]int) bool { return false }); err == nil {
		t.Error("waiting for what never comes ended without an error")
	}
}

func TestFenceAbortsOpenTransaction(t *testing.T) {
	b := brokers.Broker(t, 2)
	b.CreateTopic(t, "fenced", 1)
	open := b.OpenTxn(t, "holder", "fenced", Record{Value: []byte("never committed")})
	if got := b.OpenTransactions(t, "fenced"); len(got) != 1 {
		t.Fatalf("open transactions: %q, want one", got)
	}
	b.Fence(t, "holder")
	b.AwaitSettled(t, "fenced")
	if got := b.ReadCommitted(t, "fenced"); len(got) != 0 {
		t.Errorf("read %v, want nothing", got)
	}
	if err := open.Commit(call(t)); err == nil {
		t.Error("the fenced producer could commit")
	}
}
