package state

import "github.com/eoc-lang/eoc/runtime/internal/checkpoint"

// Small makes o fold after n checkpoints and keep the file small.
func (o Options) Small(n int) Options {
	o.foldAfter, o.allocSize, o.compactAbove = n, 1<<14, 1<<16
	return o
}

// AwaitFold waits until the fold at work is over. Close would cut it short.
func (b *Bolt) AwaitFold() {
	b.mu.Lock()
	run := b.fold.run
	b.mu.Unlock()
	if run != nil {
		<-run.over
	}
}

// FoldQuit is closed when the fold at work is asked to end.
func (b *Bolt) FoldQuit() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fold.run.quit
}

// Edit changes the fingerprint and the newest checkpoint in the file, as another version of eoc would have written them.
func (b *Bolt) Edit(fingerprint, newest func(map[string]any)) error {
	return b.gate.write(b.db, func(w *writer) error {
		edit := func(bucket, key []byte, change func(map[string]any)) error {
			if change == nil {
				return nil
			}
			fields := map[string]any{}
			if err := unsealJSON(key, get(w.tx.Bucket(bucket), key), &fields); err != nil {
				return err
			}
			change(fields)
			value, err := sealJSON(key, fields)
			if err != nil {
				return err
			}
			return w.put(bucket, key, value)
		}
		if err := edit(bucketMeta, keyFingerprint, fingerprint); err != nil {
			return err
		}
		return edit(bucketCheckpoints, numberKey(b.newest.Number), newest)
	})
}

// Format is that of files which are written, and Header what a file says of a checkpoint and of itself.
const Format = formatVersion

var Header = []any{fingerprint{}, checkpoint.Checkpoint{}}
