// One reading, followed while it runs or browsed afterwards: the answer, the timeline, and memory and document side by
// side.

import { actions } from "./actions.js";
import { rememberAddress } from "./address.js";
import { Answer } from "./answer.js";
import { Axis } from "./axis.js";
import { CallDialog } from "./calls.js";
import { Cards } from "./cards.js";
import { copy, eachFrame, h, later, refill } from "./dom.js";
import { MemoryEditor } from "./editor.js";
import { Facts, lengthOf } from "./facts.js";
import { FindBar } from "./find.js";
import { Judging } from "./judging.js";
import { pressKey } from "./keys.js";
import { explain } from "./refusals.js";
import { advantageMark } from "./marks.js";
import { MemoryPane } from "./memory.js";
import { Modes } from "./modes.js";
import { Ribbon } from "./ribbon.js";
import * as service from "./service.js";
import { SourcePane } from "./source.js";
import { TablePane, hasTable } from "./table.js";
import { Trace } from "./trace.js";
import { Transport } from "./transport.js";
import { duration, number, pages, t } from "./words.js";

const FIRST = 4000; // characters shown while it is not known what is read
const TICK = 250; // milliseconds between two readings of the clock

export class ReadingView {
  constructor(reading, shelf, thread = null) {
    Object.assign(this, { reading, shelf, thread });
    this.trace = new Trace(reading.steps);
    this.at = null; // null: wherever the newest step is
    this.marked = -1;
    this.origins = [];
    this.opened = performance.now();
    this.spent = reading.usage.seconds;
    this.answer = new Answer((found) => this.#hold(found, t("source.proof")));
    this.judging = shelf === service.own ? new Judging((told) => void (this.#apply(told), this.answer.explain())) : null;
    this.cards = new Cards((found) => this.#hold(found, t("source.proof")));
    this.facts = new Facts(shelf === service.own ? () => this.#collect() : null);
    this.ribbon = new Ribbon({ trace: this.trace, length: reading.document.length, proofs: () => this.reading.evidence ?? [], move: (at) => this.go(at) });
    this.axis = new Axis();
    this.transport = new Transport({ trace: this.trace, shown: () => this.shown, newest: () => this.at === null, go: (at) => this.go(at) });
    this.edit = h("button", { type: "button", onclick: () => this.editor.open() }, t("memory.edit"));
    this.prompt = h("button", { type: "button", onclick: () => this.openCall() }, t("call"));
    this.worth = h("button", { type: "button", onclick: () => this.#openWorth() }, t("worth"));
    this.calls = new CallDialog();
    const own = shelf === service.own;
    this.memory = new MemoryPane({
      trace: this.trace,
      limit: reading.plan.memory_tokens,
      from: (at, line) => this.#from(at, line),
      origins: (at, line) => this.#originsOf(at, line),
      picture: shelf.picture && ((label) => shelf.picture(reading.document.id, label)),
      tools: own ? [this.worth, this.prompt, this.edit] : null,
    });
    this.editor = new MemoryEditor(this);
    this.table = shelf.rows && hasTable(reading) ? new TablePane(reading, (row) => this.#hold({ ...row, pages: row.page ? [row.page] : [], step: this.trace.stepAt(row.start) }, row.quote), own) : null;
    this.source = new SourcePane(reading.document, shelf, (span) => this.#pinned(span));
    this.source.ready.then(() => this.draw());
    this.find = new FindBar(this.source, shelf.find && ((text) => shelf.find(reading.document.id, text)));
    this.acts = h("div", { class: "actions" });
    this.line = h("p", { class: "small problem", role: "status" });
    this.modes = new Modes(this);
    this.node = this.#node();
    this.draw = eachFrame(() => this.#draw());
    this.remember = later(300, () => this.#remember());
    this.keys = (event) => pressKey(this, event);
    addEventListener("keydown", this.keys);
    this.#apply(reading);
  }

  #node() {
    this.timeline = h("section", { class: "timeline", "aria-label": t("timeline") }, h("div", {}, this.ribbon.node, this.axis.node), this.transport.node);
    this.columns = h("div", { class: this.table ? "columns with-table" : "columns" }, this.table?.node ?? this.memory.node, this.source.node);
    const top = h("div", { class: "eyebrow" }, this.answer.chips, this.facts.line, this.modes.node, this.acts, this.facts.node);
    this.headline = h("div", { class: "headline" }, top, this.facts.bar, this.line, h("div", { class: "said-so" }, this.answer.node, this.judging?.node, this.facts.missed, this.cards.node, this.modes.found));
    return h("article", { class: "sheet" }, this.headline, this.timeline, this.columns, this.calls.node);
  }

  get shown() {
    return this.at ?? this.trace.last;
  }

  // Another address of the same reading: with a passage, or without one, as the answer was read.
  reopen(query) {
    if (query.has("quote")) return this.open(query, null);
    this.quoted = null;
    if (query.has("step")) this.go(Number(query.get("step")) || 0);
    else this.source.unpin();
    return undefined;
  }

  close() {
    this.closed = true;
    this.stop?.();
    clearInterval(this.clock);
    this.ribbon.close();
    this.source.close();
    this.transport.close();
    removeEventListener("keydown", this.keys);
  }

  keep() {
    this.#remember(); // at once: what opens next begins with the address
    return { at: this.at, memory: this.editor.text, spent: this.elapsed };
  }

  play() {
    this.go(0);
    this.transport.play();
  }

  // Where an address leads: a quote, a step, or the step that matters; `kept` is what stood here in another language.
  open(query, kept) {
    this.opens = true;
    const [start, end] = (query.get("quote") ?? "").split("-").map(Number);
    this.spent = kept?.spent ?? this.spent;
    if (kept?.at !== undefined) this.go(kept.at);
    else if (query.has("step")) this.go(Math.min(Number(query.get("step")) || 0, this.trace.last));
    else this.#toWhatMatters();
    const proof = this.reading.evidence?.find((one) => one.start === start && one.end === end);
    if (end > start) this.#hold(proof ?? { start, end, step: this.trace.stepAt(start), pages: [] }, proof && t("source.proof"));
    if (kept?.memory !== undefined) this.editor.open(kept.memory);
    this.opens = false;
  }

  // The step that read what the answer rests on; without evidence, the last one that changed the memory.
  #toWhatMatters() {
    if (this.reading.status !== "answered") return this.go(null);
    const proof = this.reading.evidence?.find(({ step }) => step !== null && this.trace.steps[step]);
    const changed = this.trace.steps.findLastIndex((step) => step.changed_share > 0);
    return this.go(proof ? proof.step : changed < 0 ? null : changed);
  }

  get elapsed() {
    return this.reading.status === "reading" ? this.spent + (performance.now() - this.opened) / 1000 : this.reading.usage.seconds;
  }

  // Takes every whole reading that the server sends: at first, after an action, at the end.
  #apply(told) {
    if (this.closed) return; // what comes late is told to whoever opens it again
    const follows = this.stop !== undefined && this.reading.status === "reading";
    this.reading = { ...this.reading, ...told };
    (told.steps ?? []).forEach((step) => this.trace.add(step));
    this.ribbon.repaint();
    this.#acts();
    const goes = this.reading.status === "reading" && !this.reading.run;
    if (goes && !follows) this.#follow();
    if (!goes) this.#finish();
    this.thread?.update(this.reading);
    this.draw();
  }

  #acts() {
    const own = { changed: (told) => this.#changed(told), ask: () => this.thread?.ask(), copy: () => copy(this.reading.answer ?? ""), correct: this.table ? null : () => this.#correct(), heading: this.answer.question };
    refill(this.acts, actions(this.reading, this.shelf, own));
  }

  // The question again, for a table; the server proposes its columns.
  async #collect() {
    const { document, question } = this.reading;
    const begun = await service.start({ document: document.id, question, way: "collect" });
    location.hash = service.own.place(begun.reading);
  }

  // To put right what was noted, from where the answer is read; for this reading alone.
  #correct() {
    this.modes.show("inspect");
    if (this.trace.length) this.editor.open();
  }

  // A reading that goes on is followed again, wherever somebody stood in it.
  #changed(told) {
    const rested = this.reading.status !== "reading";
    this.#apply(told);
    if (rested && this.reading.status === "reading") this.go(null);
  }

  #follow() {
    this.opened = performance.now();
    this.settled = false;
    clearInterval(this.clock);
    this.clock = setInterval(() => this.draw(), TICK);
    this.stop = service.follow(this.reading.reading, {
      step: (step) => {
        refill(this.line);
        this.written = null;
        if (this.trace.add({ ...step, arrived: performance.now() })) this.draw();
      },
      writing: (told) => void ((this.written = told), this.draw()),
      answer: ({ answer }) => this.#apply({ answer }), // its verdict follows
      status: (told) => {
        refill(this.line);
        if (told.status !== this.reading.status) this.#whole();
      },
      waiting: ({ seconds, error }) => refill(this.line, t("reading.waiting", { since: duration(seconds), error: explain(error) })),
      lost: (closed) => refill(this.line, t(closed ? "reading.closed" : "reading.lost")),
    });
  }

  // At the end the reading is fetched once more, for its evidence and for steps lost with a connection.
  async #whole() {
    const followed = this.at === null && !this.source.pin;
    this.#apply(await service.reading(this.reading.reading));
    if (followed) this.#toWhatMatters();
  }

  async #finish() {
    this.stop?.();
    this.stop = undefined;
    clearInterval(this.clock);
    this.written = null;
    this.settled = !this.trace.length;
    if (this.settled) return void this.#stepless();
    try {
      this.origins = await this.shelf.origins(this.reading.reading);
    } catch (problem) {
      if (!(problem instanceof service.Refusal)) throw problem;
      this.origins = [];
    }
    this.settled = true;
    this.draw();
  }

  // A way that answers in one call has no steps; an answered reading then shows the document alone.
  #stepless() {
    const whole = this.reading.status === "answered";
    this.timeline.hidden = whole;
    this.memory.node.hidden = whole;
    this.columns.classList.toggle("one", whole);
    if (!whole) return;
    refill(this.line, t("timeline.none")).classList.remove("problem");
    if (!this.source.pin) this.source.show({ start: 0, end: this.reading.document.length, pages: [] });
  }

  #originsOf(at, line) {
    if (at !== this.trace.last) return [];
    return this.origins.filter((origin) => line.includes(origin.line.trim()));
  }

