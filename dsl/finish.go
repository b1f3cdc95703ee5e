package dsl

import (
	"strings"
	"sync"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

// topics looks for one topic in two places. Two from different variables of the environment, or by different
// connections, are compared at start.
func (c *checker) topics() {
	type topic struct {
		by   Connection
		name Setting
	}
	read, written := map[topic]*Source{}, map[Setting]*Sink{}
	for _, s := range c.prog.Sources {
		at := topic{s.Connection.unplaced(), s.Topic}
		if first := read[at]; first != nil && s.Topic != (Setting{}) {
			c.report(diag.New("topic-conflict", c.span(s.Place), "two sources read %s", topicText(s.Topic)).
				WithRelated(c.span(first.Place), "`%s` reads it here", first.Name).
				WithHelp("several streams may read one source"))
			continue
		}
		read[at] = s
	}
	for _, s := range c.prog.Sinks {
		c.notRead(read[topic{name: s.Topic}], s.Topic, s.Place, "`"+s.Name+"`")
		if first := written[s.Topic]; first != nil && s.Topic != (Setting{}) {
			c.oneTopic(c.sinks[first.Name], c.sinks[s.Name])
			continue
		}
		written[s.Topic] = s
	}
	for _, s := range c.prog.Sources {
		if s.OnError.Mode != DeadLetter || s.OnError.Topic == (Setting{}) {
			continue
		}
		c.notRead(read[topic{name: s.OnError.Topic}], s.OnError.Topic, s.OnError.Place, "`on_error`")
		if sink := written[s.OnError.Topic]; sink != nil {
			c.report(diag.New("topic-conflict", c.span(s.OnError.Place), "`on_error` writes %s, and `%s` writes its rows there", topicText(sink.Topic), sink.Name).
				WithRelated(c.span(sink.Place), "here").
				WithHelp("dead letters are records as they came: give them a topic of their own"))
		}
	}
}

// oneTopic compares the rows of two sinks that write one topic: who reads it cannot tell which sink a record is from.
func (c *checker) oneTopic(first, s *sinkInfo) {
	if first.fed && s.fed && !first.row.open && !s.row.open {
		c.compare(first, s.row.row, s.feeder, s.feedAt, topicText(s.out.Topic))
	}
}

// notRead reports a topic that is written, if a source reads it.
func (c *checker) notRead(s *Source, topic Setting, at ir.Place, what string) {
	if s == nil || topic == (Setting{}) {
		return
	}
	c.report(diag.New("topic-conflict", c.span(at), "%s writes %s, which this pipeline reads", what, topicText(topic)).
		WithRelated(c.span(s.Place), "`%s` reads it here", s.Name).
		WithHelp("its own output would come back as input: use another topic"))
}

// topicText names a topic in a message.
func topicText(t Setting) string {
	if t.Env != "" {
		return "the topic of `" + t.Env + "`"
	}
	return "the topic `" + t.Text + "`"
}

// unused reports what has no effect. With faults of syntax the use may stand there.
func (c *checker) unused() {
	if c.faulty {
		return
	}
	targets := sync.OnceValue(c.targets)
	loose := false // a stream goes nowhere: a sink without rows may be meant for it
	for _, s := range c.order {
		if s.out == nil || s.read || c.strayInput || hasTo(s.decl) || len(s.decl.Clauses) == 0 {
			continue
		}
		loose = true
		c.report(diag.New("unused-stream", c.span(s.out.Place), "`%s` goes nowhere", s.out.Name).
			WithHelp("end it with `to`, or read it in another stream"))
	}
	for _, d := range c.file.Decls {
		switch d := d.(type) {
		case *syntax.Source:
			if s := c.sources[d.Name.String()]; s != nil && s.decl == d && !s.read && !c.strayInput {
				c.report(diag.New("unused-source", c.span(s.out.Place), "no stream reads `%s`", s.out.Name).
					WithHelp("read it, `from %s`, or take it out", s.out.Name))
			}
		case *syntax.Sink:
			if s := c.sinks[d.Name.String()]; s != nil && s.node == d.Node && !s.fed && !c.straySink && !loose && !targets()[s.out.Name] {
				c.report(diag.New("unused-sink", c.span(s.out.Place), "no stream writes to `%s`", s.out.Name).
					WithHelp("write to it, `to %[1]s`, or `late to %[1]s` at a window, or take it out", s.out.Name))
			}
		}
	}
}

func hasTo(s *syntax.Stream) bool {
	for _, c := range s.Clauses {
		if _, ok := c.(*syntax.To); ok {
			return true
		}
	}
	return false
}

// targets are the names of all targets, also of those in clauses that are not compiled yet.
func (c *checker) targets() map[string]bool {
	names := map[string]bool{}
	for _, st := range c.order {
		syntax.Walk(st.decl.Clauses, func(n any) {
			if t, ok := n.(*syntax.Target); ok {
				if ref, ok := t.Sink.(*syntax.Ref); ok {
					names[ref.Name] = true
				}
			}
		})
	}
	return names
}

// delivery checks the promise of exactly-once against how the job runs.
func (c *checker) delivery() {
	var once *Sink
	for _, s := range c.prog.Sinks {
		if s.Deliver == ExactlyOnce {
			once = s
			break
		}
	}
	if once == nil {
		return
	}
	j := c.prog.Job
	if o := c.jobOpts["store"]; o != nil && j.Memory {
		c.report(diag.New("memory-exactly-once", c.at(o.Node), "the memory store forgets everything at a restart, and `%s` promises exactly_once", once.Name).
			WithRelated(c.span(once.Place), "`%s` is declared here", once.Name).
			WithHelp("keep the state, `store bolt(\"./state\")`, or weaken every such sink: `deliver at_least_once`"))
	}
	need := j.Checkpoint + checkpointTimeout + restartBudget
	if j.TxnTimeout >= need {
		return
	}
	o := c.jobOpts["txn_timeout"]
	if o == nil {
		o = c.jobOpts["checkpoint"]
	}
	if o == nil {
		return // the defaults go together
	}
	c.report(diag.New("txn-timeout", c.at(o.Node), "the broker would abort transactions that are still needed: `txn_timeout` is %s, less than %s",
		durationText(j.TxnTimeout), durationText(need)).
		WithNote("%s between checkpoints + %s for a checkpoint + %s for a restart = %s", durationText(j.Checkpoint),
			durationText(checkpointTimeout), durationText(restartBudget), durationText(need)).
		WithHelp("%s", strings.Join([]string{"write `txn_timeout ", durationText(need), "` or more; the broker allows up to its transaction.max.timeout.ms"}, "")))
}
