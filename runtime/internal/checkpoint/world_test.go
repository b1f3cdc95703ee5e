package checkpoint

import (
	"encoding/binary"
	"fmt"
)

// A small world for the two machines: a broker that follows Kafka's transaction coordinator, disks, and processes that can die, be paused
// and be copied. Its input is a few records, and the output of a record is the record, so exactly-once is: each is committed once.
//
// The broker's rules are those of protocol version V1 and V2 (KIP-890) as seen on Kafka 4.4: fencing, retries of EndTxn, epochs that run
// out, transactions that time out, commits that become visible later than they are decided.

const (
	maxIn   = 6 // records at most; the searches take few of them, the walks all
	txnIDs  = 4 // transactional ids: two of one prefix, two of another
	slots   = 2 // of them belong to a process
	noMark  = -1
	maxProc = 2
)

// producer is a producer id and epoch, as a client holds it.
type producer struct{ pid, epoch int8 }

// marking is a marker in the model.
type marking struct {
	there bool
	inc   int8
	n     int8
	pos   int8
	by    producer
	alone bool  // no records go with it: it was written by a start
	log   uint8 // when it was written: of two committed ones the later one counts, whichever became visible first
}

func (m marking) marker() *Marker {
	if !m.there {
		return nil
	}
	c := Committable{ProducerID: int64(m.by.pid), Epoch: int16(m.by.epoch), Checkpoint: int64(m.n), Incarnation: ID{byte(m.inc)}, Records: 1}
	if m.alone {
		c.Records = 0
	}
	out := c.Marker("p")
	return &out
}

// txn is what a transaction holds.
type txn struct {
	records uint8 // a bit for each input
	mark    marking
	serial  uint8 // which one it is, for the model alone
}

type txnState uint8

const (
	empty txnState = iota
	ongoing
	prepareCommit
	prepareAbort
	completeCommit
	completeAbort
)

var txnStateNames = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}

// coordinator is what the broker knows of a transactional id.
type coordinator struct {
	known    bool
	producer producer
	last     producer // V2: under which the last transaction ran, so that a repeated EndTxn is known
	retries  bool     // last is set
	state    txnState
	txn      txn
}

// request is an EndTxn(commit) on its way. meant is the transaction that its sender means.
type request struct {
	there  bool
	id     int8
	by     producer
	meant  uint8
	number int8
}

type broker struct {
	v2        bool
	maxEpoch  int8
	ids       [txnIDs]coordinator
	nextPID   int8
	serial    uint8
	log       uint8
	committed [maxIn]uint8
	mark      marking
	ghost     request // a copy of an EndTxn that was sent, delayed in the network
}

// reply is what a request came to.
type reply uint8

const (
	ok      reply = iota
	refusal       // fenced, invalid state, unknown id
	retry         // CONCURRENT_TRANSACTIONS, UNSTABLE_OFFSET_COMMIT
)

// next is the producer that follows p: epochs run out.
func (b *broker) next(p producer) producer {
	if p.epoch >= b.maxEpoch {
		b.nextPID++
		return producer{b.nextPID, 0}
	}
	return producer{p.pid, p.epoch + 1}
}

// initProducerID is InitProducerId without a producer id: it fences whoever holds the id.
func (b *broker) initProducerID(id int8) (producer, reply) {
	c := &b.ids[id]
	switch {
	case !c.known:
		b.nextPID++
		*c = coordinator{known: true, producer: producer{b.nextPID, 0}}
		return c.producer, ok
	case c.state == ongoing:
		b.abort(id)
		return producer{}, retry
	case c.state == prepareCommit || c.state == prepareAbort:
		return producer{}, retry
	}
	c.producer, c.state, c.retries, c.txn = b.next(c.producer), empty, false, txn{}
	return c.producer, ok
}

// abort ends an open transaction that timed out or is fenced: the epoch moves on.
func (b *broker) abort(id int8) {
	c := &b.ids[id]
	c.last, c.retries = c.producer, true
	c.producer.epoch++
	c.state = prepareAbort
}

// write adds a record or marker to the transaction of a producer, and opens it if need be.
func (b *broker) write(id int8, by producer, record int8, m marking) reply {
	c := &b.ids[id]
	if !c.known || c.producer != by {
		return refusal
	}
	switch c.state {
	case prepareCommit, prepareAbort:
		return retry
	case ongoing:
	default:
		b.serial++
		c.state, c.txn = ongoing, txn{serial: b.serial}
	}
	if record >= 0 {
		c.txn.records |= 1 << record
	}
	if m.there {
		b.log++
		m.log = b.log
		c.txn.mark = m
	}
	return ok
}

