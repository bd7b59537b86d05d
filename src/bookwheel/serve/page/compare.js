// Two readings side by side, both at the same place of the document, whatever their chunks are.

import { eachFrame, h, refill } from "./dom.js";
import { statusChip } from "./facts.js";
import { MemoryPane } from "./memory.js";
import { Ribbon, stepOfKey } from "./ribbon.js";
import * as service from "./service.js";
import { Trace } from "./trace.js";
import { number, pages, t } from "./words.js";

export async function compareView(one, other) {
  const readings = await Promise.all([one, other].map(service.reading));
  const sides = readings.map((reading) => new Side(reading, (share) => go(share)));
  let place = 1;
  const draw = eachFrame(() => sides.forEach((side) => side.draw(place)));
  function go(share) {
    place = share;
    draw();
  }
  go(1);
  const node = h(
    "article",
    { class: "compare" },
    h("h1", {}, t("compare")),
    h("p", { class: "soft" }, t("compare.lead")),
    h("div", { class: "columns even" }, sides.map((side) => side.node)),
  );
  return { node, title: t("compare"), close: () => sides.forEach((side) => side.ribbon.close()) };
}

class Side {
  constructor(reading, go) {
    this.trace = new Trace(reading.steps);
    const length = Math.max(1, reading.document.length, this.trace.steps.at(-1)?.end ?? 0);
    this.length = length;
    const to = (at) => go((this.trace.steps[at].start + this.trace.steps[at].end) / 2 / length);
    this.ribbon = new Ribbon({ trace: this.trace, length, proofs: () => reading.evidence ?? [], move: to });
    this.ribbon.node.addEventListener("keydown", (event) => {
      const at = this.trace.length ? stepOfKey(event, this.ribbon.at, this.trace.last) : null;
      if (at === null) return;
      event.preventDefault();
      to(at);
    });
    this.memory = new MemoryPane({ trace: this.trace, limit: reading.plan.memory_tokens, label: `${t("memory")}: ${reading.question}` });
    this.place = h("p", { class: "place" });
    this.node = h(
      "section",
      {},
      h("p", { class: "eyebrow" }, statusChip(reading.status), h("span", {}, reading.model)),
      h("h2", { class: "question", dir: "auto" }, h("a", { href: `#/reading/${encodeURIComponent(reading.reading)}` }, reading.question)),
      h("div", { class: reading.answer ? "answer" : "answer none", dir: "auto" }, reading.answer || t(`none.${reading.status}`)),
      h("p", { class: "small" }, t("reading.of", { name: reading.document.name, length: number(reading.document.length) })),
      this.ribbon.node,
      this.place,
      this.memory.node,
    );
  }

  draw(share) {
    const at = this.trace.length ? this.trace.stepAt(share * this.length - 1e-6) : -1;
    this.ribbon.draw(at);
    this.memory.draw(at);
    const step = this.trace.steps[at];
    refill(this.place, step ? [t("timeline.step", { at: number(at), last: number(this.trace.last) }), pages(step.pages)].filter(Boolean).join(" · ") : "");
  }
}
