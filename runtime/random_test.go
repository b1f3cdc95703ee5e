package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/rttest"
)

// randomPartitions deals random orders to n partitions.
func randomPartitions(r *rand.Rand, orders, n int, start time.Time) [][]rttest.Record {
	parts := make([][]rttest.Record, n)
	for _, o := range randomOrders(r, orders, start) {
		p := r.IntN(n)
		o.Offset = int64(len(parts[p]))
		parts[p] = append(parts[p], o)
	}
	return parts
}

// randomOrders makes orders about as bad as the world does, and a little worse.
func randomOrders(r *rand.Rand, n int, start time.Time) []rttest.Record {
	records := make([]rttest.Record, n)
	at := start
	for i := range records {
		at = at.Add(time.Duration(r.IntN(20)) * time.Millisecond)
		t := at.Add(time.Duration(r.IntN(10_000)-8_000) * time.Millisecond)
		if r.IntN(50) == 0 {
			t = t.Add(-time.Duration(r.IntN(200)) * time.Second)
		}
		if r.IntN(20_000) == 0 { // much is late after it
			t = t.Add(time.Duration(r.IntN(120)) * time.Second)
		}
		records[i] = rttest.Record{Offset: int64(i), Value: randomOrder(r, t), Time: kafkaTime(r, at)}
	}
	return records
}

// kafkaTime is a timestamp near at, none, or one so early that the record is ahead of it.
func kafkaTime(r *rand.Rand, at time.Time) int64 {
	switch r.IntN(1000) {
	case 0:
		return at.Add(-time.Hour - time.Duration(r.IntN(20))*time.Second).UnixMicro()
	case 1:
		return rttest.NoTime
	}
	return at.UnixMicro()
}

