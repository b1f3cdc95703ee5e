package syntax

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/eoc-lang/eoc/internal/diag"
)

// unitHabits are the units of durations as others write them.
var unitHabits = map[string]string{
	"us": "us", "ms": "ms", "s": "s", "m": "m", "h": "h", "d": "d", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"min": "m", "mins": "m", "minute": "m", "minutes": "m", "hr": "h", "hrs": "h", "hour": "h", "hours": "h", "day": "d", "days": "d",
	"millis": "ms", "millisecond": "ms", "milliseconds": "ms", "microsecond": "us", "microseconds": "us",
}

// longHabits are units that durations do not have, in days; 0 where they are not always as long.
var longHabits = map[string]int{"w": 7, "wk": 7, "week": 7, "weeks": 7, "mo": 0, "mon": 0, "month": 0, "months": 0, "y": 0, "yr": 0, "year": 0, "years": 0}

// decimals are a number with a decimal point.
var decimals = regexp.MustCompile(`^\d+\.\d+$`)

// isUnit: a word that is a unit somewhere.
func isUnit(word string) bool {
	_, isLong := longHabits[strings.ToLower(word)]
	return isLong || unitHabits[strings.ToLower(word)] != ""
}

// inUnits says how so many of a unit are written. Without a label it is not known; whole says that the number has a decimal point, and no duration has one.
func inUnits(number, unit string) (label string, whole bool) {
	unit = strings.ToLower(unit)
	short := unitHabits[unit]
	days, isLong := longHabits[unit]
	n, err := strconv.Atoi(number)
	switch {
	case short != "" && duration.MatchString(number+short):
		return "write `" + number + short + "`", false
	case short != "" && decimals.MatchString(number):
		return "as in 1500ms", true
	case isLong && days > 0 && err == nil && n <= mostWeeks:
		return "there are no weeks: write `" + strconv.Itoa(n*days) + "d`", false
	case isLong && days > 0:
		return "there are no weeks: write days, as in `7d`", false
	case isLong:
		return "months and years are not always as long: write days, as in `30d`", false
	}
	return "", false
}

// mostWeeks is more than any duration has.
const mostWeeks = 1e6

// wantUnit is what Option.Parse expects of a number that has a unit behind a space.
const wantUnit = "a unit without a space"

// unitHabit: 60, 5 s and 1 minute are no durations.
func (f *File) unitHabit(p place) (diag.Diagnostic, bool) {
	n, unit := p.at(0), p.at(1)
	switch {
	case p.want == wantUnit:
		n, unit = p.at(-1), p.at(0)
	case p.inStream() && isUnit(n.Value) && p.at(-1).Type == kindNum && p.at(-1).Pos.Line == n.Pos.Line:
		n, unit = p.at(-1), p.at(0)
	case n.Type != kindNum:
		return diag.Diagnostic{}, false
	case p.want != kinds["Length"] && (p.at(-2).Value != "window" || p.at(-2).Type != kindClause):
		return diag.Diagnostic{}, false
	}
	label, whole := inUnits(n.Value, unit.Value)
	switch {
	case label == "" || unit.Pos.Line != n.Pos.Line:
		return f.fault(n, "bad-number", "`%s` has no unit", n.Value).
			WithLabel("a duration has one, as in 90s or 1h30m"), true
	case whole:
		return diag.New("bad-number", f.span(n, unit), wholeDuration).WithLabel("%s", label), true
	}
	return diag.New("bad-number", f.span(n, unit), "`%s %s` is not a duration", n.Value, unit.Value).WithLabel("%s", label), true
}

const wholeDuration = "a duration has no decimal point"

// intervalHabit: the duration of SQL, `interval '1' minute` or `interval '1 minute'`, of which toks[i] is the first quote.
func (f *File) intervalHabit(toks []lexer.Token, i int) (diag.Diagnostic, bool) {
	if i < 1 || i+3 >= len(toks) || !isWord(toks[i-1], "interval") {
		return diag.Diagnostic{}, false
	}
	unit := toks[i+2]
	if unit.Type != kindID {
		unit = toks[i+3]
	}
	label, _ := inUnits(toks[i+1].Value, unit.Value)
	return diag.New("bad-number", f.span(toks[i-1], toks[i+3]), "this is not a duration").WithLabel("%s", label), label != ""
}
