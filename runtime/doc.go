// Package runtime, imported as rt, is what a generated pipeline is written against. The
// engine, Kafka and the store are in its internal packages; generated code sees
// batches, values, windows and sinks.
//
// Generated code calls rt for each record; rt calls generated code for each batch, each closed
// window and each key that is written to a checkpoint, never for each record.
package runtime

// API1 is the version of this package that generated code asserts.
const API1 = 1

// BatchSize is the largest number of records in a Batch, and of rows that pass an exchange
// together. A batch is decoded as a whole before it touches state: with 256 rows at hand the cache
// misses of the state table overlap, and the rows themselves stay in the first-level cache.
const BatchSize = 256
