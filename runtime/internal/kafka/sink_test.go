package kafka

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

func TestTwoPhaseCommit(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		b.marked(-1)
		s := b.sink(b.cluster, b.config())
		one := b.prepare(s, 1, "a", "b")
		if one.Records != 2 || one.Checkpoint != 1 || one.TransactionalID != b.ids[1] || one.EndTxnVersion != b.cluster.txns || one.ClusterID == "" {
			t.Errorf("committable: %+v", one)
		}
		if got := b.ReadCommitted(t, b.out); len(got) > 0 {
			t.Errorf("prepared records are visible: %v", got)
		}
		b.must(s.Commit(b.ctx, one))
		b.marked(1)
		b.expect("a", "b")
		two := b.prepare(s, 2, "c")
		b.write(s, 3, "d") // beside the prepared one
		b.must(s.Commit(b.ctx, two))
		b.marked(2)
		b.must(s.Abort(b.ctx))
		b.marked(2)
		b.expect("a", "b", "c")
	})
}

// A process that dies after Prepare leaves a committable with which any other commits.
func TestCommitByAnother(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := b.sink(b.cluster, b.config())
		b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
		two := b.prepare(s, 2, "b")
		s.Close()
		other := b.open()
		for range 3 {
			outcome, err := other.EndTxn(b.ctx, two)
			b.must(err)
			if outcome != engine.CommittedNow {
				t.Fatalf("EndTxn of a prepared transaction: outcome %v", outcome)
			}
		}
		b.marked(2)
		b.expect("a", "b")
	})
}

// Invariant I3: however often the committable of transaction N is committed, no later transaction is.
func TestRepeatedEndTxnCommitsNothingElse(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := b.sink(b.cluster, b.config())
		other := b.open()
		one := b.prepare(s, 1, "a")
		b.must(s.Commit(b.ctx, one))
		two := b.prepare(s, 2, "b")
		b.must(s.Commit(b.ctx, two))
		b.write(s, 3, "half") // under the id of 1
		for range 5 {
			if _, err := other.EndTxn(b.ctx, one); err != nil {
				t.Fatal(err)
			}
			if _, err := other.EndTxn(b.ctx, two); err != nil {
				t.Fatal(err)
			}
		}
		b.must(s.Write(b.ctx, slab(0, "other half")))
		b.must(s.Abort(b.ctx))
		b.expect("a", "b")
		b.marked(2)
	})
}

// A transaction without records has its marker, and every one has an epoch of its own.
func TestEmptyTransaction(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := b.sink(b.cluster, b.config())
		seen := map[string]bool{}
		for n := range int64(4) {
			b.must(s.Begin(b.ctx, n))
			c, _, err := s.Prepare(b.ctx, n, b.at(n))
			b.must(err)
			if name := fmt.Sprint(c.TransactionalID, c.ProducerID, c.Epoch); c.Records != 0 || seen[name] {
				t.Errorf("transaction %d: %+v, seen %v", n, c, seen)
			} else {
				seen[name] = true
			}
			b.must(s.Commit(b.ctx, c))
			b.marked(n)
		}
	})
}

func TestManyTransactions(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		const transactions, every = 200, 10
		s := b.sink(b.cluster, b.config())
		var want []string
		for n := range int64(transactions) {
			b.must(s.Begin(b.ctx, n))
			if n%3 != 0 {
				v := fmt.Sprint("v", n)
				b.must(s.Write(b.ctx, slab(0, v)))
				want = append(want, v)
			}
			c, _, err := s.Prepare(b.ctx, n, b.at(n))
			b.must(err)
			b.must(s.Commit(b.ctx, c))
			if n%every == 0 {
				b.marked(n)
			}
		}
		b.expect(want...)
		got := b.ReadCommitted(t, b.out)
		values := make([]string, len(got))
		for i, r := range got {
			values[i] = string(r.Value)
		}
		if !slices.Equal(values, want) { // one key, so one partition
			t.Errorf("order of the output: %q", values)
		}
	})
}

// A record that cannot be sent fails the transaction that it belongs to.
func TestSendErrorFailsPrepare(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := b.sink(b.cluster, b.config())
		b.must(s.Commit(b.ctx, b.prepare(s, 1, "a")))
		b.must(s.Begin(b.ctx, 2))
		err := s.Write(b.ctx, slab(0, "b", strings.Repeat("x", 2<<20), "c"))
		if err == nil {
			_, _, err = s.Prepare(b.ctx, 2, b.at(2))
		}
		if failure.KindOf(err) != failure.Record {
			t.Fatalf("kind %d: %v", failure.KindOf(err), err)
		}
		for _, part := range []string{b.out, `"k1"`, "2097154", "1048588", "max.message.bytes"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v\ndoes not name %s", err, part)
			}
		}
		if _, _, again := s.Prepare(b.ctx, 2, b.at(2)); again == nil {
			t.Error("the sink goes on after a send error")
		}
		b.must(s.Abort(b.ctx))
		b.expect("a")
		b.marked(1)
	})
}
