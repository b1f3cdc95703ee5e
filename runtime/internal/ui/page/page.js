// The page asks how the pipeline stands once a second, and shows it. It goes on asking when the program is gone.
import { Errors } from "./errors.js";
import { brief, bytes, clock, count, duration, element, eventTime, fill, rate, setText, svg, unknown } from "./format.js";
import { flows, Graph, Rates } from "./flow.js";
import { Drawing, figures, windowFigure } from "./graph.js";

const pause = 1000, patience = 5000; // ms between two questions, and for an answer
const $ = (id) => document.getElementById(id);
const parts = ["align", "flush", "store", "commit", "confirm"];
const total = (c) => c.took.reduce((a, b) => a + b, 0);

let graph, drawing, errors, rates, process, goneSince;
let order = { by: "partition", down: false };

async function ask(name) {
  const answer = await fetch(name, { signal: AbortSignal.timeout(patience), cache: "no-store" });
  if (!answer.ok) throw new Error("the answer is " + answer.status);
  return answer.json();
}

async function look() {
  try {
    const status = await ask("status.json");
    if (status.process !== process) await begin(status);
    back();
    show(status);
  } catch (e) {
    if (!(e instanceof TypeError || e instanceof DOMException || /the answer is/.test(e.message))) console.error(e);
    gone();
  }
  setTimeout(look, pause);
}

// begin draws anew for another process, which may be another program.
async function begin(status) {
  const plan = await ask("graph.json");
  graph = new Graph(plan.nodes);
  drawing = new Drawing(graph, $("graph"));
  errors = new Errors(graph, $("errors"));
  rates = new Rates();
  process = status.process;
  document.title = status.pipeline + " · eoc";
  setText($("pipeline"), status.pipeline);
}

function gone() {
  goneSince ||= Date.now();
  document.body.classList.add("stale");
  $("phase").className = "phase gone-now";
  setText($("phase"), "gone");
  setText($("gone"), `The program has not answered since ${clock(goneSince)}. What is shown is older; the page tries again every second.`);
  $("gone").hidden = false;
}

function back() {
  goneSince = undefined;
  document.body.classList.remove("stale");
  $("gone").hidden = true;
}

function show(s) {
  rates.add(s);
  const sums = new Map(s.totals.map((t) => [t.operator + " " + t.name, t.n]));
  const sumOf = (id, name) => sums.get(id + " " + name) || 0, rateOf = rates.of(s);
  const came = rateOf("", "") == null ? new Map() : flows(graph, rateOf);
  const windows = s.operators.map((w) => ({ ...w, held: holders(s, w) }));
  setText($("phase"), s.phase);
  $("phase").className = "phase " + s.phase;
  setText($("since"), `for ${duration(s.now - s.since)}, ${s.tasks || "no"} ${s.tasks === 1 ? "task" : "tasks"}`);
  tiles(s, rateOf);
  drawing.show((n) => {
    const w = windows.find((w) => w.id === n.id);
    return figures(n, sumOf, rateOf, came).concat(w ? windowFigure(w) : []);
  });
  $("no-errors").hidden = errors.show(s) > 0;
  checkpoints(s);
  watermarks(s, windows);
  partitions(s, windows);
  counts(s);
}

// holders are the partitions that keep a window's watermark where it is.
function holders(s, w) {
  const node = graph.of.get(w.id);
  if (!node || w.ended) return [];
  const sources = graph.sources(node);
  const active = s.partitions.filter((p) => sources.has(p.source) && (p.state === "active" || p.state === "paused"));
  const without = active.filter((p) => p.watermark == null);
  if (without.length) return without;
  const least = Math.min(...active.map((p) => p.watermark));
  return active.filter((p) => p.watermark === least);
}

const sum = (list, of) => list.reduce((all, x) => (all == null || of(x) == null ? null : all + of(x)), 0);

function tiles(s, rateOf) {
  const last = s.history.at(-1), kinds = (...of) => graph.nodes.filter((n) => of.includes(n.kind));
  const list = [
    ["read", rate(sum(kinds("source"), (n) => rateOf(n.id, "read")))],
    ["written", rate(sum(kinds("sink", "dead-letter"), (n) => rateOf(n.id, "out")))],
    ["lag", brief(sum(s.partitions, (p) => p.lag)), "records"],
    ["stable lag", brief(sum(s.partitions, (p) => p.stableLag)), "records"],
    ["last checkpoint", last ? duration(Math.max(0, s.now - last.at)) : unknown, last ? "ago" : ""],
    ["checkpoint took", last ? duration(total(last)) : unknown, last ? bytes(last.bytes) : ""],
    ["checkpoints", count(s.checkpoints), ""],
    ["transactions", count(s.transactions), "committed"],
    ["restarts", count(s.restarts), ""],
  ];
  const box = $("tiles");
  list.forEach(([name, value, more], i) => {
    const tile = box.children[i] || box.appendChild(element("div", {}, element("dt", {}, name), element("dd", {}, element("span"), " ", element("small"))));
    tile.dataset.name = name;
    setText(tile.querySelector("span"), value);
    setText(tile.querySelector("small"), more || "");
  });
}

