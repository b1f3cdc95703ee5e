package kafka

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fetchPool keeps the client's memory of fetched records between fetches: what batches are decompressed into, and the
// records that point there. The client takes it, and gets it back by Recycle of every record.
type fetchPool struct {
	records sync.Pool // of *[]kgo.Record
	bytes   sync.Pool // of *[]byte
	lent    lent      // of bytes, and what points there
}

// What memory is kept. That of a rare large batch would go to small ones, which hold all of it, and have all of it cleared.
const (
	keptMost   = 8 << 20   // bytes in one piece
	polledMost = 32 << 20  // of the records of a poll
	keptSmall  = 256 << 10 // for whatever batch
	keptRatio  = 64        // of more than that to the batch as it is stored
)

var (
	_ kgo.PoolRecords         = (*fetchPool)(nil)
	_ kgo.PoolDecompressBytes = (*fetchPool)(nil)
)

// GetRecords returns memory for n records.
func (p *fetchPool) GetRecords(n int) []kgo.Record {
	if s, ok := p.records.Get().(*[]kgo.Record); ok && cap(*s) >= n {
		return (*s)[:0]
	}
	return make([]kgo.Record, 0, n)
}

// PutRecords takes memory back.
func (p *fetchPool) PutRecords(s []kgo.Record) {
	if cap(s)*recordTakes <= keptMost {
		p.records.Put(&s)
	}
}

// GetDecompressBytes returns memory to decompress into. It grows if it does not suffice.
func (p *fetchPool) GetDecompressBytes(compressed []byte, _ kgo.CompressionCodecType) []byte {
	const ratio = 4 // of JSON, about
	if s, ok := p.bytes.Get().(*[]byte); ok && cap(*s) <= max(keptSmall, keptRatio*len(compressed)) {
		return (*s)[:0]
	}
	return make([]byte, 0, ratio*len(compressed))
}

// PutDecompressBytes takes memory back.
func (p *fetchPool) PutDecompressBytes(s []byte) {
	p.lent.back(s)
	if cap(s) <= keptMost {
		p.bytes.Put(&s)
	}
}
