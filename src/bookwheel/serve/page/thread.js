// The thread of a document: its name, every question on it with forks below what they come from, and the next question.

import { fromHere } from "./address.js";
import { h, refill } from "./dom.js";
import { draft, dropDraft, saveDraft } from "./drafts.js";
import { Star, confirmed, rename } from "./labels.js";
import { answerOf, readable, titleOf, trustOf, whyNone } from "./marks.js";
import { Questions, started, wanted } from "./questions.js";
import * as service from "./service.js";
import { compact, number, t } from "./words.js";

const PAGE = 50;
const LOOK_AGAIN = 4000;

export class Thread {
  // `reading` is the one that is open, if any.
  constructor(document, reading = null) {
    Object.assign(this, { document, reading, readings: [], count: PAGE });
    this.name = h("h2", { dir: "auto", class: "book-name" }, document.name);
    this.facts = h("p", { class: "small" });
    this.tools = h("div", { class: "row tools" });
    this.more = h("button", { type: "button", class: "plain", hidden: true, onclick: () => this.load((this.count += PAGE)) }, t("thread.more"));
    this.list = h("ol", { class: "thread" });
    this.told = h("p", { class: "small problem", role: "alert" });
    this.draft = `thread.${document.id}`;
    this.questions = new Questions({ name: "follow-up", hint: t("thread.ask.hint"), changed: () => saveDraft(this.draft, this.questions.all), send: () => this.#send() });
    this.questions.restore(draft(this.draft) ?? []);
    this.button = h("button", { class: "main" }, t("thread.ask"));
    const submit = (event) => {
      event.preventDefault();
      this.#send();
    };
    this.form = h("form", { class: "follow-up", onsubmit: submit }, this.questions.node, this.told, this.button);
    this.rail = h("div", { class: "rail-scroll" }, this.more, this.list);
    this.node = h("nav", { class: "rail", "aria-label": t("thread") }, h("div", { class: "book" }, this.name, this.facts, this.tools), this.rail, this.form);
  }

  close() {
    clearTimeout(this.timer);
    this.closed = true;
  }

  ask() {
    this.questions.first.focus();
  }

  // The open reading stands in its place in the thread as a whole; null: as a line like the others.
  hold(node) {
    this.held = node;
    this.#draw();
  }

  // The open reading has changed; its line follows without another request.
  update(reading) {
    const at = this.readings.findIndex((other) => other.reading === reading.reading);
    if (at < 0 || (this.readings[at].status === reading.status && this.readings[at].name === reading.name)) return;
    this.readings[at] = { ...this.readings[at], ...reading };
    this.#draw();
  }

  async load() {
    clearTimeout(this.timer);
    try {
      const [book, readings] = await Promise.all([service.document(this.document.id), service.readings({ document: this.document.id, limit: this.count + 1 })]);
      if (this.closed) return;
      if (this.isLost) refill(this.told);
      this.isLost = false;
      this.more.hidden = readings.length <= this.count;
      this.readings = readings.slice(0, this.count).reverse();
      this.#book(book);
      this.#draw();
      if (readings.some(({ status }) => status === "reading")) this.timer = setTimeout(() => this.load(), LOOK_AGAIN);
    } catch (problem) {
      refill(this.told, problem.message);
      this.isLost = problem.status === 0 && !this.closed;
      if (this.isLost) this.timer = setTimeout(() => this.load(), LOOK_AGAIN);
    }
  }

  #book(book) {
    if (this.book?.name === book.name && this.book?.readings === book.readings) return;
    this.book = book;
    refill(this.name, book.name);
    refill(this.facts, [t("shelf.length", { length: compact(book.length) }), t("shelf.readings", { count: number(book.readings) })].join(" · "));
    const star = new Star(book.starred, (starred) => service.labelDocument(book.document, { starred }));
    const over = () =>
      rename(this.name, book.name, async (name) => {
        await service.labelDocument(book.document, { name });
        this.load();
      });
    const remove = confirmed(t("act.delete"), async () => {
      const lead = fromHere();
      await service.removeDocument(book.document);
      lead("#/");
    }, t("act.delete.with", { count: number(book.readings) }));
    refill(this.tools, star.node, h("button", { type: "button", class: "plain", onclick: over }, t("label.rename")), h("a", { class: "button plain", href: `#/document/${book.document}?text` }, t("thread.text")), remove);
  }

  #draw() {
    const known = new Set(this.readings.map(({ reading }) => reading));
    const below = (id) => this.readings.filter(({ parent }) => parent === id);
    const entry = (reading) => {
      const forks = below(reading.reading);
      return h("li", {}, this.#line(reading), forks.length > 0 && h("ol", {}, forks.map(entry)));
    };
    // What somebody is using is not drawn anew; what is held stays whole all the same.
    if (this.list.contains(document.activeElement) && !this.held?.contains(document.activeElement)) return;
    const focused = this.held?.contains(document.activeElement) && document.activeElement;
    refill(this.list, this.readings.filter(({ parent }) => !known.has(parent)).map(entry));
    if (!this.readings.length && !this.held) this.list.append(h("li", { class: "nothing" }, t("shelf.unasked")));
    if (this.held && !this.held.isConnected) this.list.append(h("li", { class: "turn" }, this.held));
    if (focused) focused.focus({ preventScroll: true });
    const open = this.list.querySelector("[aria-current]");
    if (open) reveal(open, this.rail);
  }

  #line(reading) {
    const open = reading.reading === this.reading;
    if (open && this.held) return h("div", { class: "turn", "aria-current": "true" }, this.held);
    const worth = reading.status === "answered" ? t(`trust.${trustOf(reading)}`) : t(`status.${reading.status}`);
    return h(
      "a",
      { href: service.own.place(reading.reading), class: "asked", "aria-current": open ? "page" : null, dir: "auto" },
      h("span", { class: `dot ${reading.status} ${reading.sign ?? ""}`, title: worth }),
      h("span", { class: "unseen" }, `${worth}: `),
      reading.starred && "★ ",
      h("b", {}, titleOf(reading)),
      reading.parent && !reading.name && h("i", {}, ` ${t(this.#isFork(reading) ? "thread.fork" : "thread.carried")}`),
      h("span", { class: "said" }, readable(answerOf(reading) ?? whyNone(reading))),
    );
  }

