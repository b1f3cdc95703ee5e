// Package state keeps checkpoints: in a bbolt file, or in memory. It implements engine.Store and is the only
// package that imports bbolt.
//
// # The directory
//
// A state directory belongs to one pipeline and is readable by its owner alone. It holds state.db and lock, a file that the
// running process holds exclusively (flock) and in which it writes its process id.
//
// # The file
//
// state.db is a bbolt file with four buckets. Numbers in keys are big-endian, so that keys sort as numbers do. Every value
// begins with a CRC-32C (4 bytes, big-endian), which covers the key as well: a value under a wrong key is damage.
//
// The values of deltas and segments may be large; each lies in a nested bucket of its own, under the key "v", so that writing one does not
// write its neighbours once more.
//
//	meta
//	  fingerprint            JSON: format of the file, pipeline, number of key groups, forms of the program
//	  confirmed              8 bytes: number of the newest confirmed checkpoint
//	  ledger                 16 bytes: number of the bbolt tx that wrote last, and the sum of the hashes of all entries
//	checkpoints
//	  number                 JSON: checkpoint.Checkpoint without its deltas. One, or two while the newest is not confirmed
//	deltas
//	  number operator 0 part what changed in the operator between two checkpoints, all key groups: a blob
//	segments
//	  operator 0 group number
//	                         what a key group held at a checkpoint, as far as older segments of the group do not say it
//
// A checkpoint is one bbolt tx: its header, one blob for each operator, nothing else. A blob holds its groups one behind the other,
// so that a group can be read without the rest:
//
//	CRC-32C                  of the key and the index, 4 bytes
//	index                    count, uvarint; then count times group, uvarint, length, uvarint, and CRC-32C of the delta, 4 bytes
//	deltas                   one behind the other, in the same order
//
// Only the operator's codec knows what is in a delta.
//
// # Folding
//
// Deltas of confirmed checkpoints are folded in the background, group by group, into segments (checkpoint.Merge). A segment takes the ones before
// it along while they are not much larger than itself, as in a log-structured merge tree, so each byte is written a logarithmic number of times
// and a group has few segments. Now and then all are folded into one, which drops what closed windows left. Restoring a group is its segments, oldest
// first, then the deltas behind the last of them. Nothing newer than the last confirmed checkpoint is folded: until the transaction of checkpoint N
// is committed, dropping its header and its blobs is going back to N-1.
package state
