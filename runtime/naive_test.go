package runtime_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eoc-lang/eoc/runtime/rttest"
)

// naive is the pipeline of orders.eo as one would write it without a thought for
// speed: standard library, maps, one record at a time. The tests compare with it.
type naive struct {
	tops      []time.Time // the greatest event time of each partition
	watermark time.Time
	windows   map[time.Time]map[string]*naiveTotals

	outcome
}

type naiveTotals struct {
	total  *big.Int // hundredths
	orders int64
}

type naiveOrder struct {
	userID string
	amount *big.Int // hundredths
	at     time.Time
}

func newNaive(partitions int) *naive {
	n := &naive{tops: make([]time.Time, partitions), windows: map[time.Time]map[string]*naiveTotals{}}
	for i := range n.tops {
		n.tops[i] = longAgo
	}
	n.watermark = longAgo
	return n
}

var (
	longAgo  = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)
	never    = time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
)

func (n *naive) process(partition int, r rttest.Record) {
	offset, value := r.Offset, r.Value
	n.read++
	if value == nil {
		n.nulls++
		return
	}
	o, err := naiveDecode(value)
	if err != nil {
		n.rejected = append(n.rejected, fmt.Sprintf("orders/%d/%d", partition, offset))
		n.counts.rejected++
		return
	}
	switch kafka := time.UnixMicro(r.Time); {
	case r.Time != rttest.NoTime && o.at.After(kafka.Add(time.Hour)):
		n.ahead++
	case o.at.After(n.tops[partition]):
		n.tops[partition] = o.at
	}
	least := n.tops[0]
	for _, t := range n.tops {
		if t.Before(least) {
			least = t
		}
	}
	if w := least.Add(-5 * time.Second); w.After(n.watermark) {
		n.watermark = w
	}
	defer n.close(n.watermark)

	if o.amount.Sign() <= 0 {
		n.filtered++
		return
	}
	sec := o.at.Unix()
	start := time.Unix(sec-(sec%60+60)%60, 0).UTC()
	if own := n.tops[partition].Add(-5 * time.Second); !own.Before(start.Add(70 * time.Second)) {
		n.counts.late++
		n.late = append(n.late, fmt.Sprintf(`%q %s %s`, o.userID, o.amount, o.at.UTC().Format(time.RFC3339Nano)))
		return
	}
	w := n.windows[start]
	if w == nil {
		w = map[string]*naiveTotals{}
		n.windows[start] = w
	}
	t := w[o.userID]
	if t == nil {
		t = &naiveTotals{total: new(big.Int)}
		w[o.userID] = t
	}
	t.total.Add(t.total, o.amount)
	t.orders++
	n.aggregated++
}

func (n *naive) close(watermark time.Time) {
	for start, users := range n.windows {
		end := start.Add(time.Minute)
		if end.After(lastTime) {
			end = lastTime
		}
		if watermark.Before(start.Add(70 * time.Second)) {
			continue
		}
		for user, t := range users {
			n.totals = append(n.totals, fmt.Sprintf(`%q %s %s %s %d`, user, start.Format(time.RFC3339Nano),
				end.Format(time.RFC3339Nano), t.total, t.orders))
		}
		delete(n.windows, start)
	}
}

func (n *naive) end() { n.close(never) }

// naiveDecode is what docs/language.md, "Reading and writing JSON", says of a JSON record.
func naiveDecode(value []byte) (naiveOrder, error) {
	var o naiveOrder
	if !json.Valid(value) {
		return o, fmt.Errorf("not JSON")
	}
	fields := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(value))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return o, fmt.Errorf("not an object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return o, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return o, err
		}
		key := name.(string)
		if key != "user_id" && key != "amount" && key != "at" {
			continue
		}
		if _, dup := fields[key]; dup {
			return o, fmt.Errorf("%s: given twice", key)
		}
		fields[key] = raw
	}
	if _, err := d.Token(); err != nil && err != io.EOF {
		return o, err
	}
	if len(fields) != 3 {
		return o, fmt.Errorf("a field is missing")
	}
	var err error
	if o.userID, err = naiveString(fields["user_id"]); err != nil {
		return o, err
	}
	if o.amount, err = naiveDecimal(string(fields["amount"])); err != nil {
		return o, err
	}
	at, err := naiveString(fields["at"])
	if err != nil {
		return o, err
	}
	if !rfc3339.MatchString(at) || at < "0001" {
		return o, fmt.Errorf("at: malformed or out of range")
	}
	if o.at, err = time.Parse(time.RFC3339, at); err != nil {
		return o, err
	}
	if y := o.at.UTC().Year(); y < 1 || y > 9999 {
		return o, fmt.Errorf("at: out of range")
	}
	o.at = o.at.Truncate(time.Microsecond)
	return o, nil
}

// time.Parse takes more than RFC 3339 allows.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

var halfPair = regexp.MustCompile(`(?i)\\ud[89ab]..(\\ud[c-f]..)?|\\ud[c-f]..`)

func naiveString(raw json.RawMessage) (string, error) {
	var s string
	if raw[0] != '"' || !utf8.Valid(raw) {
		return "", fmt.Errorf("not a string")
	}
	noEscapes := bytes.ReplaceAll(raw, []byte(`\\`), []byte("__"))
	for _, m := range halfPair.FindAll(noEscapes, -1) {
		if len(m) != len(`\ud800\udc00`) {
			return "", fmt.Errorf("half a character")
		}
	}
	err := json.Unmarshal(raw, &s)
	return s, err
}

var number = regexp.MustCompile(`^-?([0-9.]+)(?:[eE]([+-]?[0-9]+))?$`)

func naiveDecimal(s string) (*big.Int, error) {
	m := number.FindStringSubmatch(s)
	if m == nil {
		return nil, fmt.Errorf("not a number")
	}
	if strings.Trim(m[1], "0.") == "" {
		return new(big.Int), nil
	}
	if len(m[2]) > 4 {
		return nil, fmt.Errorf("out of any range")
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, fmt.Errorf("not a number")
	}
	r.Mul(r, big.NewRat(100, 1))
	if !r.IsInt() || new(big.Int).Abs(r.Num()).Cmp(big.NewInt(1e12)) >= 0 {
		return nil, fmt.Errorf("does not fit decimal(12, 2)")
	}
	return r.Num(), nil
}