  // A fork asks what its reading asked; a further question in a chat has a memory to begin with, and words of its own.
  #isFork({ parent, question }) {
    return this.readings.every((other) => other.reading !== parent || other.question === question);
  }

  async #send() {
    const questions = this.questions.asked;
    refill(this.told);
    if (!questions.length) return void refill(this.told, t("ask.no-question"));
    this.button.disabled = true;
    const [lead, sent] = [fromHere(), this.questions.all];
    try {
      const readings = started(await this.#start(questions));
      this.questions.drop(sent);
      dropDraft(this.draft, sent);
      lead(service.own.place(readings[0].reading));
    } catch (problem) {
      refill(this.told, problem.message);
    }
    this.button.disabled = false;
    return undefined;
  }

  // A follow-up is read like the reading that is open, and answered from its memory where that has the answer. One that
  // was deleted meanwhile, in another window, has left its document.
  #start(questions) {
    const anew = () => service.start({ ...wanted(questions), document: this.document.id });
    if (!this.reading) return anew();
    return service.start({ ...wanted(questions), reading: this.reading, from_memory: questions.length === 1 }).catch((problem) => {
      if (problem.status !== 404) throw problem;
      return anew();
    });
  }
}

// Its beginning at least, and within its list alone: on a narrow screen the thread is below the reading, and the page would leave the answer for it.
function reveal(line, list) {
  const [inner, outer] = [line.getBoundingClientRect(), list.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += Math.min(inner.bottom - outer.bottom, inner.top - outer.top);
}
