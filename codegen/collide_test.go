package codegen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/codegen"
	"github.com/eoc-lang/eoc/dsl"
	"github.com/eoc-lang/eoc/internal/race"
	"github.com/eoc-lang/eoc/planner"
)

// everyPlace is a program that makes the generator write every kind of function it has: read loops, one with a time
// that can fail, scanners with and without defaults, a union, filters, routes, windows with keys of one part and of several,
// aggregates that fail, results that are refused behind them, late rows, sinks with keys of each form. What stands between « and » is a
// name that a person chooses, behind what it is the name of.
const everyPlace = `type «type:visit» {
  «field:shop»: string  «field:note»: string?  city: string = "x"  «field:age»: int  «field:sum»: decimal(12, 2)?  ok: bool  at: timestamp
}
type «type:other» { shop: string  age: int  at: timestamp }
source «source:clicks»: «type:visit» from kafka("topic-a") { time at + 1s  watermark 1s  on_error dlq("dead") }
source «source:more»: «type:visit» from kafka("topic-b") { time at  watermark 1s  on_error skip }
source «source:others»: «type:other» from kafka("topic-c") { time at  watermark 1s }
stream «stream:passed» {
  from  «source:clicks»
  where «field:age» > 1 && («field:age» + 1) / «field:age» > 0
  let   «let:half» = «field:age» / 2 + «field:age», «let:first» = «field:note» ?? city
  to    «sink:plain» if «let:half» > 1, kafka("topic-d") if «let:half» > 2 || ok, kafka("topic-e") else
}
stream «stream:totals» {
  from      «source:clicks», «source:more»
  let       «let:twice» = «field:age» * 2
  window    tumbling 1m by «key:part» = «field:shop», city, «let:twice» grace 1s late to «sink:behind»
  aggregate «aggregate:n» = count(), «aggregate:most» = max(«field:sum») if ok, «aggregate:mean» = avg(«field:age»), «aggregate:whole» = sum(«field:age»)
  where     «aggregate:whole» / «aggregate:n» > 0
  let       «result:share» = «aggregate:whole» / «aggregate:n»
  to        «sink:results», «sink:again»
}
stream «stream:cut» {
  from   «source:more»
  select shop = «field:shop», age = «field:age», at
}
stream «stream:single» {
  from      «source:others», «stream:cut»
  window    tumbling 1m by «key:lone» = shop
  aggregate «aggregate:rows» = count(), highest = max(age), sums = sum(age)
  select    «key:lone», «result:kept» = sums + 1
  to        kafka("topic-f") { key «key:lone» }, kafka("topic-g") { key «result:kept» }
}
sink «sink:plain» to kafka("topic-h") { key «field:shop» }
sink «sink:behind» to kafka("topic-i") { key «field:age», «field:shop» }
sink «sink:results» to kafka("topic-j") { key «key:part», «aggregate:n» }
sink «sink:again» to kafka("topic-k") { key «aggregate:most» }
`

// place is a name of everyPlace that a person chooses.
type place struct{ kind, name string }

