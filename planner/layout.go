package planner

import (
	"cmp"
	"slices"
)

// The layout of a drawing: layers from top to bottom by longest path, in each the order of the barycentres of what it
// is connected with (Sugiyama, Tagawa, Toda: Methods for visual understanding of hierarchical system structures, 1981).
// Two things are our own. Each chain has a band, a range of x that it shares with no chain of the same layers, so that the frame
// around a chain never holds an operator of another. And what takes only late rows or dead letters stands to the right of
// all, beside those that feed it, so that the way of the rows is one column wherever it can be.
//
// All lengths are whole pixels: equal graphs give equal drawings on every machine.
const (
	boxPad     = 12 // between the edge of a box and its text
	boxBeside  = 28 // between two boxes of a layer
	boxLeast   = 168
	lineHeight = 18
	layerGap   = 38
	labelGap   = 18 // more, where branches have conditions
	framePad   = 18 // between the frame of a chain and its boxes
	frameHead  = 30 // above them, where its name stands
	bandGap    = 56 // between two chains side by side
	laneGap    = 14 // between two ways to the right
	margin     = 20 // around the drawing
	sweeps     = 4  // over the layers, for their order
	// maxPasses is how many layers all wires together pass with a place of their own. Where it is more nobody can follow a
	// wire, and they go straight.
	maxPasses = 20_000
)

// drawing is a graph with a place for everything.
type drawing struct {
	width, height int
	boxes         []*box // in the order of the graph
	frames        []frame
	wires         []*wire
}

// box is where an operator stands. A wire that passes a layer has a box there without a node and without a width.
type box struct {
	node       *Node
	lines      []textLine
	chain      int
	layer      int
	side       bool // takes only late rows or dead letters
	x, y, w, h int
	in, out    []*wire // from top and to bottom, by x
	refused    []*wire // to the right
}

func (b *box) middle() int { return b.x + b.w/2 }

// frame stands around the boxes of a chain.
type frame struct{ chain, x, y, w, h int }

// wire is an edge on its way: from a box through those of the layers between to a box.
type wire struct {
	kind  EdgeKind
	bold  bool // behind an exchange
	label string
	way   []*box
	lane  int     // of a wire to the right: its number
	path  []point // where it goes
}

func (w *wire) from() *box { return w.way[0] }
func (w *wire) to() *box   { return w.way[len(w.way)-1] }

type point struct{ x, y int }

// layout is a drawing on its way.
type layout struct {
	drawing
	of     map[*Node]*box
	layers [][]*box // those beside aside
	chains int
	tops   []int // y of each layer
	floors []int // y below its tallest box
	// the number of each wire among those that leave a box, and that come to it
	nthOut, nthIn map[stop]int
}

func newDrawing(g *Graph) *drawing {
	l := &layout{of: map[*Node]*box{}}
	l.setBoxes(g)
	l.setWires(g)
	l.setOrder()
	l.setRows()
	l.setFrames()
	l.setSide()
	l.drawWires()
	return &l.drawing
}

// setBoxes gives each node a box and a layer. Nodes stand behind those that feed them.
func (l *layout) setBoxes(g *Graph) {
	for _, n := range g.Nodes {
		b := &box{node: n, lines: boxText(g, n), chain: n.Chain, side: isOutput(n)}
		b.h = 2*boxPad + len(b.lines)*lineHeight - 4
		for _, line := range b.lines {
			b.w = max(b.w, 2*boxPad+line.width())
		}
		b.w = max(b.w, boxLeast)
		for _, in := range n.In {
			b.layer = max(b.layer, l.of[in].layer+1)
			for _, e := range in.Out {
				b.side = b.side && (e.To != n || e.Kind != Rows)
			}
		}
		l.boxes, l.of[n], l.chains = append(l.boxes, b), b, max(l.chains, n.Chain)
		if !b.side {
			l.put(b)
		}
	}
}

func (l *layout) put(b *box) {
	for len(l.layers) <= b.layer {
		l.layers = append(l.layers, nil)
	}
	l.layers[b.layer] = append(l.layers[b.layer], b)
}

// setWires connects the boxes. What passes a layer gets a box in it, in the chain that it comes from.
func (l *layout) setWires(g *Graph) {
	passes := 0
	for _, n := range g.Nodes {
		for _, e := range n.Out {
			if !l.of[e.To].side {
				passes += l.of[e.To].layer - l.of[n].layer - 1
			}
		}
	}
	for _, n := range g.Nodes {
		for i, e := range n.Out {
			from, to := l.of[n], l.of[e.To]
			w := &wire{kind: e.Kind, way: []*box{from}}
			l.wires = append(l.wires, w)
			if to.side {
				w.way = append(w.way, to)
				from.refused = append(from.refused, w)
				continue
			}
			_, w.bold = n.Op.(*Exchange)
			w.label = n.Condition(i)
			for layer := from.layer + 1; layer < to.layer && passes <= maxPasses; layer++ {
				pass := &box{chain: from.chain, layer: layer}
				l.put(pass)
				w.way = append(w.way, pass)
			}
			w.way = append(w.way, to)
			for i, b := range w.way[1:] {
				w.way[i].out, b.in = append(w.way[i].out, w), append(b.in, w)
			}
		}
	}
}

