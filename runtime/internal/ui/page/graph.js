// The drawing of the operators: layers from top to bottom, late rows and dead letters to the right.
import { count, element, eventTime, rate, setText, svg } from "./format.js";

const boxId = (id) => "op-" + id.replace(/[^a-zA-Z0-9_.-]/g, "_");
export const boxLink = (node) => "#" + boxId(node.id);

export class Drawing {
  constructor(graph, into) {
    this.graph = graph;
    this.into = into;
    this.boxes = new Map();
    this.lines = svg("svg", { "aria-hidden": "true" });
    into.replaceChildren(this.lines);
    const layers = [], depth = new Map();
    for (const n of graph.nodes) {
      depth.set(n, Math.max(0, ...n.in.map((i) => (depth.get(i.from) ?? 0) + 1)));
      const at = n.aside ? depth.get(n.in[0].from) : depth.get(n);
      (layers[at] ||= { main: [], aside: [] })[n.aside ? "aside" : "main"].push(n);
    }
    const place = new Map();
    layers.forEach((layer, i) => {
      const middle = (n) => (n.in.length ? n.in.reduce((sum, { from }) => sum + (place.get(from) ?? 0), 0) / n.in.length : 0);
      if (i > 0) layer.main.sort((a, b) => middle(a) - middle(b));
      layer.main.forEach((n, j) => place.set(n, (j + 1) / (layer.main.length + 1)));
      const row = element("div", { className: "row" }, ...layer.main.map((n) => this.box(n)));
      row.style.gridRow = i + 1;
      into.append(row);
      if (layer.aside.length) {
        const aside = element("div", { className: "aside" }, ...layer.aside.map((n) => this.box(n)));
        aside.style.gridRow = i + 1;
        into.append(aside);
      }
    });
    new ResizeObserver(() => this.draw()).observe(into);
  }

  box(n) {
    const figures = element("ul");
    const to = n.out.map((e) => e.to + ({ late: " (late rows)", "dead-letters": " (dead letters)" }[e.rows] || (e.if ? ` (${e.if})` : "")));
    const late = n.aside && n.kind === "sink" ? " late" : "";
    const box = element("article", { className: "op " + n.kind + late, id: boxId(n.id) },
      element("h3", {}, n.id, element("span", {}, n.place)), element("pre", {}, n.text), figures);
    if (to.length) box.append(element("p", { className: "feeds" }, "feeds " + to.join(", ")));
    this.boxes.set(n, { box, figures, shown: new Map() });
    return box;
  }

  // show writes the figures of each operator: [class, name, value].
  show(figuresOf) {
    let changed = false;
    for (const [n, b] of this.boxes) {
      const figures = figuresOf(n);
      while (b.figures.children.length > figures.length) b.figures.lastChild.remove(), (changed = true);
      figures.forEach(([kind, name, value], i) => {
        if (!b.figures.children[i]) b.figures.append(element("li", {}, element("span"), " ", element("b"))), (changed = true);
        const li = b.figures.children[i];
        li.className = kind;
        li.dataset.name = name;
        setText(li.firstChild, name);
        setText(li.lastChild, value);
      });
    }
    if (changed) this.draw();
  }

  // draw connects the boxes where they stand.
  draw() {
    const frame = this.into.getBoundingClientRect(), left = frame.left - this.into.scrollLeft;
    const at = (n) => {
      const r = this.boxes.get(n).box.getBoundingClientRect();
      return { left: r.left - left, right: r.right - left, top: r.top - frame.top, bottom: r.bottom - frame.top, width: r.width, height: r.height };
    };
    const lines = [];
    for (const n of this.graph.nodes) {
      const down = n.out.filter((e) => !this.graph.of.get(e.to).aside);
      for (const e of n.out) {
        const to = this.graph.of.get(e.to), a = at(n), b = at(to);
        const kind = e.rows || (n.kind === "exchange" ? "exchange" : "");
        if (to.aside) {
          const x1 = a.right, y1 = a.top + a.height / 2, x2 = b.left, y2 = b.top + b.height / 2, bend = x2 - 24;
          // Where another box stands in the way it goes below its layer.
          const layer = [...this.boxes.get(n).box.parentNode.children].map((e) => e.getBoundingClientRect());
          const below = Math.max(...layer.map((r) => r.bottom)) - frame.top + 9;
          const start = layer.some((r) => r.left - left > a.right) ? `M${x1 - 16} ${a.bottom}V${below}H${bend}` : `M${x1} ${y1}H${bend}`;
          lines.push(svg("path", { class: kind, d: `${start}V${y2}H${x2 - 7}` }),
            svg("path", { class: "tip " + kind, d: `M${x2} ${y2}l-9 -4.5v9z` }));
          continue;
        }
        const feeds = to.in.filter((i) => !i.edge.rows).map((i) => i.from);
        const x1 = a.left + (a.width * (down.indexOf(e) + 1)) / (down.length + 1), y1 = a.bottom;
        const x2 = b.left + (b.width * (feeds.indexOf(n) + 1)) / (feeds.length + 1), y2 = b.top - 6, middle = (y1 + y2) / 2;
        lines.push(svg("path", { class: kind, d: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}` }),
          svg("path", { class: "tip " + kind, d: `M${x2} ${b.top}l-5 -9h10z` }));
      }
    }
    this.lines.setAttribute("width", this.into.scrollWidth);
    this.lines.setAttribute("height", this.into.scrollHeight);
    this.lines.replaceChildren(...lines);
  }
}

// figures are what a box says: how much comes in, and what became of it.
export function figures(n, total, rateOf, came) {
  const list = [];
  const say = (kind, name, id, always) => {
    const sum = total(id, name);
    if (sum || always) list.push([kind, name, `${count(sum)} (${rate(rateOf(id, name))})`]);
  };
  if (n.kind === "source") say("", "read", n.id, true);
  else if (n.kind === "sink" || n.kind === "dead-letter") say(n.kind === "dead-letter" && total(n.id, "out") ? "bad" : "", "out", n.id, true);
  else if (n.kind === "window") say("", "aggregated", n.id, true);
  else if (came.get(n.id) != null) list.push(["", "in", rate(came.get(n.id))]);
  say("", "filtered", n.id);
  say("", "null", n.id);
  say("warn", "late", n.id);
  say("warn", "ahead", n.id);
  say("bad", "rejected", n.id);
  return list;
}

export const windowFigure = (w) => [["", "watermark", w.ended ? "the end" : eventTime(w.watermark)]];
