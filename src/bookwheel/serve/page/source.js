// The document itself: its pages as they look where the file is kept, else its text as a page, with the section that a step
// read and the words that a line or an answer rests on.

import { h, refill } from "./dom.js";
import { placeIn } from "./marks.js";
import { Pages } from "./pages.js";
import { longestRun } from "./runs-of-words.js";
import { Scroll } from "./scroll.js";
import { kept, number, pages, t } from "./words.js";

const MOST = 60_000; // characters of a section in which the words of a line are looked for
const AT_HAND = 24;
const CALM = 140; // milliseconds without a move, after which a section is fetched
const LAG = 500;
const NOTHING = { headings: [], places: [], originals: [] };

export class SourcePane {
  // `pinned(span)` is told when a passage is marked by hand, null when the pane follows the steps again; without it there
  // are no steps to follow.
  constructor(info, shelf, pinned = null) {
    Object.assign(this, { info, shelf, pinned: pinned ?? (() => {}), follows: pinned !== null, known: new Map(), asked: 0, passed: 0, pin: false, outline: NOTHING });
    this.where = h("p", { class: "small where" });
    this.told = h("p", { class: "small told", "aria-live": "polite" });
    this.scroll = new Scroll({ length: info.length, label: info.name, fetch: (start, end) => this.#fetch(start, end), sourceAt: (at) => this.#placeAt(at)?.source ?? info.name });
    this.follow = h("button", { type: "button", class: "small-button", hidden: true, onclick: () => this.unpin() }, t("source.unpin"));
    const turn = (label, sign, by) => h("button", { type: "button", class: "quiet", "aria-label": t(label), title: t(label), onclick: () => this.#turn(by) }, sign);
    this.looks = h("span", { class: "looks", hidden: true, role: "group", "aria-label": t("source.look") });
    this.contents = h("details", { class: "menu contents", hidden: true }, h("summary", { class: "quiet", "aria-label": t("source.contents"), title: t("source.contents") }, "☰"), h("div", { class: "choices" }));
    this.tools = h("span", { class: "tools" }, this.follow, this.looks, this.contents, turn("source.earlier", "▲", -1), turn("source.later", "▼", 1));
    this.stage = h("div", { class: "stage" }, this.scroll.node);
    this.node = h("section", { class: "pane source", "aria-label": t("source") }, h("div", { class: "pane-head" }, h("h2", {}, t("source"), " ", h("span", { class: "soft" }, info.name)), this.tools), this.where, this.told, this.stage);
    // Whoever scrolls is looking at something, however far the reading goes on meanwhile.
    for (const event of ["wheel", "touchmove"]) this.stage.addEventListener(event, () => this.#stay(), { passive: true });
    this.ready = this.#open();
  }

  // The table of contents and the pages, where the shelf has them. Without them the text is shown all the same.
  async #open() {
    if (!this.shelf.outline) return;
    this.outline = await this.shelf.outline(this.info.id).catch(() => NOTHING);
    const drawn = this.outline.originals.filter((original) => original.pages.length);
    if (drawn.length) {
      this.pages = new Pages({ originals: drawn, label: this.info.name, picture: (source, page, width) => this.shelf.page(this.info.id, source, page, width) });
      this.#look(kept.get("look") !== "text");
    }
    this.#contents();
  }

  #look(asPages) {
    this.asPages = asPages && Boolean(this.pages);
    refill(this.stage, this.asPages ? this.pages.node : this.scroll.node);
    this.looks.hidden = !this.pages;
    const choose = (one) => {
      kept.set("look", one ? "pages" : "text");
      this.#look(one);
      if (this.last) this.#place(...this.last);
    };
    refill(this.looks, [true, false].map((one) => h("button", { type: "button", class: "quiet", "aria-pressed": String(one === this.asPages), onclick: () => choose(one) }, t(one ? "source.pages" : "source.text"))));
  }

  #contents() {
    const { headings, places } = this.outline;
    const paged = places.filter(({ page }) => page !== null);
    this.contents.hidden = !headings.length && !paged.length;
    const go = (start) => {
      this.contents.open = false;
      this.browse(start);
    };
    const line = ({ start, level, title }) => h("button", { type: "button", class: `choice level-${Math.min(level, 4)}`, dir: "auto", onclick: () => go(start) }, title);
    const jump = h("input", { type: "number", min: 1, max: paged.at(-1)?.page, "aria-label": t("source.jump"), placeholder: t("source.jump") });
    const leap = (event) => {
      event.preventDefault();
      const found = paged.find(({ page }) => page >= Number(jump.value));
      if (found) go(found.start);
    };
    refill(this.contents.lastElementChild, paged.length > 1 && h("form", { class: "row", onsubmit: leap }, jump, h("button", { class: "small-button" }, t("source.go"))), headings.map(line));
  }

  #placeAt(at) {
    return this.outline.places.findLast(({ start }) => start <= at);
  }

  // The heading that a character stands under, in its own file.
  partAt(at) {
    const begin = this.#placeAt(at)?.start ?? 0;
    return this.outline.headings.findLast(({ start }) => begin <= start && start <= at)?.title;
  }

  // The section of a step, with a span of characters marked in it, or the longest run of the words of a line.
  async show(step, { span = null, line = null, told = "" } = {}) {
    clearTimeout(this.timer);
    const mine = (this.asked += 1);
    try {
      await this.ready;
      const mark = span ?? (line && (await this.#find(step, line)));
      if (mine !== this.asked) return;
      this.#tell(step, mark, line, told);
      // The words of a line are found here, so their place is known only now.
      if (this.pin && line && mark) this.pinned(mark);
      await this.#place(step, mark);
      if (mine === this.asked && mark) this.#intoView();
    } catch (problem) {
      if (mine === this.asked) refill(this.told, t("source.gone", { why: problem.message }));
    }
  }

  #tell(step, mark, line, told) {
    const at = mark?.start ?? step.start;
    const shown = mark && this.#placeAt(at)?.page ? [this.#placeAt(at).page] : step.pages;
    const source = this.#placeAt(at)?.source ?? step.source;
    const details = [step.end - step.start > 1 && t("source.span", { start: number(step.start), end: number(step.end) }), step.index !== undefined && t("source.step", { at: number(step.index) })];
    const place = [placeIn(source, this.info.name), pages(shown)].filter(Boolean);
    refill(this.where, place.join(" · "), h("span", { class: "detail" }, [...(place.length ? [""] : []), ...details.filter(Boolean)].join(" · ")));
    refill(this.told, told || (line ? t(mark ? "source.exact" : "source.nowhere") : ""));
  }

  async #place(step, mark) {
    this.last = [step, mark];
    const place = this.#placeAt(mark?.start ?? step.start);
    if (!this.asPages || !this.pages.has(place?.source, place?.page)) {
      if (this.asPages) this.stage.replaceChildren(this.scroll.node);
      return this.scroll.show({ start: step.start, end: step.end, mark, section: step.index === undefined ? null : step });
    }
    if (!this.pages.node.isConnected) this.stage.replaceChildren(this.pages.node);
    this.pages.show(place.source, place.page);
    if (!mark) return true;
    const found = await this.shelf.places(this.info.id, mark.start, mark.end);
    if (this.last[1] === mark) this.pages.show(place.source, place.page, found);
    return true;
  }

  async #find(step, line) {
    const end = Math.min(step.end, step.start + MOST);
    const text = (await this.#fetch(step.start, end)).join("");
    const run = longestRun(line, text);
    if (!run) return null;
    const count = (to) => Array.from(text.slice(0, to)).length;
    return { start: step.start + count(run[0]), end: step.start + count(run[1]) };
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
    this.#stay();
    if (span) this.pinned(span);
    return this.show({ start: at, end: span?.end ?? Math.min(this.info.length, at + 1), pages: [] }, { span });
  }

  #stay() {
    if (this.pin) return;
    this.pin = true;
    this.follow.hidden = !this.follows;
  }

  #turn(by) {
    this.#stay();
    (this.asPages ? this.pages : this.scroll).turn(by);
  }

  close() {
    this.asked += 1;
    clearTimeout(this.timer);
    this.scroll.close();
    this.pages?.close();
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

  #intoView() {
    if (!this.pin) return;
    const box = this.stage.getBoundingClientRect();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (box.top < 0 || box.top + 120 > innerHeight) this.node.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
  }
}
