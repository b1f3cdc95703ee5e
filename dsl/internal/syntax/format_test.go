package syntax

import (
	"testing"

	"pgregory.net/rapid"
)

func TestWindowOptionsInAnyOrder(t *testing.T) {
	got := roundTrip(t, "stream s {\n  from   a\n  window hopping 5m late to b grace 10s by x, y every 1m // why\n}\n")
	want := "stream s {\n  from   a\n  window hopping 5m every 1m by x, y grace 10s late to b  // why\n}\n"
	if got != want {
		t.Errorf("got:\n%s", got)
	}
}

func TestFormat(t *testing.T) {
	src := "// head\n\n\n// more\ntype  T{a:int,bc : []T?// list\n// own\n  d:map[string](T?)?}\nsource s:T\n from kafka ( \"t\" ) {key a\n}\n" +
		"stream x\n{ // open\n\n from s\n\n\n where a==1&& // first\n  // second\n -b<f (c [0])\n // last\n}\n// end"
	want := `// head

// more
type T {
  a:  int,
  bc: []T?  // list
  // own
  d:  map[string](T?)?
}
source s: T from kafka("t") {
  key a
}
stream x {  // open
  from  s

  where a == 1 &&  // first
        // second
        -b < f(c[0])
  // last
}
// end
`
	if got := roundTrip(t, src); got != want {
		t.Errorf("got:\n%s", got)
	}
}

// Any program comes through the formatter with its meaning and its comments, however it is laid out.
func TestFormatKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{t: t}
		for range rapid.IntRange(1, 4).Draw(t, "declarations") {
			w.declaration()
		}
		src := w.String()
		f, faults := Parse("x.eo", []byte(src))
		if faults != nil {
			t.Fatalf("%s\nin:\n%s", render(faults, src), src)
		}
		once := Format(f)
		g, faults := Parse("x.eo", []byte(once))
		if faults != nil {
			t.Fatalf("%s\nin:\n%s\nfrom:\n%s", render(faults, once), once, src)
		}
		if a, b := tree(f), tree(g); a != b {
			t.Fatalf("another tree after fmt\n%s\n%s\nsource:\n%s\nfmt:\n%s", a, b, src, once)
		}
		if a, b := places(f), places(g); a != b {
			t.Fatalf("comments moved\n%s\n%s\nsource:\n%s\nfmt:\n%s", a, b, src, once)
		}
		if twice := Format(g); twice != once {
			t.Fatalf("fmt is not idempotent\n%s\n%s", once, twice)
		}
	})
}