func randomOrder(r *rand.Rand, at time.Time) []byte {
	if r.IntN(100) == 0 {
		return nil
	}
	fields := []string{
		`"user_id": ` + randomUser(r),
		`"amount": ` + randomAmount(r),
		`"at": ` + randomTime(r, at),
	}
	switch r.IntN(60) {
	case 0: // a field is missing, or there twice
		fields = fields[1:]
	case 1:
		fields = append(fields, fields[r.IntN(3)])
	case 2:
		k := r.IntN(3)
		fields[k] = strings.SplitAfter(fields[k], ":")[0] + " null"
	case 3: // a name with escapes
		fields[0] = strings.Replace(fields[0], "user", `us\u0065r`, 1)
	case 4:
		fields[1] = strings.Replace(fields[1], "amount", "Amount", 1)
	}
	for range r.IntN(4) {
		fields = append(fields, pick(r, extras))
	}
	if r.IntN(60) == 0 {
		fields = append(fields, pick(r, badExtras))
	}
	if r.IntN(3) == 0 {
		r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	v := "{" + strings.Join(fields, ", ") + "}"
	switch r.IntN(4) {
	case 0:
		v = strings.ReplaceAll(v, `": `, `":`)
	case 1:
		v = strings.ReplaceAll(strings.ReplaceAll(v, `": `, `":`), `, "`, `,"`)
	case 2:
		v = " \t" + strings.ReplaceAll(v, `, "`, " ,\r\n  \"") + "\n"
	}
	b := []byte(v)
	switch r.IntN(80) {
	case 0:
		b = b[:r.IntN(len(b))]
	case 1:
		b[r.IntN(len(b))] = byte(r.IntN(256))
	case 2:
		b = append(b, pick(r, []string{"x", "{}", ",", "\x00"})...)
	}
	return b
}

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

var extras = []string{
	`"currency": "EUR"`, `"note": "a \"quoted\" \\ text"`, `"items": [1, [2, {"amount": 3}], {}]`,
	`"ship": {"user_id": "no", "at": [], "zip": null}`, `"x": -1.5e-7`, `"paid": true`, `"": ""`, `"user_idx": false`,
	`"a name of more than sixteen bytes": 1`, `"a name of more than sixteen bytes, too": "12345678"`, `"\ud800": 0`,
	"\"latin\": \"\xe4\"",
}

var badExtras = []string{
	`"bad": 01`, `"bad": [1,}`, `"bad": "\x"`, `"bad": "\u12"`, "\"bad\": \"\x01\"", `"bad": nul`, `"bad": +1`,
	`"bad": .5`, `"bad": {"a" 1}`, `"bad": [{]}`, `"bad": [1 2]`, `"bad": {,}`, `"bad": `, `"bad"`, ``,
}

func randomUser(r *rand.Rand) string {
	switch r.IntN(40) {
	case 0:
		return pick(r, []string{`""`, `"Ünï"`, `"\u00dcn\u00ef"`, `"\ud83d\ude00"`, `"😀"`, `"\ud83d"`, `"\udc00x"`, `"\ud83d_ude00"`, "\"\xff\"", `"a\nb\"\\\/"`, `7`, `"\b\f\n\r\t"`, "\"\x7f\"", `["u"]`, `"open`})
	case 1, 2, 3:
		return `"` + strings.Repeat("long-", 3) + fmt.Sprint(r.IntN(50)) + strings.Repeat("-longer", r.IntN(4)) + `"`
	case 4:
		return fmt.Sprintf(`"\u00%02x%d"`, 'a'+r.IntN(26), r.IntN(10))
	case 5, 6:
		return fmt.Sprintf(`"%s"`, "abcdefghijklmnopqrstuvwxyz"[:r.IntN(26)])
	}
	return fmt.Sprintf(`"user-%d"`, r.IntN(200))
}

func randomAmount(r *rand.Rand) string {
	switch r.IntN(40) {
	case 0:
		return pick(r, []string{`0`, `-0`, `-0.0`, `1e2`, `1E+2`, `5e-1`, `5e-3`, `50e-3`, `1.005`, `1.500`, `0.010e1`, `9999999999.99`, `10000000000`, `-9999999999.99`,
			`123456789012345678901234567890`, `0.000000000000000000000001e24`, `1e400`, `0e99999`, `"1"`, `1.`, `.1`, `01`, `-`, `+1`, `1x`, `NaN`, `1.2.3`, `1e`, `99999999999999999999e-15`,
			`100000000000000000000e-20`})
	case 1:
		return fmt.Sprintf("-%d.%02d", r.IntN(1000), r.IntN(100))
	case 2:
		return fmt.Sprintf("%d", r.IntN(1e9))
	case 3:
		return fmt.Sprintf("%d.%d", r.IntN(1e9), r.IntN(10))
	}
	return fmt.Sprintf("%d.%02d", r.IntN(2000), r.IntN(100))
}

func randomTime(r *rand.Rand, at time.Time) string {
	switch r.IntN(40) {
	case 0:
		return pick(r, []string{`"2026-02-29T00:00:00Z"`, `"2026-13-01T00:00:00Z"`, `"2026-00-10T00:00:00Z"`, `"2026-01-01T24:00:00Z"`, `"2026-01-01T00:60:00Z"`, `"2026-01-01T00:00:60Z"`,
			`"2026-01-01 00:00:00Z"`, `"2026-01-01T00:00:00"`, `"2026-01-01T00:00:00.Z"`, `"2026-01-01T00:00:00+24:00"`, `"2026-01-01T00:00:00+0100"`, `"9999-12-31T00:00:00Z"`,
			`"9999-12-31T23:59:59.999999Z"`, `"9999-12-31T23:59:59.9999999+00:00"`, `"9999-12-31T23:59:59-00:01"`, `"0001-01-01T00:00:00Z"`, `"0001-01-01T00:00:00+00:01"`,
			`"0000-12-31T23:59:59-00:01"`, `"1677-12-31T00:00:00Z"`, `"2026-01-01T00:00:00z"`, `1767225600`, `"2026-1-1T0:0:0Z"`, `"2026-01-01T00:00:00Zz"`, `"20é6-01-01T00:00:00Z"`, `"2026-01-01T00:00:00,5Z"`})
	case 1:
		return `"` + at.In(time.FixedZone("", 60*(r.IntN(1600)-800))).Format(time.RFC3339Nano) + `"`
	case 2:
		return `"` + at.UTC().Format("2006-01-02T15:04:05.000000000000Z") + `"`
	case 3:
		return `"` + strings.Replace(at.UTC().Format(time.RFC3339Nano), "-", `\u002D`, 1) + `"`
	case 4:
		return `"` + at.UTC().Format(time.RFC3339) + `"`
	}
	return `"` + at.UTC().Format(time.RFC3339Nano) + `"`
}
