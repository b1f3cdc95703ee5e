package runtime

import (
	"encoding/binary"
	"math/bits"
)

// key is a grouping key of any length, without a pointer. One of up to 16 bytes is
// held in a and b, first byte highest, zeros behind it, so comparing it touches no other memory. A longer one has its
// hash in a and its place in an arena in b; equal hashes do not make equal keys.
type key struct {
	a, b uint64
	hash uint64
	n    uint32 // length + 1; 0 is a free slot
}

const inlineKey = 16

// hashKey makes the key of text. The place of a long one is the caller's to choose.
func hashKey(text []byte) key {
	n := len(text)
	k := key{n: uint32(n) + 1}
	switch {
	case n > inlineKey:
		k.hash = hashLong(text)
		k.a = k.hash
		return k
	case n >= 8:
		k.a = binary.BigEndian.Uint64(text)
		k.b = binary.BigEndian.Uint64(text[n-8:]) << (8 * (16 - n))
	case n >= 4:
		k.a = uint64(binary.BigEndian.Uint32(text))<<32 | uint64(binary.BigEndian.Uint32(text[n-4:])<<(8*(8-n)))
	case n > 0:
		k.a = uint64(text[0])<<56 | uint64(text[n>>1])<<(56-8*(n>>1)) | uint64(text[n-1])<<(64-8*n)
	}
	k.hash = hash2(k.a, k.b, n)
	return k
}

// isLong reports whether the text of k lies in an arena.
func (k *key) isLong() bool { return k.n > inlineKey+1 }

// in is the text of a long key in its arena.
func (k *key) in(arena []byte) []byte { return arena[k.b : k.b+uint64(k.n-1)] }

// appendKey appends the text of a key of n bytes, which lies in arena if it is long.
func appendKey(dst []byte, a, b uint64, n int, arena []byte) []byte {
	if n > inlineKey {
		return append(dst, arena[b:b+uint64(n)]...)
	}
	end := len(dst) + n
	dst = binary.BigEndian.AppendUint64(dst, a)
	dst = binary.BigEndian.AppendUint64(dst, b)
	return dst[:end]
}

// The hash decides the key group, and checkpoints are kept by group: it must never change.
const (
	mix0 = 0xa0761d6478bd642f
	mix1 = 0xe7037ed1a0b428db
	mix2 = 0x8ebc6af09c88c6e3
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hash2 hashes a key of n <= 16 bytes in the manner of wyhash.
func hash2(a, b uint64, n int) uint64 {
	return mix(mix1^uint64(n), mix(a^mix0, b^mix2))
}

func hashLong(text []byte) uint64 {
	h := uint64(mix2) ^ uint64(len(text))
	last := text[len(text)-16:]
	for len(text) > 16 {
		h = mix(binary.LittleEndian.Uint64(text)^mix1, binary.LittleEndian.Uint64(text[8:])^h)
		text = text[16:]
	}
	return mix(mix1, mix(binary.LittleEndian.Uint64(last)^mix0, binary.LittleEndian.Uint64(last[8:])^h))
}
