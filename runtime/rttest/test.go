package rttest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	rt "github.com/eoc-lang/eoc/runtime"
)

// T is what is needed of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any) // does not return
}

// Test is a pipeline in memory that belongs to a test, which it fails when a step fails.
type Test struct {
	// Run is what the steps are made of: for a step that has to fail, and for smaller steps.
	Run *Run

	t T
}

// Start starts a pipeline that reads with one task, from topics of one partition, in an empty environment. Config.Start
// has more to choose.
func Start(t T, p rt.Pipeline) *Test {
	t.Helper()
	return Config{}.Start(t, p)
}

// Start starts a pipeline as c says.
func (c Config) Start(t T, p rt.Pipeline) *Test {
	t.Helper()
	r, err := New(p, c)
	if err != nil {
		t.Fatalf("the pipeline does not start: %v", err)
	}
	return &Test{Run: r, t: t}
}

// Send feeds records to partition 0 of a topic. A string or []byte is a record's value, a Record a whole
// one, and of anything else the JSON is a record's value, such as of a type that the pipeline's package has for
// records. nil is a record without a value.
func (p *Test) Send(topic string, records ...any) {
	p.t.Helper()
	p.SendTo(topic, 0, records...)
}

// SendTo feeds records to a partition of a topic. The test fails if the pipeline fails, as `on_error fail` wants
// for a bad record; for a test of that there is Run.Feed.
func (p *Test) SendTo(topic string, partition int, records ...any) {
	p.t.Helper()
	p.mustRead(topic, partition)
	list := make([]Record, len(records))
	for i, r := range records {
		list[i] = p.record(r)
	}
	p.must(p.Run.Feed(topic, partition, list...))
}

// At is a record of a Kafka timestamp, for sources whose event time that is. value is as for Send.
func At(at time.Time, value any) Stamped { return Stamped{at, value} }

// Stamped is a value with its Kafka timestamp; At makes it.
type Stamped struct {
	Time  time.Time
	Value any
}

func (p *Test) record(v any) Record {
	p.t.Helper()
	switch v := v.(type) {
	case Record:
		return v
	case Stamped:
		r := p.record(v.Value)
		r.Time = v.Time.UnixMicro()
		return r
	case nil:
		return Record{Time: NoTime}
	case string:
		return Record{Value: []byte(v), Time: NoTime}
	case []byte:
		return Record{Value: v, Time: NoTime}
	}
	text, err := json.Marshal(v)
	if err != nil {
		p.t.Fatalf("a record cannot be sent: %v", err)
	}
	return Record{Value: text, Time: NoTime}
}

// Idle says that a partition has had nothing new for so long that it no longer holds windows open.
func (p *Test) Idle(topic string, partition int) {
	p.t.Helper()
	p.mustRead(topic, partition)
	p.must(p.Run.Idle(topic, partition))
}

// Checkpoint makes a checkpoint: what was written so far is committed.
func (p *Test) Checkpoint() {
	p.t.Helper()
	p.must(p.Run.Checkpoint())
}

// Crash is what kill -9 and a start are to a program: everything since the last checkpoint is lost, then read
// again. The pipeline is wrong if that can be seen in a result.
func (p *Test) Crash() {
	p.t.Helper()
	var read []int // how far each partition was
	for _, part := range p.Run.parts {
		read = append(read, part.next)
	}
	p.must(p.Run.Crash(p.Run.cfg.Parallelism))
	for i, part := range p.Run.parts {
		p.must(p.Run.Read(part.name, int(part.ID), read[i]-part.next))
	}
}

// End ends the input: every window closes, and everything is committed. It is the last step.
func (p *Test) End() {
	p.t.Helper()
	p.must(p.Run.End())
}

// Output is all that was written to a topic, committed or not.
func (p *Test) Output(topic string) []Record {
	p.t.Helper()
	p.mustWrite(topic)
	return p.Run.Output(topic)
}

// Committed is what a reader of committed records sees of a topic: what was written before the last checkpoint, or End.
func (p *Test) Committed(topic string) []Record {
	p.t.Helper()
	p.mustWrite(topic)
	return p.Run.Committed(topic)
}

// Count is how many records a counter of an operator has counted, such as Count("user_totals/where", "filtered"); see
// Count for the names. `eoc plan` shows the operators.
func (p *Test) Count(operator, name string) int64 {
	p.t.Helper()
	p.mustCount(operator, name)
	var n int64
	for _, c := range p.Run.Counts() {
		if c.Operator == operator && c.Name == name {
			n += c.N
		}
	}
	return n
}

func (p *Test) mustCount(operator, name string) {
	p.t.Helper()
	var operators, counters []string
	for _, c := range p.Run.spec.Counters {
		operators = append(operators, c.Operator)
		if c.Operator == operator {
			counters = append(counters, c.Name)
		}
	}
	switch {
	case counters == nil:
		p.t.Fatalf("%s has no operator %q that counts; there is %s", p.Run.spec.File, operator, names(operators))
	case !slices.Contains(counters, name):
		p.t.Fatalf("operator %s counts no %q; it counts %s", operator, name, names(counters))
	}
}

func (p *Test) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %v", p.Run.spec.File, err)
	}
}

func (p *Test) mustRead(topic string, partition int) {
	p.t.Helper()
	var topics []string
	partitions := 0
	for _, part := range p.Run.parts {
		topics = append(topics, part.name)
		if part.name == topic {
			partitions++
		}
	}
	switch {
	case partitions == 0:
		p.t.Fatalf("%s reads no topic %q; it reads %s", p.Run.spec.File, topic, names(topics))
	case partition < 0 || partition >= partitions:
		p.t.Fatalf("topic %s has partitions 0 to %d here, and no %d; Config.Partitions says how many", topic, partitions-1, partition)
	}
}

func (p *Test) mustWrite(topic string) {
	p.t.Helper()
	var topics []string
	for _, s := range p.Run.spec.Sinks {
		topics = append(topics, s.Topic)
	}
	if !slices.Contains(topics, topic) {
		p.t.Fatalf("%s writes no topic %q; it writes %s", p.Run.spec.File, topic, names(topics))
	}
}

// names lists topics, each once.
func names(topics []string) string {
	slices.Sort(topics)
	return strings.Join(slices.Compact(topics), ", ")
}
