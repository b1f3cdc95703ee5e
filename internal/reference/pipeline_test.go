package reference

import (
	"fmt"
	"strings"
	"testing"
)

// TestAggregates puts values of one key into one window.
func TestAggregates(t *testing.T) {
	const text = `type T { k: string?  i: int?  d: decimal(6, 2)?  w: decimal(38, 0)?  f: float?  l: duration?  at: timestamp }
source src: T from kafka("t") { time at  watermark 5s  on_error dlq("dead") }
stream s { from src
  window tumbling 1m by k
  aggregate v = AGG
  to out }
sink out to kafka("out") {}
`
	for _, c := range []struct {
		agg, members string // members of the records, separated by |
		want         string // "" for a result error
	}{
		{"count()", `"i":1|"i":null|`, "3"},
		{"count(i)", `"i":1|"i":null|`, "1"},
		{"count() if i is null", `"i":1|"i":null|`, "2"},
		{"count(i) if i is null", `"i":1`, "0"},
		{"sum(i)", `"i":1|"i":null|"i":5`, "6"},
		{"sum(i)", `"i":null|`, "null"},
		{"sum(i ?? 0)", `"i":null|`, "0"},
		{"sum(i) if d is not null", `"i":1,"d":1|"i":2`, "1"},
		{"sum(i) if d is not null", `"i":2`, "null"},
		{"sum(i)", `"i":9223372036854775807|"i":1|"i":-1`, "9223372036854775807"}, // judged when the window closes
		{"sum(i)", `"i":9223372036854775807|"i":1`, ""},
		{"avg(i)", `"i":1|"i":2|"i":null`, "1.5"},
		{"avg(i)", `"i":9223372036854775807|"i":9223372036854775807`, "9223372036854776000"},
		{"avg(i)", `"i":null`, "null"},
		{"min(i)", `"i":3|"i":-1|"i":null|"i":2`, "-1"},
		{"max(i)", `"i":-3|"i":-1|"i":null`, "-1"},
		{"max(i)", `"i":null`, "null"},
		{"sum(d)", `"d":0.01|"d":0.02|"d":-1`, "-0.97"},
		{"avg(d)", `"d":0.01|"d":0.01|"d":0`, "0.006667"},
		{"avg(d)", `"d":-0.01|"d":-0.01|"d":0`, "-0.006667"},
		{"avg(w)", `"w":1|"w":2`, "1.500000"},
		{"avg(w)", `"w":99999999999999999999999999999999999999`, ""},
		{"sum(w)", `"w":99999999999999999999999999999999999999|"w":1|"w":-1`, "99999999999999999999999999999999999999"},
		{"sum(w)", `"w":99999999999999999999999999999999999999|"w":1`, ""},
		{"min(d)", `"d":0.02|"d":0.01`, "0.01"},
		{"sum(f)", `"f":0.5|"f":0.25`, "0.75"},
		{"sum(f)", `"f":1e308|"f":1e308`, ""},
		{"avg(f)", `"f":1e308|"f":1e308`, "1e+308"},
		{"max(f)", `"f":-1|"f":-2`, "-1"},
		{"min(l)", `"l":"1m"|"l":"59s"`, `"59s"`},
		{"max(at)", `|`, `"2026-01-01T00:00:00Z"`},
	} {
		t.Run(c.agg+" "+c.members, func(t *testing.T) {
			var records []string
			for m := range strings.SplitSeq(c.members, "|") {
				if m != "" {
					m += ","
				}
				records = append(records, `{`+m+`"k":"a","at":"2026-01-01T00:00:00Z"}`)
			}
			r := Run(graph(t, strings.Replace(text, "AGG", c.agg, 1)), Input{"src": {values(records...)}})
			want := `{"k":"a","window_start":"2026-01-01T00:00:00Z","window_end":"2026-01-01T00:01:00Z","v":` + c.want + `}`
			if c.want == "" {
				if len(r.DeadLetters) != 1 || r.DeadLetters[0].Class != BadResult || r.DeadLetters[0].Operator != "s/window" {
					t.Errorf("dead letters: %v", r.DeadLetters)
				}
				want = ""
			}
			equal(t, "result", r.sink("out"), want)
		})
	}
}

