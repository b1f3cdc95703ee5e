package rttest

import (
	"encoding/json"
	"slices"
	"strings"
)

// mostNearest is for how many missing values the nearest one is looked for: the rest mostly differs in the same way.
const mostNearest = 20

// object is a JSON object.
type object struct {
	names  []string                   // in the order of the text
	fields map[string]json.RawMessage // each in one way of writing
}

// objectOf is the object that a value is, nil if it is none.
func objectOf(v value) *object {
	text, ok := strings.CutPrefix(v.meaning, "=")
	var o object
	if !ok || json.Unmarshal([]byte(text), &o.fields) != nil || o.fields == nil {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(v.text))
	_, _ = d.Token() // {; that it is an object is known
	for d.More() {
		name, _ := d.Token()
		if name := name.(string); !slices.Contains(o.names, name) {
			o.names = append(o.names, name)
		}
		var value json.RawMessage
		_ = d.Decode(&value)
	}
	return &o
}

// nearest says in what the object differs from want that has the most fields in common with it, of several the one that has more of
// those in front; "" if none has any.
func nearest(want *object, objects []*object) string {
	var best *object
	most, front := 0, 0
	for _, o := range objects {
		common, inFront := 0, 0
		for i, name := range want.names {
			if got, ok := o.fields[name]; ok && string(got) == string(want.fields[name]) {
				if common++; inFront == i {
					inFront++
				}
			}
		}
		if common > most || common == most && inFront > front {
			best, most, front = o, common, inFront
		}
	}
	if best == nil {
		return ""
	}
	var differs []string
	for _, name := range want.names {
		switch got, ok := best.fields[name]; {
		case !ok:
			differs = append(differs, name+" is not there")
		case string(got) != string(want.fields[name]):
			differs = append(differs, name+" is "+string(got)+", not "+string(want.fields[name]))
		}
	}
	for _, name := range best.names {
		if _, ok := want.fields[name]; !ok {
			differs = append(differs, name+" is not expected: it is "+string(best.fields[name]))
		}
	}
	return strings.Join(differs, "; ")
}
