// What flows where. Counts say what became of records; what they do not say follows from the law that what comes into an
// operator is what goes out of it plus what its counts say.

// Graph is the operators with their edges in both directions.
export class Graph {
  constructor(nodes) {
    this.nodes = nodes;
    this.of = new Map(nodes.map((n) => [n.id, n]));
    for (const n of nodes) n.in = [];
    for (const n of nodes) for (const e of (n.out ||= [])) this.of.get(e.to).in.push({ from: n, edge: e });
    for (const n of nodes) n.aside = ["sink", "dead-letter"].includes(n.kind) && n.in.length > 0 && n.in.every((i) => i.edge.rows);
  }

  // sources are the ids of the sources whose records come to a node.
  sources(node) {
    const seen = new Set(), visit = (n) => { if (!seen.has(n)) { seen.add(n); n.in.forEach((i) => visit(i.from)); } };
    visit(node);
    return new Set([...seen].filter((n) => n.kind === "source").map((n) => n.id));
  }

  // operatorOf is the node that a text names by its place, such as orders.eo:17.
  atPlace(place) {
    return this.nodes.filter((n) => n.place === place && n.kind !== "exchange")[0];
  }
}

// flows are the numbers of a node: of(id, name) is a count or its rate. in is null where it does not follow from the counts.
export function flows(graph, of) {
  const memo = new Map(), lost = (n) => of(n.id, "filtered") + of(n.id, "rejected") + of(n.id, "null");
  const rowsIn = (n) => n.in.filter((i) => !i.edge.rows);
  const isOutput = (n) => n.kind === "sink" || n.kind === "dead-letter";

  function out(n) {
    if (n.kind === "source") return of(n.id, "read") - lost(n);
    if (n.kind === "window" || n.kind === "route") return null;
    const came = into(n);
    return came == null ? null : came - lost(n);
  }
  // into looks forward from the sources, and where a window or a branch hides the number, back from the sinks.
  function into(n) {
    if (memo.has(n)) return memo.get(n);
    memo.set(n, null);
    let sum = isOutput(n) ? of(n.id, "out") : n.kind === "source" ? of(n.id, "read") : 0;
    if (!isOutput(n) && n.kind !== "source") for (const i of rowsIn(n)) {
      const part = out(i.from);
      sum = part == null || sum == null ? null : sum + part;
    }
    memo.set(n, sum ?? back(n));
    return memo.get(n);
  }
  function back(n) {
    const ways = n.out.filter((e) => !e.rows).map((e) => graph.of.get(e.to));
    if (ways.length !== 1 || n.kind === "window" || n.kind === "route" || rowsIn(ways[0]).length !== 1) return null;
    const next = isOutput(ways[0]) ? of(ways[0].id, "out") : back(ways[0]);
    return next == null ? null : next + lost(n);
  }
  return new Map(graph.nodes.map((n) => [n.id, into(n)]));
}

// window is how far back rates look, in ms.
const span = 10e3;

// Rates keeps what the last checkpoints said.
export class Rates {
  samples = [];

  // add notes an answer. Counts change with checkpoints alone.
  add(status) {
    const last = status.history.at(-1);
    if (!last || this.samples.at(-1)?.number === last.number) return;
    this.samples.push({ number: last.number, at: last.at, n: new Map(status.totals.map((t) => [t.operator + " " + t.name, t.n])) });
  }

  // of is the rate of a count; null before there are two checkpoints. A pipeline with nothing to do makes none: its rates are 0.
  of(status) {
    const last = this.samples.at(-1);
    if (!last) return () => null;
    const quiet = status.now - last.at > Math.max(3 * status.interval, 2000);
    const end = quiet ? status.now : last.at;
    while (this.samples.length > 1 && this.samples[1].at <= end - span) this.samples.shift();
    const first = this.samples[0], seconds = (end - first.at) / 1000;
    if (first === last) return () => (quiet ? 0 : null);
    return (id, name) => ((last.n.get(id + " " + name) || 0) - (first.n.get(id + " " + name) || 0)) / seconds;
  }
}
