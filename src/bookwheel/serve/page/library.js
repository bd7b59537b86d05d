// The library: what this is, what reads here, the form, and the shelf with its documents, memories, tables and reports.

import { rememberAddress } from "./address.js";
import { AskForm, sourceOf } from "./ask.js";
import { h, refill } from "./dom.js";
import * as service from "./service.js";
import { DocumentShelf } from "./shelf.js";
import { knows, number, t } from "./words.js";

const SHELVES = ["documents", "memories", "tables", "reports"];
const waiting = [];

// Files that were dropped on another view, and what a closed form had, wait here for the next form.
export const receive = (files) => waiting.push(...files.map(sourceOf));

export async function libraryView({ query }) {
  const name = shelfOf(query);
  const [models, makeShelf] = await Promise.all([service.models(), fetchShelf(name)]);
  return (kept, here) => buildLibrary(models, { name, makeShelf }, here, kept);
}

function buildLibrary(models, fetched, query, kept) {
  const form = new AskForm(models, () => shelves.open("documents"));
  const shelves = new Shelves(query, kept?.shelf, (books) => form.takeDocuments(books), fetched);
  if (kept) form.restore(kept.form);
  form.take(waiting.splice(0));
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
  const take = (event) => form.take(event.detail.map(sourceOf));
  addEventListener("files", take);
  const close = () => {
    removeEventListener("files", take);
    waiting.push(...form.unsent);
    shelves.close();
  };
  const node = h("div", { class: "home" }, hero, form.node, shelves.node);
  if (query.size && !kept) requestAnimationFrame(() => shelves.node.scrollIntoView({ block: "start" }));
  return { node, close, keep: () => ({ form: form.keep(), shelf: shelves.keep() }) };
}

// Which model reads here, how much it sees at once, and what it can do.
function reader({ name, window: room, abilities, way }) {
  const can = abilities === null ? [t("first.unknown")] : abilities.map((one) => (knows(`ability.${one}`) ? t(`ability.${one}`) : one));
  return h("span", {}, h("b", {}, name), ` · ${room ? t("first.window", { tokens: number(room) }) : t("first.no-window")} · ${[t("ability.reply"), ...can].join(t("list.comma"))} · ${t("first.way", { way })}`);
}

const shelfOf = (query) => (SHELVES.includes(query.get("shelf")) ? query.get("shelf") : "documents");

// What a shelf needs from the server; then it can be made at once.
async function fetchShelf(name) {
  if (name === "memories") return (await import("./memories.js")).fetchMemoryShelf();
  if (name === "tables") return (await import("./table.js")).tableShelf;
  if (name === "reports") return (await import("./reports.js")).fetchReportShelf();
  return ({ query, kept, ask }) => new DocumentShelf(query, kept, ask);
}

// One shelf at a time: the documents, the lasting memories, the tables that readings have collected, or the reports.
class Shelves {
  // `fetched`: the shelf that is there to be made; by now another may be wanted.
  constructor(query, kept, ask, fetched) {
    Object.assign(this, { query, kept, ask, visit: 0, name: shelfOf(query) });
    this.choice = h("div", { class: "looks shelves", role: "group", "aria-label": t("shelf") });
    this.head = h("div", { class: "pane-head" }, h("h2", { id: "shelf-title" }, t("shelf")), this.choice, h("a", { class: "button", href: "#/search" }, t("shelf.texts")));
    this.body = h("div", {});
    this.node = h("section", { class: "shelf", "aria-labelledby": "shelf-title" }, this.head, this.body);
    if (fetched.name === this.name) this.#show(this.name, fetched.makeShelf);
    else this.open(this.name);
  }

  keep() {
    return this.shown?.keep?.();
  }

  close() {
    this.visit += 1;
    this.shown?.close?.();
  }

  async open(name) {
    const again = name === this.name && this.shown;
    this.#name(name);
    if (again) return void this.shown.load?.();
    this.close();
    const mine = this.visit;
    const makeShelf = await fetchShelf(name);
    if (mine === this.visit) this.#show(name, makeShelf);
    return undefined;
  }

  #show(name, makeShelf) {
    this.#name(name);
    this.shown = makeShelf(this);
    refill(this.body, this.shown.node);
  }

  #name(name) {
    this.name = name;
    const button = (one) => h("button", { type: "button", class: "quiet", "aria-pressed": String(one === name), onclick: () => this.#choose(one) }, t(`shelf.${one}`));
    refill(this.choice, SHELVES.map(button));
  }

  #choose(name) {
    [this.query, this.kept] = [new URLSearchParams(), null];
    rememberAddress(name === "documents" ? "#/" : `#/?shelf=${name}`);
    this.open(name);
    this.choice.querySelector("[aria-pressed=true]")?.focus();
  }
}
