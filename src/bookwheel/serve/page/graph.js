// What a reading knows as a drawing: names are nodes, facts are the lines between them. A node or a fact leads to its
// quotes; the slider shows what held at a time. Laid out here, by repulsion and springs; no library.

import { h, later, refill, svg } from "./dom.js";
import * as service from "./service.js";
import { number, pages, t } from "./words.js";

const MOST = 240; // facts that are drawn at first
const SIZES = { wide: [1000, 640], narrow: [440, 560] }; // a phone gets fewer units, so that names stay legible
const NARROW = 640; // pixels
const ROUNDS = 260;
const ROOM = 75; // between two names that hang together
const LINE = 26; // a name's dot and its letters, one above the other
const APART = 40;
const SHOWN = 60; // facts in the list below
const LONG = 26; // characters of a name in the drawing

export class GraphPane {
  constructor(reading, go) {
    Object.assign(this, { reading, go, asked: 0, chosen: null, zoom: 1 });
    this.told = h("p", { class: "small", role: "status" });
    this.problem = h("p", { class: "small problem", role: "alert" });
    this.around = h("input", { type: "search", "aria-label": t("graph.around"), placeholder: t("graph.around"), dir: "auto", oninput: later(300, () => this.load()) });
    this.time = h("input", { type: "range", min: 0, max: 0, value: 0, id: `graph-time-${reading}`, oninput: () => this.#draw() });
    this.when = h("output", { class: "small", for: this.time.id });
    this.times = h("div", { class: "row times", hidden: true }, h("label", { for: this.time.id }, t("graph.time")), this.time, this.when);
    this.drawing = h("div", { class: "drawing" });
    this.list = h("ul", { class: "facts-found" });
    const zoom = (by, key, sign) => h("button", { type: "button", class: "quiet", "aria-label": t(key), title: t(key), onclick: () => this.#zoomBy(by) }, sign);
    this.node = h("div", { class: "graph" }, h("div", { class: "row graph-tools" }, this.around, zoom(1.3, "graph.nearer", "＋"), zoom(1 / 1.3, "graph.farther", "－")), this.times, this.problem, this.drawing, this.told, this.list);
  }

  async load() {
    const mine = (this.asked += 1);
    try {
      const graph = await service.graph(this.reading, { around: this.around.value.trim(), limit: MOST });
      if (mine !== this.asked) return;
      refill(this.problem);
      this.graph = graph;
      this.size = SIZES[this.drawing.clientWidth && this.drawing.clientWidth < NARROW && innerWidth < NARROW ? "narrow" : "wide"];
      this.places = layOut(graph.nodes.map(({ name }) => name), graph.facts, this.size);
      const dates = [...new Set(graph.facts.flatMap(({ begins, ends }) => [begins, ends]).filter(Boolean))].sort();
      this.dates = dates;
      this.times.hidden = dates.length < 2;
      this.time.max = dates.length;
      this.time.value = dates.length; // behind the last date: all times
      this.#draw();
    } catch (problem) {
      if (mine === this.asked) refill(this.problem, problem.message);
    }
  }

  #zoomBy(by) {
    this.zoom = Math.max(0.5, Math.min(6, this.zoom * by));
    this.#draw();
  }

  // At a time, what began by then and had not ended; what has no dates always holds.
  #held() {
    const at = this.dates[Number(this.time.value)];
    refill(this.when, at ?? t("graph.all-times"));
    return this.graph.facts.filter(({ begins, ends }) => !at || ((!begins || begins <= at) && (!ends || ends > at)));
  }

  #draw() {
    if (!this.graph) return;
    const held = this.#held();
    const { count, superseded, unproven } = this.graph;
    refill(this.told, [t("graph.shown", { shown: number(held.length), count: number(count) }), superseded && t("graph.superseded", { count: number(superseded) }), unproven && t("table.unproven", { count: number(unproven) })].filter(Boolean).join(" · "));
    const named = new Set(held.flatMap(({ subject, object }) => [subject, object]));
    if (this.chosen && !named.has(this.chosen)) this.chosen = null;
    const focused = document.activeElement?.closest?.("g[data-name]")?.dataset.name;
    refill(this.drawing, held.length ? this.#picture(held, named) : h("p", { class: "soft" }, t(this.graph.status === "reading" ? "graph.yet" : "graph.none")));
    if (focused) this.drawing.querySelector(`g[data-name="${CSS.escape(focused)}"]`)?.focus();
    this.#tell(held);
  }

  #picture(held, named) {
    const near = this.chosen && new Set(held.filter(({ subject, object }) => [subject, object].includes(this.chosen)).flatMap(({ subject, object }) => [subject, object]));
    const faint = (...names) => (near && !names.includes(this.chosen) ? " faint" : "");
    const labels = new Map(); // between two names stands one label, with all that joins them
    const lines = held.map((fact) => {
      const [a, b] = [this.places.get(fact.subject), this.places.get(fact.object)];
      if (!a || !b || a === b) return null;
      const kind = `${fact.proven ? "" : " unproven"}${fact.superseded ? " superseded" : ""}${faint(fact.subject, fact.object)}`;
      const pair = [fact.subject, fact.object].sort().join(" ");
      if (this.chosen && !faint(fact.subject, fact.object)) labels.set(pair, { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 - 3, told: new Set([...(labels.get(pair)?.told ?? []), fact.relation]) });
      return svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: `edge${kind}` }, svg("title", {}, `${fact.subject} · ${fact.relation} · ${fact.object}`));
    });
    const nodes = this.graph.nodes.filter(({ name }) => named.has(name)).map(({ name, aliases, facts }) => {
      const { x, y } = this.places.get(name);
      const press = (event) => {
        if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        this.chosen = this.chosen === name ? null : name;
        this.#draw();
      };
      const node = svg("g", { class: `node${name === this.chosen ? " chosen" : ""}${near && !near.has(name) ? " faint" : ""}`, transform: `translate(${x} ${y})`, tabindex: 0, role: "button", "aria-pressed": String(name === this.chosen), "aria-label": t("graph.node", { name, count: number(facts) }), "data-name": name }, svg("title", {}, [name, ...aliases].join(" = ")), svg("rect", { x: -28, y: -22, width: 56, height: 32, fill: "none", "pointer-events": "all" }), svg("circle", { r: 5 + Math.min(9, Math.sqrt(facts) * 2) }), svg("text", { y: -9 - Math.min(9, Math.sqrt(facts) * 2) }, cut(name)));
      node.addEventListener("click", press);
      node.addEventListener("keydown", press);
      return node;
    });
    const told = [...labels.values()].map(({ x, y, told: relations }) => svg("text", { x, y, class: "relation" }, cut([...relations].join(t("list.comma")))));
    const centre = { x: this.size[0] / 2, y: this.size[1] / 2 };
    const middle = (this.zoom > 1 && this.chosen && this.places.get(this.chosen)) || centre;
    const [wide, tall] = this.size.map((one) => one / this.zoom);
    return svg("svg", { viewBox: `${middle.x - wide / 2} ${middle.y - tall / 2} ${wide} ${tall}`, role: "group", "aria-label": t("graph") }, lines, told, nodes);
  }

  // The facts of the chosen name, or the first ones, each with the place of its quote.
  #tell(held) {
    const found = this.chosen ? held.filter(({ subject, object }) => [subject, object].includes(this.chosen)) : held;
    const line = (fact) => {
      const time = [fact.since, fact.until].some(Boolean) && ` (${fact.since || "…"} – ${fact.until || "…"})`;
      const where = pages(fact.page ? [fact.page] : []) || t("source");
      return h("li", { class: fact.superseded ? "superseded" : "", dir: "auto" }, h("b", {}, fact.subject), ` ${fact.relation} `, h("b", {}, fact.object), time, " ", fact.start !== null && h("button", { type: "button", class: "plain", title: fact.quote, "aria-label": t("proof.show", { quote: fact.quote.slice(0, 200) }), onclick: () => this.go(fact) }, where), !fact.proven && h("span", { class: "chip" }, t("table.unproven.row")), this.chosen && h("q", { class: "small" }, fact.quote));
    };
    refill(this.list, found.slice(0, SHOWN).map(line), found.length > SHOWN && h("li", { class: "small" }, t("cards.more", { count: number(found.length - SHOWN) })));
  }
}