  go(at) {
    const last = this.trace.last;
    this.at = at === null || at >= last ? null : Math.max(0, at);
    this.marked = -1;
    this.editor?.leave();
    this.source.unpin();
    this.draw();
    this.remember();
    if (this.trace.length) this.source.pass(this.trace.steps[this.shown], this.#proof(this.shown));
  }

  // What the answer rests on in the section of a step.
  #proof(at) {
    const proof = this.reading.evidence?.find(({ step }) => step === at);
    return proof && { span: proof, told: t("source.proof") };
  }

  #draw() {
    const at = this.shown;
    const step = this.trace.steps[at];
    const reads = this.reading.status === "reading";
    this.answer.draw(this.reading, this.reading.error && explain(this.reading.error));
    this.judging?.draw(this.reading);
    this.cards.draw(this.reading, this.source);
    this.modes.draw(reads && !this.reading.answer, this.trace, this.reading.document.length);
    this.table?.draw(this.trace.length, this.reading.status);
    this.facts.draw(this.reading, this.trace, this.elapsed);
    this.axis.draw(this.source.outline, this.reading.document.length);
    this.ribbon.flight = reads ? this.trace.flight(this.reading) : null;
    this.ribbon.draw(at, this.marked);
    if (this.drawn !== step || this.origins !== this.drawnOrigins || !step) this.memory.draw(at);
    [this.drawn, this.drawnOrigins] = [step, this.origins];
    this.edit.hidden = !step;
    this.prompt.hidden = !step;
    this.worth.hidden = !step || reads;
    this.#write(reads);
    this.memory.isBusy = !this.settled;
    const told = step ? [t("timeline.step", { at: number(at), last: number(this.trace.last) }), pages(step.pages)] : [reads && t("timeline.begin")];
    const earned = this.reading.rollout;
    this.transport.draw(told.filter(Boolean).join(" · "), step && earned && [" · ", t("train.advantage"), " ", advantageMark(earned.advantage)]);
    // Where a rank decides, nobody knows what is read first: then the text begins at its beginning.
    const followed = (reads && this.trace.flight(this.reading)) || step || (reads && { start: 0, end: FIRST, pages: [] });
    if (followed && this.at === null && this.followed !== at) this.source.pass(followed, reads ? {} : this.#proof(at));
    this.followed = at;
  }

