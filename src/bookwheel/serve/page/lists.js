// Lists that are complete: they come in pages, and "more" brings the next one.

import { h, later, refill } from "./dom.js";
import { t } from "./words.js";

const PAGE = 40;
const LOOK_AGAIN = 4000;

// `fetch(offset, limit)` gives rows, `entry(row)` an element, `id(row)` what a row is known by.
export function paged(fetch, entry, id) {
  const list = h("ul", { class: "readings" });
  const more = h("button", { type: "button", class: "plain", hidden: true, onclick: () => next() }, t("list.more"));
  let rows = [];
  let asked = 0;
  let wanted = PAGE; // rows, which a reload that overtakes "more" brings too

  async function bring(offset, count) {
    const mine = (asked += 1);
    const found = await fetch(offset, count + 1);
    if (mine !== asked) return rows;
    const known = new Set(rows.slice(0, offset).map(id));
    rows = [...rows.slice(0, offset), ...found.slice(0, count).filter((row) => !known.has(id(row)))];
    more.hidden = found.length <= count;
    // A list is not redrawn under the hands of somebody who is in it; it only grows.
    if (offset || list.contains(document.activeElement)) list.append(...rows.slice(list.childElementCount).map(entry));
    else refill(list, rows.map(entry));
    return rows;
  }

  const next = () => {
    wanted = rows.length + PAGE;
    return bring(rows.length, PAGE);
  };
  return { node: h("div", {}, list, more), load: () => bring(0, wanted) };
}

// A paged list with a field that searches it. While one of its readings goes on, it is looked at again. `words` begins the
// keys of its sentences: WORDS.search, WORDS.none, WORDS.empty.
export class SearchedList {
  constructor({ words, id, typed = "", fetch, entry, key, goes }) {
    Object.assign(this, { words, goes });
    this.search = h("input", { type: "search", id, value: typed, "aria-label": t(`${words}.search`), placeholder: t(`${words}.search`), oninput: later(200, () => this.load()) });
    this.told = h("p", { class: "small", role: "status" });
    this.list = paged((offset, limit) => fetch({ search: this.#wanted, offset, limit }), entry, key);
    this.rows = this.list.node;
  }

  get #wanted() {
    return this.search.value.trim();
  }

  close() {
    clearTimeout(this.timer);
    this.closed = true;
  }

  async load() {
    clearTimeout(this.timer);
    if (!this.loaded) refill(this.told, t("list.loading"));
    try {
      const rows = await this.list.load();
      if (this.closed) return;
      this.loaded = true;
      this.told.classList.remove("problem");
      refill(this.told, rows.length ? "" : t(`${this.words}.${this.#wanted ? "none" : "empty"}`, { search: this.#wanted }));
      if (rows.some(this.goes)) this.timer = setTimeout(() => this.load(), LOOK_AGAIN);
    } catch (problem) {
      this.told.classList.add("problem");
      refill(this.told, problem.message);
    }
  }
}
