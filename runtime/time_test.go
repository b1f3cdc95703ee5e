package runtime

import (
	"math"
	"math/big"
	"testing"
	"time"
)

// TestTime compares with package time, and reads back what was written.
func TestTime(t *testing.T) {
	times := []Time{firstTime, firstTime + 1, -Day, -1, 0, 1, lastTime - Second + 1, lastTime}
	r := seeded(t)
	for range rounds {
		at := firstTime + Time(r.Int64N(int64(longerThanTime)))
		if r.IntN(2) == 0 {
			at -= at % []Time{Day, Minute, Second, 100_000, Millisecond, 10}[r.IntN(6)]
		}
		times = append(times, max(at, firstTime))
	}
	c := NewJSON(nil)
	var calc Calc
	for _, at := range times {
		got := AppendTime(nil, at)
		if want := `"` + time.UnixMicro(int64(at)).UTC().Format(time.RFC3339Nano) + `"`; string(got) != want {
			t.Fatalf("%d: got %s, want %s", at, got, want)
		}
		c.Begin(got)
		if back := c.Time(); back != at || c.Fault().Reason != "" {
			t.Fatalf("%s: got %d, want %d", got, back, at)
		}
		if back := calc.TimeOfString(got[1 : len(got)-1]); back != at || calc.Failed() {
			t.Fatalf("%s as text: got %d, want %d", got, back, at)
		}
	}
	for at, want := range map[Time]Time{MinTime: firstTime, firstTime - 1: firstTime, lastTime + 1: lastTime, MaxTime: lastTime} {
		if got, want := string(AppendTime(nil, at)), string(AppendTime(nil, want)); got != want {
			t.Errorf("%d: got %s, want %s", at, got, want)
		}
	}
}

func TestTimeText(t *testing.T) {
	var c Calc
	for _, s := range []string{
		"", "2026-01-01", "2026-01-01t00:00:60z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00.Z", "2026-02-29t00:00:00z", "2026-01-01t00:00:00",
		"2026-01-01T00:00:00,5Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
		"2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "0000-01-01T00:00:00Z", "2026-01-01T00:00:00+24:00",
		"2026-01-01T00:00:00+0100", "2026-01-01T00:00:00+01", "2026-01-01T00:00:00Z ", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00ZZ", "2026-1-1T0:0:0Z",
		"0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", `2026-01-01T00:00:00Z"`, `2026-01-01T00:00:00Z"x`,
	} {
		if got := c.TimeOfString([]byte(s)); c.Fault().Reason != notTime {
			t.Errorf("%q is %d", s, got)
		}
	}
	for _, s := range []string{"2026-01-01T00:00:00", "2026-01-01T00:00:00.123456789"} {
		if got := c.TimeOfString([]byte(s)); c.Fault().Reason != noZone {
			t.Errorf("%q is %d, %q", s, got, c.Fault().Reason)
		}
	}
	for s, want := range map[string]string{
		"2026-01-01T00:00:00z": lowerCase, "2026-01-01t00:00:00Z": lowerCase, "2026-01-01t00:00:00.5+01:00": lowerCase,
		"2016-12-31T23:59:60Z": leapSecond, "2017-01-01T00:59:60.25+01:00": leapSecond,
	} {
		if got := c.TimeOfString([]byte(s)); c.reason != want {
			t.Errorf("%q is %d, %q, want %q", s, got, c.reason, want)
		}
		c.Fault()
	}
	for s, want := range map[string]string{
		"2024-02-29T23:59:59.9999999Z":      "2024-02-29T23:59:59.999999Z",
		"1969-12-31T23:59:59.9999999Z":      "1969-12-31T23:59:59.999999Z",
		"2026-01-01T00:30:00.5+01:00":       "2025-12-31T23:30:00.5Z",
		"0000-12-31T23:59:59-00:01":         "0001-01-01T00:00:59Z",
		"2026-01-01T00:00:00.000000000001Z": "2026-01-01T00:00:00Z",
	} {
		got := string(c.StringOfTime(c.TimeOfString([]byte(s))))
		if c.Failed() != (s[:4] == "0000") || !c.Failed() && got != want {
			t.Errorf("%q: got %s, %q; want %s", s, got, c.reason, want)
		}
		c.Fault()
	}
}

func TestTimeArithmetic(t *testing.T) {
	r := seeded(t)
	var c Calc
	for range rounds {
		at := firstTime + Time(r.Int64N(int64(longerThanTime)))
		d := Time(randomInt(r))
		for sign, got := range map[int64]Time{1: c.AddTime(at, d), -1: c.SubTime(at, d)} {
			want := new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(sign))
			want.Add(want, big.NewInt(int64(at)))
			ok := want.Cmp(big.NewInt(int64(firstTime))) >= 0 && want.Cmp(big.NewInt(int64(lastTime))) <= 0
			if ok && got != Time(want.Int64()) || !ok && got != 0 {
				t.Fatalf("%d + %d × %d: got %d, want %s", at, sign, d, got, want)
			}
		}
		c.Fault()
	}
	if c.AddTime(lastTime, 1); c.Fault().Reason != timeOverflow {
		t.Error("no overflow")
	}
	if c.NegDuration(MinTime); c.Fault().Reason != intOverflow {
		t.Error("no overflow")
	}
	if d := c.DivDuration(c.MulDuration(c.SubDuration(c.AddDuration(Hour, Minute), Second), -2), 3); d != -(Hour+Minute-Second)*2/3 || c.Failed() {
		t.Errorf("got %d", d)
	}
}

