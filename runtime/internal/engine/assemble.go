package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// assemble puts the parts that the tasks and the writer have handed over together to a checkpoint.
func (a *attempt) assemble(s checkpoint.Store, acks []ack, written []checkpoint.Written) (*checkpoint.Checkpoint, error) {
	cp, n := a.base.Next(), s.Number
	cp.Number, cp.Committable, cp.Committed, cp.Ended = n, s.Committable, a.proofs.Spans(), s.Ended
	cp.Account = a.last.Account.Add(n, time.Now(), s.Committable.ProducerID, written)
	counts := slices.Clone(a.base.Counts)
	var w []int64
	for _, k := range acks {
		cp.Partitions = append(cp.Partitions, k.partitions...)
		cp.Deltas = append(cp.Deltas, k.deltas...)
		counts = append(counts, k.counts...)
		if k.w == nil {
			continue
		}
		// Every source task sends W directly before its barrier, so all tasks have the same.
		if w != nil && !slices.Equal(w, k.w) {
			return nil, failure.New(failure.Internal, "", nil, "at barrier %d one task has W %d, another %d", n, w, k.w)
		}
		w = k.w
	}
	for i, op := range a.Spec.Operators {
		cp.Watermarks = append(cp.Watermarks, checkpoint.Watermark{Operator: op.ID, W: w[i]})
	}
	sortPartitions(cp.Partitions)
	cp.Anchor = a.anchorage.kept(cp.Partitions)
	cp.Counts = sumCounts(counts)
	return cp, nil
}

// sumCounts adds counts of the same name up, and sorts them.
func sumCounts(counts []checkpoint.Count) []checkpoint.Count {
	slices.SortFunc(counts, compareCounts)
	sum := counts[:0]
	for _, c := range counts {
		if n := len(sum); n > 0 && compareCounts(sum[n-1], c) == 0 {
			sum[n-1].N += c.N
			continue
		}
		sum = append(sum, c)
	}
	return sum
}

func compareCounts(a, b checkpoint.Count) int {
	return cmp.Or(cmp.Compare(a.Operator, b.Operator), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}