// TestKeys: null is a group of its own, and keys of several fields do not run into each other.
func TestKeys(t *testing.T) {
	const text = `type T { a: string?  b: string?  at: timestamp }
source src: T from kafka("t") { time at  watermark 5s  on_error skip }
stream s { from src  window tumbling 1m by a, b  aggregate n = count()  select a, b, n  to out }
sink out to kafka("out") { key a, b }
`
	var records []string
	for _, m := range []string{`"a":"x","b":"y"`, `"a":"xy","b":""`, `"a":"","b":"xy"`, `"b":"xy"`, `"a":null,"b":null`, ``, `"a":"x","b":"y"`, `"a":"\\\"","b":"\n"`} {
		records = append(records, `{`+strings.TrimPrefix(m+",", ",")+`"at":"2026-01-01T00:00:00Z"}`)
	}
	r := Run(graph(t, text), Input{"src": {values(records...)}})
	equal(t, "results", r.sink("out"), `
		["","xy"] {"a":"","b":"xy","n":1}
		["\\\"","\n"] {"a":"\\\"","b":"\n","n":1}
		["x","y"] {"a":"x","b":"y","n":2}
		["xy",""] {"a":"xy","b":"","n":1}
		[null,"xy"] {"a":null,"b":"xy","n":1}
		[null,null] {"a":null,"b":null,"n":2}`)
}

// TestSinkKeys: no key and null are null, a string is its bytes, another scalar its JSON text.
func TestSinkKeys(t *testing.T) {
	const text = `type T { s: string?  i: int?  at: timestamp }
source src: T from kafka("t") { on_error skip }
stream s { from src  to none, one, int, time, two }
sink none to kafka("none") {}
sink one to kafka("one") { key s }
sink int to kafka("int") { key i }
sink time to kafka("time") { key at }
sink two to kafka("two") { key i, s }
`
	r := Run(graph(t, text), Input{"src": {values(
		`{"s":"a \"ü","i":1,"at":"2026-01-01T00:00:00.5Z"}`, `{"s":"","i":null,"at":"2026-01-01T00:00:00Z"}`, `{"at":"2026-01-01T00:00:00Z"}`)}})
	got := ""
	for _, sink := range []string{"none", "one", "int", "time", "two"} {
		got += sink
		for _, o := range r.Sinks[sink] {
			if o.Key == nil {
				got += " null"
			} else {
				got += fmt.Sprintf(" %q", o.Key)
			}
		}
		got += "\n"
	}
	equal(t, "keys", got, `
		none null null null
		one "a \"ü" "" null
		int "1" null null
		time "\"2026-01-01T00:00:00.5Z\"" "\"2026-01-01T00:00:00Z\"" "\"2026-01-01T00:00:00Z\""
		two "[1,\"a \\\"ü\"]" "[null,\"\"]" "[null,null]"`)
}

