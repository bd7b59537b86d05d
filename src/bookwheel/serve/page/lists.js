// A list that is complete: it comes in pages, and "more" brings the next one.

import { h, refill } from "./dom.js";
import { t } from "./words.js";

const PAGE = 40;

// `fetch(offset, limit)` gives rows, `entry(row)` an element, `id(row)` what a row is known by.
export function paged(fetch, entry, id) {
  const list = h("ul", { class: "readings" });
  const more = h("button", { type: "button", class: "plain", hidden: true, onclick: () => next() }, t("list.more"));
  let rows = [];
  let asked = 0;

  async function bring(offset, count) {
    const mine = (asked += 1);
    const found = await fetch(offset, count + 1);
    if (mine !== asked) return rows;
    const known = new Set(rows.slice(0, offset).map(id));
    rows = [...rows.slice(0, offset), ...found.slice(0, count).filter((row) => !known.has(id(row)))];
    more.hidden = found.length <= count;
    // A list is not redrawn under the hands of somebody who is in it.
    if (offset) list.append(...rows.slice(known.size).map(entry));
    else if (!list.contains(document.activeElement)) refill(list, rows.map(entry));
    return rows;
  }

  const next = () => bring(rows.length, PAGE);
  return { node: h("div", {}, list, more), load: () => bring(0, Math.max(PAGE, rows.length)) };
}
