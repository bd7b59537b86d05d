// Two readings side by side, both at the same place of the document, even if their chunks differ. Running readings are
// followed.

import { eachFrame, h, refill } from "./dom.js";
import { statusChip } from "./marks.js";
import { MemoryPane } from "./memory.js";
import { Ribbon, stepOfKey } from "./ribbon.js";
import * as service from "./service.js";
import { Trace } from "./trace.js";
import { number, pages, t } from "./words.js";

export async function compareView(one, other, kept) {
  const readings = await Promise.all([one, other].map(service.reading));
  let place = kept?.place ?? 1;
  const draw = eachFrame(() => sides.forEach((side) => side.draw(place)));
  const go = (share) => {
    place = share;
    draw();
  };
  const sides = readings.map((reading) => new Side(reading, go, draw));
  draw();
  const node = h(
    "article",
    { class: "compare" },
    h("h1", {}, t("compare")),
    h("p", { class: "soft" }, t("compare.lead")),
    h("div", { class: "columns even" }, sides.map((side) => side.node)),
  );
  return { node, title: t("compare"), close: () => sides.forEach((side) => side.close()), keep: () => ({ place }) };
}

class Side {
  constructor(reading, go, changed) {
    Object.assign(this, { reading, changed });
    this.trace = new Trace(reading.steps);
    this.length = Math.max(1, reading.document.length, this.trace.steps.at(-1)?.end ?? 0);
    const to = (at) => go(at === this.trace.last ? 1 : (this.trace.steps[at].start + this.trace.steps[at].end) / 2 / this.length);
    this.ribbon = new Ribbon({ trace: this.trace, length: this.length, proofs: () => this.reading.evidence ?? [], move: to });
    this.ribbon.node.addEventListener("keydown", (event) => {
      const at = this.trace.length ? stepOfKey(event, this.ribbon.at, this.trace.last) : null;
      if (at === null) return;
      event.preventDefault();
      to(at);
    });
    this.memory = new MemoryPane({ trace: this.trace, limit: reading.plan.memory_tokens, label: `${t("memory")}: ${reading.question}` });
    this.eyebrow = h("p", { class: "eyebrow" });
    this.answer = h("div", { dir: "auto", role: "status" });
    this.line = h("p", { class: "small problem", role: "status" });
    this.place = h("p", { class: "place" });
    this.node = h(
      "section",
      {},
      this.eyebrow,
      h("h2", { class: "question", dir: "auto" }, h("a", { href: service.own.place(reading.reading) }, reading.question)),
      this.answer,
      h("p", { class: "small" }, t("reading.of", { name: reading.document.name, length: number(reading.document.length) })),
      this.line,
      this.ribbon.node,
      this.place,
      this.memory.node,
    );
    this.#tell();
    if (reading.status === "reading") this.#follow();
  }

  close() {
    this.stop?.();
    this.closed = true;
    this.ribbon.close();
  }

  #tell() {
    const { status, model, answer } = this.reading;
    refill(this.eyebrow, statusChip(status), h("span", {}, model));
    this.answer.className = answer ? "answer" : "answer none";
    refill(this.answer, answer || t(`none.${status}`));
  }

  #follow() {
    this.stop = service.follow(this.reading.reading, {
      step: (step) => {
        refill(this.line);
        this.#add(step);
      },
      status: (told) => told.status !== "reading" && this.#end(),
      lost: (closed) => refill(this.line, t(closed ? "reading.closed" : "reading.lost")),
    });
  }

  async #end() {
    this.stop();
    try {
      const whole = await service.reading(this.reading.reading);
      if (this.closed) return;
      this.reading = whole;
      whole.steps.forEach((step) => this.#add(step));
      this.ribbon.stale = true;
      this.#tell();
      this.changed();
    } catch (problem) {
      refill(this.line, problem.message);
    }
  }

  #add(step) {
    if (!this.trace.add(step)) return;
    this.ribbon.stale = true;
    this.changed();
  }

  // A column that has read less than the other shows its newest step.
  draw(share) {
    const at = this.trace.length ? this.trace.stepAt(share * this.length - 1e-6) : -1;
    this.ribbon.draw(at);
    this.memory.draw(at);
    const step = this.trace.steps[at];
    refill(this.place, step ? [t("timeline.step", { at: number(at), last: number(this.trace.last) }), pages(step.pages)].filter(Boolean).join(" · ") : "");
  }
}