  #write(reads) {
    if (!reads || this.at !== null) return this.memory.write(null);
    const done = this.trace.length && lengthOf(this.trace.own) >= this.reading.document.length;
    return this.memory.write(t(done ? "live.answer" : `live.${this.written?.kind ?? "reply"}`, { step: number(this.trace.length) }), this.written?.text ?? "");
  }

  #remember(leads = false) {
    if (!this.node.isConnected) return;
    // A finished reading opens at its evidence, so its last step has to be named too.
    const at = this.at ?? (this.reading.status === "reading" ? null : this.trace.last);
    const values = { ...(at !== null && at >= 0 && this.modes.inspects && { step: at }), ...(this.quoted && { quote: `${this.quoted.start}-${this.quoted.end}` }) };
    const rest = new URLSearchParams(values).toString();
    rememberAddress(`${this.shelf.place(this.reading.reading)}${rest && `?${rest}`}`, leads);
  }

  // The address leads to the passage for as long as it is held, and "back" to the answer that it was pressed in.
  #pinned(span) {
    const leads = span && !this.quoted && !this.opens;
    this.quoted = span;
    if (leads) this.#remember(true);
    else this.remember();
    if (span === null && this.trace.length) this.followed = -1;
    this.draw();
  }

  #from(at, line) {
    const origin = this.#originsOf(at, line).find((one) => one.quote) ?? this.#originsOf(at, line)[0];
    const quote = origin?.quote;
    const entered = quote?.step ?? origin?.step ?? this.trace.entered(at, line);
    const told = origin?.by_hand && !quote ? t("source.byhand") : "";
    this.#mark(entered, quote ? { span: quote, told: t("source.line", { step: number(origin.step) }) } : { line, told });
  }

  #hold(found, told = "") {
    const where = { span: found, told };
    if (this.trace.steps[found.step]) return this.#mark(found.step, where);
    // No step read it: the document is shown around it.
    return this.source.hold({ start: 0, end: this.reading.document.length, pages: found.pages }, where);
  }

  #mark(at, where) {
    const step = this.trace.steps[at];
    if (!step) return;
    this.marked = at;
    this.ribbon.draw(this.shown, at);
    this.source.hold(step, where);
  }

  async #openWorth() {
    const { WorthDialog } = await import("./worth.js");
    if (!this.measured) this.node.append((this.measured = new WorthDialog()).node);
    this.measured.open(() => service.worth(this.reading.reading));
  }

  openCall() {
    this.calls.open(this.reading.reading, this.shown, this.trace.length);
  }
}
