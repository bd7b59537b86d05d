// A model judges an answer that words alone did not prove, without reading again; the new verdicts stand in its place.

import { h, refill } from "./dom.js";
import { signOf } from "./marks.js";
import * as service from "./service.js";
import { t } from "./words.js";

export class Judging {
  // `judged(reading)` shows the reading with its new verdicts.
  constructor(judged) {
    this.judged = judged;
    this.button = h("button", { type: "button", class: "quiet", title: t("judge.told"), onclick: () => this.#judge() });
    this.line = h("span", { class: "problem", role: "alert" });
    this.node = h("p", { class: "small judging", "aria-live": "polite", hidden: true }, this.button, this.line);
    // Without the list of models there is nothing to offer.
    service.models().then((models) => this.#know(models), () => {});
  }

  draw(reading) {
    if (reading === this.reading) return;
    this.reading = reading;
    this.#show();
  }

  #know(models) {
    this.judges = models.filter(({ judges }) => judges).map(({ name }) => name);
    this.#show();
  }

  // The model that read, where it can.
  get #name() {
    return this.judges?.find((name) => name === this.reading.model) ?? this.judges?.[0];
  }

  #show() {
    if (this.isBusy || !this.reading) return;
    this.node.hidden = !this.#name || !isOpen(this.reading);
    refill(this.button, t("judge.ask", { name: this.#name ?? "" }));
  }

  async #judge() {
    this.isBusy = this.button.disabled = true;
    refill(this.line);
    refill(this.button, t("judge.busy", { name: this.#name }));
    let told = null;
    try {
      told = await service.judge(this.reading.reading, this.#name);
    } catch (problem) {
      refill(this.line, problem.message);
    }
    this.isBusy = this.button.disabled = false;
    this.#show();
    if (told) this.judged(told);
  }
}

// Whether a model may know more of an answer than its words told: it is not green, and no picture is behind it.
export function isOpen({ status, sign, claims = [], plan }) {
  const left = ({ judge, verdict }) => judge === "words" || verdict === "unchecked" || (!judge && plan.verdict !== "model");
  const open = claims.filter((claim) => signOf(claim) !== "green" && claim.verdict !== "absent" && left(claim));
  return status === "answered" && sign !== "green" && open.length > 0 && claims.every(({ verdict }) => verdict !== "seen");
}
