package dsl_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/diag"
	"github.com/eoc-lang/eoc/internal/ir"
)

func examples(t testing.TB) map[string][]byte {
	files, err := filepath.Glob("../examples/*.eo")
	if err != nil || len(files) < 3 {
		t.Fatal("no examples", err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if out[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func checkOK(t testing.TB, file, src string) *dsl.Program {
	t.Helper()
	p, diags := dsl.Check(file, []byte(src))
	if len(diags) > 0 {
		var out bytes.Buffer
		diag.Render(&out, diags, []byte(src), false)
		t.Fatalf("%s\nin:\n%s", out.String(), src)
	}
	return p
}

func TestExamplesCheckAndAreFormatted(t *testing.T) {
	for file, src := range examples(t) {
		checkOK(t, file, string(src))
		formatted, _ := dsl.Format(file, src)
		if !bytes.Equal(formatted, src) {
			t.Errorf("%s is not formatted:\n%s", file, formatted)
		}
	}
}

var place = regexp.MustCompile(`"(Line|Column)":\d+`)

// meaning is a program as text, without lines and columns.
func meaning(t testing.TB, p *dsl.Program) string {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return place.ReplaceAllString(string(b), "")
}

// squeezed is a program with as little layout as it needs.
func squeezed(src string) string {
	src = regexp.MustCompile(` *//[^\n]*`).ReplaceAllString(src, "")
	return regexp.MustCompile(`[ \t]+`).ReplaceAllString(src, " ")
}

func TestFormatKeepsTheProgram(t *testing.T) {
	for file, src := range examples(t) {
		want := meaning(t, checkOK(t, file, string(src)))
		bare := squeezed(string(src))
		if got := meaning(t, checkOK(t, file, bare)); got != want {
			t.Errorf("%s: layout changes the program:\n%s\n%s", file, got, want)
		}
		formatted, diags := dsl.Format(file, []byte(bare))
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		if got := meaning(t, checkOK(t, file, string(formatted))); got != want {
			t.Errorf("%s: fmt changes the program:\n%s\n%s", file, got, want)
		}
	}
}

func TestOrders(t *testing.T) {
	p := checkOK(t, "some/dir/orders.eo", string(examples(t)["orders.eo"]))
	if p.File != "orders.eo" || p.Job.Name != "orders" || p.Job.TxnPrefix.Text != "orders" || p.Job.Memory ||
		p.Job.StateDir.Text != "./state" || p.Job.Checkpoint != time.Second || p.Job.TxnTimeout != 2*time.Minute ||
		p.Job.Parallelism != 1 || p.Job.RestartMin != time.Second || p.Job.RestartMax != time.Minute || p.Job.Place != (ir.Place{}) {
		t.Errorf("job %+v of %s", p.Job, p.File)
	}
	src := p.Sources[0]
	if src.Name != "orders" || src.Topic.Text != "orders" || src.TypeName != "Order" || !src.HasWatermark || src.Watermark != 5*time.Second ||
		src.Idle != 30*time.Second || src.Skew != time.Hour || src.Start != dsl.Earliest || src.ReadUncommitted || src.FailOnNull ||
		src.OnError.Mode != dsl.DeadLetter || src.OnError.Topic.Text != "orders.dlq" || text(src.Time) != "at" {
		t.Errorf("source %+v", src)
	}
	s := p.Streams[0]
	win, agg, to := s.Clauses[1].(*dsl.Window), s.Clauses[2].(*dsl.Aggregate), s.Clauses[3].(*dsl.To)
	if win.Size != time.Minute || win.Grace != 10*time.Second || win.Late != p.Sinks[1] || len(win.By) != 1 || text(win.By[0].Expr) != "user_id" {
		t.Errorf("window %+v", win)
	}
	if len(agg.Items) != 2 || agg.Items[0].Name != "total" || agg.Items[0].Func != ir.Sum || text(agg.Items[0].Arg) != "amount" || agg.Items[1].Arg != nil {
		t.Errorf("aggregate %+v", agg)
	}
	if len(to.Routes) != 1 || to.Routes[0].Sink != p.Sinks[0] || !s.Windowed {
		t.Errorf("to %+v", to)
	}
	row := "user_id string · window_start timestamp · window_end timestamp · total decimal(38, 2) · orders int"
	if got := rowText(p.Sinks[0].Row); got != row {
		t.Errorf("totals gets %s", got)
	}
	if got := rowText(p.Sinks[1].Row); got != "user_id string · amount decimal(12, 2) · at timestamp" {
		t.Errorf("orders_late gets %s", got)
	}
	var places []string
	for _, c := range []ir.Place{src.Place, src.TypePlace, src.TimePlace, src.OnError.Place, s.Place, s.From.Place, win.Place, win.LatePlace,
		agg.Place, agg.Items[1].Place, to.Place, p.Sinks[0].Place, p.Sinks[0].KeyAt} {
		places = append(places, c.Text)
	}
	want := []string{`source orders: Order from kafka("orders")`, "type Order", "time at", `on_error dlq("orders.dlq")`, "stream user_totals", "from orders",
		"window tumbling 1m by user_id grace 10s late to orders_late", "late to orders_late", "aggregate total = sum(amount), orders = count()",
		"orders = count()", "to totals", `sink totals to kafka("user-totals")`, "key user_id"}
	if !reflect.DeepEqual(places, want) {
		t.Errorf("places %q\nwant   %q", places, want)
	}
	if win.Place.Line != 18 || win.Place.Column != 3 {
		t.Errorf("the window is at %d:%d", win.Place.Line, win.Place.Column)
	}
}

func rowText(row ir.Row) string {
	var s []string
	for _, f := range row {
		s = append(s, f.Name+" "+f.Type.String())
	}
	return strings.Join(s, " · ")
}

func TestJob(t *testing.T) {
	src := "type A { x: int }\nsource a: A from kafka(\"a\")\nstream s { from a  to kafka(\"b\") { deliver none } }\n"
	for job, check := range map[string]func(j dsl.Job) bool{
		"job fraud": func(j dsl.Job) bool {
			return j.Name == "fraud" && j.TxnPrefix.Text == "fraud" && j.Place.Text == "job fraud"
		},
		"job `a-b.c_1` { txn_prefix \"x\"  parallelism 128 }": func(j dsl.Job) bool { return j.Name == "a-b.c_1" && j.TxnPrefix.Text == "x" && j.Parallelism == 128 },
		"job j { store memory  txn_timeout 1s }":              func(j dsl.Job) bool { return j.Memory && j.TxnTimeout == time.Second },
		"job j { store bolt(\"./state\") }":                   func(j dsl.Job) bool { return !j.Memory && j.StateDir.Text == "./state" },
		"job j { store bolt(env(\"D\"))  txn_prefix env(\"P\", \"p\") }": func(j dsl.Job) bool {
			return j.StateDir == dsl.Setting{Env: "D"} && j.TxnPrefix == dsl.Setting{Text: "p", Env: "P", HasDefault: true}
		},
		"job j { restart backoff(2m) }":          func(j dsl.Job) bool { return j.RestartMin == 2*time.Minute && j.RestartMax == 2*time.Minute },
		"job j { restart backoff(2s, max: 1h) }": func(j dsl.Job) bool { return j.RestartMin == 2*time.Second && j.RestartMax == time.Hour },
		"job j { checkpoint 10ms }":              func(j dsl.Job) bool { return j.Checkpoint == 10*time.Millisecond },
	} {
		if p := checkOK(t, "x.eo", src+job+"\n"); !check(p.Job) {
			t.Errorf("%s: %+v", job, p.Job)
		}
	}
}

// A fault is reported once, whatever else in the file rests upon it.
func TestOneCauseOneFault(t *testing.T) {
	example, err := os.ReadFile("../examples/orders.eo")
	if err != nil {
		t.Fatal(err)
	}
	hourly := "\nstream hourly {\n  from user_totals\n  window tumbling 1h by user_id\n  aggregate total = sum(total)\n  to kafka(\"hourly\")\n}\n"
	for _, c := range []struct{ old, new, more, want string }{
		{"  watermark 5s\n", "", hourly, "no-watermark not-yet"},
		{"by user_id", "by at.hour", "", "type-mismatch"},
		{"by user_id", "by userid, amont", "", "unknown-field unknown-field"},
		{"by user_id", "by user_id = userid", "", "unknown-field"},
		{"watermark 5s", "watermark 5 s", "", "bad-number"},
		{"user_id: string", "user_id: strng", "", "unknown-type"},
		{"from      orders", "from      oders", "stream more {\n  from ordrs\n  to totals\n}\n", "unknown-stream unknown-stream"},
		{"to        totals", "to        total, late", "", "unknown-sink unknown-sink"},
		{"  window ", "  aggregate n = count()\n  window ", "", "bad-window"},
	} {
		src := strings.Replace(string(example), c.old, c.new, 1) + c.more
		_, diags := dsl.Check("orders.eo", []byte(src))
		var codes []string
		for _, d := range diags {
			codes = append(codes, d.Code)
		}
		if got := strings.Join(codes, " "); got != c.want {
			var out bytes.Buffer
			if err := diag.Render(&out, diags, []byte(src), false); err != nil {
				t.Fatal(err)
			}
			t.Errorf("%q for %q: %s, want %s\n%s", c.new, c.old, got, c.want, &out)
		}
	}
}

func TestSourceOptions(t *testing.T) {
	frame := "type A { x: int  t: timestamp(ms)  y: string = \"none\"  d: decimal(5, 2) = -1.5  u: duration = -5s\n" +
		"         s: timestamp(s) = timestamp(\"1970-01-01T00:00:01Z\") }\n%\nstream q { from a  to kafka(\"b\") }\n"
	for source, check := range map[string]func(s *dsl.Source) bool{
		`source a: A from kafka(env("T"))`: func(s *dsl.Source) bool { return s.Topic == dsl.Setting{Env: "T"} && s.Time == nil && !s.HasWatermark },
		`source a: A from kafka(env("T", "t")) { idle never  skew never }`: func(s *dsl.Source) bool {
			return s.Topic == dsl.Setting{Text: "t", Env: "T", HasDefault: true} && s.Idle == 0 && s.Skew == 0
		},
		`source a: A from kafka("t") { start latest  on_null fail  isolation read_uncommitted  on_error skip }`: func(s *dsl.Source) bool {
			return s.Start == dsl.Latest && s.FailOnNull && s.ReadUncommitted && s.OnError.Mode == dsl.Skip
		},
		`source a: A from kafka("t") { start timestamp("2026-01-01T01:00:00+01:00")  time t + 1h }`: func(s *dsl.Source) bool {
			return s.Start == dsl.AtTimestamp && s.StartTime.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) && text(s.Time) == "(t + 3600000000:duration):timestamp(ms)"
		},
		`source a: A from kafka("t") { start group("g")  watermark 0s  on_error fail }`: func(s *dsl.Source) bool {
			return s.Start == dsl.AtGroup && s.StartGroup.Text == "g" && s.HasWatermark && s.Watermark == 0 && s.OnError.Mode == dsl.Fail
		},
	} {
		p := checkOK(t, "x.eo", strings.Replace(frame, "%", source, 1))
		if !check(p.Sources[0]) {
			t.Errorf("%s: %+v", source, p.Sources[0])
		}
	}
	row := checkOK(t, "x.eo", strings.Replace(frame, "%", `source a: A from kafka("t")`, 1)).Sources[0].Row
	var defaults []string
	for _, f := range row {
		if f.Default != nil {
			defaults = append(defaults, text(f.Default))
		}
	}
	want := []string{`"none"`, "-150/2:decimal(5, 2)", "-5000000:duration", "1000000:timestamp(s)"}
	if !reflect.DeepEqual(defaults, want) {
		t.Errorf("defaults %q, want %q", defaults, want)
	}
}

// Streams stand behind those that they read; sinks in place behind the declared ones, in the
// order of the text; a union has the fields in the order of its first input.
func TestOrderOfAProgram(t *testing.T) {
	p := checkOK(t, "x.eo", `
type A { x: int  y: string  n: int? }
type B { y: string  n: int?  x: int }
source a: A from kafka("a") {}
source b: B from kafka("b")
stream last { from middle, b  to kafka("z") { key y, n }, kafka("y") if x > 1, out else }
stream middle { from first  where n is not null  let m = n + 1  select y, n = if x > 0 then n else null, x }
stream first { from a  to kafka("k") }
sink out to kafka("out") {}
`)
	var got []string
	for _, s := range p.Streams {
		got = append(got, s.Name)
	}
	for _, s := range p.Sinks {
		got = append(got, s.Name)
	}
	if s := strings.Join(got, " "); s != "first middle last out z y k" {
		t.Errorf("the order is %s", s)
	}
	last := p.Streams[2]
	if got := rowText(last.From.Row); got != "y string · n int? · x int" {
		t.Errorf("the union has %s", got)
	}
	if last.From.Inputs[0].Stream != p.Streams[1] || last.From.Inputs[1].Source != p.Sources[1] {
		t.Errorf("it reads %+v", last.From.Inputs)
	}
	z := p.Sinks[1]
	if z.Place.Text != `kafka("z")` || z.KeyAt.Text != "key y, n" || len(z.Key) != 2 || text(z.Key[0].Expr) != "y" || z.Key[1].Expr.(*ir.Column).Index != 1 {
		t.Errorf("sink %+v", z)
	}
	to := last.Clauses[0].(*dsl.To)
	if to.Routes[1].Place.Text != `kafka("y") if x > 1` || !to.Routes[2].Else || to.Place.Text != `to kafka("z"), kafka("y") if x > 1, out else` {
		t.Errorf("to %+v", to)
	}
	middle := p.Streams[1]
	where, let := middle.Clauses[0].(*dsl.Where), middle.Clauses[1].(*dsl.Let)
	if !where.Row[2].Known || where.Row[0].Known || middle.From.Row[2].Known || text(let.Items[0].Expr) != "(known(n) + 1:int):int" {
		t.Errorf("what is known: %+v %+v", where.Row, let.Items)
	}
}
