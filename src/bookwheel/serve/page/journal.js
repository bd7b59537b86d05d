// All questions that were ever asked, newest first. Two can be chosen for comparison.

import { h, refill } from "./dom.js";
import { Star } from "./labels.js";
import { SearchedList } from "./lists.js";
import { answerOf, readable, titleOf, trustBadge, whyNone } from "./marks.js";
import * as service from "./service.js";
import { moment, number, t } from "./words.js";

export const journalView = () => (kept) => {
  const journal = new Journal(kept);
  const { list } = journal;
  list.load();
  requestAnimationFrame(() => list.search.focus({ preventScroll: true }));
  return { node: journal.node, title: t("journal"), close: () => list.close(), keep: () => ({ search: list.search.value }) };
};

class Journal {
  constructor(kept) {
    this.picked = new Set();
    this.list = new SearchedList({ words: "journal", id: "search", typed: kept?.search, fetch: (wanted, last) => service.readings({ ...wanted, before: last?.reading }), entry: (reading) => this.#entry(reading), key: ({ reading }) => reading, goes: ({ status }) => status === "reading" });
    this.compare = h("button", { type: "button", hidden: true, onclick: () => this.#compare() }, t("journal.compare"));
    this.hint = h("p", { class: "small", role: "status" });
    this.node = h("section", { class: "home journal" }, h("h1", {}, t("journal")), h("div", { class: "pane-head" }, this.list.search, this.compare), this.hint, this.list.told, this.list.rows);
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
        h("a", { href: service.own.place(reading.reading), class: "question", dir: "auto" }, titleOf(reading)),
        h("p", { class: reading.answer ? "said" : "said none", dir: "auto" }, readable(answerOf(reading) || whyNone(reading))),
        h("p", { class: "small" }, trustBadge(reading), " ", facts.join(" · ")),
      ),
    );
  }

  #pick(id, on) {
    if (on) this.picked.add(id);
    else this.picked.delete(id);
    this.compare.hidden = this.picked.size !== 2;
    refill(this.hint, this.picked.size === 1 ? t("journal.pick-two") : "");
  }

  #compare() {
    location.hash = `#/compare/${[...this.picked].map(encodeURIComponent).join("/")}`;
  }
}