// TestUnion: fields meet by name, in the order of the first input; each source has its own disorder and on_error.
func TestUnion(t *testing.T) {
	const text = `type One { k: string  n: int  at: timestamp }
type Two { at: timestamp  n: int  k: string }
source first: One from kafka("first") { time at  watermark 5s  on_error skip }
source second: Two from kafka("second") { time at  watermark 1h  on_error dlq("dead") }
stream both { from first, second
  let    twice = n * 2
  window tumbling 1m by k late to late
  aggregate n = sum(n), twice = sum(twice)
  to out }
sink out to kafka("out") {}
sink late to kafka("late") {}
`
	record := `{"at":"2026-01-01T00:%s","k":"a","n":%s}`
	r := Run(graph(t, text), Input{
		"first":  {values(fmt.Sprintf(record, "10:00Z", "1"), fmt.Sprintf(record, "00:00Z", "2"), fmt.Sprintf(record, "10:00Z", "9223372036854775807"))},
		"second": {values(fmt.Sprintf(record, "10:00Z", "4"), fmt.Sprintf(record, "00:00Z", "8"), fmt.Sprintf(record, "10:00Z", "9223372036854775807"))},
	})
	equal(t, "results", r.sink("out"), `
		{"k":"a","window_start":"2026-01-01T00:00:00Z","window_end":"2026-01-01T00:01:00Z","n":8,"twice":16}
		{"k":"a","window_start":"2026-01-01T00:10:00Z","window_end":"2026-01-01T00:11:00Z","n":5,"twice":10}`)
	equal(t, "late", r.sink("late"), `{"k":"a","n":2,"at":"2026-01-01T00:00:00Z","twice":4}`)
	if len(r.DeadLetters) != 1 || r.DeadLetters[0].Refusal.Topic != "second" || r.DeadLetters[0].Offset != 2 {
		t.Errorf("dead letters: %v", r.DeadLetters)
	}
	got := ""
	for _, topic := range []string{"first", "second"} {
		for _, name := range []string{"rejected", "late", "aggregated"} {
			operator := "both/window"
			if name == "rejected" {
				operator = "both/let"
			}
			got += fmt.Sprintf("%s %s %d\n", topic, name, r.Counts[Counter{operator, name, topic, 0}])
		}
	}
	equal(t, "counts", got, "first rejected 1\nfirst late 1\nfirst aggregated 1\nsecond rejected 1\nsecond late 0\nsecond aggregated 2")
}

func TestRoute(t *testing.T) {
	const text = `type T { n: int }
source src: T from kafka("t") { on_error skip }
stream s { from src  to all, big if n > 10, odd if n % 2 == 1, rest else, div if 100 / n > 20 }
sink all to kafka("all") {}
sink big to kafka("big") {}
sink odd to kafka("odd") {}
sink rest to kafka("rest") {}
sink div to kafka("div") {}
stream other { from src  to picky if n == 1 }
sink picky to kafka("picky") {}
`
	r := Run(graph(t, text), Input{"src": {values(`{"n":1}`, `{"n":6}`, `{"n":11}`, `{"n":12}`, `{"n":0}`)}})
	for sink, want := range map[string]string{
		"all": "11 12 1 6", "big": "11 12", "odd": "11 1", "rest": "6", "div": "1", "picky": "1",
	} {
		got := strings.NewReplacer(`{"n":`, "", "}", "", "\n", " ").Replace(r.sink(sink))
		if got != want {
			t.Errorf("%s: got %s, want %s", sink, got, want)
		}
	}
	equal(t, "counts", r.counts(), "other/to filtered 0: 4\ns/to rejected 0: 1")
}

// TestClauses: order of let items, select, where; and a where behind an aggregate.
func TestClauses(t *testing.T) {
	const text = `type T { n: int  m: int?  at: timestamp(ms) }
source src: T from kafka("t") { time at  watermark 1s  on_error dlq("dead") }
stream s { from src
  let    a = n + 1, b = a * 10
  where  m is not null && b > 20
  select n = b, m, at
  to     rows }
stream w { from s
  window tumbling 1s
  aggregate n = count(), m = sum(m)
  where  100 / m > 0 && n > 1
  let    double = m * 2
  to     results }
sink rows to kafka("rows") {}
sink results to kafka("results") { key window_start }
`
	r := Run(graph(t, text), Input{"src": {values(
		`{"n":1,"m":5,"at":0}`, `{"n":2,"at":0}`, `{"n":2,"m":3,"at":0}`, `{"n":3,"m":4,"at":999}`, `{"n":4,"m":0,"at":1000}`)}})
	equal(t, "rows", r.sink("rows"), `
		{"n":30,"m":3,"at":0}
		{"n":40,"m":4,"at":999}
		{"n":50,"m":0,"at":1000}`)
	equal(t, "results", r.sink("results"), `"1970-01-01T00:00:00Z" {"window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T00:00:01Z","n":2,"m":7,"double":14}`)
	if len(r.DeadLetters) != 1 {
		t.Fatalf("dead letters: %v", r.DeadLetters)
	}
	d := r.DeadLetters[0]
	equal(t, "dead letter", fmt.Sprintf("%s %s %d %s", d.Topic, d.Operator, d.Offset, d.Value),
		`dead w/where -1 {"window_start":"1970-01-01T00:00:01Z","window_end":"1970-01-01T00:00:02Z","n":1,"m":0}`)
	equal(t, "counts", r.counts(), `
		s/where filtered 0: 2
		w/where rejected -1: 1
		w/window aggregated 0: 3`)
}