// setOrder finds an order for each layer, and with it every x.
func (l *layout) setOrder() {
	l.setColumns()
	for sweep := range sweeps {
		for i := range l.layers {
			layer := l.layers[i]
			if sweep%2 == 1 {
				layer = l.layers[len(l.layers)-1-i]
			}
			at := map[*box]int{}
			for _, b := range layer {
				at[b] = barycentre(b, sweep%2 == 1)
			}
			before := slices.Clone(layer)
			slices.SortStableFunc(layer, func(a, b *box) int { return cmp.Or(cmp.Compare(a.chain, b.chain), cmp.Compare(at[a], at[b])) })
			if !slices.Equal(layer, before) {
				l.setColumns()
			}
		}
	}
	for _, b := range l.boxes {
		slices.SortStableFunc(b.out, func(v, w *wire) int { return cmp.Compare(v.next(b).middle(), w.next(b).middle()) })
		slices.SortStableFunc(b.in, func(v, w *wire) int { return cmp.Compare(v.before(b).middle(), w.before(b).middle()) })
	}
	l.nthOut, l.nthIn = map[stop]int{}, map[stop]int{}
	for _, layer := range l.layers {
		for _, b := range layer {
			for i, w := range b.out {
				l.nthOut[stop{b, w}] = i
			}
			for i, w := range b.in {
				l.nthIn[stop{b, w}] = i
			}
		}
	}
}

// stop is a box on the way of a wire.
type stop struct {
	box  *box
	wire *wire
}

func (w *wire) next(b *box) *box   { return w.way[slices.Index(w.way, b)+1] }
func (w *wire) before(b *box) *box { return w.way[slices.Index(w.way, b)-1] }

// barycentre is the middle of those that feed b, or of those that it feeds; its own if there are none.
func barycentre(b *box, below bool) int {
	sum, n := 0, 0
	if below {
		for _, w := range b.out {
			sum, n = sum+w.next(b).middle(), n+1
		}
	} else {
		for _, w := range b.in {
			sum, n = sum+w.before(b).middle(), n+1
		}
	}
	if n == 0 {
		return b.middle()
	}
	return sum / n
}

// setColumns sets every x: chain by chain, each in a band of its own, its layers in the middle of it. A band begins
// below what feeds it if there is room.
func (l *layout) setColumns() {
	type band struct{ first, last, right int }
	rows := make([][]boxRow, l.chains+1)
	for i, layer := range l.layers {
		for _, b := range layer {
			mine := rows[b.chain]
			if len(mine) == 0 || mine[len(mine)-1].layer != i {
				mine = append(mine, boxRow{layer: i, width: -boxBeside})
			}
			row := &mine[len(mine)-1]
			row.boxes, row.width = append(row.boxes, b), row.width+b.w+boxBeside
			rows[b.chain] = mine
		}
	}
	var bands []band
	for chain, mine := range rows {
		if len(mine) == 0 {
			continue // it is beside
		}
		now, width, fed, feeders := band{first: mine[0].layer, last: mine[len(mine)-1].layer}, 0, 0, 0
		for _, row := range mine {
			width = max(width, row.width)
			for _, b := range row.boxes {
				for _, in := range b.in {
					if from := in.before(b); from.chain < chain {
						fed, feeders = fed+from.middle(), feeders+1
					}
				}
			}
		}
		left := 0
		if feeders > 0 {
			left = fed/feeders - width/2
		}
		for _, b := range bands {
			if b.first <= now.last && now.first <= b.last {
				left = max(left, b.right+bandGap)
			}
		}
		for _, row := range mine {
			x := left + (width-row.width)/2
			for _, b := range row.boxes {
				b.x, x = x, x+b.w+boxBeside
			}
		}
		now.right = left + width
		bands = append(bands, now)
	}
}

// boxRow is the boxes of a chain in a layer.
type boxRow struct {
	layer, width int
	boxes        []*box
}

