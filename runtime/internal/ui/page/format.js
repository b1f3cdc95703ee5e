// How the page writes numbers and times.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const unknown = "–";
export const count = (n) => (n == null ? unknown : whole.format(n));
export const brief = (n) => (n == null ? unknown : Math.abs(n) < 10000 ? whole.format(n) : short.format(n));
export const rate = (n) => (n == null ? unknown : (n < 10 && n > 0 ? n.toFixed(1) : brief(Math.round(n))) + "/s");

export function bytes(n) {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (n < 1000 || unit === "GB") return (n < 10 && unit !== "B" ? n.toFixed(1) : Math.round(n)) + " " + unit;
    n /= 1000;
  }
}

// duration writes milliseconds in the two units that matter.
export function duration(ms) {
  if (ms == null) return unknown;
  if (ms < 1) return ms > 0 ? "<1 ms" : "0 ms";
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 60e3) return (ms / 1000).toFixed(ms < 10e3 ? 1 : 0) + " s";
  for (const [big, name, small, sub] of [[3600e3, "min", 60e3, 1e3], [86400e3, "h", 3600e3, 60e3], [Infinity, "d", 86400e3, 3600e3]]) {
    if (ms < big) {
      const rest = Math.floor((ms % small) / sub);
      return Math.floor(ms / small) + " " + name + (rest ? " " + rest + { min: " s", h: " min", d: " h" }[name] : "");
    }
  }
}

// clock is a moment by this browser's clock settings; the date stands with it if it is not today's.
export function clock(ms) {
  const d = new Date(ms), time = d.toLocaleTimeString([], { hour12: false });
  return d.toDateString() === new Date().toDateString() ? time : d.toLocaleDateString("sv") + " " + time;
}

// eventTime writes microseconds since 1970 as the language does, in UTC.
export function eventTime(us) {
  if (us == null) return unknown;
  const d = new Date(us / 1000);
  return isNaN(d) ? unknown : d.toISOString().replace("T", " ").replace("Z", "");
}

// element makes an element with properties, attributes among them, and children.
export function element(name, set = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(set)) k in e ? (e[k] = v) : e.setAttribute(k, v);
  e.append(...children);
  return e;
}

export function svg(name, attributes) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
}

// fill makes the rows of a table body be those of data, reusing what is there: the place of who reads is kept.
export function fill(body, data, cells) {
  while (body.rows.length > data.length) body.deleteRow(-1);
  data.forEach((item, i) => {
    const row = body.rows[i] || body.insertRow();
    const texts = cells(item, row);
    while (row.cells.length > texts.length) row.deleteCell(-1);
    texts.forEach((text, j) => setText(row.cells[j] || row.insertCell(), text));
  });
}

export function setText(e, text) {
  if (e.textContent !== String(text)) e.textContent = text;
}
