// Tables that scroll within their own width, and sections that are folded at first.

import { h, refill } from "./dom.js";

// Replace the options of a list only where they changed: somebody may be choosing.
export function offered(select, options) {
  const told = JSON.stringify(options);
  if (select.offered === told) return;
  const chosen = select.value;
  select.offered = told;
  refill(select, options.map(([value, name]) => h("option", { value }, name)));
  select.value = options.some(([value]) => value === chosen) ? chosen : (options[0]?.[0] ?? "");
}

export function figures({ caption, header, rows, kind = "" }) {
  const cells = (row) => row.map((cell, at) => (at ? h("td", { dir: "auto" }, cell) : h("th", { scope: "row", dir: "auto" }, cell)));
  const table = h(
    "div",
    { class: `table ${kind}`, tabindex: "0", role: "region", "aria-label": caption || header.join(", ") },
    h("table", {}, h("thead", {}, h("tr", {}, header.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows.map((row) => h("tr", {}, cells(row))))),
  );
  return h("div", {}, caption && h("p", { class: "small caption", "aria-hidden": "true" }, caption), table);
}

export function folded(title, content) {
  const inner = h("div");
  const box = h("details", { class: "folded", ontoggle: () => box.open && refill(inner, content()) }, h("summary", {}, title), inner);
  return box;
}
