// Plots as SVG, redrawn when their width changes. Series differ by colour and by mark. Pointing at a plot shows the
// figures there; a table beside every plot has the same figures.

import { h, refill, svg as s } from "./dom.js";
import { exact } from "./words.js";

const EDGE = { top: 10, right: 14, bottom: 30, left: 46 };
const COLOURS = 8;
const LETTER = 6.4; // pixels of one character of a label, about
const MARKS = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
  "M-3.6-3.6h7.2v7.2h-7.2z",
  "M0-4.8 4.4 3.6h-8.8z",
  "M0-5 4.2 0 0 5-4.2 0z",
  "M0 4.8 4.4-3.6h-8.8z",
  "M-4.4-1.5h2.9v-2.9h3v2.9h2.9v3h-2.9v2.9h-3v-2.9h-2.9z",
  "M-4.2-4.2 4.2 4.2M-4.2 4.2 4.2-4.2",
];

export const ink = (index) => `series c${index % COLOURS}`;
const mark = (index, x, y) => s("path", { class: "mark", d: MARKS[index % MARKS.length], transform: `translate(${x} ${y})` });

export function swatch(index, line = true) {
  return s("svg", { class: `swatch ${ink(index)}`, width: 26, height: 14, viewBox: "0 0 26 14", "aria-hidden": "true" }, line && s("path", { d: "M1 7h24" }), mark(index, 13, 7));
}

// Round tick values between two others: multiples of 1, 2 or 5, up to a maximum count.
export function ticksOf(low, high, most = 5, whole = false) {
  const size = 10 ** Math.floor(Math.log10((high - low) / most || 1));
  const steps = [1, 2, 5, 10, 20].map((one) => one * size).filter((step) => !whole || step >= 1);
  const [first, last] = [(step) => Math.ceil(low / step - 1e-9), (step) => Math.floor(high / step + 1e-9)];
  const step = steps.find((one) => last(one) - first(one) < most) ?? (whole ? 1 : size);
  return Array.from({ length: last(step) - first(step) + 1 }, (_, k) => Number(((first(step) + k) * step).toPrecision(12)));
}

export function logTicks(low, high) {
  const found = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    found.push(...[1, 2, 5].map((one) => one * power).filter((tick) => tick >= low && tick <= high));
  }
  return found.length > 6 ? found.filter((tick) => Number.isInteger(Math.log10(tick) + 1e-9) || Math.abs(Math.log10(tick) % 1) < 1e-6) : found;
}

function scale({ low, high, log }, from, to) {
  const at = log ? Math.log : (value) => value;
  const [a, b] = [at(low), at(high)];
  return (value) => (a === b ? (from + to) / 2 : from + ((at(value) - a) / (b - a)) * (to - from));
}

