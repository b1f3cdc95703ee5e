package runtime

import "github.com/eoc-lang/eoc/runtime/internal/engine"

// FoldBatch gives rows a batch of p without records, as if they had been decoded from it.
func FoldBatch(w engine.Worker, p *engine.Partition, rows func(*Batch)) {
	t := w.(worker).t
	s := t.sources[p.Source]
	t.origin = t.originOf(p)
	defer func(process func(*Batch)) { s.process = process }(s.process)
	s.process = rows
	if err := s.take(p, nil); err != nil {
		panic(err)
	}
}
