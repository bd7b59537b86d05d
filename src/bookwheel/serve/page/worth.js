// What each memory of a reading is worth, in bits: a plot over the steps, and the bits that rest on each line of the
// last memory. The model is asked some times for each step, so this is measured when somebody asks for it.

import { Chart, legend } from "./chart.js";
import { h, refill } from "./dom.js";
import { number, signed, t } from "./words.js";

export class WorthDialog {
  constructor() {
    this.line = h("p", { class: "small", role: "status" });
    const told = (step) => t("worth.step", { at: number(step) });
    this.chart = new Chart({ label: t("worth.plot"), x: { format: number, told }, y: { format: signed } });
    this.names = h("div", {});
    this.lines = h("ol", { class: "lines bare" });
    this.body = h("div", { class: "call", tabindex: "0", role: "group", "aria-label": t("worth") }, this.line, this.names, this.chart.node, this.lines);
    const close = h("form", { method: "dialog", class: "row" }, h("button", { class: "main", autofocus: true }, t("call.close")));
    this.node = h("dialog", { class: "keys calls", "aria-label": t("worth") }, h("h2", {}, t("worth")), this.body, close);
  }

  async open(measure) {
    this.node.showModal();
    refill(this.line, t("worth.measuring"));
    try {
      this.#draw(await measure());
    } catch (problem) {
      refill(this.line, problem.message);
    }
  }

  #draw({ model, steps, lines }) {
    const curve = (of, index) => ({ name: t(`worth.${of}`), index, points: steps.filter((step) => step[of]).map((step) => ({ x: step.index, y: step[of].bits })) });
    const series = [curve("answer", 0), curve("ahead", 1)].filter(({ points }) => points.length);
    refill(this.line, t("worth.told", { model }));
    this.chart.show(series);
    refill(this.names, legend(series, [this.chart]));
    refill(this.lines, lines.map(({ line, bits }) => h("li", { dir: "auto" }, h("span", { class: "chip" }, t("worth.bits", { bits: signed(bits) })), " ", line)));
  }
}