// {label, x: {log, ticks, format, label}, y: {low, high, log, ticks, format}, tall}
export class Chart {
  constructor({ label, x, y, tall = 220 }) {
    Object.assign(this, { label, x, y, tall, series: [], hidden: new Set() });
    this.box = h("div", { class: "plot" });
    this.told = h("p", { class: "small figures" });
    this.node = h("figure", { class: "chart" }, h("figcaption", {}, label), this.box, this.told);
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.box);
    this.box.addEventListener("pointermove", (event) => this.#read(event));
    this.box.addEventListener("pointerleave", () => this.#leave());
  }

  close() {
    this.watch.disconnect();
  }

  // [{name, index, line, marks, shift, points: [{x, y, low, high, told}]}, …] and the place of a horizontal line.
  show(series, at = null) {
    Object.assign(this, { series, at });
    this.draw();
  }

  draw() {
    const wide = this.box.clientWidth;
    if (!wide) return;
    const drawn = this.series.filter(({ name }) => !this.hidden.has(name));
    const inset = 8 + Math.max(0, ...drawn.map(({ shift = 0 }) => Math.abs(shift)));
    this.toX = scale(this.#range("x", drawn), EDGE.left + inset, wide - EDGE.right - inset);
    this.toY = scale(this.#range("y", drawn), this.tall - EDGE.bottom, EDGE.top);
    this.line = s("path", { class: "reader", d: "" });
    refill(
      this.box,
      s(
        "svg",
        { role: "img", "aria-label": this.label, width: wide, height: this.tall, viewBox: `0 0 ${wide} ${this.tall}` },
        this.#grid(wide, drawn),
        this.at !== null && s("path", { class: "across", d: `M${this.toX(this.at)} ${EDGE.top}V${this.tall - EDGE.bottom}` }),
        this.line,
        drawn.toSorted((one, other) => Boolean(other.faint) - Boolean(one.faint)).map((one) => this.#drawn(one)),
      ),
    );
  }

  #range(axis, drawn) {
    const { log, low, high } = this[axis];
    const found = drawn.flatMap(({ points }) => points.flatMap((point) => (axis === "x" ? [point.x] : [point.y, point.low ?? point.y, point.high ?? point.y])));
    const bounds = { log, low: low ?? Math.min(...found), high: high ?? Math.max(...found) };
    if (!found.length) return { log, low: low ?? 1, high: high ?? 2 };
    if (axis === "x") return bounds;
    if (log) return { log, low: low ?? bounds.low / 1.15, high: high ?? bounds.high * 1.15 };
    const room = (bounds.high - bounds.low || Math.abs(bounds.high) || 1) * 0.06;
    const below = bounds.low >= 0 ? Math.max(0, bounds.low - room) : bounds.low - room;
    return { log, low: low ?? below, high: high ?? bounds.high + room };
  }

  #grid(wide, drawn) {
    const [rangeX, rangeY] = [this.#range("x", drawn), this.#range("y", drawn)];
    const y = this.y.ticks ?? (this.y.log ? logTicks(rangeY.low, rangeY.high) : ticksOf(rangeY.low, rangeY.high));
    const x = this.x.ticks?.() ?? ticksOf(rangeX.low, rangeX.high, Math.max(3, Math.floor(wide / 75)), true);
    const foot = this.tall - EDGE.bottom;
    const told = y.map(this.y.format);
    const labels = new Set(told).size < told.length ? y.map(exact) : told;
    let taken = -Infinity;
    const below = x.filter((tick) => {
      const half = (this.x.format(tick).length * LETTER) / 2;
      if (this.toX(tick) - half < taken + 6) return false;
      taken = this.toX(tick) + half;
      return true;
    });
    return [
      y.map((tick) => s("path", { class: "rule", d: `M${EDGE.left} ${this.toY(tick)}H${wide - EDGE.right}` })),
      y.map((tick, at) => s("text", { class: "end", x: EDGE.left - 7, y: this.toY(tick) + 4 }, labels[at])),
      below.map((tick) => s("text", { class: "middle", x: this.toX(tick), y: foot + 17 }, this.x.format(tick))),
    ];
  }

  #drawn({ index, points, line = true, marks = true, faint = false, shift = 0 }) {
    const at = points.map((point) => ({ ...point, px: this.toX(point.x) + shift, py: this.toY(point.y) }));
    const path = at.map(({ px, py }, k) => `${k ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
    const bar = ({ px, low, high }) => (low === undefined ? "" : `M${px} ${this.toY(low)}V${this.toY(high)}M${px - 3} ${this.toY(low)}h6M${px - 3} ${this.toY(high)}h6`);
    return s(
      "g",
      { class: `${ink(index)}${faint ? " faint" : ""}` },
      line && s("path", { class: "line", d: path || "M0 0" }),
      s("path", { class: "bars", d: at.map(bar).join("") || "M0 0" }),
      marks && at.map(({ px, py, told }) => s("g", {}, told && s("title", {}, told), mark(index, px, py))),
    );
  }

  #read(event) {
    const drawn = this.series.filter(({ name, points }) => points.length && !this.hidden.has(name));
    if (!drawn.length || !this.toX) return;
    const x = event.clientX - this.box.getBoundingClientRect().left;
    const nearest = (points) => points.reduce((best, one) => (Math.abs(this.toX(one.x) - x) < Math.abs(this.toX(best.x) - x) ? one : best));
    const there = nearest(drawn.map(({ points }) => nearest(points)));
    this.line.setAttribute("d", `M${this.toX(there.x)} ${EDGE.top}V${this.tall - EDGE.bottom}`);
    const figures = drawn.map(({ name, points, marks = true }) => [name, nearest(points), marks]).filter(([, point, marks]) => !marks || point.x === there.x);
    refill(this.told, [this.x.told(there.x), ...figures.map(([name, point]) => `${name} ${this.y.format(point.y)}`)].join(" · "));
  }

  #leave() {
    this.line?.setAttribute("d", "");
    refill(this.told);
  }
}

// The names of the series. Pressing one hides or shows it in all plots.
export function legend(series, charts) {
  const press = (name) => (event) => {
    const hide = !charts[0].hidden.has(name);
    event.currentTarget.setAttribute("aria-pressed", String(!hide));
    charts.forEach((chart) => {
      chart.hidden[hide ? "add" : "delete"](name);
      chart.draw();
    });
  };
  const button = ({ name, index, line }) => h("button", { type: "button", class: "quiet", "aria-pressed": String(!charts[0].hidden.has(name)), onclick: press(name) }, swatch(index, line ?? true), name);
  return h("div", { class: "series-names" }, series.map(button));
}
