// Find in the document: its places one after the other, found by the server, because the text may be long.

import { h, later, refill } from "./dom.js";
import { number, t } from "./words.js";

export class FindBar {
  // `search(text)` gives the places; without one (a recorded reading) there is no bar.
  constructor(source, search) {
    Object.assign(this, { source, search, places: [], at: -1 });
    this.field = h("input", { type: "search", "aria-label": t("find"), placeholder: t("find"), oninput: later(250, () => this.#load()), onkeydown: (event) => this.#key(event) });
    this.told = h("span", { class: "small", role: "status" });
    const step = (label, sign, by) => h("button", { type: "button", class: "quiet", "aria-label": t(label), title: t(label), onclick: () => this.#go(by) }, sign);
    this.bar = h("div", { class: "find", hidden: true }, this.field, this.told, step("find.back", "↑", -1), step("find.on", "↓", 1), h("button", { type: "button", class: "quiet", "aria-label": t("find.close"), title: t("find.close"), onclick: () => this.close() }, "×"));
    this.button = h("button", { type: "button", class: "quiet", title: `${t("find")} (F)`, "aria-label": t("find"), onclick: () => (this.bar.hidden ? this.open() : this.close()) }, "⌕");
    if (!search) return;
    source.tools.append(this.button);
    source.where.before(this.bar);
  }

  open() {
    this.bar.hidden = false;
    this.field.focus();
    this.field.select();
  }

  close() {
    this.bar.hidden = true;
    this.button.focus();
  }

  #key(event) {
    event.stopPropagation();
    if (event.key === "Escape") this.close();
    if (event.key !== "Enter") return;
    event.preventDefault();
    this.#go(event.shiftKey ? -1 : 1);
  }

  async #load() {
    const text = this.field.value.trim();
    const places = text ? await this.search(text) : [];
    if (text !== this.field.value.trim()) return;
    this.places = places;
    this.at = -1;
    if (this.places.length) this.#go(1);
    else refill(this.told, text ? t("find.none") : "");
  }

  #go(by) {
    if (!this.places.length) return;
    this.at = (this.at + by + this.places.length) % this.places.length;
    refill(this.told, t("find.at", { at: number(this.at + 1), count: number(this.places.length) }));
    this.source.browse(this.places[this.at].start, this.places[this.at]);
  }
}
