// The readings of the journal, newest first, with a search. Two can be chosen for comparison.

import { h, later, refill } from "./dom.js";
import { statusChip, supportChip } from "./marks.js";
import * as service from "./service.js";
import { moment, number, t } from "./words.js";

const LOOK_AGAIN = 4000;

export class Journal {
  constructor() {
    this.picked = new Set();
    this.search = h("input", { type: "search", id: "search", "aria-label": t("journal.search"), placeholder: t("journal.search"), oninput: later(200, () => this.load()) });
    this.list = h("ul", { class: "readings", "aria-live": "off" });
    this.told = h("p", { class: "small", role: "status" });
    this.compare = h("button", { type: "button", hidden: true, onclick: () => this.#compare() }, t("journal.compare"));
    this.node = h(
      "section",
      { class: "journal", "aria-labelledby": "journal-title" },
      h("div", { class: "pane-head" }, h("h2", { id: "journal-title" }, t("journal")), this.search, this.compare),
      this.told,
      this.list,
    );
    this.keys = (event) => {
      if (event.key !== "/" || event.target.closest?.("input, textarea, select")) return;
      event.preventDefault();
      this.search.focus();
    };
    addEventListener("keydown", this.keys);
  }

  close() {
    clearTimeout(this.timer);
    removeEventListener("keydown", this.keys);
    this.closed = true;
  }

  async load() {
    clearTimeout(this.timer);
    const search = this.search.value.trim();
    let readings;
    try {
      readings = await service.readings(search);
    } catch (problem) {
      return void refill(this.told, problem.message);
    }
    if (this.closed || search !== this.search.value.trim()) return undefined;
    refill(this.told, readings.length ? "" : t(search ? "journal.none" : "journal.empty", { search }));
    if (!this.list.contains(document.activeElement)) refill(this.list, readings.map((reading) => this.#entry(reading)));
    if (readings.some((reading) => reading.status === "reading")) this.timer = setTimeout(() => this.load(), LOOK_AGAIN);
    return undefined;
  }

  #entry(reading) {
    const pick = h("input", { type: "checkbox", checked: this.picked.has(reading.reading), "aria-label": t("journal.pick", { question: reading.question }) });
    pick.addEventListener("change", () => this.#pick(reading.reading, pick.checked));
    return h(
      "li",
      {},
      pick,
      h(
        "div",
        {},
        h("a", { href: `#/reading/${encodeURIComponent(reading.reading)}`, class: "question", dir: "auto" }, reading.question),
        h("p", { class: reading.answer ? "said" : "said none", dir: "auto" }, reading.answer || t("journal.no-answer")),
        h("p", { class: "small" }, statusChip(reading.status, reading.verdict), " ", reading.verdict && [supportChip(reading.verdict), " "], [reading.document.name, reading.model, moment(reading.created), t("journal.tokens", { count: number(reading.usage.prompt_tokens + reading.usage.completion_tokens) })].join(" · ")),
      ),
    );
  }

  #pick(id, on) {
    if (on) this.picked.add(id);
    else this.picked.delete(id);
    this.compare.hidden = this.picked.size !== 2;
    refill(this.told, this.picked.size === 1 ? t("journal.pick-two") : "");
  }

  #compare() {
    location.hash = `#/compare/${[...this.picked].map(encodeURIComponent).join("/")}`;
  }
}
