// The memory changed by hand: a new reading goes on with it.

import { fromHere } from "./address.js";
import { h, refill } from "./dom.js";
import * as service from "./service.js";
import { number, t } from "./words.js";

export class MemoryEditor {
  constructor(view) {
    this.view = view;
  }

  get text() {
    return this.form?.querySelector("textarea").value;
  }

  open(text) {
    const { view } = this;
    if (this.form || !view.trace.length) return;
    const at = view.shown;
    view.at = at; // the newest step may move on meanwhile
    const area = h("textarea", { id: "memory-text", rows: 8, dir: "auto", value: text ?? view.trace.steps[at].memory });
    const problem = h("p", { class: "small problem", role: "alert" });
    const go = async (event) => {
      event.preventDefault();
      const lead = fromHere();
      try {
        const fresh = await service.fork(view.reading.reading, at, area.value);
        lead(service.own.place(fresh.reading));
      } catch (refused) {
        refill(problem, refused.message);
      }
    };
    const keys = (event) => {
      if (event.key === "Escape") this.leave();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go(event);
    };
    this.form = h(
      "form",
      { class: "edit", onsubmit: go, onkeydown: keys },
      h("label", { for: "memory-text" }, t("memory.edit.label", { at: number(at) })),
      area,
      h("p", { class: "small" }, t("memory.edit.told")),
      problem,
      h("div", { class: "row" }, h("button", { class: "main" }, t("memory.edit.go")), h("button", { type: "button", onclick: () => this.leave() }, t("memory.edit.leave"))),
    );
    view.memory.body.hidden = true;
    view.memory.node.append(this.form);
    area.focus({ preventScroll: true });
    this.form.scrollIntoView({ block: "nearest" });
  }

  leave() {
    if (!this.form) return;
    this.form.remove();
    this.form = undefined;
    this.view.memory.body.hidden = false;
    this.view.edit.focus();
  }
}
