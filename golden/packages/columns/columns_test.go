// Package columns_test holds the records of a generated package against the pipeline and the reference.
package columns_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/golden/packages/columns"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
	rt "github.com/eoc-lang/eoc/runtime"
	"github.com/eoc-lang/eoc/runtime/rttest"
)

// TestRecordsGoThrough sends random rows of all types as Go values: the pipeline reads them as they are, and what it writes is
// read as it was sent. What it copies is what MarshalJSON writes, byte for byte.
func TestRecordsGoThrough(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	v := values{rand.New(rand.NewPCG(seed, 0))}
	rows := make([]columns.Row, 500)
	p := rttest.Start(t, columns.Pipeline())
	for i := range rows {
		rows[i] = v.row()
		p.Send("rows", rttest.At(time.Unix(0, 0), rows[i]))
	}
	p.End()
	for _, letter := range p.DeadLetters("rows.dlq") {
		t.Errorf("%s: %s", letter.Reason, letter.Value)
	}
	written := p.Output("copies")
	copies, picks := rttest.Results[columns.Row](p, "copies"), rttest.Results[columns.Picks](p, "picks")
	if len(copies) != len(rows) || len(picks) != len(rows) {
		t.Fatalf("%d and %d of %d rows", len(copies), len(picks), len(rows))
	}
	for i, row := range rows {
		if !reflect.DeepEqual(copies[i], row) {
			t.Errorf("got  %+v\nwant %+v", copies[i], row)
		}
		if want := picked(row); !reflect.DeepEqual(picks[i], want) {
			t.Errorf("got  %+v\nwant %+v", picks[i], want)
		}
		if text, err := row.MarshalJSON(); err != nil || string(text) != string(written[i].Value) {
			t.Errorf("got  %s (%v)\nwant %s", text, err, written[i].Value)
		}
	}
}

// picked is what stream picks makes of a row: every field twice.
func picked(row columns.Row) columns.Picks {
	var picks columns.Picks
	from, to := reflect.ValueOf(row), reflect.ValueOf(&picks).Elem()
	for i := range to.NumField() {
		to.Field(i).Set(from.FieldByName(strings.TrimSuffix(to.Type().Field(i).Name, "Again")))
	}
	return picks
}

// values makes random values, many of them at the edge of their type.
type values struct{ *rand.Rand }

func (v values) row() columns.Row {
	return columns.Row{
		B: v.bool(), I: v.int(), F: v.float(), D: v.decimal(12), W: v.wide(), Z: v.decimal(5), S: v.text(),
		T: v.time(rt.Microsecond), Sec: v.time(rt.Second), Ms: v.time(rt.Millisecond), Us: v.time(rt.Microsecond), Ns: v.time(rt.Microsecond), U: rt.Time(v.int()),

		NullB: perhaps(v, v.bool()), NullI: perhaps(v, v.int()), NullF: perhaps(v, v.float()), NullD: perhaps(v, v.decimal(12)),
		NullW: perhaps(v, v.wide()), NullZ: perhaps(v, v.decimal(5)), NullS: perhaps(v, v.text()),
		NullT: perhaps(v, v.time(rt.Microsecond)), NullSec: perhaps(v, v.time(rt.Second)), NullMs: perhaps(v, v.time(rt.Millisecond)),
		NullUs: perhaps(v, v.time(rt.Microsecond)), NullNs: perhaps(v, v.time(rt.Microsecond)), NullU: perhaps(v, rt.Time(v.int())),

		DefB: v.bool(), DefI: v.int(), DefF: v.float(), DefD: v.decimal(12), DefW: v.wide(), DefZ: v.decimal(5), DefS: v.text(),
		DefT: v.time(rt.Microsecond), DefSec: v.time(rt.Second), DefMs: v.time(rt.Millisecond), DefUs: v.time(rt.Microsecond), DefNs: v.time(rt.Microsecond), DefU: rt.Time(v.int()),
	}
}

// perhaps is x or null.
func perhaps[T any](v values, x T) rt.Opt[T] {
	if v.bool() {
		return rt.Opt[T]{}
	}
	return rt.Some(x)
}

func (v values) bool() bool { return v.IntN(2) == 0 }

func (v values) int() int64 {
	edges := []int64{0, 1, -1, math.MaxInt64, math.MinInt64}
	if i := v.IntN(2 * len(edges)); i < len(edges) {
		return edges[i]
	}
	return int64(v.Uint64()) >> v.IntN(64)
}

func (v values) float() float64 {
	for {
		if f := math.Float64frombits(v.Uint64()); v.IntN(4) > 0 && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		} else if v.bool() {
			return []float64{0, math.Copysign(0, -1), 0.1, 1e21, math.MaxFloat64, math.SmallestNonzeroFloat64}[v.IntN(6)]
		}
	}
}

func (v values) decimal(precision int) int64 {
	most := int64(math.Pow10(precision)) - 1
	return max(-most, min(v.int(), most))
}

