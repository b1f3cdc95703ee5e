package planner_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/eoc-lang/eoc/planner"
)

// svgRect is a rectangle of a drawing: a frame, or the box of an operator.
type svgRect struct {
	Class      string `xml:"class,attr"`
	X, Y, W, H int
}

// svgDrawing is what the tests read of a drawing.
type svgDrawing struct {
	w, h          int
	frames, boxes []svgRect
	wires, tips   int
	titles        []string // of boxes
}

// readSVG reads a drawing as a browser would, and fails at what could reach outside of it.
func readSVG(t *testing.T, text string) svgDrawing {
	t.Helper()
	var d svgDrawing
	var path []string
	for dec := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := dec.Token()
		if err == io.EOF {
			return d
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		switch e := token.(type) {
		case xml.StartElement:
			path = append(path, e.Name.Local)
			attr := map[string]string{}
			for _, a := range e.Attr {
				attr[a.Name.Local] = a.Value
			}
			n := func(name string) int { i, _ := strconv.Atoi(attr[name]); return i }
			if !strings.Contains(" svg title desc style rect text path g ", " "+e.Name.Local+" ") || attr["href"] != "" {
				t.Errorf("a drawing has %s %v", e.Name.Local, attr)
			}
			switch class := attr["class"]; {
			case e.Name.Local == "svg":
				d.w, d.h = n("width"), n("height")
			case class == "chain":
				d.frames = append(d.frames, svgRect{class, n("x"), n("y"), n("width"), n("height")})
			case class == "box":
				d.boxes = append(d.boxes, svgRect{class, n("x"), n("y"), n("width"), n("height")})
			case strings.HasPrefix(class, "wire"):
				d.wires++
			case strings.HasPrefix(class, "tip"):
				d.tips++
			}
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if len(path) > 1 && path[len(path)-1] == "title" && path[len(path)-2] == "g" {
				d.titles = append(d.titles, string(e))
			}
		}
	}
}

func (r svgRect) apart(s svgRect) bool {
	return r.X+r.W <= s.X || s.X+s.W <= r.X || r.Y+r.H <= s.Y || s.Y+s.H <= r.Y
}

func (r svgRect) holds(s svgRect) bool {
	return r.X <= s.X && r.Y <= s.Y && s.X+s.W <= r.X+r.W && s.Y+s.H <= r.Y+r.H
}

// checkSVG says what is wrong with the drawing of g, judged by what is in it.
func checkSVG(t *testing.T, g *planner.Graph) svgDrawing {
	t.Helper()
	var b bytes.Buffer
	if err := planner.WriteSVG(&b, g); err != nil {
		t.Fatal(err)
	}
	d := readSVG(t, b.String())
	edges := 0
	for _, n := range g.Nodes {
		edges += len(n.Out)
	}
	if len(d.boxes) != len(g.Nodes) || d.wires != edges || d.tips != edges {
		t.Fatalf("%d boxes and %d wires with %d tips for %d operators and %d edges", len(d.boxes), d.wires, d.tips, len(g.Nodes), edges)
	}
	page := svgRect{W: d.w, H: d.h}
	for i, r := range append(d.boxes, d.frames...) {
		if !page.holds(r) {
			t.Errorf("%+v is not on the page of %d × %d", r, d.w, d.h)
		}
		for j, s := range d.boxes {
			if i < len(d.boxes) && i != j && !r.apart(s) {
				t.Errorf("%s %+v and %s %+v overlap", g.Nodes[i].ID, r, g.Nodes[j].ID, s)
			}
		}
	}
	for i, f := range d.frames {
		for _, h := range d.frames[:i] {
			if !f.apart(h) {
				t.Errorf("frames %+v and %+v overlap", f, h)
			}
		}
		chains := map[int]bool{}
		for j, r := range d.boxes {
			if f.holds(r) {
				chains[g.Nodes[j].Chain] = true
			} else if !f.apart(r) {
				t.Errorf("%s %+v stands across the frame %+v", g.Nodes[j].ID, r, f)
			}
		}
		if len(chains) != 1 {
			t.Errorf("frame %+v holds operators of %d chains", f, len(chains))
		}
	}
	return d
}

func TestSVG(t *testing.T) {
	for _, text := range []string{base, everything} {
		checkSVG(t, plan(t, "a.eo", text))
	}
}

// Text of the file is text in the drawing too.
func TestSVGEscapes(t *testing.T) {
	g := plan(t, "a.eo", strings.Replace(base, "amount > 0", `amount > 0 && (note ?? "") != "</text><script>alert(1)</script>&amp;"`, 1))
	d := checkSVG(t, g)
	if !strings.Contains(strings.Join(d.titles, "\n"), "</text><script>alert(1)</script>&amp;") {
		t.Errorf("the condition is not in %q", d.titles)
	}
}

// TestSVGOfMany draws pipelines of every shape that streams can have: those that read others, several at once, with and
// without windows and dead letters.
func TestSVGOfMany(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 100 {
		checkSVG(t, plan(t, "many.eo", drawnPipeline(r)))
		if t.Failed() {
			return
		}
	}
}

// drawnPipeline is the text of a pipeline.
func drawnPipeline(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("type T {\n a: int\n b: string\n at: timestamp\n}\n")
	var read []string
	for i := range 1 + r.IntN(3) {
		fmt.Fprintf(&b, "source s%d: T from kafka(\"s%d\") {\n time at\n watermark 5s\n on_error %s\n}\n", i, i,
			[]string{"fail", "skip", `dlq("dead")`, fmt.Sprintf(`dlq("dead%d")`, i)}[r.IntN(4)])
		read = append(read, fmt.Sprintf("s%d", i))
	}
	for i := range 1 + r.IntN(7) {
		from := map[string]bool{}
		for range 1 + r.IntN(2) {
			from[read[r.IntN(len(read))]] = true
		}
		var names []string
		for _, name := range read {
			if from[name] {
				names = append(names, name)
			}
		}
		fmt.Fprintf(&b, "stream m%d {\n from %s\n", i, strings.Join(names, ", "))
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, " where a / %d > 0\n", 1+r.IntN(9))
		}
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, " select a = a + 1, b, at\n")
		}
		if r.IntN(3) == 0 {
			late := []string{"", fmt.Sprintf(" late to kafka(\"late%d\") {}", i)}[r.IntN(2)]
			fmt.Fprintf(&b, " window tumbling 1m by b grace 10s%s\n aggregate n = count()\n to kafka(\"w%d\") {}\n}\n", late, i)
			continue
		}
		fmt.Fprintf(&b, " to kafka(\"a%d\") {} if a > 1, kafka(\"b%d\") {} else\n}\n", i, i)
		read = append(read, fmt.Sprintf("m%d", i))
	}
	for _, name := range read {
		if strings.HasPrefix(name, "s") && !strings.Contains(b.String(), "from "+name+"\n") && !strings.Contains(b.String(), "from "+name+",") {
			fmt.Fprintf(&b, "stream all_%s {\n from %s\n to kafka(\"all_%s\") {}\n}\n", name, name, name)
		}
	}
	return b.String()
}
