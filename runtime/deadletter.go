package runtime

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/failure"
)

// Headers of a dead letter. They stand behind those that the record came with.
const (
	headerReason      = "eo.reason"
	headerSource      = "eo.source" // of a source with a connection of its own: another cluster can have a topic of the same name
	headerTopic       = "eo.topic"
	headerPartition   = "eo.partition"
	headerOffset      = "eo.offset"
	headerOperator    = "eo.operator"     // `user_totals/where (orders.eo:17)`
	headerWindowStart = "eo.window_start" // of a result, which has no topic, partition and offset
	headerWindowEnd   = "eo.window_end"
)

// lookHelp shows the record.
const lookHelp = "look at it with `kafka-console-consumer.sh --bootstrap-server %s --topic %s --partition %d --offset %d --max-messages 1`; "

const (
	skipHelp     = "to go on without such records, declare on_error skip or on_error dlq(…) at the source"
	skipNullHelp = "to go on without such records, declare on_null skip at the source"
)

// declareDLQ declares the dead-letter topic of s, behind the sinks of the .eo file. Sources may share one.
func (s *Source) declareDLQ() {
	if s.spec.OnError.mode != dlqOnError {
		return
	}
	t := s.task
	topic := t.topic(s.spec.OnError.topic, "the dead-letter topic of source "+s.spec.Name+" ("+s.spec.Place+")")
	for _, other := range t.sinks {
		if other.deadLetters && other.topic == topic {
			other.spec.Deliver = min(other.spec.Deliver, s.spec.DLQDeliver)
			s.dlq = other
			return
		}
	}
	s.dlq = t.newSink(SinkSpec{Name: topic, Place: s.spec.Place, Deliver: s.spec.DLQDeliver}, topic)
	s.dlq.deadLetters = true
}

// refuse does what on_error says with the current record.
func (b *Batch) refuse(operator, place string, f Fault) {
	switch b.source.spec.OnError.mode {
	case failOnError:
		b.stop(operator, place, f)
	case dlqOnError:
		b.toDLQ(operator, place, f)
	}
}

// stop ends the batch with a record error.
func (b *Batch) stop(operator, place string, f Fault) {
	b.rest = 0 // Next returns false
	offset := b.records[b.i].Offset
	help := skipHelp
	if f.Reason == noValue {
		help = skipNullHelp
	}
	shown := fmt.Sprintf("%s (%s): record of topic %s, partition %d, offset %d: %s", operator, place, b.part.Topic, b.part.ID, offset, f.AppendText(nil))
	what := shown
	if broker := b.source.address(); broker != "" {
		help = fmt.Sprintf(lookHelp, broker, b.part.Topic, b.part.ID, offset) + help
	} else if value := b.records[b.i].Value; value != nil {
		what += ": " + string(value) // it is in memory alone, where no command can look at it
	}
	b.source.task.fail(failure.OfRecord(help, nil, what, shown))
}

// address is a broker of the source's cluster, "" if there is none, as in a test with rttest.
func (s *Source) address() string {
	if all := s.task.brokers; all != nil && s.reach < len(*all) {
		return (*all)[s.reach]
	}
	return ""
}

// toDLQ writes the current record as it came, with why and whence in its headers.
func (b *Batch) toDLQ(operator, place string, f Fault) {
	r, s := &b.records[b.i], b.source.dlq
	v := append(s.Begin(r.Key), r.Value...)
	for _, h := range r.Headers {
		s.header(originalHeader(h.Key), h.Value)
	}
	text := f.AppendText(s.scratch[:0])
	s.header(headerReason, text)
	if b.source.reach > 0 {
		text = append(text[:0], b.source.spec.Name...)
		s.header(headerSource, text)
	}
	text = append(text[:0], b.part.Topic...)
	s.header(headerTopic, text)
	text = strconv.AppendInt(text[:0], int64(b.part.ID), 10)
	s.header(headerPartition, text)
	text = strconv.AppendInt(text[:0], r.Offset, 10)
	s.header(headerOffset, text)
	text = appendOperator(text[:0], operator, place)
	s.header(headerOperator, text)
	s.scratch = text
	s.End(v, Time(r.Time))
}

// originalHeader is what a header that the record came with is called in the dead letter. A record
// that was a dead letter before has headers of our names: they stay, told apart by another name. The
// text is copied, since it belongs to the fetch buffer.
func originalHeader(name string) string {
	switch name {
	case headerReason, headerSource, headerTopic, headerPartition, headerOffset, headerOperator, headerWindowStart, headerWindowEnd:
		return "eo.previous." + name[len("eo."):]
	}
	return strings.Clone(name)
}

func appendOperator(b []byte, operator, place string) []byte {
	b = append(b, operator...)
	b = append(b, " ("...)
	b = append(b, place...)
	return append(b, ')')
}

// strictest is the source with the strictest on_error: fail, then dlq, then skip. It decides for results.
func strictest(sources []*Source) *Source {
	s := sources[0]
	for _, other := range sources[1:] {
		if other.spec.OnError.mode < s.spec.OnError.mode {
			s = other
		}
	}
	return s
}

// refuseResult does what the strictest on_error of the sources says with a result of the window from
// start to end. json is the result as a row.
func (t *Task) refuseResult(c *Clause, sources []*Source, start, end Time, f Fault, json []byte) {
	src := strictest(sources)
	c.rejected.n[0]++
	c.rejected.noteResult(t, start, end, f, src.spec.OnError.mode)
	if src.spec.OnError.mode == skipOnError {
		return
	}
	from, to := unquoted(AppendTime(nil, start)), unquoted(AppendTime(nil, end))
	switch src.spec.OnError.mode {
	case failOnError:
		shown := fmt.Sprintf("%s (%s): result of window [%s, %s): %s", c.name, c.place, from, to, f.AppendText(nil))
		t.fail(failure.OfRecord(skipHelp, nil, shown+": "+string(json), shown))
	case dlqOnError:
		s := src.dlq
		v := append(s.Begin(nil), json...)
		s.header(headerReason, f.AppendText(nil))
		s.header(headerOperator, appendOperator(nil, c.name, c.place))
		s.header(headerWindowStart, from)
		s.header(headerWindowEnd, to)
		s.End(v, end-Millisecond)
	}
}

func unquoted(b []byte) []byte { return b[1 : len(b)-1] }