const cut = (text) => (text.length > LONG ? `${text.slice(0, LONG - 1)}…` : text);

// Where each name stands: the same names stand at the same places every time, so nothing is left to chance. What hangs
// together is laid out by itself, the pieces are set side by side, and names that would cover each other move apart.
export function layOut(names, facts, [wide, tall]) {
  const at = names.map((name) => ({ name, half: Math.max(24, 3.7 * Math.min(LONG, name.length) + 3 * Math.min(LONG, (name.match(/[\u2e80-\uffff]/g) ?? []).length)), x: 0, y: 0, dx: 0, dy: 0 }));
  const places = new Map(at.map((one) => [one.name, one]));
  const springs = facts.map(({ subject, object }) => [places.get(subject), places.get(object)]).filter(([a, b]) => a && b && a !== b);
  const pieces = join(at, springs).map((piece) => settle(piece, springs.filter(([a]) => piece.includes(a))));
  const area = pieces.reduce((sum, { width, height }) => sum + width * height, 0);
  const most = Math.max(...pieces.map(({ width }) => width), Math.sqrt((area * wide) / tall) * 1.1);
  let [left, top, row, right] = [0, 0, 0, 1];
  for (const { piece, width, height } of pieces.sort((one, other) => other.height - one.height)) {
    if (left && left + width > most) [left, top, row] = [0, top + row, 0];
    for (const one of piece) [one.x, one.y] = [one.x + left, one.y + top];
    [left, row] = [left + width, Math.max(row, height)];
    right = Math.max(right, left);
  }
  const [across, down] = [Math.min(2, wide / right), Math.min(2, tall / Math.max(1, top + row))];
  for (const one of at) [one.x, one.y] = [wide / 2 + (one.x - right / 2) * across, tall / 2 + (one.y - (top + row) / 2) * down];
  for (let round = 0; round < APART; round += 1) {
    for (let i = 0; i < at.length; i += 1) for (let j = i + 1; j < at.length; j += 1) part(at[i], at[j]);
    for (const one of at) [one.x, one.y] = [Math.max(one.half, Math.min(wide - one.half, one.x)), Math.max(26, Math.min(tall - 14, one.y))];
  }
  return places;
}

