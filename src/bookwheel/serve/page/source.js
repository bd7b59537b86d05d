// The document's own text: the section a step was reading, and the words in it that a line or an answer rests on.
// The server counts characters and the browser UTF-16 units; only this file converts between them.

import { h, refill } from "./dom.js";
import { number, pages, t } from "./words.js";

// A word, one character of a script without blanks, blanks, or a punctuation mark.
const PIECE = /[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff])[\p{L}\p{N}\p{M}_])+|\s+|[^\s]/gu;
const AROUND = 400; // characters shown before and after the section
const MOST = 60_000; // characters shown of one section
const AT_HAND = 12;
const CALM = 140; // milliseconds without a move, after which a section is fetched
const LAG = 500;

export class SourcePane {
  constructor(info, shelf) {
    Object.assign(this, { info, shelf, known: new Map(), asked: 0, passed: 0 });
    this.where = h("p", { class: "small" });
    this.told = h("p", { class: "small told", "aria-live": "polite" });
    this.text = h("div", { class: "text", dir: "auto", tabindex: "0", role: "group", "aria-label": info.name });
    this.node = h(
      "section",
      { class: "pane source", "aria-label": t("source") },
      h("div", { class: "pane-head" }, h("h2", {}, t("source"), " ", h("span", { class: "soft" }, info.name))),
      this.where,
      this.told,
      this.text,
    );
  }

  // The section of a step, with a span of characters marked in it, or the longest run of the words of a line.
  async show(step, { span = null, line = null, told = "" } = {}) {
    clearTimeout(this.timer);
    const mine = (this.asked += 1);
    const [from, to] = bounds(step, span);
    const [start, end] = [Math.max(0, from - AROUND), Math.min(to + AROUND, Math.max(this.info.length, to))];
    try {
      const text = await this.#fetch(start, end);
      if (mine !== this.asked) return;
      this.#lay(text, { start, from, to, step, span, line, told });
    } catch (problem) {
      if (mine === this.asked) refill(this.told, t("source.gone", { why: problem.message }));
    }
  }

  close() {
    this.asked += 1;
    clearTimeout(this.timer);
  }

  // Steps passed while scrubbing are not fetched, but the pane lags at most half a second.
  pass(step) {
    clearTimeout(this.timer);
    const waited = performance.now() - this.passed;
    this.timer = setTimeout(() => {
      this.passed = performance.now();
      this.show(step);
    }, waited > LAG ? 0 : CALM);
  }

  async #fetch(start, end) {
    const key = `${start}-${end}`;
    if (!this.known.has(key)) {
      if (this.known.size >= AT_HAND) this.known.delete(this.known.keys().next().value);
      this.known.set(key, Array.from(await this.shelf.text(this.info.id, start, end)));
    }
    return this.known.get(key);
  }

  #lay(characters, { start, from, to, step, span, line, told }) {
    const piece = (a, b) => characters.slice(Math.max(0, a - start), Math.max(0, b - start)).join("");
    refill(this.where, [step.source, pages(step.pages), t("source.span", { start: number(from), end: number(to) }), step.index !== undefined && t("source.step", { at: number(step.index) })].filter(Boolean).join(" · "));
    const section = piece(from, to);
    const marked = span ? [piece(from, span.start).length, piece(from, span.end).length] : line && longestRun(line, section);
    const inner = marked
      ? [section.slice(0, marked[0]), h("mark", {}, section.slice(...marked)), section.slice(marked[1])]
      : [section];
    refill(this.told, told || (line ? t(marked ? "source.exact" : "source.nowhere") : ""));
    refill(this.text, h("span", { class: "around" }, piece(start, from)), inner, h("span", { class: "around" }, piece(to, to + AROUND)));
    this.#reveal(this.text.querySelector("mark"));
  }

  #reveal(mark) {
    if (!mark) {
      const before = this.text.firstElementChild;
      this.text.scrollTop = before.offsetHeight ? Math.max(0, before.offsetTop + before.offsetHeight - this.text.offsetTop - 48) : 0;
      return;
    }
    const gap = mark.getBoundingClientRect().top - this.text.getBoundingClientRect().top;
    this.text.scrollTop += gap - this.text.clientHeight / 3;
    const box = this.text.getBoundingClientRect();
    if (box.top < 0 || box.top + 120 > innerHeight) this.node.scrollIntoView({ block: "start", behavior: calm() ? "auto" : "smooth" });
  }
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function bounds(step, span) {
  if (step.end - step.start <= MOST) return [step.start, step.end];
  const from = Math.max(step.start, Math.min((span?.start ?? step.start) - MOST / 2, step.end - MOST));
  return [from, from + MOST];
}

// The span [start, end] of the longest run of a line's words in a text; null for less than two words.
function longestRun(line, text) {
  const wanted = located(line);
  const there = located(text);
  let best = [0, 0];
  let above = new Uint16Array(there.length + 1);
  for (const word of wanted) {
    const row = new Uint16Array(there.length + 1);
    there.forEach((other, j) => {
      if (other.key !== word.key) return;
      row[j + 1] = above[j] + 1;
      if (row[j + 1] > best[0]) best = [row[j + 1], j];
    });
    above = row;
  }
  const [run, last] = best;
  if (run < Math.min(2, wanted.length) || !run) return null;
  return [there[last - run + 1].start, there[last].end];
}

function located(text) {
  const found = [];
  let at = 0;
  for (const piece of text.match(PIECE) ?? []) {
    const start = text.indexOf(piece, at);
    at = start + piece.length;
    if (/[\p{L}\p{N}]/u.test(piece)) found.push({ key: piece.toLowerCase(), start, end: at });
  }
  return found;
}
