package kafka

import (
	"context"
	"fmt"
	"testing"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// A producer id runs out of epochs, wherever in the life of a transaction that happens: the next one goes on under another producer id, and
// processes that die before and after it leave transactions that are committed once. Some of them are committed by repetition, as if
// the first answer were lost; that may be refused, and then the marker decides. The same holds if the coordinator fails over meanwhile.
func TestEpochsRunOut(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		const ahead, deaths = 3, 3 // an id uses up at least two epochs for each transaction
		epochs := map[string]int16{b.ids[0]: lastEpoch - 1, b.ids[1]: lastEpoch - 1}
		beds := make([]*bed, ahead)
		for i := range beds {
			c := *b
			var cancel context.CancelFunc
			c.ctx, cancel = context.WithTimeout(t.Context(), 2*testTimeout)
			t.Cleanup(cancel)
			c.group = fmt.Sprintf("%s-%d", b.group, i)
			c.out = fmt.Sprintf("%s-%d", b.out, i)
			c.ids = [2]string{c.group + "-0", c.group + "-1"}
			b.CreateTopic(t, c.out, 2)
			for _, id := range c.ids {
				epochs[id] = lastEpoch - 1 - int16(i)
			}
			beds[i] = &c
		}
		b.SetEpochs(t, epochs)
		if b.cluster.txns == endV2 { // V1 gives out no epoch with a commit
			failOver(t, b)
		}
		for i, b := range beds {
			var want []string
			producers := map[int64]bool{}
			s := b.sink(b.cluster, b.config())
			for n := range int64(2 * deaths) {
				v := fmt.Sprint("v", n)
				want = append(want, v)
				c := b.prepare(s, n, v)
				producers[c.ProducerID] = true
				if n%2 == 0 {
					b.must(s.Commit(b.ctx, c))
					continue
				}
				s.Close()
				if outcome, err := b.cluster.EndTxn(b.ctx, c); err != nil || outcome != engine.CommittedNow {
					t.Fatalf("%d epochs before the last, transaction %d at epoch %d: outcome %v, %v", i, n, c.Epoch, outcome, err)
				}
				if !b.finish(b.cluster, c) { // asks once more
					t.Fatalf("%d epochs before the last, transaction %d at epoch %d counts as aborted", i, n, c.Epoch)
				}
				s = b.sink(b.cluster, b.config())
			}
			s.Close()
			b.expect(want...)
			b.marked(2*deaths - 1)
			if len(producers) < 4 { // two ids, each before and behind it
				t.Errorf("%d epochs before the last: all was written by producers %v", i, producers)
			}
		}
	})
}

// failOver lets the coordinator fail over between a commit with which a producer id runs out of epochs and its repetition.
func failOver(t *testing.T, b *bed) {
	s := b.sink(b.cluster, b.config())
	one := b.prepare(s, 1, "a")
	if one.Epoch != lastEpoch {
		t.Fatalf("the transaction runs under epoch %d, want %d", one.Epoch, lastEpoch)
	}
	s.Close()
	if outcome, err := b.cluster.EndTxn(b.ctx, one); err != nil || outcome != engine.CommittedNow {
		t.Fatalf("outcome %v, %v", outcome, err)
	}
	b.AwaitSettled(t, b.out)
	b.state(one.TransactionalID, "CompleteCommit")
	b.Stop(t)
	b.Restart(t)
	if !b.finish(b.cluster, one) {
		t.Error("what is committed counts as aborted")
	}
	next := b.sink(b.cluster, b.config())
	b.must(next.Commit(b.ctx, b.prepare(next, 2, "b")))
	b.expect("a", "b")
	b.marked(2)
}
