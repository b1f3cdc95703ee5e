package checkpoint

import "slices"

// Span says that every transaction that a producer made under an epoch from First to Last is committed. A pipeline makes at most one under an
// epoch (I3), and goes on behind it only when it is committed, so one life of it leaves one span for each of its two producers, and one for the transaction that it went on from.
type Span struct {
	Producer    int64
	First, Last int16
}

// keptSpans bounds what a checkpoint carries: three of each life, so those of the last five.
const keptSpans = 16

// Proofs gathers the spans of one life.
type Proofs struct {
	spans []Span
	own   int // those from here on are of this life
}

// ProofsFrom begins with what the checkpoint proves from which a life goes on. Its own transaction stands alone: what came behind it was aborted.
func ProofsFrom(base *Checkpoint) *Proofs {
	p := &Proofs{spans: slices.Clone(base.Committed)}
	p.own = len(p.spans)
	p.Add(base.Committable)
	p.own = len(p.spans)
	return p
}

// Add notes that a transaction of this life is committed.
func (p *Proofs) Add(c Committable) {
	if c.TransactionalID == "" {
		return
	}
	for i := p.own; i < len(p.spans); i++ {
		if p.spans[i].Producer == c.ProducerID {
			p.spans[i].Last = c.Epoch
			return
		}
	}
	if len(p.spans) == keptSpans {
		p.spans = slices.Delete(p.spans, 0, 1)
		p.own = max(0, p.own-1)
	}
	p.spans = append(p.spans, Span{c.ProducerID, c.Epoch, c.Epoch})
}

// Spans is what is proved so far.
func (p *Proofs) Spans() []Span { return slices.Clone(p.spans) }

// Fate is what the newest checkpoint of a state says of a transaction that a producer made under an epoch. It is NoDecision where the state does not
// reach back, and for the checkpoint's own transaction until it is confirmed. ItIsAborted holds only if no copy of the state has gone on
// behind it, which the marker in the group says.
func (c *Checkpoint) Fate(confirmed bool, producer int64, epoch int16) Decision {
	spans := c.Committed
	if own := c.Committable; own.TransactionalID != "" && own.ProducerID == producer {
		if own.Epoch == epoch && !confirmed {
			return NoDecision
		}
		if confirmed {
			spans = append(slices.Clone(spans), Span{producer, own.Epoch, own.Epoch})
		}
	}
	reaches := false
	for _, s := range spans {
		switch {
		case s.Producer != producer:
		case s.First <= epoch && epoch <= s.Last:
			return ItIsCommitted
		case s.First < epoch:
			reaches = true
		}
	}
	if reaches {
		return ItIsAborted
	}
	return NoDecision
}

// Fate is what a coordinator that stands at t says of the transaction that c names, as long as its id was not used again.
func (t TxnState) Fate(c Committable) Decision {
	return [...]Decision{unclear: NoDecision, committed: ItIsCommitted, aborted: ItIsAborted}[t.evidence(c)]
}