// endTxn is EndTxn(commit). The answer comes when the commit is decided, before it is visible. violation: the request ended another transaction than it means.
func (b *broker) endTxn(r request) (reply, producer, error) {
	c := &b.ids[r.id]
	if !c.known {
		return refusal, producer{}, nil
	}
	if c.producer == r.by && c.state == ongoing {
		if c.txn.serial != r.meant {
			return refusal, producer{}, fmt.Errorf("I3: an EndTxn meant for transaction %d has committed transaction %d", r.meant, c.txn.serial)
		}
		c.state = prepareCommit
		if b.v2 {
			c.last, c.retries = c.producer, true
			c.producer = b.next(c.producer)
		}
		return ok, c.producer, nil
	}
	again := !b.v2 && c.producer == r.by || b.v2 && c.retries && c.last == r.by
	switch {
	case again && c.state == prepareCommit:
		return retry, producer{}, nil
	case again && c.state == completeCommit:
		return ok, c.producer, nil
	}
	return refusal, producer{}, nil
}

// complete makes a decided transaction visible.
func (b *broker) complete(id int8) {
	c := &b.ids[id]
	if c.state == prepareAbort {
		c.state, c.txn = completeAbort, txn{}
		return
	}
	for i := range b.committed {
		b.committed[i] += c.txn.records >> i & 1
	}
	if c.txn.mark.there && c.txn.mark.log > b.mark.log {
		b.mark = c.txn.mark
	}
	c.state, c.txn = completeCommit, txn{}
}

// settled is the broker when all that is decided has become visible.
func (b *broker) settled() broker {
	c := *b
	for i := range c.ids {
		if s := c.ids[i].state; s == prepareCommit || s == prepareAbort {
			c.complete(int8(i))
		}
	}
	return c
}

// unstable says that a transaction holds a marker that may still become visible.
func (b *broker) unstable() bool {
	for _, c := range b.ids {
		if c.txn.mark.there && (c.state == ongoing || c.state == prepareCommit || c.state == prepareAbort) {
			return true
		}
	}
	return false
}

func (b *broker) describe(id int8) TxnState {
	c := b.ids[id]
	if !c.known {
		return TxnState{}
	}
	return TxnState{State: txnStateNames[c.state], ProducerID: int64(c.producer.pid), Epoch: int16(c.producer.epoch)}
}

// disk is a state directory. Its methods keep to the rules of package state.
type disk struct {
	newest, before *Checkpoint
	confirmed      bool
}

func (d *disk) save(c *Checkpoint, lawless bool) error {
	switch {
	case c.Number == 0:
		*d = disk{newest: c}
		return nil
	case d.newest == nil || c.Number != d.newest.Number+1:
		return fmt.Errorf("I4: checkpoint %d is stored behind another", c.Number)
	case !d.confirmed && !lawless:
		return fmt.Errorf("I5: checkpoint %d is stored before the one before is confirmed", c.Number)
	}
	d.before, d.newest, d.confirmed = d.newest, c, false
	return nil
}

func (d *disk) confirm(n int64) error {
	if d.newest == nil || d.newest.Number != n {
		return fmt.Errorf("I4: checkpoint %d is confirmed and not the newest", n)
	}
	d.before, d.confirmed = nil, true
	return nil
}

func (d *disk) adopt(ids []string) { d.newest = withIDs(d.newest, ids) }

func (d *disk) drop(n int64) error {
	if d.newest == nil || d.newest.Number != n || d.before == nil {
		return fmt.Errorf("I5: there is nothing to go back to from checkpoint %d", n)
	}
	d.newest, d.before, d.confirmed = d.before, nil, true
	return nil
}

// key appends what distinguishes a broker.
func (b *broker) key(k []byte) []byte {
	for _, c := range b.ids {
		k = append(k, bit(c.known), byte(c.producer.pid), byte(c.producer.epoch), byte(c.last.pid), byte(c.last.epoch), bit(c.retries),
			byte(c.state), c.txn.records, c.txn.serial)
		k = c.txn.mark.key(k)
	}
	k = append(k, byte(b.nextPID), b.serial, b.log)
	k = append(k, b.committed[:]...)
	k = b.mark.key(k)
	return append(k, bit(b.ghost.there), byte(b.ghost.id), byte(b.ghost.by.pid), byte(b.ghost.by.epoch), b.ghost.meant)
}

func (m marking) key(k []byte) []byte {
	return append(k, bit(m.there), byte(m.inc), byte(m.n), byte(m.pos), byte(m.by.pid), byte(m.by.epoch), bit(m.alone), m.log)
}

func (d *disk) key(k []byte) []byte {
	k = append(k, bit(d.confirmed))
	for _, c := range []*Checkpoint{d.newest, d.before} {
		if c == nil {
			k = append(k, 0xff)
			continue
		}
		k = binary.BigEndian.AppendUint16(k, uint16(c.Number))
		k = append(k, c.Incarnation[0], byte(c.Partitions[0].Next), byte(c.Committable.ProducerID), byte(c.Committable.Epoch))
		k = append(k, c.IDs[0]...)
	}
	return k
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
