package runtime

import (
	"github.com/eoc-lang/eoc/runtime/internal/engine"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// Batch is up to BatchSize records of one partition, in order, and the partition's
// watermark as it moves on from record to record.
type Batch struct {
	records   []record.Record
	i         int // the current record
	rest      int // records before this one are to be read: len(records), or 0 after an error
	at        Time
	watermark Time // the partition's
	origin    int
	source    *Source
	part      *engine.Partition
}

// Next goes on to the next record that has a value.
func (b *Batch) Next() bool {
	for b.i++; b.i < b.rest; b.i++ {
		if b.records[b.i].Value != nil {
			return true
		}
		b.skipNull()
	}
	return false
}

// skipNull does what on_null says.
func (b *Batch) skipNull() {
	if b.source.spec.FailOnNull {
		b.stop(b.source.spec.Name, b.source.spec.Place, Fault{Reason: noValue, At: noByte})
		return
	}
	b.source.null.n[b.origin]++
}

// Value is the value of the current record.
func (b *Batch) Value() []byte { return b.records[b.i].Value }

// At is the event time of the current record, as Observe was told.
func (b *Batch) At() Time { return b.at }

// Observe tells the event time of the current record, which moves the partition's watermark
// on. Lateness is decided on that: a record is late by what
// came before it in its own partition, however the partitions interleave and
// wherever a batch ends. W, which closes windows, is never ahead of it.
func (b *Batch) Observe(at Time) {
	b.at = at
	if skew := b.source.skew; skew > 0 && b.isAhead(at-skew) {
		b.source.ahead.n[b.origin]++
		return
	}
	b.watermark = max(b.watermark, at-b.source.disorder)
}

// isAhead reports whether the current record's Kafka timestamp is before at.
func (b *Batch) isAhead(at Time) bool {
	t := b.records[b.i].Time
	return t < int64(at) && t != record.NoTime
}

// ObserveTimestamp is Observe for the record's Kafka timestamp. It returns false if the record
// had to be rejected: windows need a time, and it has none or one outside the years 0001 to 9999.
func (b *Batch) ObserveTimestamp() bool {
	at := Time(b.records[b.i].Time)
	if at < firstTime || at > lastTime {
		if b.source.spec.HasWatermark {
			b.Reject(Fault{Reason: noTimestamp, At: noByte})
			return false
		}
		b.at = at
		return true
	}
	b.at = at
	b.watermark = max(b.watermark, at-b.source.disorder)
	return true
}

// Reject hands the current record to the source's on_error: it cannot be read.
func (b *Batch) Reject(f Fault) {
	b.source.rejected.n[b.origin]++
	b.source.rejected.noteRecord(b, f)
	b.refuse(b.source.spec.Name, b.source.spec.Place, f)
}

// RejectIn is Reject for a row that fails in a clause. Other streams that read the source may
// still take the record.
func (b *Batch) RejectIn(c *Clause, f Fault) {
	c.rejected.n[b.origin]++
	c.rejected.noteRecord(b, f)
	b.refuse(c.name, c.place, f)
}
