package reference

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/eoc-lang/eoc/internal/ir"
	"github.com/eoc-lang/eoc/planner"
)

// Gen makes random records for the sources of a pipeline, about as bad as the world makes them and a
// little worse: out of order, late, ahead of their timestamps, null, with values at the ends of their
// ranges, and some that are no records of the source's type at all. Zero fields have the defaults named.
//
// For a source with `on_error fail` it makes no bad ones, for `on_null fail` no null ones, unless Stop is set.
type Gen struct {
	Records    int           // in each source; default 1000
	Partitions int           // of each source; default 4
	Keys       int           // different texts in a string field, besides odd ones; default 100
	Start      time.Time     // of the first event; default 2026-01-01T00:00:00Z
	Step       time.Duration // mean time from one event to the next; default 10 ms
	OddOneIn   int           // a value is an odd one of its type once in so many; default 40
	BadOneIn   int           // a record is spoilt once in so many; default 50
	EdgeOneIn  int           // an event is as far ahead as skew allows once in so many, and much is late behind it; default 300
	Stop       bool
}

// Input makes the records. The same seed gives the same ones.
func (g Gen) Input(seed uint64, graph *planner.Graph) Input {
	g.Records = orDefault(g.Records, 1000)
	g.Partitions = orDefault(g.Partitions, 4)
	g.Keys = orDefault(g.Keys, 100)
	g.OddOneIn = orDefault(g.OddOneIn, 40)
	g.BadOneIn = orDefault(g.BadOneIn, 50)
	g.EdgeOneIn = orDefault(g.EdgeOneIn, 300)
	g.Step = orDefault(g.Step, 10*time.Millisecond)
	if g.Start.IsZero() {
		g.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	input := Input{}
	for _, n := range graph.Nodes {
		if s, ok := n.Op.(*planner.Source); ok {
			input[s.Name] = g.source(r, s, n.Row)
		}
	}
	return input
}

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// maker makes the records of one source.
type maker struct {
	Gen
	*rand.Rand
	row      ir.Row
	timeless bool // the Kafka timestamp is the event time
	isTime   map[int]bool
	bad      bool
	null     bool
}

func (g Gen) source(r *rand.Rand, s *planner.Source, row ir.Row) [][]Record {
	m := maker{
		Gen: g, Rand: r, row: row, timeless: s.Time == nil, isTime: map[int]bool{},
		bad: g.Stop || s.OnError.Mode != planner.OnErrorFail, null: g.Stop || !s.FailOnNull,
	}
	for i, f := range row {
		m.isTime[i] = f.Type.Kind == ir.Timestamp && reads(s.Time, i)
	}
	disorder := max(s.Watermark, 10*g.Step)
	partitions := make([][]Record, g.Partitions)
	clock := g.Start.UnixMicro()
	for range g.Records {
		clock += m.Int64N(2*g.Step.Microseconds() + 1)
		event, stamp := m.times(clock, disorder.Microseconds(), s.Skew.Microseconds())
		p := m.IntN(g.Partitions)
		rec := m.record(event)
		rec.Offset, rec.Time = int64(len(partitions[p])), stamp
		partitions[p] = append(partitions[p], rec)
		if m.oneIn(20_000) { // much is late behind this
			clock += 20 * disorder.Microseconds()
		}
	}
	return partitions
}

// reads reports whether e is column i. An expression over several columns makes events of any time.
func reads(e ir.Expr, i int) bool {
	switch e := e.(type) {
	case *ir.Column:
		return e.Index == i
	case *ir.Known:
		return reads(e.X, i)
	case *ir.Coalesce:
		return reads(e.X, i) || reads(e.Else, i)
	}
	return false
}

func (m *maker) oneIn(n int) bool { return m.IntN(n) == 0 }

// times makes an event time around the clock and a Kafka timestamp, whole milliseconds of which brokers keep.
func (m *maker) times(clock, disorder, skew int64) (event, stamp int64) {
	event = clock - m.Int64N(disorder)
	if m.oneIn(30) {
		event -= m.Int64N(40 * disorder) // late, for some windows
	}
	stamp = clock
	if skew > 0 && m.oneIn(300) {
		event = clock + skew + m.Int64N(skew) // ahead
	}
	if skew > 0 && m.oneIn(m.EdgeOneIn) {
		event = clock/1000*1000 + skew + m.Int64N(3) - 1 // at the edge
	}
	return event, max(0, floorDiv(stamp, 1000)*1000)
}

func (m *maker) record(event int64) Record {
	rec := Record{Value: m.value(event)}
	switch m.IntN(3) {
	case 0:
		rec.Key = []byte(m.text())
	case 1:
		rec.Key = []byte{}
	}
	if m.oneIn(10) {
		rec.Headers = []Header{{Key: "trace", Value: []byte(fmt.Sprint(m.IntN(1000)))}, {Key: "trace"}}
	}
	return rec
}

// value makes a JSON object of the row's type, nearly always.
func (m *maker) value(event int64) []byte {
	if m.null && m.oneIn(100) {
		return nil
	}
	var members []string
	for i, f := range m.row {
		if (f.Type.Null || f.Default != nil) && m.oneIn(5) {
			if m.oneIn(2) {
				members = append(members, m.name(f.Name)+":null")
			}
			continue
		}
		text := m.json(f.Type)
		if m.isTime[i] {
			text = m.moment(event, f.Type.Unit)
		}
		members = append(members, m.name(f.Name)+":"+text)
	}
	for range m.IntN(3) {
		members = append(members, choose(m.Rand, extras))
	}
	spoil := m.bad && m.oneIn(m.BadOneIn)
	if spoil {
		members = m.spoilMembers(members)
	}
	if m.oneIn(4) {
		m.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	value := m.object(members)
	if spoil {
		value = m.spoilBytes(value)
	}
	return value
}

// name writes a field's name, rarely with an escape.
func (m *maker) name(name string) string {
	if name[0] < 0x80 && m.oneIn(100) {
		return fmt.Sprintf(`"\u%04x%s`, name[0], appendString(nil, name[1:])[1:])
	}
	return string(appendString(nil, name))
}

// object puts members together, with the blanks that different writers leave.
func (m *maker) object(members []string) []byte {
	before, between, after := "{", ",", "}"
	switch m.IntN(6) {
	case 0:
		between = ", "
	case 1:
		before, between, after = " {\n\t", " ,\r\n\t", "\n}\n"
	}
	var b []byte
	b = append(b, before...)
	for i, text := range members {
		if i > 0 {
			b = append(b, between...)
		}
		b = append(b, text...)
	}
	return append(b, after...)
}

// spoilMembers does one thing to a record that makes it bad, if the field is one that is used.
func (m *maker) spoilMembers(members []string) []string {
	if len(members) == 0 {
		return members
	}
	i := m.IntN(len(members))
	switch m.IntN(6) {
	case 0:
		return append(members[:i:i], members[i+1:]...)
	case 1:
		return append(members, members[i])
	case 2, 3:
		if f := m.row[m.IntN(len(m.row))]; m.oneIn(2) {
			return append(members[:i:i], string(appendString(nil, f.Name))+":"+choose(m.Rand, wrong))
		}
		return append(members, choose(m.Rand, broken))
	}
	return members
}

// spoilBytes does to the bytes what a broken writer might, or nothing.
func (m *maker) spoilBytes(b []byte) []byte {
	switch m.IntN(8) {
	case 0:
		return b[:m.IntN(len(b))]
	case 1:
		b[m.IntN(len(b))] = byte(m.IntN(256))
	case 2:
		return append(b, choose(m.Rand, []string{"x", "{}", ",", "\x00", "}", "null"})...)
	case 3:
		return []byte(choose(m.Rand, []string{"", "null", "[]", "[{}]", `"{}"`, "1", "true", " ", "{", "nul", "\xef\xbb\xbf{}"}))
	}
	return b
}

func choose(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// extras are members of no field of the type.
var extras = []string{
	`"x1":-1.5e-7`, `"x2":"a \"quoted\" \\ text"`, `"x3":[1,[2,{"amount":3}],{}]`, `"x4":{"user_id":"no","at":[],"zip":null}`,
	`"":""`, `"x5":true`, `"a name of more than sixteen bytes":1`, `"a name of more than sixteen bytes, too":"12345678"`,
	`"\ud800":0`, "\"x6\":\"\xe4\"", `"x7":"\ud800"`, `"x8":1e999999`,
}

// broken are members that are no JSON.
var broken = []string{
	`"bad":01`, `"bad":[1,}`, `"bad":"\x"`, `"bad":"\u12"`, "\"bad\":\"\x01\"", `"bad":nul`, `"bad":+1`, `"bad":.5`, `"bad":1.`,
	`"bad":{"a" 1}`, `"bad":[{]}`, `"bad":[1 2]`, `"bad":{,}`, `"bad":`, `"bad"`, ``, `bad:1`, `"bad":'1'`, `"bad":1e`, `"bad":-`,
}

// wrong are values that fit few types.
var wrong = []string{
	`null`, `true`, `"text"`, `"12"`, `12`, `-1.5`, `1e30`, `[]`, `{}`, `"\ud83d"`, `"\udc00x"`, `"\ud83d_ude00"`, "\"\xff\"", `["u"]`, `"open`,
	`NaN`, `Infinity`, `tru`, `""`,
}
