// One reading, followed while it runs or browsed afterwards.

import { eachFrame, h, later, refill } from "./dom.js";
import { actions } from "./actions.js";
import { Facts, Headline } from "./facts.js";
import { advantageMark } from "./marks.js";
import { MemoryPane } from "./memory.js";
import { Ribbon, stepOfKey } from "./ribbon.js";
import * as service from "./service.js";
import { SourcePane } from "./source.js";
import { Trace } from "./trace.js";
import { duration, number, pages, t } from "./words.js";

const PLAY_EVERY = 450;

export async function readingView(id, query, kept, shelf = service.own) {
  const view = new ReadingView(await shelf.reading(id), shelf);
  view.go(query.has("step") ? Math.min(Number(query.get("step")) || 0, view.trace.last) : null);
  if (kept) view.restore(kept);
  return { node: view.node, title: view.reading.question, close: () => view.close(), keep: () => view.keep() };
}

class ReadingView {
  constructor(reading, shelf) {
    this.reading = reading;
    this.shelf = shelf;
    this.trace = new Trace(reading.steps);
    this.at = null; // null: wherever the newest step is
    this.marked = -1;
    this.origins = [];
    this.headline = new Headline((found) => this.#proof(found));
    this.facts = new Facts();
    this.ribbon = new Ribbon({
      trace: this.trace,
      length: reading.document.length,
      proofs: () => this.reading.evidence ?? [],
      move: (at) => this.go(at),
    });
    this.edit = h("button", { type: "button", onclick: () => this.#edit() }, t("memory.edit"));
    this.memory = new MemoryPane({
      trace: this.trace,
      limit: reading.plan.memory_tokens,
      from: (at, line) => this.#from(at, line),
      origins: (at, line) => this.#originsOf(at, line),
      tools: reading.run ? null : this.edit,
    });
    this.source = new SourcePane(reading.document, shelf);
    this.acts = h("div", { class: "actions" });
    this.line = h("p", { class: "small problem", role: "status" });
    this.node = this.#node();
    this.draw = eachFrame(() => this.#draw());
    this.remember = later(300, () => this.#remember());
    this.keys = (event) => this.#key(event);
    addEventListener("keydown", this.keys);
    this.#apply(reading);
  }

  #node() {
    const button = (key, sign, act) => h("button", { class: "quiet", type: "button", "aria-label": t(key), title: t(key), onclick: act }, sign);
    this.player = button("timeline.play", "▷", () => this.#play());
    this.place = h("p", { class: "place" });
    const transport = [
      button("timeline.first", "⇤", () => this.go(0)),
      button("timeline.back", "←", () => this.go(this.#shown - 1)),
      this.player,
      button("timeline.on", "→", () => this.go(this.#shown + 1)),
      button("timeline.change", "↷", () => this.#nextChange()),
      button("timeline.newest", "⇥", () => this.go(null)),
    ];
    this.legend = h("p", { class: "small legend" });
    this.timeline = h("section", { class: "timeline", "aria-label": t("timeline") }, this.ribbon.node, h("div", { class: "transport" }, transport, this.place), this.legend);
    this.columns = h("div", { class: "columns" }, this.memory.node, this.source.node);
    return h(
      "article",
      { class: "reading" },
      this.headline.node,
      this.facts.node,
      this.acts,
      this.line,
      this.timeline,
      this.columns,
    );
  }

  get #shown() {
    return this.at ?? this.trace.last;
  }

  close() {
    this.stop?.();
    this.ribbon.close();
    this.source.close();
    clearInterval(this.playing);
    removeEventListener("keydown", this.keys);
  }

  keep() {
    return { at: this.at, memory: this.editing?.querySelector("textarea").value };
  }

  restore({ at, memory }) {
    this.go(at);
    if (memory === undefined) return;
    this.#edit();
    this.editing.querySelector("textarea").value = memory;
  }

  // Takes every whole reading that the server sends: at first, after an action, at the end.
  #apply(told) {
    const follows = this.stop !== undefined && this.reading.status === "reading";
    this.reading = { ...this.reading, ...told };
    (told.steps ?? []).forEach((step) => this.trace.add(step));
    this.ribbon.repaint();
    refill(this.acts, actions(this.reading, this.shelf, (changed) => this.#apply(changed)));
    const goes = this.reading.status === "reading" && !this.reading.run;
    if (goes && !follows) this.#follow();
    if (!goes) this.#finish();
    this.draw();
  }

  #follow() {
    this.stop = service.follow(this.reading.reading, {
      step: (step) => {
        refill(this.line);
        if (!this.trace.add({ ...step, arrived: performance.now() })) return;
        this.ribbon.stale = true;
        this.draw();
      },
      status: (told) => {
        refill(this.line);
        if (told.status !== this.reading.status) this.#whole();
      },
      waiting: ({ seconds, error }) => refill(this.line, t("reading.waiting", { since: duration(seconds), error })),
      lost: (closed) => refill(this.line, t(closed ? "reading.closed" : "reading.lost")),
    });
  }

  // At the end the reading is fetched once more, for its evidence and for steps lost with a connection.
  async #whole() {
    this.#apply(await service.reading(this.reading.reading));
  }

  async #finish() {
    this.stop?.();
    this.stop = undefined;
    if (!this.trace.length) return void this.#stepless();
    try {
      this.origins = await this.shelf.origins(this.reading.reading);
    } catch (problem) {
      if (!(problem instanceof service.Refusal)) throw problem;
      this.origins = [];
    }
    this.draw();
  }

  // A way that answers in one call has no steps; an answered reading then shows the document alone.
  #stepless() {
    const whole = this.reading.status === "answered";
    this.timeline.hidden = whole;
    this.memory.node.hidden = whole;
    this.columns.classList.toggle("alone", whole);
    if (!whole) return;
    refill(this.line, t("timeline.none")).classList.remove("problem");
    this.source.show({ start: 0, end: this.reading.document.length, pages: [] });
  }

  #originsOf(at, line) {
    if (at !== this.trace.last) return [];
    return this.origins.filter((origin) => line.includes(origin.line.trim()));
  }

  go(at) {
    const last = this.trace.last;
    this.at = at === null || at >= last ? null : Math.max(0, at);
    this.marked = -1;
    this.#leaveEdit();
    this.draw();
    this.remember();
    if (this.trace.length) this.source.pass(this.trace.steps[this.#shown]);
  }

  #draw() {
    const at = this.#shown;
    const step = this.trace.steps[at];
    this.headline.draw(this.reading);
    this.facts.draw(this.reading, this.trace);
    this.ribbon.draw(at, this.marked);
    this.memory.draw(at);
    this.edit.hidden = !step;
    const told = step ? [t("timeline.step", { at: number(at), last: number(this.trace.last) }), pages(step.pages)] : [this.reading.status === "reading" && t("timeline.begin")];
    const earned = this.reading.rollout;
    refill(this.place, told.filter(Boolean).join(" · "), step && earned && [" · ", t("train.advantage"), " ", advantageMark(earned.advantage)]);
    refill(this.legend, t("timeline.legend"), " ", this.reading.evidence?.length ? t("timeline.proofs") : "");
    if (this.at === null && step && this.followed !== at) this.source.pass(step);
    this.followed = at;
  }

  #remember() {
    if (!this.node.isConnected) return;
    const place = this.at === null ? "" : `?step=${this.at}`;
    history.replaceState(null, "", `${this.shelf.place(this.reading.reading)}${place}`);
  }

  #from(at, line) {
    const origin = this.#originsOf(at, line).find((one) => one.quote) ?? this.#originsOf(at, line)[0];
    const quote = origin?.quote;
    const entered = quote?.step ?? origin?.step ?? this.trace.entered(at, line);
    const told = origin?.by_hand && !quote ? t("source.byhand") : "";
    this.#mark(entered, quote ? { span: quote, told: t("source.line", { step: number(origin.step) }) } : { line, told });
  }

  #proof(found) {
    const where = { span: found, told: t("source.proof") };
    if (this.trace.steps[found.step]) return this.#mark(found.step, where);
    // No step read it: the document is shown around it.
    return this.source.show({ start: 0, end: this.reading.document.length, pages: found.pages }, where);
  }

  #mark(at, where) {
    const step = this.trace.steps[at];
    if (!step) return;
    this.marked = at;
    this.ribbon.draw(this.#shown, at);
    this.source.show(step, where);
  }

  #nextChange() {
    const next = this.trace.steps.findIndex((step, at) => at > this.#shown && step.changed_share > 0);
    this.go(next < 0 ? null : next);
  }

  #play() {
    const stop = () => {
      clearInterval(this.playing);
      this.playing = undefined;
      refill(this.player, "▷").setAttribute("aria-label", t("timeline.play"));
    };
    if (this.playing) return stop();
    if (this.at === null) this.go(0);
    refill(this.player, "‖").setAttribute("aria-label", t("timeline.pause"));
    this.playing = setInterval(() => {
      this.go(this.#shown + 1);
      if (this.at === null) stop();
    }, Math.max(60, Math.min(PLAY_EVERY, 20_000 / this.trace.length)));
    return undefined;
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.("input, textarea, select, dialog")) return;
    const at = this.trace.length ? stepOfKey(event, this.#shown, this.trace.last) : null;
    const scrolls = /^(Home|End|Page|ArrowUp|ArrowDown)/.test(event.key) && event.target !== this.ribbon.node;
    if (at !== null && !scrolls) this.go(at);
    else if (event.key === "e" && this.trace.length && !this.reading.run) this.#edit();
    else if (event.key === " " && !event.target.closest?.("button, a, summary, .text")) this.#play();
    else return;
    event.preventDefault();
  }

  #edit() {
    if (this.editing || !this.trace.length) return;
    const at = this.#shown;
    this.at = at; // the newest step may move on meanwhile
    const area = h("textarea", { id: "memory-text", rows: 12, dir: "auto", value: this.trace.steps[at].memory });
    const problem = h("p", { class: "small problem", role: "alert" });
    const go = async (event) => {
      event.preventDefault();
      try {
        const fresh = await service.fork(this.reading.reading, at, area.value);
        location.hash = `#/reading/${encodeURIComponent(fresh.reading)}`;
      } catch (refused) {
        refill(problem, refused.message);
      }
    };
    const keys = (event) => {
      if (event.key === "Escape") this.#leaveEdit();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go(event);
    };
    this.editing = h(
      "form",
      { class: "edit", onsubmit: go, onkeydown: keys },
      h("label", { for: "memory-text" }, t("memory.edit.label", { at: number(at) })),
      area,
      h("p", { class: "small" }, t("memory.edit.told")),
      problem,
      h("div", { class: "row" }, h("button", { class: "main" }, t("memory.edit.go")), h("button", { type: "button", onclick: () => this.#leaveEdit() }, t("memory.edit.leave"))),
    );
    this.memory.body.hidden = true;
    this.memory.node.append(this.editing);
    area.focus({ preventScroll: true });
    this.editing.scrollIntoView({ block: "nearest" });
  }

  #leaveEdit() {
    if (!this.editing) return;
    this.editing.remove();
    this.editing = undefined;
    this.memory.body.hidden = false;
    this.edit.focus();
  }
}
