// One or several questions on one document. Enter sends, Shift and Enter begins a new line.

import { h } from "./dom.js";
import { t } from "./words.js";

export class Questions {
  constructor({ name, hint, changed = () => {}, send }) {
    Object.assign(this, { name, hint, changed });
    this.count = 0; // of rows ever made, so that no two have one id
    this.rows = h("div", { class: "questions" });
    const more = h("button", { type: "button", class: "plain", onclick: () => this.add().focus() }, `+ ${t("ask.another")}`);
    const keys = (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.target.tagName !== "TEXTAREA") return;
      event.preventDefault();
      send(event);
    };
    this.node = h("div", { onkeydown: keys, oninput: changed }, this.rows, more);
    this.add();
  }

  add(value = "") {
    const isFirst = !this.rows.childElementCount;
    const area = h("textarea", { rows: 1, id: `${this.name}-${this.count}`, dir: "auto", placeholder: isFirst ? this.hint : "", value });
    this.count += 1;
    const away = () => {
      row.remove();
      this.changed();
    };
    const less = isFirst ? null : h("button", { type: "button", class: "quiet", "aria-label": t("ask.less"), title: t("ask.less"), onclick: away }, "×");
    const row = h("div", { class: "question-row" }, h("label", { for: area.id }, t("ask.question")), area, less);
    this.rows.append(row);
    return area;
  }

  get all() {
    return [...this.rows.querySelectorAll("textarea")].map((area) => area.value);
  }

  get asked() {
    return this.all.map((text) => text.trim()).filter(Boolean);
  }

  restore(texts = []) {
    this.clear();
    texts.forEach((text, at) => {
      if (at) this.add(text);
      else this.first.value = text;
    });
  }

  clear() {
    [...this.rows.children].slice(1).forEach((row) => row.remove());
    this.count = 1;
    this.first.value = "";
  }

  // Takes out what was sent, unless somebody has typed on.
  drop(sent) {
    if (JSON.stringify(this.all) === JSON.stringify(sent)) this.clear();
  }

  get first() {
    return this.rows.querySelector("textarea");
  }
}

// A reading, or one for each of several questions: the document is opened once and read in lockstep.
export const wanted = (questions) => (questions.length > 1 ? { questions } : { question: questions[0] });
export const started = (told) => told.readings ?? [told];
