package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
	"github.com/eoc-lang/eoc/runtime/internal/record"
)

// The client decodes all batches of an answer at once. Half a MiB of one partition can be forty batches of which each unpacks to 128 MiB, and a
// header of two bytes becomes eighty. So each compressed batch is weighed when it is unpacked, before the client makes records of it (one that is not compressed takes
// what is fetched, and what its records and headers take: docs/operations.md). What is too much together with
// what is held already stays at the broker: the client returns the records in front of that batch, and asks for it again next time.

// What batches take that are unpacked, with their records, from there until their records were processed. Ordinary ones take a tenth of that.
const (
	heldMost  = 256 << 20 // of a reader, and one batch that is larger by itself
	batchMost = 512 << 20 // of one batch
)

// What a record, a message of the formats before 0.11 and a header take beside their bytes: what the client makes of them, and what becomes of that here. The client points to records from
// a slice that grows, so that each may count twice there.
const (
	recordTakes  = int(unsafe.Sizeof(kgo.Record{}) + 2*unsafe.Sizeof(&kgo.Record{}) + unsafe.Sizeof(record.Record{}))
	messageTakes = recordTakes + int(unsafe.Sizeof(kmsg.MessageV1{})+unsafe.Sizeof(&kmsg.MessageV1{}))
	headerTakes  = int(unsafe.Sizeof(kgo.RecordHeader{}) + unsafe.Sizeof(record.Header{}))
)

// errFull says that a batch was left at the broker. It is the first of its partition in an answer: for others the client says nothing.
var errFull = errors.New("as much is unpacked as may be held")

// unpacker decompresses batches into memory of a pool, as long as not too much of it is out.
type unpacker struct {
	client kgo.Decompressor
	pool   *fetchPool
}

// unpacksTooLarge says of a batch that it is not read, alone neither.
func unpacksTooLarge(b *kgo.ErrDecompressTooLarge) string {
	return fmt.Sprintf("topic %s, partition %d: the records from offset %d to before %d are one batch of more than %d MiB, decompressed, or of more than %d MiB with what its records and headers take in memory, and none that large is read",
		b.Topic, b.Partition, b.Offset, b.NextOffset, batchUnpack>>20, batchMost>>20)
}

// newUnpacker borrows the client's decompressor. It is bounded only where a client has made it, so one is made, which connects to nobody.
func newUnpacker(pool *fetchPool) (*unpacker, error) {
	client, err := kgo.NewClient(kgo.WithPools(pool), kgo.MaxDecompressBatchBytes(batchUnpack))
	if err != nil {
		return nil, failure.New(failure.Internal, "", err, "set up a reader")
	}
	defer client.Close()
	return &unpacker{client.OptValue(kgo.WithDecompressor).(kgo.Decompressor), pool}, nil
}

// Decompress is called by the client for each compressed batch. The memory comes back to the pool when all records of the batch were recycled.
func (u *unpacker) Decompress(batch []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if u.pool.lent.isFull() {
		return nil, errFull
	}
	unpacked, err := u.client.Decompress(batch, codec)
	if err != nil {
		return nil, err
	}
	switch beside := beside(unpacked); {
	case len(unpacked)+beside > batchMost:
		err = kgo.ErrMaxDecompress
	case !u.pool.lent.add(unpacked, beside):
		err = errFull
	}
	if err != nil {
		u.pool.PutDecompressBytes(unpacked)
		return nil, err
	}
	return unpacked, nil
}

// beside is what the records of an unpacked batch take beside their bytes.
func beside(batch []byte) int {
	if messages := countMessages(batch); messages > 0 {
		return messages * messageTakes
	}
	records, headers := count(batch)
	return records*recordTakes + headers*headerTakes
}

// countMessages counts the messages of a set in the formats before Kafka 0.11, which old segments still have (https://kafka.apache.org/documentation/#messageset):
// offset of 64 bits, length of 32, checksum of 32, and the format. It is 0 if the batch is anything else: of a record, the first byte is never 0.
func countMessages(batch []byte) (n int) {
	const length, format, most = 8, 16, 1
	if len(batch) == 0 || batch[0] != 0 {
		return 0
	}
	for ; len(batch) > 0; n++ {
		if len(batch) <= format || batch[format] > most {
			return 0
		}
		size := binary.BigEndian.Uint32(batch[length:])
		if rest := batch[length+4:]; uint64(size) <= uint64(len(rest)) && size > 0 {
			batch = rest[size:]
		} else {
			return 0
		}
	}
	return n
}

// count counts records and their headers, as far as the client would read them (https://kafka.apache.org/documentation/#record).
func count(batch []byte) (records, headers int) {
	for len(batch) > 0 {
		n, start := number(batch)
		size := length(n)
		if start == 0 || n&negative != 0 || size > len(batch)-start {
			return records + len(batch), headers // for a batch that is broken the client makes room for as many records as it claims, one for each byte at most
		}
		records++
		headers += countHeaders(batch[start : start+size])
		batch = batch[start+size:]
	}
	return records, headers
}

// countHeaders goes to where a record says how many headers it has. A number that cannot be is none, as for the client.
func countHeaders(r []byte) int {
	at := 1                             // behind the attributes
	for passed := 0; passed < 2; at++ { // time and offset
		if at >= len(r) {
			return 0
		}
		if r[at] < more {
			passed++
		}
	}
	r = r[at:]
	for range 2 { // key and value
		n, start := number(r)
		size := length(n)
		if start == 0 || size > len(r)-start {
			return 0
		}
		r = r[start+size:]
	}
	n, start := number(r)
	headers := length(n)
	if headers > len(r)-start {
		return 0
	}
	return headers
}

// In a number of Kafka's, the sign is the lowest bit, and the highest of each byte says that there is another one.
const (
	negative = 1
	more     = 1 << 7
)

// number reads one of 32 bits as it stands, and says of how many bytes it is; 0: there is none.
func number(b []byte) (n uint32, size int) {
	if len(b) > 0 && b[0] < more {
		return uint32(b[0]), 1
	}
	return longNumber(b)
}

func longNumber(b []byte) (n uint32, size int) {
	if len(b) > 1 && b[1] < more { // b[0] was looked at
		return uint32(b[0]-more) | uint32(b[1])<<7, 2
	}
	long, size := binary.Uvarint(b[:min(len(b), binary.MaxVarintLen32)])
	return uint32(long), max(size, 0)
}

// length is a number that is one; null has -1, and takes nothing.
func length(n uint32) int {
	if n&negative != 0 {
		return 0
	}
	return int(n >> 1)
}
