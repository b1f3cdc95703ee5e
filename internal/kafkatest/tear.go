package kafkatest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log on disk is batches, one behind the other: https://kafka.apache.org/documentation/#recordbatch. What is read of them:
const (
	batchLengthAt     = 8  // length of what follows these 4 bytes
	batchAttributesAt = 21 // 2 bytes
	batchProducerAt   = 43 // 8 bytes
	batchHead         = 61
	controlBatch      = 1 << 5
)

// TearMarker takes the last batch off the log of a partition, which has to be the end marker of a transaction: so the log is left when a
// coordinator has passed the partition over (KAFKA-20734), or when a replica without the end marker becomes the leader. The broker has to be
// killed before, since one that is stopped keeps beside the log what it knows of producers. It returns the producer id of the end marker, -1 if the
// last batch is none.
func (b *Broker) TearMarker(t testing.TB, topic string, partition int32) int64 {
	t.Helper()
	if !b.process.ended() {
		t.Fatalf("tear the log of a broker that runs: process %d", b.Pid())
	}
	dir := b.path(filepath.Join("data", fmt.Sprintf("%s-%d", topic, partition)))
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, f := range files {
		switch {
		case strings.HasSuffix(f.Name(), ".log"):
			last = filepath.Join(dir, f.Name()) // sorted by their first offsets
		case strings.HasSuffix(f.Name(), ".snapshot"): // what it knows of producers: it reads the log instead
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := 0, 0
	for end+batchHead <= len(text) {
		length := int(binary.BigEndian.Uint32(text[end+batchLengthAt:]))
		if length == 0 {
			break // room that was reserved
		}
		begin, end = end, end+batchLengthAt+4+length
	}
	if end == 0 || binary.BigEndian.Uint16(text[begin+batchAttributesAt:])&controlBatch == 0 {
		return -1
	}
	if err := os.Truncate(last, int64(begin)); err != nil {
		t.Fatal(err)
	}
	return int64(binary.BigEndian.Uint64(text[begin+batchProducerAt:]))
}
