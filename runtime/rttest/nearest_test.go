package rttest

import "testing"

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		want string
		came []string
		says string
	}{
		{`{"user":"u2","start":0,"end":60,"n":1}`, []string{`{"user":"u1","start":0,"end":60,"n":2}`, `{"user":"u2","start":0,"end":61,"n":3}`}, "end is 61, not 60; n is 3, not 1"},
		{`{"a":"x<y","b":1}`, []string{`{"b":1.0,"a":"x>y"}`}, `a is "x>y", not "x<y"`},
		{`{"a":1,"b":2}`, []string{`{"a":2,"b":1}`, `[1]`, `7`, `null`, `{`, ``}, ""},
		{`{"a":1,"a":2,"b":{"c":[1]}}`, []string{`{"a":2,"b":{"c":[1,2]}}`}, `b is {"c":[1,2]}, not {"c":[1]}`},
		{`{"a":1,"b":2}`, []string{`{"a":1,"c":3}`}, "b is not there; c is not expected: it is 3"},
	} {
		var came []*object
		for _, v := range c.came {
			if o := objectOf(valueOf([]byte(v))); o != nil {
				came = append(came, o)
			}
		}
		if got := nearest(objectOf(valueOf([]byte(c.want))), came); got != c.says {
			t.Errorf("%s: says %q, want %q", c.want, got, c.says)
		}
	}
}
