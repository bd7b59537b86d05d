// All questions that were ever asked, newest first. Two can be chosen for comparison.

import { h, later, refill } from "./dom.js";
import { Star } from "./labels.js";
import { paged } from "./lists.js";
import { statusChip, supportChip } from "./marks.js";
import * as service from "./service.js";
import { moment, number, t } from "./words.js";

const LOOK_AGAIN = 4000;

export function journalView(query, kept) {
  const journal = new Journal(kept);
  journal.load();
  requestAnimationFrame(() => journal.search.focus({ preventScroll: true }));
  return { node: journal.node, title: t("journal"), close: () => journal.close(), keep: () => ({ search: journal.search.value }) };
}

class Journal {
  constructor(kept) {
    this.picked = new Set();
    this.search = h("input", { type: "search", id: "search", value: kept?.search ?? "", "aria-label": t("journal.search"), placeholder: t("journal.search"), oninput: later(200, () => this.load()) });
    this.told = h("p", { class: "small", role: "status" });
    this.compare = h("button", { type: "button", hidden: true, onclick: () => this.#compare() }, t("journal.compare"));
    this.list = paged(
      (offset, limit) => service.readings({ search: this.search.value.trim(), offset, limit }),
      (reading) => this.#entry(reading),
      ({ reading }) => reading,
    );
    this.node = h("section", { class: "home journal" }, h("h1", {}, t("journal")), h("div", { class: "pane-head" }, this.search, this.compare), this.told, this.list.node);
  }

  close() {
    clearTimeout(this.timer);
    this.closed = true;
  }

  async load() {
    clearTimeout(this.timer);
    try {
      const readings = await this.list.load();
      if (this.closed) return;
      const search = this.search.value.trim();
      refill(this.told, readings.length ? "" : t(search ? "journal.none" : "journal.empty", { search }));
      if (readings.some(({ status }) => status === "reading")) this.timer = setTimeout(() => this.load(), LOOK_AGAIN);
    } catch (problem) {
      refill(this.told, problem.message);
    }
  }

  #entry(reading) {
    const pick = h("input", { type: "checkbox", checked: this.picked.has(reading.reading), "aria-label": t("journal.pick", { question: reading.question }) });
    pick.addEventListener("change", () => this.#pick(reading.reading, pick.checked));
    const star = new Star(Boolean(reading.starred), (starred) => service.labelReading(reading.reading, { starred }));
    const facts = [reading.document.name, reading.model, reading.way, moment(reading.created), t("journal.tokens", { count: number(reading.usage.prompt_tokens + reading.usage.completion_tokens) })];
    return h(
      "li",
      {},
      h("div", {}, pick, star.node),
      h(
        "div",
        {},
        h("a", { href: service.own.place(reading.reading), class: "question", dir: "auto" }, reading.name || reading.question),
        h("p", { class: reading.answer ? "said" : "said none", dir: "auto" }, reading.answer || t("journal.no-answer")),
        h("p", { class: "small" }, statusChip(reading.status, reading.verdict), " ", reading.verdict && [supportChip(reading.verdict), " "], facts.join(" · ")),
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
