package rttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/eoc-lang/eoc/runtime/internal/engine"
)

// Results is the values of all records of a topic so far, decoded with encoding/json: into a type that the pipeline's
// package has for them, or into another, for which decimals are JSON numbers, times texts of RFC 3339. With one task the order is the same each time; between keys it means nothing.
func Results[V any](p *Test, topic string) []V {
	p.t.Helper()
	var list []V
	for _, r := range p.Output(topic) {
		var v V
		if err := json.Unmarshal(r.Value, &v); err != nil {
			p.t.Fatalf("record %d of topic %s is no %T: %v\n%s", r.Offset, topic, v, err, r.Value)
		}
		list = append(list, v)
	}
	return list
}

// Expect fails the test, which goes on, unless these are the values of all records of a topic so far, in any order.
// Values are as for Send. JSON is compared by what it means: order of fields, spaces and the zeros behind 12.50 do not
// matter. What is no JSON, such as a dead letter can be, is compared byte by byte. Without values it expects that nothing was written.
func (p *Test) Expect(topic string, values ...any) {
	p.t.Helper()
	var missing, surplus []value
	for i, v := range values {
		want := valueOf(p.record(v).Value)
		want.number = i + 1
		missing = append(missing, want)
	}
	for _, r := range p.Output(topic) {
		got := valueOf(r.Value)
		if i := slices.IndexFunc(missing, func(want value) bool { return want.meaning == got.meaning }); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
		} else {
			surplus = append(surplus, got)
		}
	}
	if len(missing)+len(surplus) == 0 {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "topic %s is not as expected:", topic)
	var came []*object
	for _, v := range surplus {
		if o := objectOf(v); o != nil {
			came = append(came, o)
		}
	}
	for i, v := range missing {
		b.WriteString("\n  missing    " + v.text)
		if fault := malformed(v); fault != "" {
			fmt.Fprintf(&b, "\n             no JSON, so compared byte by byte: value %d of %d, %s", v.number, len(values), fault)
		}
		if want := objectOf(v); want != nil && i < mostNearest {
			if says := nearest(want, came); says != "" {
				b.WriteString("\n             nearest: " + says)
			}
		}
	}
	for _, v := range surplus {
		b.WriteString("\n  unexpected " + v.text)
	}
	if len(missing) > 0 {
		b.WriteString(p.refused(topic))
	}
	p.t.Errorf("%s", b.String())
}

// refused says what is in topics of dead letters, where what is missing elsewhere may have gone.
func (p *Test) refused(but string) string {
	var b strings.Builder
	for i, s := range p.Run.spec.Sinks {
		first := slices.IndexFunc(p.Run.spec.Sinks, func(other engine.SinkSpec) bool { return other.Topic == s.Topic })
		if s.Topic == but || first < i {
			continue
		}
		n := 0
		for _, r := range p.Run.Output(s.Topic) {
			reason := slices.IndexFunc(r.Headers, func(h Header) bool { return h.Key == "eo.reason" })
			if reason < 0 {
				continue
			}
			if n++; n == 1 {
				fmt.Fprintf(&b, "\n  refused    in topic %s: %s", s.Topic, r.Headers[reason].Value)
			}
		}
		if n > 1 {
			fmt.Fprintf(&b, ", and %d more", n-1)
		}
	}
	return b.String()
}

// value is a record's value, as it is shown and as it is compared.
type value struct {
	text, meaning string
	number        int // of one that is expected, from 1
}

func valueOf(v []byte) value {
	if v == nil {
		return value{text: shown(v)}
	}
	return value{text: shown(v), meaning: "=" + canonical(string(v))}
}

// malformed says where and why a value is no JSON, "" if it is.
func malformed(v value) string {
	var fault *json.SyntaxError
	if v.meaning == "" || !errors.As(json.Unmarshal([]byte(v.text), new(json.RawMessage)), &fault) {
		return ""
	}
	before := v.text[:max(0, fault.Offset-1)] // the fault is behind it
	line := 1 + strings.Count(before, "\n")
	at := len(before) - strings.LastIndex(before, "\n")
	return fmt.Sprintf("line %d, byte %d: %v", line, at, fault)
}

// shown is a value as a line.
func shown(value []byte) string {
	if value == nil {
		return "(no value)"
	}
	return string(value)
}

// canonical is a text that two values share if they mean the same.
func canonical(value string) string {
	d := json.NewDecoder(strings.NewReader(value))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return value
	}
	if _, err := d.Token(); err != io.EOF {
		return value // there is more behind it
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(reduced(v)); err != nil {
		panic(err) // it was JSON before
	}
	return string(bytes.TrimSpace(text.Bytes()))
}

// reduced writes every number within v in one way.
func reduced(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = reduced(v[k])
		}
	case []any:
		for i := range v {
			v[i] = reduced(v[i])
		}
	case json.Number:
		return reducedNumber(v)
	}
	return v
}

// greatestExponent is the greatest that is written out, in either direction. Those of floats are below 400.
const greatestExponent = 999

// reducedNumber is the number without exponent and without zeros at its end: 12.50 and 125e-1 are 12.5.
func reducedNumber(n json.Number) json.Number {
	digits, exponent := string(n), 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(digits[i+1:]); err != nil || max(exponent, -exponent) > greatestExponent {
			return n
		}
	}
	r, ok := new(big.Rat).SetString(digits)
	if !ok {
		return n
	}
	text := r.FloatString(len(digits) + max(0, -exponent)) // as many places as it can have, and more
	return json.Number(strings.TrimRight(strings.TrimRight(text, "0"), "."))
}

// DeadLetter is a record that was refused, or a result that could not be computed.
type DeadLetter struct {
	Record          // as it came; the headers that say why and whence stand behind its own
	Reason   string // why it was refused
	Operator string // what refused it and where: `orders (orders.eo:8)`
	// Topic, Partition and SourceOffset are where the record was read: "", -1 and -1 for a result.
	Topic        string
	Partition    int
	SourceOffset int64
	Source       string // that has read it, if it has brokers of its own
}

// String is the letter as a line of a message, with its value in quotes if that is not a line.
func (d DeadLetter) String() string {
	from := "a result"
	if d.Topic != "" {
		from = fmt.Sprintf("topic %s, partition %d, offset %d", d.Topic, d.Partition, d.SourceOffset)
	}
	value := shown(d.Value)
	if strings.ContainsAny(value, "\r\n") {
		value = strconv.Quote(value)
	}
	return fmt.Sprintf("%s: %s: %s: %s", d.Operator, from, d.Reason, value)
}

// DeadLetters is all records so far of a topic of dead letters.
func (p *Test) DeadLetters(topic string) []DeadLetter {
	p.t.Helper()
	var list []DeadLetter
	for _, r := range p.Output(topic) {
		d := DeadLetter{Record: r, Partition: -1, SourceOffset: -1}
		for _, h := range r.Headers {
			switch text := string(h.Value); h.Key {
			case "eo.reason":
				d.Reason = text
			case "eo.operator":
				d.Operator = text
			case "eo.source":
				d.Source = text
			case "eo.topic":
				d.Topic = text
			case "eo.partition":
				d.Partition, _ = strconv.Atoi(text) // this package has written it
			case "eo.offset":
				d.SourceOffset, _ = strconv.ParseInt(text, 10, 64)
			}
		}
		if d.Operator == "" {
			p.t.Fatalf("topic %s has a record that is no dead letter: %s", topic, shown(r.Value))
		}
		list = append(list, d)
	}
	return list
}