func TestTimeUnit(t *testing.T) {
	r := seeded(t)
	c := NewJSON([]Field{{Name: "t"}})
	perUnit := map[Time]*big.Rat{Second: big.NewRat(1, 1e6), Millisecond: big.NewRat(1, 1000), Microsecond: big.NewRat(1, 1), Nanos: big.NewRat(1000, 1)}
	for range rounds {
		at := firstTime + Time(r.Int64N(int64(longerThanTime)))
		if r.IntN(2) == 0 {
			at -= at % Second
		}
		for unit, per := range perUnit {
			exact := new(big.Rat).Mul(new(big.Rat).SetInt64(int64(at)), per)
			want := new(big.Int).Div(exact.Num(), exact.Denom()) // Euclidean: towards the past
			text := AppendTimeUnit(nil, at, unit)
			if string(text) != want.String() {
				t.Fatalf("%d in unit %d: got %s, want %s", at, unit, text, want)
			}
			c.Begin(text)
			back := c.TimeUnit(unit)
			lost := at - back
			if c.Fault().Reason != "" || lost < 0 || lost > 0 && lost >= max(unit, 1) {
				t.Fatalf("%s in unit %d: got %d, %q; want %d", text, unit, back, c.Fault().Reason, at)
			}
		}
	}
	for _, x := range []struct {
		text   string
		unit   Time
		want   Time
		reason string
	}{
		{"1.5e3", Second, 1500 * Second, ""},
		{"-1", Nanos, -1, ""},
		{"-1000", Nanos, -1, ""},
		{"999", Nanos, 0, ""},
		{"253402300799999999999", Nanos, lastTime, ""},
		{"253402300800000000000", Nanos, 0, notEpoch},
		{"-62135596800", Second, firstTime, ""},
		{"-62135596801", Second, 0, notEpoch},
		{"253402300799", Second, lastTime - Second + 1, ""},
		{"253402300800", Second, 0, notEpoch},
		{"9223372036854775808", Microsecond, 0, notEpoch},
		{"1.5", Millisecond, 0, notInteger},
		{"1e99", Millisecond, 0, notInteger},
		{`"1"`, Millisecond, 0, timeIsText},
		{"", Millisecond, 0, truncated},
		{"-", Millisecond, 0, truncated},
	} {
		c.Begin([]byte(x.text))
		if got := c.TimeUnit(x.unit); got != x.want || c.Fault().Reason != x.reason {
			t.Errorf("%s in unit %d: got %d, %q; want %d, %q", x.text, x.unit, got, c.Fault().Reason, x.want, x.reason)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[Time]string{
		0: "0s", 1: "1us", -1: "-1us", 90 * Second: "1m30s", 36 * Hour: "1d12h", 1500 * Millisecond: "1s500ms", 61*Minute + 1: "1h1m1us",
		MaxTime: "106751991d4h54s775ms807us", MinTime: "-106751991d4h54s775ms808us",
	} {
		if got := string(AppendDuration(nil, d)); got != `"`+want+`"` {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
	r := seeded(t)
	for range rounds {
		d := Time(randomInt(r))
		text := AppendDuration(nil, d)
		if got, ok := parseDuration(text[1 : len(text)-1]); !ok || got != d {
			t.Fatalf("%s: got %d, want %d", text, got, d)
		}
	}
	for s, want := range map[string]Time{"90s": 90 * Second, "1h90m": 150 * Minute, "-5ms": -5 * Millisecond, "000000000000000000000001s": Second, "-9223372036854775808us": MinTime, "9223372036854775807us": MaxTime, "-0s": 0} {
		if got, ok := parseDuration([]byte(s)); !ok || got != want {
			t.Errorf("%q: got %d, %v; want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "-", "1", "s", "1.5s", "1s1m", "1s1s", "1 s", "+1s", "1S", "--1s", "1s-1ms", "1ns", "1w", "9223372036854775808us", "99999999999999999999s", "106751992d", "1m 30s"} {
		if d, ok := parseDuration([]byte(s)); ok {
			t.Errorf("%q is %d", s, d)
		}
	}
}

// FuzzTime compares what is accepted with package time.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-01-01T00:00:00Z", "2024-02-29T23:59:59.123456789-11:59", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59.9999999Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var c Calc
		got := c.TimeOfString([]byte(s))
		if c.Failed() {
			return // package time takes more than RFC 3339; TestTimeText has what must be refused
		}
		want, err := time.Parse(time.RFC3339, s)
		if err != nil || want.UnixMicro() != int64(got) {
			t.Fatalf("%q: got %d, want %v, %v", s, got, want, err)
		}
		if y := want.UTC().Year(); y < 1 || y > 9999 {
			t.Fatalf("%q is in the year %d", s, y)
		}
	})
}

func TestLengths(t *testing.T) {
	if Second.duration() != time.Second || MaxTime.duration() != time.Duration(math.MaxInt64/1000*1000) {
		t.Errorf("%v, %v", Second.duration(), MaxTime.duration())
	}
}

// TestTimeOf goes to package time and back.
func TestTimeOf(t *testing.T) {
	for _, c := range []struct {
		text string
		at   Time
	}{
		{"1970-01-01T00:00:00Z", 0},
		{"2026-01-01T02:00:05.25+02:00", 1_767_225_605*Second + 250*Millisecond},
		{"1969-12-31T23:59:59.9999995Z", -1}, // towards the past
		{"0001-01-01T00:00:00Z", firstTime},
		{"9999-12-31T23:59:59.999999999Z", lastTime},
	} {
		at, err := time.Parse(time.RFC3339Nano, c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := TimeOf(at); got != c.at {
			t.Errorf("%s: got %d, want %d", c.text, got, c.at)
		}
		if got, want := c.at.Time(), at.Add(-time.Duration(at.Nanosecond()%1000)).UTC(); got != want {
			t.Errorf("%d: got %s, want %s", c.at, got, want)
		}
	}
}
