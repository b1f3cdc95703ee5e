package runtime

import "github.com/eoc-lang/eoc/runtime/internal/checkpoint"

// exchange is the half of an operator in front of the exchange: it deals rows to the tasks that own
// their keys. A task that is alone is its only target.
type exchange[V any] struct {
	waiting []*rowBatch[V]            // by target; none of them is full
	owner   [checkpoint.Groups]uint16 // the target of a key group
	home    chan *rowBatch[V]         // batches that have come back
}

// row is a row on its way to its state. It holds no pointers.
type row[V any] struct {
	key   key
	start Time // of its window
	val   V
}

// rowBatch is rows for one target.
type rowBatch[V any] struct {
	long []byte // their long keys
	home chan *rowBatch[V]
	n    int
	list [BatchSize]row[V]
}

// maxIdleBatches is how many batches a task keeps for reuse, for each target. Others are left to the collector.
const maxIdleBatches = 16

// Limits of the long keys of a batch, in bytes: with so many it is full, however few rows it has, and so much room an idle one keeps.
const (
	fullLong    = 32 << 10
	maxIdleLong = 2 * fullLong
)

// groupOf is the key group of a hash: its top bits, since the table uses the low ones.
func groupOf(hash uint64) int { return int(hash >> (64 - groupBits)) }

const groupBits = 7 // checkpoint.Groups = 1 << groupBits

func newExchange[V any](targets int) exchange[V] {
	n := max(targets, 1)
	e := exchange[V]{home: make(chan *rowBatch[V], n*maxIdleBatches)}
	for range n {
		e.waiting = append(e.waiting, &rowBatch[V]{home: e.home})
	}
	for g := range e.owner {
		e.owner[g] = uint16(checkpoint.Owner(g, n))
	}
	return e
}

// put adds a row to those that wait for its target, and reports whether these are a full batch.
func (e *exchange[V]) put(text []byte, start Time, val V) (target int, full bool) {
	k := hashKey(text)
	target = int(e.owner[groupOf(k.hash)])
	b := e.waiting[target]
	if k.isLong() {
		k.b = uint64(len(b.long))
		b.long = append(b.long, text...)
		full = len(b.long) >= fullLong
	}
	r := &b.list[b.n]
	r.key, r.start, r.val = k, start, val
	b.n++
	return target, full || b.n == BatchSize
}

// take takes away the rows that wait for target.
func (e *exchange[V]) take(target int) *rowBatch[V] {
	full := e.waiting[target]
	select {
	case e.waiting[target] = <-e.home:
	default:
		e.waiting[target] = &rowBatch[V]{home: e.home}
	}
	return full
}

// Bytes is what a batch holds beside its list, whose size is fixed.
func (b *rowBatch[V]) Bytes() int { return len(b.long) }

func (b *rowBatch[V]) rows() []row[V] { return b.list[:b.n] }

func (b *rowBatch[V]) reset() {
	b.n, b.long = 0, b.long[:0]
	if cap(b.long) > maxIdleLong {
		b.long = nil
	}
}

// giveBack returns the batch to the task that it came from.
func (b *rowBatch[V]) giveBack() {
	b.reset()
	select {
	case b.home <- b:
	default:
	}
}