function checkpoints(s) {
  const f = s.inFlight;
  setText($("in-flight"), f ? `Checkpoint ${f.number} has been at work for ${duration(Math.max(0, s.now - f.since))}, waiting for ${f.waiting || "nobody"}.` : "None is at work.");
  const key = s.process + " " + (s.history.at(-1)?.number ?? "none");
  if ($("chart").dataset.key === key) return;
  $("chart").dataset.key = key;
  fill($("checkpoints"), s.history.toReversed(), (c) => [c.number, clock(c.at), bytes(c.bytes), duration(total(c)), ...c.took.map(duration)]);
  const most = Math.max(1, ...s.history.map(total)), bars = svg("svg", {
    viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img",
    "aria-label": `The last ${s.history.length} checkpoints took at most ${duration(most)}`,
  });
  s.history.forEach((c, i) => {
    const bar = svg("g", {}), title = svg("title", {});
    title.textContent = `${c.number}: ${duration(total(c))}, ${bytes(c.bytes)}`;
    bar.append(title);
    let y = 100;
    c.took.forEach((t, part) => {
      const height = (t / most) * 98;
      bar.append(svg("rect", { class: parts[part], x: 1000 - 10 * (s.history.length - i), y: (y -= height), width: 8, height }));
    });
    bars.append(bar);
  });
  const legend = element("div", { className: "legend" }, element("span", {}, `tallest: ${s.history.length ? duration(most) : unknown}`),
    ...parts.map((p) => element("span", {}, element("i", { className: p }), p)));
  $("chart").replaceChildren(bars, legend);
}

const label = (p) => `${p.source}/${p.id}`;

function watermarks(s, windows) {
  $("watermarks-table").hidden = windows.length === 0;
  $("no-windows").hidden = windows.length > 0;
  fill($("watermarks"), windows, (w) => [w.id, w.ended ? "the end" : eventTime(w.watermark), behind(s, w.watermark), heldBy(w.held), count(w.keys)]);
}

function behind(s, us) {
  if (us == null) return unknown;
  const ms = s.now - us / 1000;
  return ms < 0 ? duration(-ms) + " ahead" : duration(ms);
}

function heldBy(held) {
  if (!held.length) return "nobody";
  const names = held.slice(0, 3).map(label).join(", ") + (held.length > 3 ? ` and ${held.length - 3} more` : "");
  return names + (held[0].watermark == null ? " (no record yet)" : "");
}

const columns = {
  partition: null, state: (p) => p.state, next: (p) => p.next, end: (p) => p.end, lag: (p) => p.lag, "stable lag": (p) => p.stableLag,
  watermark: (p) => p.watermark, read: (p) => p.counts?.read || 0, filtered: (p) => p.counts?.filtered || 0,
  late: (p) => p.counts?.late || 0, rejected: (p) => p.counts?.rejected || 0,
};

function partitionsHead() {
  const row = element("tr");
  for (const name of Object.keys(columns)) {
    const button = element("button", { type: "button" }, name);
    button.addEventListener("click", () => {
      order = { by: name, down: order.by === name ? !order.down : name !== "partition" };
      [...row.cells].forEach((th) => th.removeAttribute("aria-sort"));
      button.parentNode.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      redo?.();
    });
    row.append(element("th", { scope: "col" }, button));
  }
  row.cells[0].setAttribute("aria-sort", "ascending");
  $("partitions-head").append(row);
}

let redo;

function partitions(s, windows) {
  redo = () => partitions(s, windows);
  const holds = new Set(windows.flatMap((w) => w.held)), value = columns[order.by];
  const list = s.partitions.map((p, i) => ({ p, i, v: value ? (value(p) ?? -1) : i }));
  list.sort((a, b) => (a.v < b.v ? -1 : a.v > b.v ? 1 : a.i - b.i) * (order.down ? -1 : 1));
  fill($("partitions"), list, ({ p }, row) => {
    row.className = holds.has(p) ? "holds" : "";
    return [label(p), p.state + (holds.has(p) ? ", holds W" : ""), count(p.next), count(p.end), count(p.lag), count(p.stableLag), eventTime(p.watermark),
      ...["read", "filtered", "late", "rejected"].map((name) => count(columns[name](p)))];
  });
}

const countNames = ["read", "null", "rejected", "ahead", "filtered", "late", "aggregated", "out"];

function counts(s) {
  if (!$("counts-head").rows.length) {
    $("counts-head").append(element("tr", {}, ...["operator", "place", ...countNames].map((n) => element("th", { scope: "col" }, n))));
  }
  const sums = new Map(s.totals.map((t) => [t.operator + " " + t.name, t.n]));
  const told = graph.nodes.filter((n) => countNames.some((name) => sums.has(n.id + " " + name)));
  fill($("counts"), told, (n, row) => {
    row.dataset.operator = n.id;
    return [n.id, n.place, ...countNames.map((name) => (sums.has(n.id + " " + name) ? count(sums.get(n.id + " " + name)) : ""))];
  });
}

partitionsHead();
look();