func TestOnError(t *testing.T) {
	const text = `type T { n: int }
source src: T from kafka("t") { OPTIONS }
stream s { from src  where 1 / n == 1  to out }
sink out to kafka("out") {}
`
	records := values(`{"n":1}`, `{"n":0}`, `{}`, ``)
	records = append(records, Record{Key: []byte("k"), Headers: []Header{{"h", []byte("v")}}, Offset: 9, Time: stamp})
	records[2].Key = []byte("key")
	records[2].Headers = []Header{{"trace", []byte("1")}, {"trace", nil}}
	input := Input{"src": {{}, records}}
	run := func(options string) *Result {
		return Run(graph(t, strings.Replace(text, "OPTIONS", options, 1)), input)
	}

	r := run("on_error skip")
	equal(t, "skip", r.sink("out"), `{"n":1}`)
	equal(t, "skip", r.counts(), "s/where rejected 1: 1\nsrc null 1: 1\nsrc rejected 1: 2")
	if len(r.DeadLetters)+len(r.Failures) > 0 {
		t.Errorf("skip: %v %v", r.DeadLetters, r.Failures)
	}

	r = run(`on_error dlq("dead")`)
	got := ""
	for _, d := range r.DeadLetters {
		got += fmt.Sprintf("%s %s %s\n", d.Refusal.position(), d.Class, d.text(true))
	}
	equal(t, "dlq", got, `
		t/1/1 expression dead t/1/1 s/where value "{\"n\":0}"
		t/1/2 malformed dead t/1/2 src key "key" value "{}" trace="1" trace=""
		t/1/3 malformed dead t/1/3 src value ""`)

	r = run("on_null fail")
	if got := fmt.Sprint(r.Failures); got != "[t/1/1 (s/where: expression: division by zero) t/1/2 (src: malformed: n: missing) "+
		"t/1/3 (src: malformed: not JSON) t/1/9 (src: null: the value is null)]" {
		t.Errorf("fail: %s", got)
	}
}

// TestStreamsRejectForThemselves: a record that one stream refuses is taken by another.
func TestStreamsRejectForThemselves(t *testing.T) {
	const text = `type T { n: int }
source src: T from kafka("t") { on_error dlq("dead") }
stream a { from src  where 1 / n == 1  to x }
stream b { from src  where 2 / n == 2  to x }
stream c { from src  to y }
sink x to kafka("x") {}
sink y to kafka("y") {}
`
	r := Run(graph(t, text), Input{"src": {values(`{"n":0}`, `{"n":1}`)}})
	equal(t, "x", r.sink("x"), "{\"n\":1}\n{\"n\":1}")
	equal(t, "y", r.sink("y"), "{\"n\":0}\n{\"n\":1}")
	if len(r.DeadLetters) != 2 || r.DeadLetters[0].Operator != "a/where" || r.DeadLetters[1].Operator != "b/where" {
		t.Errorf("%v", r.DeadLetters)
	}
}