func places() []place {
	var list []place
	for _, part := range strings.Split(everyPlace, "«")[1:] {
		text, _, _ := strings.Cut(part, "»")
		kind, name, _ := strings.Cut(text, ":")
		if p := (place{kind, name}); !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// renamed is everyPlace with other names in some places.
func renamed(names map[place]string) string {
	var pairs []string
	for _, p := range places() {
		if name, ok := names[p]; ok {
			pairs = append(pairs, "«"+p.kind+":"+p.name+"»", "`"+name+"`")
		} else {
			pairs = append(pairs, "«"+p.kind+":"+p.name+"»", p.name)
		}
	}
	return strings.NewReplacer(pairs...).Replace(everyPlace)
}

// generatedNames are all names that the Go of everyPlace has: types, functions, methods, fields, receivers, parameters,
// results, variables, and what it uses of Go and of the runtime.
func generatedNames(t *testing.T) []string {
	t.Helper()
	all := map[string]bool{}
	for _, f := range generate(t, planText(t, "x.eo", []byte(renamed(nil))), codegen.Options{Package: "embedded"}) {
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				all[id.Name] = true
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(all))
}

// TestNoNameCollides gives the names of a program whatever could mean something else in its Go: the names that the Go of
// the same program has, Go's keywords and predeclared names, single letters, each in each place; and all names of two letters, each for
// each kind of thing.
func TestNoNameCollides(t *testing.T) {
	words := generatedNames(t)
	if len(words) < 200 || !slices.Contains(words, "p") || !slices.Contains(words, "totalsState") {
		t.Fatalf("the names of the generated Go are %q", words)
	}
	for tok := token.BREAK; tok <= token.VAR; tok++ {
		words = append(words, tok.String())
	}
	words = append(words, types.Universe.Names()...)
	words = append(words, "_", "init", "rt", "main")
	words = append(words, packageWords...)
	var pairs []string
	for c := 'a'; c <= 'z'; c++ {
		words = append(words, string(c), string(c-'a'+'A'))
		for d := 'a'; d <= 'z'; d++ {
			pairs = append(pairs, string(c)+string(d))
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if race.Enabled {
		pairs = nil
		words = slices.DeleteFunc(words, func(w string) bool { return len(w) > 1 })
	}
	c := collisions{t: t, words: map[place][]string{}, kinds: map[string][]string{}}
	for i, p := range places() {
		at := i * len(words) / len(places()) // other words in each place of a program
		c.words[p] = slices.Concat(words[at:], words[:at])
		at = i * len(pairs) / len(places())
		c.kinds[p.kind] = slices.Concat(pairs[at:], pairs[:at])
	}
	c.run()
	t.Logf("%d programs with %d words in each of %d places, %d in one of each kind", c.programs, len(words), len(places()), len(pairs))
	if c.tried < len(words)*len(places())*9/10 {
		t.Errorf("only %d words were tried in %d places", c.tried, len(places()))
	}
}

// collisions compiles programs until every word has been in its places.
type collisions struct {
	t               *testing.T
	words           map[place][]string  // to be tried there
	kinds           map[string][]string // to be tried in any place of the kind, when words of the place are at their end
	programs, tried int
}

func (c *collisions) run() {
	for {
		names := c.choose()
		if len(names) == 0 {
			return
		}
		c.try(names)
	}
}

// choose takes the next word for each place, without two in a program that dsl would take for one. What is left in the end are names
// that the program has elsewhere.
func (c *collisions) choose() map[place]string {
	names := map[place]string{}
	taken := map[string]bool{"city": true, "ok": true, "at": true, "shop": true, "age": true, "highest": true, "sums": true, "window_start": true, "window_end": true}
	for _, p := range places() {
		taken[p.name] = true // where another program keeps it
	}
	next := func(p place, list []string) []string {
		for i, w := range list {
			if folded := strings.ToLower(w); !taken[folded] || folded == p.name {
				taken[folded] = true
				names[p] = w
				return slices.Delete(list, i, i+1)
			}
		}
		return list
	}
	for _, p := range places() {
		if c.words[p] = next(p, c.words[p]); names[p] == "" {
			c.kinds[p.kind] = next(p, c.kinds[p.kind])
		}
	}
	return names
}

// packageWords are those that mean something in a package alone.
var packageWords = []string{"definition", "marshal_json", "unmarshal_json", "string"}

// try compiles a program with these names; one by one, if dsl refuses it. It becomes a package, which has the records' JSON besides, if there is a name for that,
// and now and then.
func (c *collisions) try(names map[place]string) {
	o := codegen.Options{}
	inPackage := func(p place) bool { return slices.Contains(packageWords, names[p]) }
	if c.programs%4 == 0 || slices.ContainsFunc(places(), inPackage) {
		o.Package = "embedded"
	}
	if compiles(c.t, renamed(names), o) {
		c.programs++
		c.tried += len(names)
		return
	}
	if len(names) == 1 {
		return
	}
	for p, w := range names {
		c.try(map[place]string{p: w})
	}
}

// compiles takes a program through the compiler and the judge of its Go, as compile does, without what names have no part in.
func compiles(t *testing.T, src string, o codegen.Options) bool {
	t.Helper()
	p, _ := dsl.Check("x.eo", []byte(src))
	if p == nil {
		return false
	}
	g, _ := planner.Plan(p)
	if g == nil {
		return false
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, f := range generate(t, g, o) {
		tree, err := parser.ParseFile(set, f.Name, f.Data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v, of\n%s", err, src)
		}
		parsed = append(parsed, tree)
	}
	if wrong := doesMore(t, set, parsed, o.Package == ""); wrong != "" {
		t.Errorf("%s, of\n%s", wrong, src)
	}
	return true
}