// The pieces of what hangs together, the largest first.
function join(at, springs) {
  const first = new Map(at.map((one) => [one, one]));
  const find = (one) => (first.get(one) === one ? one : find(first.get(one)));
  for (const [a, b] of springs) first.set(find(a), find(b));
  const pieces = new Map();
  for (const one of at) pieces.set(find(one), [...(pieces.get(find(one)) ?? []), one]);
  return [...pieces.values()].sort((one, other) => other.length - one.length);
}

// A piece by its own measure, from 0 on, with room for its names.
function settle(piece, springs) {
  piece.forEach((one, rank) => Object.assign(one, { x: 60 * Math.sqrt(rank) * Math.cos(rank * 2.399963), y: 40 * Math.sqrt(rank) * Math.sin(rank * 2.399963) + rank }));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let i = 0; i < piece.length; i += 1) {
      for (let j = i + 1; j < piece.length; j += 1) {
        const [dx, dy] = [piece[i].x - piece[j].x || 0.1, piece[i].y - piece[j].y || 0.1];
        const force = (ROOM * ROOM) / (dx * dx + dy * dy);
        push(piece[i], piece[j], dx * force, dy * force);
      }
    }
    for (const [a, b] of springs) {
      const [dx, dy] = [a.x - b.x, a.y - b.y];
      const force = -Math.hypot(dx, dy) / ROOM;
      push(a, b, dx * force, dy * force);
    }
    for (const one of piece) {
      const far = Math.hypot(one.dx, one.dy) || 1;
      const step = Math.min(far, (1 - round / ROUNDS) * ROOM * 0.35) / far;
      Object.assign(one, { x: one.x + one.dx * step, y: one.y + one.dy * step, dx: 0, dy: 0 });
    }
  }
  const [left, top] = [Math.min(...piece.map(({ x, half }) => x - half)) - 8, Math.min(...piece.map(({ y }) => y)) - 30];
  for (const one of piece) [one.x, one.y] = [one.x - left, one.y - top];
  return { piece, width: Math.max(...piece.map(({ x, half }) => x + half)) + 8, height: Math.max(...piece.map(({ y }) => y)) + 20 };
}

// Moves two apart, up and down, where their names would cover each other.
function part(one, other) {
  const [dx, dy] = [Math.abs(one.x - other.x), one.y - other.y];
  if (dx >= one.half + other.half || Math.abs(dy) >= LINE) return;
  const by = ((LINE - Math.abs(dy)) / 2) * (dy < 0 ? -1 : 1);
  [one.y, other.y] = [one.y + by, other.y - by];
}

function push(one, other, x, y) {
  one.dx += x;
  one.dy += y;
  other.dx -= x;
  other.dy -= y;
}
