// The last errors: why the pipeline has ended or begun again, and what its operators have refused, the newest first. Each leads to its place.
import { boxLink } from "./graph.js";
import { clock, count, element, eventTime, setText } from "./format.js";

export class Errors {
  constructor(graph, into) {
    this.graph = graph;
    this.into = into;
    into.replaceChildren(); // of a process before
    this.items = new Map(); // what is shown, by key: it stays where it is while it changes, so that nobody loses the place, or the focus
  }

  // show returns how many there are.
  show(status) {
    const entries = [...status.failures.map((f) => this.failure(f)), ...status.refusals.map((r) => this.refusal(r))].sort((a, b) => b.at - a.at);
    const items = new Map(entries.map((e) => [e.key, this.items.get(e.key) || this.item(e)]));
    for (const [key, { all }] of this.items) if (!items.has(key)) all.remove();
    this.items = items;
    entries.forEach((e, i) => {
      const { all, when, why } = items.get(e.key), there = this.into.children[i];
      if (there !== all) this.into.insertBefore(all, there || null);
      setText(when, e.when);
      setText(why, e.why);
    });
    return entries.length;
  }

  failure(f) {
    return { key: `failed ${f.at} ${f.text}`, at: f.at, when: `${clock(f.at)}, while ${f.during}${f.retried ? "; tried again" : ""}: `, text: f.text, why: "" };
  }

  refusal(r) {
    const what = r.topic ? `record of topic ${r.topic}, partition ${r.partition}, offset ${r.offset}` : `result of the window ${eventTime(r.start)} to ${eventTime(r.end)}`;
    return {
      key: `refused by ${r.operator}`, at: r.at, when: `${clock(r.at)}, the last of ${count(r.n)} refused by ${r.operator}: `,
      text: r.place, why: `: ${r.reason}; ${what}`, node: this.graph.of.get(r.operator),
    };
  }

  // item is an entry of the list: a text whose places lead to their operators, and below it what the .eo file has there.
  item({ text, node }) {
    const when = element("span", { className: "quiet" }), why = element("span"), all = element("li", {}, when);
    for (const piece of text.split(/(\S+\.eo:\d+)/)) {
      const place = piece.replace(/^\W+/, ""), found = this.graph.atPlace(place);
      if (found) all.append(piece.slice(0, -place.length), element("a", { href: boxLink(found) }, place));
      else all.append(piece);
      node ||= found;
    }
    all.append(why);
    if (node) all.append(element("pre", {}, `${node.place}  ${node.text}`));
    return { all, when, why };
  }
}