func (v values) wide() rt.Int128 {
	x := rt.Int128{Hi: v.Int64N(1<<62) >> v.IntN(63), Lo: v.Uint64()}
	if v.IntN(8) == 0 {
		x = rt.Wide(1).Up(38).Minus(rt.Wide(1))
	}
	if v.bool() {
		return x.Neg()
	}
	return x
}

func (v values) text() []byte {
	text := []byte{}
	for range v.IntN(12) {
		text = append(text, []string{"a", "é", "日", "😀", `"`, `\`, "/", "<", "&", "\n", "\x00", "\x1f", "\x7f", "\u2028", "{", ","}[v.IntN(16)]...)
	}
	return text
}

// time is one that a number of the unit can be.
func (v values) time(unit rt.Time) rt.Time {
	first, last := rt.TimeOf(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))/unit, rt.TimeOf(time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC))/unit
	if at := []rt.Time{first, last, 0, -1}; v.IntN(4) == 0 {
		return at[v.IntN(len(at))] * unit
	}
	return (first + rt.Time(v.Int64N(int64(last-first+1)))) * unit
}

// TestRecordsAreRefused decodes random records, many of them bad, and holds it against the reference: what that refuses is an error, with the
// reason that the pipeline gives.
func TestRecordsAreRefused(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	g := plan(t)
	input := reference.Gen{Records: 2000, Partitions: 1, OddOneIn: 20, BadOneIn: 3}.Input(seed, g)
	refused := map[int64]bool{}
	for _, letter := range reference.Run(g, input).DeadLetters {
		refused[letter.Offset] = true
	}
	p := rttest.Start(t, columns.Pipeline())
	for _, r := range input["rows"][0] {
		p.Send("rows", rttest.Record{Value: r.Value, Time: r.Time})
	}
	reasons := map[int64]string{}
	for _, letter := range p.DeadLetters("rows.dlq") {
		reasons[letter.SourceOffset] = letter.Reason
	}
	if len(refused) < 100 || len(refused) > 1500 {
		t.Errorf("%d records are refused", len(refused))
	}
	for _, r := range input["rows"][0] {
		if r.Value == nil {
			continue
		}
		var row columns.Row
		switch err := row.UnmarshalJSON(r.Value); {
		case err != nil != refused[r.Offset]:
			t.Errorf("refused: %v, error: %v: %q", refused[r.Offset], err, r.Value)
		case err != nil && err.Error() != reasons[r.Offset]:
			t.Errorf("%q is an error, %q a reason: %q", err, reasons[r.Offset], r.Value)
		case err != nil && !reflect.DeepEqual(row, columns.Row{}):
			t.Errorf("a record that is none has become %+v: %q", row, r.Value)
		}
	}
}

// plan is the pipeline that the package was made of.
func plan(t *testing.T) *planner.Graph {
	t.Helper()
	src, err := os.ReadFile("../../../codegen/testdata/corpus/columns.eo")
	if err != nil {
		t.Fatal(err)
	}
	program, diagnostics := dsl.Check("columns.eo", src)
	if program == nil {
		t.Fatal(diagnostics)
	}
	g, diagnostics := planner.Plan(program)
	if g == nil {
		t.Fatal(diagnostics)
	}
	return g
}

// every is a row of all types, and below it the same as JSON, written by hand.
var every = columns.Row{
	B: true, I: -12, F: 0.5, D: -10_05, W: rt.Wide(25).Up(9), Z: 99999, S: []byte("<\"é\\\n\x01>"),
	T: rt.TimeOf(time.Date(2026, 1, 1, 0, 0, 5, 250_000_999, time.UTC)), Sec: -rt.Second, Ms: 1500 * rt.Millisecond, Us: 1, Ns: 2, U: 90 * rt.Minute,
	NullB: rt.Some(false), NullW: rt.Some(rt.Wide(-1)), NullS: rt.Some([]byte("")), NullNs: rt.Some(rt.Time(-1)),
	DefD: 7, DefS: []byte("other"),
}

const everyJSON = `{"b":true,"i":-12,"f":0.5,"d":-10.05,"w":2.5000000000,"z":99999,"s":"<\"é\\\n\u0001>",` +
	`"t":"2026-01-01T00:00:05.25Z","sec":-1,"ms":1500,"us":1,"ns":2000,"u":"1h30m",` +
	`"null_b":false,"null_i":null,"null_f":null,"null_d":null,"null_w":-0.0000000001,"null_z":null,"null_s":"",` +
	`"null_t":null,"null_sec":null,"null_ms":null,"null_us":null,"null_ns":-1000,"null_u":null,` +
	`"def_b":false,"def_i":0,"def_f":0,"def_d":0.07,"def_w":0.0000000000,"def_z":0,"def_s":"other",` +
	`"def_t":"1970-01-01T00:00:00Z","def_sec":0,"def_ms":0,"def_us":0,"def_ns":0,"def_u":"0s"}`

// TestRecordByHand: a row is the JSON that a person would write for it, and what that leaves out is null or the default.
func TestRecordByHand(t *testing.T) {
	if text, err := every.MarshalJSON(); err != nil || string(text) != everyJSON {
		t.Errorf("got  %s (%v)\nwant %s", text, err, everyJSON)
	}
	var row columns.Row
	if err := json.Unmarshal([]byte(everyJSON), &row); err != nil || !reflect.DeepEqual(row, every) {
		t.Errorf("got  %+v (%v)\nwant %+v", row, err, every)
	}
	short, _, _ := strings.Cut(everyJSON, `"null_b"`)
	want := columns.Row{
		B: every.B, I: every.I, F: every.F, D: every.D, W: every.W, Z: every.Z, S: every.S,
		T: every.T, Sec: every.Sec, Ms: every.Ms, Us: every.Us, Ns: every.Ns, U: every.U,
		DefB: true, DefI: -7, DefF: 2.5, DefD: 1_50, DefW: rt.Wide(12345678901234567).Up(13).Plus(rt.Wide(8901250000000)), DefZ: 12, DefS: []byte(`a "quoted" text`),
		DefT: rt.TimeOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), DefU: 90 * rt.Minute,
	}
	want.DefSec, want.DefMs, want.DefUs, want.DefNs = want.DefT+rt.Second, want.DefT+2*rt.Second, want.DefT+3*rt.Second, want.DefT+4*rt.Second
	if err := json.Unmarshal([]byte(short+`"unknown":[1]}`), &row); err != nil || !reflect.DeepEqual(row, want) {
		t.Errorf("got  %+v (%v)\nwant %+v", row, err, want)
	}
}

// TestRecordIsShown: a message has a row as JSON, a value that no record can have included.
func TestRecordIsShown(t *testing.T) {
	if got := fmt.Sprintf("%+v", []columns.Row{every}); got != "["+everyJSON+"]" {
		t.Errorf("got  %s\nwant [%s]", got, everyJSON)
	}
	row := every
	row.D = 1e12
	if got := fmt.Sprint(row); !strings.Contains(got, `"d":10000000000.00,`) {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(rt.Wide(-12_25), rt.Wide(1).Up(20)); got != "-1225 100000000000000000000" {
		t.Errorf("got %s", got)
	}
}

// TestRecordErrors: what is wrong is said with its field, in both directions.
func TestRecordErrors(t *testing.T) {
	for old, c := range map[string]struct{ with, want string }{
		`"d":-10.05`:   {`"d":"ten"`, "d: not a number"},
		`"z":99999`:    {`"z":100000`, "z: more than 5 digits before the point"},
		`"i":-12,`:     {``, "i: missing"},
		`"null_b":`:    {`"b":`, "b: given twice"},
		`"sec":-1`:     {`"sec":null`, "sec: null, which only a field of a type with ? takes, or one with a default"},
		`"u":"1h30m"`:  {`"u":90`, "u: not a duration such as 1m30s"},
		`"null_i":nul`: {`"null_i":1.5,"x":nul`, "null_i: not an integer of 64 bits"},
	} {
		text := strings.Replace(everyJSON, old, c.with, 1)
		row := columns.Row{I: 1}
		err := json.Unmarshal([]byte(text), &row)
		if err == nil || !strings.HasPrefix(err.Error(), c.want+" (byte ") || !reflect.DeepEqual(row, columns.Row{I: 1}) {
			t.Errorf("got  %v, %+v\nwant %s, of\n%s", err, row, c.want, text)
		}
	}
	for want, change := range map[string]func(*columns.Row){
		"f: not a number":                          func(r *columns.Row) { r.F = math.NaN() },
		"null_f: not a number":                     func(r *columns.Row) { r.NullF = rt.Some(math.Inf(-1)) },
		"d: more than 10 digits before the point":  func(r *columns.Row) { r.D = 1e12 },
		"w: more than 28 digits before the point":  func(r *columns.Row) { r.W = rt.Wide(1).Up(38) },
		"s: not closed, or with a bad escape, con": func(r *columns.Row) { r.S = []byte("\xff") },
	} {
		row := every
		change(&row)
		if _, err := json.Marshal(row); err == nil || !strings.Contains(err.Error(), "columns.Row: "+want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		picks := picked(row)
		if _, err := json.Marshal(picks); err == nil || !strings.Contains(err.Error(), "columns.Picks: "+want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestRecordOwnsItsTexts: nothing of a row that was decoded changes with what it was decoded from, nor with its other fields.
func TestRecordOwnsItsTexts(t *testing.T) {
	text := []byte(strings.Replace(everyJSON, `"def_s":"other",`, "", 1))
	var row columns.Row
	if err := row.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	clear(text)
	_ = append(row.S, "##########"...)
	_ = append(row.NullS.V, "##########"...)
	if string(row.S) != string(every.S) || string(row.NullS.V) != "" || string(row.DefS) != `a "quoted" text` {
		t.Errorf("the texts have become %q, %q, %q", row.S, row.NullS.V, row.DefS)
	}
	row.DefS[0] = 'A' // a default is none of the program's constants
}