// setRows sets every y.
func (l *layout) setRows() {
	first, last := map[int]int{}, map[int]int{} // layers of each chain
	for _, b := range l.boxes {
		if b.side {
			continue
		}
		if i, ok := first[b.chain]; !ok || b.layer < i {
			first[b.chain] = b.layer
		}
		last[b.chain] = max(last[b.chain], b.layer)
	}
	y := margin
	for i, layer := range l.layers {
		head, foot, labels, height := 0, 0, 0, 0
		for _, b := range layer {
			if b.node != nil && first[b.chain] == i {
				head = frameHead
			}
			if b.node != nil && last[b.chain] == i {
				foot = framePad
			}
			for _, w := range b.in {
				if b.node != nil && w.label != "" {
					labels = labelGap
				}
			}
			height = max(height, b.h)
		}
		y += head + labels
		for _, b := range layer {
			b.y = y
		}
		l.tops, l.floors = append(l.tops, y), append(l.floors, y+height)
		y += height + foot + layerGap
	}
}

// setFrames puts a frame around each chain, and moves everything to where the frames begin.
func (l *layout) setFrames() {
	left := 0
	boxes := make([][]*box, l.chains+1)
	for _, b := range l.boxes {
		if !b.side {
			boxes[b.chain] = append(boxes[b.chain], b)
		}
	}
	for chain, mine := range boxes {
		f := frame{chain: chain}
		right, bottom := 0, 0
		for _, b := range mine {
			if right == 0 {
				f.x, f.y = b.x-framePad, b.y-frameHead
			}
			f.x, f.y = min(f.x, b.x-framePad), min(f.y, b.y-frameHead)
			right, bottom = max(right, b.x+b.w+framePad), max(bottom, b.y+b.h+framePad)
		}
		if right > 0 {
			f.w, f.h = right-f.x, bottom-f.y
			l.frames = append(l.frames, f)
			left = min(left, f.x)
		}
	}
	for _, layer := range l.layers {
		for _, b := range layer {
			left = min(left, b.x)
		}
	}
	for i := range l.frames {
		l.frames[i].x += margin - left
	}
	for _, layer := range l.layers {
		for _, b := range layer {
			b.x += margin - left
		}
	}
	for _, f := range l.frames {
		l.width, l.height = max(l.width, f.x+f.w+margin), max(l.height, f.y+f.h+margin)
	}
}

// setSide puts what takes only late rows or dead letters to the right, each beside the first that feeds it.
func (l *layout) setSide() {
	var side []*box
	level := map[*box]int{} // the middle of the first that feeds it
	for _, b := range l.boxes {
		if b.side {
			side = append(side, b)
			if len(b.node.In) > 0 {
				level[b] = l.of[b.node.In[0]].y + l.of[b.node.In[0]].h/2
			}
		}
	}
	if len(side) == 0 {
		return
	}
	slices.SortStableFunc(side, func(a, b *box) int { return cmp.Compare(level[a], level[b]) })
	lanes := l.width
	x, y := lanes+len(side)*laneGap+10, margin
	lane := map[*box]int{}
	for i, b := range side {
		b.x, b.y = x, max(y, level[b]-b.h/2)
		y = b.y + b.h + boxBeside + lineHeight
		lane[b] = lanes + (len(side)-1-i)*laneGap
		l.width, l.height = max(l.width, b.x+b.w+margin), max(l.height, b.y+b.h+margin)
	}
	for _, w := range l.wires {
		w.lane = lane[w.to()]
	}
}

// drawWires sets the points of every wire.
func (l *layout) drawWires() {
	for _, w := range l.wires {
		if w.to().side {
			w.path = l.pathBeside(w)
			continue
		}
		for i, b := range w.way[:len(w.way)-1] {
			next := w.way[i+1]
			w.path = append(w.path, point{port(b, l.nthOut[stop{b, w}], len(b.out)), l.floors[b.layer]},
				point{port(next, l.nthIn[stop{next, w}], len(next.in)), next.y})
		}
	}
}

// port is where the wire number n of a side of b, which has so many, touches it: they share it equally.
func port(b *box, n, many int) int { return b.x + b.w*(n+1)/(many+1) }

// pathBeside is the way of what is refused: to the right, along its lane, to its box. Where another operator stands in the
// way it goes below that.
func (l *layout) pathBeside(w *wire) []point {
	from, to := w.from(), w.to()
	i := slices.Index(from.refused, w)
	end := []point{{w.lane, to.y + to.h/2}, {to.x, to.y + to.h/2}}
	for _, b := range l.layers[from.layer] {
		if b.node != nil && b.x > from.x {
			x, y := from.x+from.w-14-10*i, l.floors[from.layer]+8+4*i
			return append([]point{{x, from.y + from.h}, {x, y}, {w.lane, y}}, end...)
		}
	}
	y := from.y + from.h*(i+1)/(len(from.refused)+1)
	if len(from.refused) == 1 && from.y < end[0].y && end[0].y < from.y+from.h {
		y = end[0].y
	}
	return append([]point{{from.x + from.w, y}, {w.lane, y}}, end...)
}
