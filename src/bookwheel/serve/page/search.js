// Full-text search over all documents, questions, memories and answers; a hit leads to its place.

import { rememberAddress } from "./address.js";
import { h, later, refill } from "./dom.js";
import { placeIn } from "./marks.js";
import * as service from "./service.js";
import { number, pages, t } from "./words.js";

const PAGE = 50;

export const searchView = () => (kept, query) => {
  const field = h("input", { type: "search", id: "search", value: query.get("q") ?? "", "aria-label": t("search"), placeholder: t("search.hint") });
  const told = h("p", { class: "small", role: "status" });
  const list = h("ul", { class: "readings hits" });
  const more = h("button", { type: "button", class: "plain", hidden: true, onclick: () => load((limit += PAGE)) }, t("list.more"));
  let [asked, limit] = [0, PAGE];
  const load = async () => {
    const words = field.value.trim();
    const mine = (asked += 1);
    rememberAddress(words ? `#/search?${new URLSearchParams({ q: words })}` : "#/search");
    more.hidden = true;
    if (!words) return refill(list), refill(told);
    try {
      const found = await service.search(words, limit + 1);
      if (mine !== asked) return undefined;
      told.classList.remove("problem");
      more.hidden = found.length <= limit;
      const hits = found.slice(0, limit);
      refill(list, hits.map((hit) => entry(hit, words)));
      return refill(told, hits.length ? t(more.hidden ? "search.found" : "search.first", { count: number(hits.length) }) : t("search.none", { words }));
    } catch (problem) {
      told.classList.add("problem");
      return refill(told, problem.message);
    }
  };
  const typed = later(250, load);
  field.addEventListener("input", () => {
    limit = PAGE;
    typed();
  });
  if (field.value) load();
  requestAnimationFrame(() => field.focus());
  const node = h("section", { class: "home" }, h("h1", {}, t("search")), field, told, list, more);
  return { node, title: t("search"), close: () => (asked += 1) };
};

function entry(hit, words) {
  const place = hit.reading ? service.own.place(hit.reading) : `#/document/${hit.document}?quote=${hit.start}-${hit.end}`;
  const where = hit.reading ? [hit.name, t("search.memory")] : [placeIn(hit.sources[0], hit.name), hit.lines?.length ? t("source.line", { line: hit.lines[0] }) : pages(hit.pages), !hit.lines?.length && t("source.span", { start: number(hit.start), end: number(hit.end) })];
  return h(
    "li",
    {},
    h("span", { class: "chip nought" }, t(hit.reading ? "search.reading" : "search.text")),
    h("div", {}, h("a", { class: "question", href: place, dir: "auto" }, hit.question || hit.name), h("p", { class: "said", dir: "auto" }, marked(cut(hit), words)), h("p", { class: "small" }, where.filter(Boolean).join(" · "))),
  );
}

// A snippet that begins or ends within a sentence says so.
const cut = ({ reading, start, snippet }) => `${!reading && start ? "… " : ""}${snippet}${/[.!?。！？]["'”’)]*$/.test(snippet.trim()) ? "" : " …"}`;

// The snippet with the words of the search marked.
export function marked(text, words) {
  const wanted = words.split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length) return text;
  return text.split(new RegExp(`(${wanted.join("|")})`, "giu")).map((piece, at) => (at % 2 ? h("mark", {}, piece) : piece));
}
