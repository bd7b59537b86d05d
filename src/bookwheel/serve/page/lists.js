// Lists that are complete: they come in pages, each behind the last row of the one before, as they are scrolled to.

import { h, later, refill } from "./dom.js";
import { t } from "./words.js";

const PAGE = 40;
const LOOK_AGAIN = 4000;
const AHEAD = "900px"; // how far below the window the next page is fetched

// `fetch(last, limit)` gives rows behind a row, or the first ones; `entry(row)` an element, `id(row)` what a row is known by.
export function paged(fetch, entry, id) {
  const list = h("ul", { class: "readings" });
  const more = h("button", { type: "button", class: "plain", hidden: true, onclick: () => next() }, t("list.more"));
  const watch = new IntersectionObserver(([seen]) => seen.isIntersecting && !more.hidden && next(), { rootMargin: AHEAD });
  const drawn = new Map(); // id -> what its row was drawn from, and the element
  let rows = [];
  let search = 0; // what came of an earlier search is not wanted any more

  async function bring(last, begins) {
    search += begins;
    const mine = search;
    const found = await fetch(last, PAGE + 1);
    if (mine !== search) return rows;
    const isMore = found.length > PAGE;
    const fresh = found.slice(0, PAGE);
    if (last || begins) {
      const before = last ? rows : [];
      const known = new Set(before.map(id));
      rows = [...before, ...fresh.filter((row) => !known.has(id(row)))];
      more.hidden = !isMore;
    } else {
      // What stands behind the first page stays when the first page is looked at again.
      const news = new Set(fresh.map(id));
      rows = [...fresh, ...(isMore ? rows.filter((row) => !news.has(id(row))) : [])];
      if (rows.length === fresh.length) more.hidden = !isMore;
    }
    draw(last ? rows.length - fresh.length : 0);
    watch.unobserve(more);
    if (!more.hidden) watch.observe(more);
    return rows;
  }

  // A row that has not changed keeps its element, and with it the focus and what is ticked. A list that only grew is not
  // looked through again.
  function draw(from) {
    rows.slice(from).forEach((row, ahead) => {
      const at = from + ahead;
      const told = JSON.stringify(row);
      const before = drawn.get(id(row));
      if (before && (before.told === told || before.node.contains(document.activeElement))) return place(before.node, at);
      const node = entry(row);
      if (before?.node.isConnected) before.node.replaceWith(node);
      drawn.set(id(row), { told, node });
      return place(node, at);
    });
    while (list.childElementCount > rows.length) list.lastElementChild.remove();
  }

  function place(node, at) {
    if (list.children[at] !== node) list.insertBefore(node, list.children[at] ?? null);
  }

  const next = () => bring(rows.at(-1), false);
  return { node: h("div", {}, list, more), load: (again = false) => bring(null, !again || !rows.length), close: () => watch.disconnect() };
}

// A paged list with a field that searches it. While one of its readings goes on, it is looked at again. `words` begins the
// keys of its sentences: WORDS.search, WORDS.none, WORDS.empty. `wanted()` gives further values to fetch by.
export class SearchedList {
  constructor({ words, id, typed = "", fetch, entry, key, goes, wanted = () => ({}), found = () => {} }) {
    Object.assign(this, { words, goes, wanted, found });
    this.search = h("input", { type: "search", id, value: typed, "aria-label": t(`${words}.search`), placeholder: t(`${words}.search`), oninput: later(200, () => this.load()) });
    this.told = h("p", { class: "small", role: "status" });
    this.list = paged((last, limit) => fetch({ search: this.typed, ...wanted(), limit }, last), entry, key);
    this.rows = this.list.node;
  }

  get typed() {
    return this.search.value.trim();
  }

  close() {
    clearTimeout(this.timer);
    this.closed = true;
    this.list.close();
  }

  async load(again = false) {
    clearTimeout(this.timer);
    if (!this.loaded) refill(this.told, t("list.loading"));
    try {
      const rows = await this.list.load(again);
      if (this.closed) return;
      this.loaded = true;
      this.told.classList.remove("problem");
      const narrowed = this.typed || Object.values(this.wanted()).some(Boolean);
      refill(this.told, rows.length ? "" : t(`${this.words}.${narrowed ? "none" : "empty"}`, { search: this.typed }));
      this.found(rows);
      if (rows.some(this.goes)) this.timer = setTimeout(() => this.load(true), LOOK_AGAIN);
    } catch (problem) {
      this.told.classList.add("problem");
      refill(this.told, problem.message);
    }
  }
}
