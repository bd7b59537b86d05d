// The prompt and the reply of a step, or of the answer, as the model had and gave them.

import { h, refill } from "./dom.js";
import * as service from "./service.js";
import { number, t } from "./words.js";

export class CallDialog {
  constructor() {
    this.title = h("h2", {});
    this.body = h("div", { class: "call", tabindex: "0", role: "group" });
    this.back = h("button", { type: "button", "aria-label": t("timeline.back"), onclick: () => this.#go(-1) }, "←");
    this.on = h("button", { type: "button", "aria-label": t("timeline.on"), onclick: () => this.#go(1) }, "→");
    const close = h("form", { method: "dialog", class: "row" }, this.back, this.on, h("button", { class: "main", autofocus: true }, t("call.close")));
    this.node = h("dialog", { class: "keys calls", "aria-label": t("call") }, this.title, this.body, close);
  }

  open(reading, at, last) {
    Object.assign(this, { reading, at, last });
    this.node.showModal();
    this.#load();
  }

  #go(by) {
    this.at = Math.max(0, Math.min(this.last, this.at + by));
    this.#load();
  }

  async #load() {
    const { at } = this;
    this.back.disabled = at === 0;
    this.on.disabled = at === this.last;
    refill(this.title, at < this.last ? t("call.step", { at: number(at) }) : t("call.answer"));
    this.body.setAttribute("aria-label", this.title.textContent);
    try {
      const call = await service.call(this.reading, at);
      if (at === this.at) refill(this.body, this.#call(call));
    } catch (problem) {
      if (at === this.at) refill(this.body, h("p", { class: "small problem" }, problem.message));
    }
  }

  #call(call) {
    const notes = [call.same ? t("call.same") : t("call.rebuilt"), call.kind !== "reply" && t(`call.${call.kind}`), call.calls > 1 && t("call.more", { count: number(call.calls) })];
    return [
      h("p", { class: "small" }, notes.filter(Boolean).join(" ")),
      call.messages.map(({ role, content }) => [h("h3", {}, t("call.prompt", { role })), h("pre", { dir: "auto" }, content)]),
      h("h3", {}, t("call.reply")),
      h("pre", { dir: "auto" }, call.reply || t("call.silent")),
    ];
  }
}
