// The document's own text: the section a step was reading, and the words in it that a line or an answer rests on.
// The server counts characters and the browser UTF-16 units; only this file converts between them.

import { h, refill } from "./dom.js";
import { longestRun } from "./runs-of-words.js";
import { number, pages, t } from "./words.js";

const AROUND = 400; // characters shown before and after the section
const MOST = 60_000; // characters shown of one section
const SCREEN = 9000; // characters shown at a time while browsing
const AT_HAND = 12;
const CALM = 140; // milliseconds without a move, after which a section is fetched
const LAG = 500;

export class SourcePane {
  // `pinned(span)` is told when a passage is marked by hand, null when the pane follows the steps again; without it there
  // are no steps to follow.
  constructor(info, shelf, pinned = null) {
    Object.assign(this, { info, shelf, pinned: pinned ?? (() => {}), follows: pinned !== null, known: new Map(), asked: 0, passed: 0, pin: false });
    this.where = h("p", { class: "small where" });
    this.told = h("p", { class: "small told", "aria-live": "polite" });
    this.text = h("div", { class: "text", dir: "auto", tabindex: "0", role: "group", "aria-label": info.name });
    this.follow = h("button", { type: "button", class: "small-button", hidden: true, onclick: () => this.unpin() }, t("source.unpin"));
    const turn = (label, sign, by) => h("button", { type: "button", class: "quiet", "aria-label": t(label), title: t(label), onclick: () => this.#turn(by) }, sign);
    this.tools = h("span", { class: "tools" }, this.follow, turn("source.earlier", "▲", -1), turn("source.later", "▼", 1));
    this.node = h("section", { class: "pane source", "aria-label": t("source") }, h("div", { class: "pane-head" }, h("h2", {}, t("source"), " ", h("span", { class: "soft" }, info.name)), this.tools), this.where, this.told, this.text);
  }

  // The section of a step, with a span of characters marked in it, or the longest run of the words of a line.
  async show(step, { span = null, line = null, told = "" } = {}) {
    clearTimeout(this.timer);
    const mine = (this.asked += 1);
    const [from, to] = bounds(step, span);
    const [start, end] = [Math.max(0, from - AROUND), Math.min(to + AROUND, Math.max(this.info.length, to))];
    this.shown = { start: from, end: to };
    try {
      const text = await this.#fetch(start, end);
      if (mine !== this.asked) return;
      this.#lay(text, { start, from, to, step, span, line, told });
    } catch (problem) {
      if (mine === this.asked) refill(this.told, t("source.gone", { why: problem.message }));
    }
  }

  // A passage that somebody chose stays until they let go of it, however far the reading goes on meanwhile.
  hold(step, where) {
    this.pin = true;
    this.follow.hidden = false;
    this.pinned(where.span ?? null);
    return this.show(step, where);
  }

  unpin() {
    if (!this.pin) return;
    this.pin = false;
    this.follow.hidden = true;
    this.pinned(null);
  }

  // The text around a character, whatever step read it.
  browse(at, span = null) {
    const start = Math.max(0, Math.min(at - 1500, this.info.length - SCREEN));
    this.pin = true;
    this.follow.hidden = !this.follows;
    if (span) this.pinned(span);
    return this.show({ start, end: Math.min(this.info.length, start + SCREEN), pages: [] }, { span });
  }

  #turn(by) {
    if (!this.shown) return undefined;
    this.pin = true;
    this.follow.hidden = !this.follows;
    const start = by > 0 ? Math.min(this.shown.end, Math.max(0, this.info.length - 1)) : Math.max(0, this.shown.start - SCREEN);
    return this.show({ start, end: Math.min(this.info.length, start + SCREEN), pages: [] });
  }

  close() {
    this.asked += 1;
    clearTimeout(this.timer);
  }

  // Steps passed while scrubbing are not fetched, but the pane lags at most half a second.
  pass(step, where = {}) {
    clearTimeout(this.timer);
    if (this.pin) return;
    const waited = performance.now() - this.passed;
    this.timer = setTimeout(() => {
      this.passed = performance.now();
      this.show(step, where);
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
    refill(this.where, [step.source !== this.info.name && step.source, pages(step.pages), t("source.span", { start: number(from), end: number(to) }), step.index !== undefined && t("source.step", { at: number(step.index) })].filter(Boolean).join(" · "));
    const section = piece(from, to);
    const marked = span ? [piece(from, span.start).length, piece(from, span.end).length] : line && longestRun(line, section);
    const inner = marked
      ? [section.slice(0, marked[0]), h("mark", {}, section.slice(...marked)), section.slice(marked[1])]
      : [section];
    refill(this.told, told || (line ? t(marked ? "source.exact" : "source.nowhere") : ""));
    refill(this.text, h("span", { class: "around" }, piece(start, from)), inner, h("span", { class: "around" }, piece(to, to + AROUND)));
    // The words of a line are found here, so their place is known only now.
    if (this.pin && line && marked) this.pinned({ start: from + Array.from(section.slice(0, marked[0])).length, end: from + Array.from(section.slice(0, marked[1])).length });
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
    if (this.pin && (box.top < 0 || box.top + 120 > innerHeight)) this.node.scrollIntoView({ block: "start", behavior: calm() ? "auto" : "smooth" });
  }
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function bounds(step, span) {
  if (step.end - step.start <= MOST) return [step.start, step.end];
  const from = Math.max(step.start, Math.min((span?.start ?? step.start) - MOST / 2, step.end - MOST));
  return [from, from + MOST];
}
