package state

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// formatVersion is of what is in the file. It is raised with each new field of a checkpoint or the fingerprint: a program that does not know the field then
// says that it is too old. Files from oldestFormat on are read, and become formatVersion with the first checkpoint that is written to them.
//
// 2: Committed and Account of a checkpoint.
const formatVersion, oldestFormat = 2, 1

var (
	bucketMeta        = []byte("meta")
	bucketCheckpoints = []byte("checkpoints")
	bucketDeltas      = []byte("deltas")
	bucketSegments    = []byte("segments")

	keyFingerprint = []byte("fingerprint")
	keyConfirmed   = []byte("confirmed")
	keyLedger      = []byte("ledger")
	keyValue       = []byte("v") // of a value in a bucket of its own
)

// buckets is every bucket of a file that holds a checkpoint.
func buckets() [][]byte {
	return [][]byte{bucketMeta, bucketCheckpoints, bucketDeltas, bucketSegments}
}

// alone says that each value of the bucket lies in a bucket of its own. A page of bbolt holds up to four values however large they are, and all of
// them are written when one changes: checkpoint N would write those of N-1, N-2 and N-3 once more.
func alone(bucket []byte) bool {
	return string(bucket) == string(bucketDeltas) || string(bucket) == string(bucketSegments)
}

// get is the value of a key, nil if there is none.
func get(b *bbolt.Bucket, key []byte) []byte {
	if value := b.Get(key); value != nil {
		return value
	}
	if own := b.Bucket(key); own != nil {
		return own.Get(keyValue)
	}
	return nil
}

// each visits the entries of a bucket in the order of their keys.
func each(tx *bbolt.Tx, bucket []byte, visit func(key, value []byte) error) error {
	b := tx.Bucket(bucket)
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			v = get(b, k)
		}
		return visit(k, v)
	})
}

// maxBlob is the size at which a blob is cut into parts: a value lies in adjacent pages, and the larger it is the
// harder it is to place. bbolt's own limit is 2 GiB.
const maxBlob = 64 << 20

// maxGroups is the number of key groups for which a key has room.
const maxGroups = 1 << 16

var errDamaged = errors.New("checksum mismatch")

func checksum(key, data []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // the same table each time
	return crc32.Update(crc32.Checksum(key, table), table, data)
}

// seal puts the checksum in front of data.
func seal(key, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, len(data)+4), checksum(key, data)), data...)
}

// unseal checks a value and returns its data, which lies in the value.
func unseal(key, value []byte) ([]byte, error) {
	if len(value) < 4 || binary.BigEndian.Uint32(value) != checksum(key, value[4:]) {
		return nil, errDamaged
	}
	return value[4:], nil
}

func numberKey(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func deltaKey(n int64, operator string, part int) []byte {
	k := append(numberKey(n), operator...)
	return append(k, 0, byte(part>>8), byte(part))
}

// splitDeltaKey is the reverse of deltaKey, without the part.
func splitDeltaKey(k []byte) (n int64, operator string, err error) {
	if len(k) < 8+3 || k[len(k)-3] != 0 {
		return 0, "", errDamaged
	}
	return int64(binary.BigEndian.Uint64(k)), string(k[8 : len(k)-3]), nil
}

func segmentPrefix(operator string, group int) []byte {
	return append([]byte(operator), 0, byte(group>>8), byte(group))
}

func segmentKey(operator string, group int, n int64) []byte {
	return binary.BigEndian.AppendUint64(segmentPrefix(operator, group), uint64(n))
}

// splitSegmentKey is the reverse of segmentKey.
func splitSegmentKey(k []byte) (operator string, group int, n int64, err error) {
	at := len(k) - 11
	if at < 0 || k[at] != 0 {
		return "", 0, 0, errDamaged
	}
	return string(k[:at]), int(k[at+1])<<8 | int(k[at+2]), int64(binary.BigEndian.Uint64(k[at+3:])), nil
}

// sealJSON and unsealJSON keep headers as text, so that a file can be read by eye.
func sealJSON(key []byte, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return seal(key, data), nil
}

func unsealJSON(key, value []byte, v any) error {
	data, err := unseal(key, value)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields() // a field of a later version would be lost at the next write
	if err = d.Decode(v); err != nil && json.Unmarshal(data, v) == nil {
		return &later{err}
	}
	return err
}

// section is a delta in a blob.
type section struct {
	group int
	data  []byte
	sum   uint32
}

// ok checks the section.
func (s section) ok() bool { return checksum(nil, s.data) == s.sum }

// appendBlob appends the value of deltas of one operator, sorted by group.
func appendBlob(to, key []byte, deltas []checkpoint.Delta) []byte {
	size := 4 + binary.MaxVarintLen64
	for _, d := range deltas {
		size += len(d.Data) + 2*binary.MaxVarintLen32 + 4
	}
	to = slices.Grow(to, size)
	b := append(to[len(to):], 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(len(deltas)))
	for _, d := range deltas {
		b = binary.AppendUvarint(b, uint64(d.Group))
		b = binary.AppendUvarint(b, uint64(len(d.Data)))
		b = binary.BigEndian.AppendUint32(b, checksum(nil, d.Data))
	}
	binary.BigEndian.PutUint32(b, checksum(key, b[4:]))
	for _, d := range deltas {
		b = append(b, d.Data...)
	}
	return to[:len(to)+len(b)]
}

// sections reads the index of a blob. The deltas lie in the blob and are not checked yet.
func sections(key, blob []byte) ([]section, error) {
	if len(blob) < 5 {
		return nil, errDamaged
	}
	count, b, err := readUvarint(blob[4:])
	if err != nil || count > uint64(len(b)) {
		return nil, errDamaged
	}
	list := make([]section, count)
	sizes := make([]uint64, count)
	for i := range list {
		var group uint64
		if group, b, err = readUvarint(b); err != nil || group >= maxGroups {
			return nil, errDamaged
		}
		if sizes[i], b, err = readUvarint(b); err != nil || len(b) < 4 {
			return nil, errDamaged
		}
		list[i] = section{group: int(group), sum: binary.BigEndian.Uint32(b)}
		b = b[4:]
	}
	if binary.BigEndian.Uint32(blob) != checksum(key, blob[4:len(blob)-len(b)]) {
		return nil, errDamaged
	}
	for i := range list {
		if sizes[i] > uint64(len(b)) {
			return nil, errDamaged
		}
		list[i].data, b = b[:sizes[i]:sizes[i]], b[sizes[i]:]
	}
	if len(b) > 0 {
		return nil, errDamaged
	}
	return list, nil
}

func readUvarint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errDamaged
	}
	return v, b[n:], nil
}

// byOperator sorts deltas by operator and group, keeping the order within a group, and cuts them into runs for one blob each:
// of one operator, and at most maxBlob long unless one delta alone is longer.
func byOperator(deltas []checkpoint.Delta) [][]checkpoint.Delta {
	sorted := slices.Clone(deltas)
	slices.SortStableFunc(sorted, func(a, b checkpoint.Delta) int {
		if a.Operator != b.Operator {
			return bytes.Compare([]byte(a.Operator), []byte(b.Operator))
		}
		return a.Group - b.Group
	})
	var runs [][]checkpoint.Delta
	start, size := 0, 0
	for i, d := range sorted {
		if i > start && (d.Operator != sorted[start].Operator || size+len(d.Data) > maxBlob) {
			runs = append(runs, sorted[start:i])
			start, size = i, 0
		}
		size += len(d.Data)
	}
	if start < len(sorted) {
		runs = append(runs, sorted[start:])
	}
	return runs
}
