// The documents: sorted, by type and collection, and what can be done with several of them at once.

import { rememberAddress } from "./address.js";
import { h, refill } from "./dom.js";
import { Star, confirmed } from "./labels.js";
import { SearchedList } from "./lists.js";
import { titleOf, trustBadge } from "./marks.js";
import * as service from "./service.js";
import { offered } from "./tables.js";
import { compact, moment, number, t } from "./words.js";

const ORDERS = ["used", "added", "name", "length", "questions"];
const STARRED = "★"; // no collection is called so: its option stands among theirs
const WHOLE = 500; // documents that one request brings where all are chosen

export class DocumentShelf {
  constructor(query, kept, ask) {
    Object.assign(this, { ask, chosen: new Map() });
    const from = new URLSearchParams(kept?.query ?? query);
    this.from = { sort: from.get("sort"), type: from.get("type"), collection: from.get("starred") ? STARRED : from.get("collection") };
    const select = (name, label) => h("select", { id: `shelf-${name}`, "aria-label": t(label), onchange: () => this.#narrow() });
    this.sort = select("sort", "shelf.sort");
    this.type = select("type", "shelf.type");
    this.collection = select("collection", "shelf.collection");
    this.list = new SearchedList({
      words: "shelf",
      id: "shelf-search",
      typed: kept?.search,
      fetch: (wanted, last) => service.documents({ ...wanted, after: last?.document }),
      entry: (book) => this.#entry(book),
      key: ({ document }) => document,
      goes: ({ newest }) => newest?.status === "reading",
      wanted: () => this.#wanted,
    });
    this.bulk = h("div", { class: "bulk", role: "group", "aria-label": t("bulk"), hidden: true });
    const tools = h("div", { class: "shelf-tools" }, this.list.search, this.sort, this.type, this.collection);
    this.node = h("div", { class: "documents" }, tools, this.bulk, this.list.told, this.list.rows);
    this.#offer({ documents: 0, starred: 0, types: {}, collections: [] });
    this.load();
  }

  keep() {
    return { search: this.list.search.value, query: new URLSearchParams(this.#wanted).toString() };
  }

  close() {
    this.list.close();
  }

  load() {
    this.#count();
    return this.list.load(true);
  }

  get #wanted() {
    const [sort, type, collection] = [this.sort.value, this.type.value, this.collection.value];
    const wanted = { sort: sort === "used" ? "" : sort, type, ...(collection === STARRED ? { starred: "1" } : { collection }) };
    return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value));
  }

  #narrow() {
    const query = new URLSearchParams(this.#wanted).toString();
    rememberAddress(query ? `#/?${query}` : "#/");
    this.#choose([]);
    this.list.load();
  }

  async #count() {
    const counts = await service.shelf().catch(() => null);
    if (counts) this.#offer(counts);
  }

