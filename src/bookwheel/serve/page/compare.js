// Two readings side by side. Of one document, both stand at the same place of it, even if their chunks differ, and their
// memories are set against each other. Two documents have no common place: there each side moves by itself.

import { against } from "./differences.js";
import { eachFrame, h, refill } from "./dom.js";
import { answerOf, readable, titleOf, trustBadge } from "./marks.js";
import { Ribbon, stepOfKey } from "./ribbon.js";
import * as service from "./service.js";
import { Trace } from "./trace.js";
import { number, pages, t } from "./words.js";

export async function compareView({ parts }) {
  const readings = await Promise.all(parts.map(service.reading));
  return (kept) => compare(readings, kept);
}

function compare(readings, kept) {
  const same = readings[0].document.id === readings[1].document.id;
  const places = kept?.places ?? [1, 1];
  const told = h("p", { class: "small chips", role: "status" });
  const draw = eachFrame(() => {
    sides.forEach((side, at) => side.move(places[at]));
    const [left, right] = sides.map((side) => side.lines(same ? sides.find((twin) => twin !== side).memory : null));
    refill(told, same ? summary(left, right) : "");
  });
  const sides = readings.map(
    (reading, at) =>
      new Side(
        reading,
        (share) => {
          if (same) places.fill(share);
          else places[at] = share;
          draw();
        },
        draw,
      ),
  );
  draw();
  const lead = same ? h("p", { class: "soft" }, t("compare.lead")) : h("p", { class: "problem", role: "note" }, t("compare.two", { one: readings[0].document.name, other: readings[1].document.name }));
  const node = h("article", { class: "compare" }, h("h1", {}, t("compare")), lead, told, h("div", { class: "columns even" }, sides.map((side) => side.node)));
  return { node, title: t("compare"), close: () => sides.forEach((side) => side.close()), keep: () => ({ places }) };
}

function summary(left, right) {
  const count = (lines, kind) => lines.filter((line) => line.kind === kind).length;
  const chip = (kind, label, found) => (found || kind === "nought") && h("span", { class: `chip ${kind}` }, t(label, { count: number(found) }));
  return [
    chip("nought", "compare.both", count(left, "both")),
    chip("reworded", "compare.reworded", count(left, "reworded")),
    chip("new", "compare.left", count(left, "alone")),
    chip("new", "compare.right", count(right, "alone")),
  ];
}

class Side {
  constructor(reading, go, changed) {
    Object.assign(this, { reading, changed });
    this.trace = new Trace(reading.steps);
    this.length = Math.max(1, reading.document.length, this.trace.steps.at(-1)?.end ?? 0);
    const to = (at) => go(at === this.trace.last ? 1 : (this.trace.steps[at].start + this.trace.steps[at].end) / 2 / this.length);
    this.ribbon = new Ribbon({ trace: this.trace, length: this.length, proofs: () => this.reading.evidence ?? [], move: to });
    this.ribbon.node.setAttribute("aria-label", `${t("timeline.slider")}: ${reading.question}`);
    this.ribbon.node.addEventListener("keydown", (event) => {
      const at = this.trace.length ? stepOfKey(event, this.ribbon.at, this.trace.last) : null;
      if (at === null) return;
      event.preventDefault();
      to(at);
    });
    this.list = h("ol", { class: "lines bare", "aria-label": `${t("memory")}: ${reading.question}` });
    this.eyebrow = h("p", { class: "eyebrow" });
    this.answer = h("div", { dir: "auto", role: "status" });
    this.line = h("p", { class: "small problem", role: "status" });
    this.place = h("p", { class: "place" });
    this.node = h(
      "section",
      {},
      this.eyebrow,
      h("h2", { class: "question", dir: "auto" }, h("a", { href: service.own.place(reading.reading) }, titleOf(reading))),
      this.answer,
      h("p", { class: "small" }, t("reading.of", { name: reading.document.name, length: number(reading.document.length) })),
      this.line,
      this.ribbon.node,
      this.place,
      this.list,
    );
    this.#tell();
    if (reading.status === "reading") this.#follow();
  }

  close() {
    this.stop?.();
    this.closed = true;
    this.ribbon.close();
  }

  get memory() {
    return this.trace.steps[this.at]?.memory ?? "";
  }

  // A column that has read less than the other shows its newest step.
  move(share) {
    this.at = share < 1 ? this.trace.stepAt(share * this.length - 1e-6) : this.trace.last;
    this.ribbon.draw(this.at);
    const step = this.trace.steps[this.at];
    refill(this.place, step ? [t("timeline.step", { at: number(this.at), last: number(this.trace.last) }), pages(step.pages)].filter(Boolean).join(" · ") : "");
  }

  // Draws the memory against the other one, or by itself, and returns its lines.
  lines(other) {
    const lines = against(this.memory, other ?? this.memory);
    refill(this.list, lines.length ? lines.map(entry) : h("li", { class: "nothing" }, t("memory.empty")));
    return lines;
  }

  #tell() {
    const { model, way } = this.reading;
    const answer = answerOf(this.reading);
    refill(this.eyebrow, trustBadge(this.reading), h("span", {}, `${model} · ${way}`));
    this.answer.className = answer ? "answer" : "answer none";
    refill(this.answer, readable(answer || t(`none.${this.reading.status}`)));
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
    if (this.trace.add(step)) this.changed();
  }
}

function entry({ kind, pieces }) {
  const label = kind === "both" ? "" : h("span", { class: "unseen" }, t(`compare.kind.${kind}`));
  return h("li", { class: kind === "alone" ? "new" : kind, dir: "auto" }, h("span", { class: "since" }), h("p", {}, label, pieces.map(([alone, text]) => (alone ? h("ins", {}, text) : text))));
}
