package rttest

import "testing"

// Values are equal if they mean the same, and only then.
func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[1.50,null]}`, "{ \"b\": [1.5, null],\n\"a\": 1.0 }", true},
		{`12345678901234567890.10`, `12345678901234567890.1`, true},
		{`1e3`, `1000`, true},
		{`0.1`, `1e-1`, true},
		{`-125E-1`, `-12.500`, true},
		{`100`, `10`, false},
		{`0`, `-0.0`, true},
		{`1.5e-300`, `15e-301`, true},
		{`1e+5`, `100000`, true},
		{`{"Number":"1"}`, `1`, false},
		{`1e999999999`, `1e999999999`, true},
		{`1e999999999`, `1e999999998`, false},
		{`12345678901234567890.1`, `12345678901234567890.2`, false},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":null}`, `{}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`1`, `1 1`, false},
		{`no JSON`, `no JSON`, true},
		{`no JSON`, `no  JSON`, false},
		{``, `null`, false},
	} {
		if got := canonical(c.a) == canonical(c.b); got != c.same {
			t.Errorf("%s and %s: same is %v", c.a, c.b, got)
		}
	}
}
