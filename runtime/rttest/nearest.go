package rttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fields are the fields of a JSON object, each in one way of writing; nil for any other value.
func (v value) fields() (m map[string]json.RawMessage) {
	if text, ok := strings.CutPrefix(v.meaning, "="); ok && json.Unmarshal([]byte(text), &m) == nil {
		return m
	}
	return nil
}

// nearest says in what the value differs that has the most fields in common with want, "" if none has any.
func (want value) nearest(values []value) string {
	wanted, most, says := want.fields(), 0, ""
	for _, v := range values {
		got := v.fields()
		common := 0
		var differs []string
		names := slices.AppendSeq(slices.Collect(maps.Keys(wanted)), maps.Keys(got))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			a, inWanted := wanted[name]
			b, inGot := got[name]
			switch {
			case !inGot:
				differs = append(differs, name+" is not there")
			case !inWanted:
				differs = append(differs, name+" is too much")
			case string(a) == string(b):
				common++
			default:
				differs = append(differs, fmt.Sprintf("%s is %s, not %s", name, b, a))
			}
		}
		if common > most {
			most, says = common, strings.Join(differs, "; ")
		}
	}
	return says
}