  #offer(counts) {
    const { sort, type, collection } = this.from;
    const counted = (name, count) => t("shelf.counted", { name, count: number(count) });
    const types = Object.entries(counts.types);
    const groups = [...(counts.starred ? [[STARRED, counts.starred, t("shelf.starred")]] : []), ...counts.collections.map((one) => [one.collection, one.documents, one.collection])];
    // What the address asks for is there from the beginning, also where it has not been counted yet.
    if (type && !counts.types[type]) types.push([type, 0]);
    if (collection && !groups.some(([value]) => value === collection)) groups.push([collection, 0, collection === STARRED ? t("shelf.starred") : collection]);
    offered(this.sort, ORDERS.map((name) => [name, t(`shelf.sort.${name}`)]));
    offered(this.type, [["", t("shelf.all-types")], ...types.map(([value, count]) => [value, counted(t(`type.${value}`), count)])]);
    offered(this.collection, [["", t("shelf.all")], ...groups.map(([value, count, name]) => [value, counted(name, count)])]);
    if (!this.placed) {
      this.sort.value = ORDERS.includes(sort) ? sort : "used";
      this.type.value = type ?? "";
      this.collection.value = collection ?? "";
      this.placed = true;
    }
    this.from = { type: this.type.value, collection: this.collection.value };
    this.collections = counts.collections.map((one) => one.collection);
    this.collection.hidden = groups.length === 0;
    this.type.hidden = types.length < 2 && !this.type.value;
  }

  #entry(book) {
    const star = new Star(book.starred, async (starred) => {
      await service.labelDocument(book.document, { starred });
      this.#count();
    });
    const pick = h("input", { type: "checkbox", checked: this.chosen.has(book.document), "aria-label": t("bulk.choose", { name: book.name }), onchange: () => this.#pick(book, pick.checked) });
    const { newest } = book;
    const facts = [book.type !== "text" && t(`type.${book.type}`), t("shelf.length", { length: compact(book.length) }), t("shelf.readings", { count: number(book.readings) }), moment(newest?.created ?? book.kept)];
    const within = (name) => h("a", { class: "chip nought", href: `#/?${new URLSearchParams({ collection: name })}`, dir: "auto" }, name);
    const stays = book.starred || book.collections.length;
    return h(
      "li",
      { class: "book-row", "data-document": book.document },
      h("div", { class: "picks" }, pick, star.node),
      h(
        "div",
        {},
        h("a", { href: `#/document/${book.document}`, class: "question", dir: "auto" }, book.name),
        h("p", { class: "said", dir: "auto" }, newest ? titleOf(newest) : t(stays ? "shelf.unasked.stays" : "shelf.unasked")),
        h("p", { class: "small" }, newest && [trustBadge(newest), " "], facts.filter(Boolean).join(" · "), book.collections.map((name) => [" ", within(name)])),
      ),
    );
  }

  // Several at once

  #pick(book, on) {
    if (on) this.chosen.set(book.document, book);
    else this.chosen.delete(book.document);
    this.#tellChosen();
  }

  #choose(books) {
    this.chosen = new Map(books.map((book) => [book.document, book]));
    this.list.rows.querySelectorAll("[data-document]").forEach((row) => {
      row.querySelector("input").checked = this.chosen.has(row.dataset.document);
    });
    this.#tellChosen();
  }

  #tellChosen() {
    const count = this.chosen.size;
    this.bulk.hidden = !count;
    if (!count || this.bulk.contains(document.activeElement)) return void refill(this.count ?? this.bulk, count ? t("bulk.chosen", { count: number(count) }) : "");
    const { value: collection } = this.collection;
    this.count = h("b", { role: "status" }, t("bulk.chosen", { count: number(count) }));
    this.problem = h("span", { class: "small problem", role: "alert" });
    const button = (label, act) => h("button", { type: "button", onclick: act }, t(label));
    const starred = [...this.chosen.values()].every((book) => book.starred);
    refill(
      this.bulk,
      this.count,
      button("bulk.ask", () => this.#ask()),
      button(starred ? "label.unstar" : "label.star", () => this.#change({ starred: !starred })),
      this.#collect(),
      collection && collection !== STARRED && button("bulk.take-out", () => this.#change({ take_out: collection })),
      confirmed(t("act.delete"), () => this.#change({ removed: true })),
      button("bulk.all", () => this.#all()),
      button("bulk.none", () => this.#choose([])),
      this.problem,
    );
    return undefined;
  }

  #collect() {
    const field = h("input", { id: "bulk-collection", list: "bulk-collections", "aria-label": t("bulk.collection"), placeholder: t("bulk.collection"), maxlength: 300, required: true, dir: "auto" });
    const enter = (event) => {
      event.preventDefault();
      this.#change({ add: field.value });
    };
    return h("form", { class: "row", onsubmit: enter }, field, h("datalist", { id: "bulk-collections" }, (this.collections ?? []).map((name) => h("option", { value: name }))), h("button", {}, t("bulk.collect")));
  }

  #ask() {
    this.ask([...this.chosen.values()]);
    this.#choose([]);
  }

  async #change(change) {
    try {
      await service.changeDocuments([...this.chosen.keys()], change);
      document.activeElement?.blur?.();
      this.#choose([]);
      await Promise.all([this.#count(), this.list.load()]);
      this.list.search.focus({ preventScroll: true });
    } catch (problem) {
      refill(this.problem, problem.message);
    }
  }

  // Everything that the search and the filters find, also what was not scrolled to yet.
  async #all() {
    const found = [];
    for (;;) {
      const page = await service.documents({ search: this.list.typed, ...this.#wanted, limit: WHOLE, after: found.at(-1)?.document });
      found.push(...page);
      if (page.length < WHOLE) break;
    }
    this.#choose(found);
  }
}
