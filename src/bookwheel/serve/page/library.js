// The library: what this is, what reads here, the form, and the shelf of documents.

import { AskForm } from "./ask.js";
import { h } from "./dom.js";
import { Star } from "./labels.js";
import { SearchedList } from "./lists.js";
import { statusChip } from "./marks.js";
import * as service from "./service.js";
import { compact, knows, moment, number, t } from "./words.js";

let dropped = [];

// Files that were dropped on another view wait here for the form.
export const receive = (files) => dropped.push(...files);

export async function libraryView(query, kept) {
  const models = await service.models();
  const shelf = makeShelf(kept?.search);
  const form = new AskForm(models, () => shelf.load());
  if (kept) form.restore(kept.form);
  form.take(dropped.splice(0));
  shelf.load();
  const sample = async (event) => {
    event.currentTarget.disabled = true;
    await form.sample(await service.recorded());
    event.target.disabled = false;
  };
  const hero = h(
    "div",
    { class: "lead" },
    h("h1", {}, t("title")),
    h("p", { class: "soft" }, t("lead")),
    h("div", { class: "row" }, h("a", { class: "button", href: "#/sample" }, `▷ ${t("first.watch")}`), h("button", { type: "button", onclick: sample }, t("first.sample"))),
    h("p", { class: "small reader" }, models.map(reader)),
  );
  const take = (event) => form.take(event.detail);
  addEventListener("files", take);
  const close = () => {
    removeEventListener("files", take);
    shelf.close();
  };
  const node = h("div", { class: "home" }, hero, form.node, shelf.node);
  return { node, close, keep: () => ({ form: { ...form.keep(), sources: form.sources }, search: shelf.search.value }) };
}

// Which model reads here, how much it sees at once, and what it can do.
function reader({ name, window: room, abilities, way }) {
  const can = abilities === null ? [t("first.unknown")] : abilities.map((one) => (knows(`ability.${one}`) ? t(`ability.${one}`) : one));
  return h("span", {}, h("b", {}, name), ` · ${room ? t("first.window", { tokens: number(room) }) : t("first.no-window")} · ${[t("ability.reply"), ...can].join(t("list.comma"))} · ${t("first.way", { way })}`);
}

function makeShelf(typed) {
  const list = new SearchedList({ words: "shelf", id: "shelf-search", typed, fetch: service.documents, entry, key: ({ document }) => document, goes: ({ newest }) => newest?.status === "reading" });
  const head = h("div", { class: "pane-head" }, h("h2", { id: "shelf-title" }, t("shelf")), list.search, h("a", { class: "button", href: "#/memories" }, t("memories")), h("a", { class: "button", href: "#/search" }, t("shelf.texts")));
  list.node = h("section", { class: "shelf", "aria-labelledby": "shelf-title" }, head, list.told, list.rows);
  return list;
}

function entry(book) {
  const star = new Star(book.starred, (starred) => service.labelDocument(book.document, { starred }));
  const { newest } = book;
  const facts = [t("shelf.length", { length: compact(book.length) }), t("shelf.readings", { count: number(book.readings) }), moment(newest?.created ?? book.kept)];
  return h(
    "li",
    {},
    star.node,
    h(
      "div",
      {},
      h("a", { href: `#/document/${book.document}`, class: "question", dir: "auto" }, book.name),
      h("p", { class: "said", dir: "auto" }, newest ? newest.question : t("shelf.unasked")),
      h("p", { class: "small" }, newest && [statusChip(newest.status), " "], facts.join(" · ")),
    ),
  );
}
