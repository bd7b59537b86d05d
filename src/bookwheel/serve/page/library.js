// The library: what this is, what reads here, the form, and the shelf with its documents, memories, tables and reports.

import { AskForm } from "./ask.js";
import { h, refill, rememberAddress } from "./dom.js";
import * as service from "./service.js";
import { DocumentShelf } from "./shelf.js";
import { knows, number, t } from "./words.js";

const SHELVES = ["documents", "memories", "tables", "reports"];
let dropped = [];

// Files that were dropped on another view wait here for the form.
export const receive = (files) => dropped.push(...files);

export async function libraryView(query, kept) {
  const models = await service.models();
  const form = new AskForm(models, () => shelves.open("documents"));
  const shelves = new Shelves(query, kept?.shelf, (books) => form.takeDocuments(books));
  if (kept) form.restore(kept.form);
  form.take(dropped.splice(0));
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
    shelves.close();
  };
  const node = h("div", { class: "home" }, hero, form.node, shelves.node);
  await shelves.open(shelves.name);
  if (query.size && !kept) requestAnimationFrame(() => shelves.node.scrollIntoView({ block: "start" }));
  return { node, close, keep: () => ({ form: { ...form.keep(), sources: form.sources }, shelf: shelves.keep() }) };
}

// Which model reads here, how much it sees at once, and what it can do.
function reader({ name, window: room, abilities, way }) {
  const can = abilities === null ? [t("first.unknown")] : abilities.map((one) => (knows(`ability.${one}`) ? t(`ability.${one}`) : one));
  return h("span", {}, h("b", {}, name), ` · ${room ? t("first.window", { tokens: number(room) }) : t("first.no-window")} · ${[t("ability.reply"), ...can].join(t("list.comma"))} · ${t("first.way", { way })}`);
}

// One shelf at a time: the documents, the lasting memories, the tables that readings have collected, or the reports.
class Shelves {
  constructor(query, kept, ask) {
    Object.assign(this, { query, kept, ask, visit: 0 });
    const wanted = query.get("shelf");
    this.name = SHELVES.includes(wanted) ? wanted : "documents";
    this.choice = h("div", { class: "looks shelves", role: "group", "aria-label": t("shelf") });
    this.head = h("div", { class: "pane-head" }, h("h2", { id: "shelf-title" }, t("shelf")), this.choice, h("a", { class: "button", href: "#/search" }, t("shelf.texts")));
    this.body = h("div", {});
    this.node = h("section", { class: "shelf", "aria-labelledby": "shelf-title" }, this.head, this.body);
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
    this.name = name;
    const button = (one) => h("button", { type: "button", class: "quiet", "aria-pressed": String(one === name), onclick: () => this.#choose(one) }, t(`shelf.${one}`));
    refill(this.choice, SHELVES.map(button));
    if (again) return void this.shown.load?.();
    this.close();
    const mine = this.visit;
    const shown = await this.#make(name);
    if (mine !== this.visit) return shown.close?.();
    this.shown = shown;
    refill(this.body, shown.node);
    return undefined;
  }

  #choose(name) {
    [this.query, this.kept] = [new URLSearchParams(), null];
    rememberAddress(name === "documents" ? "#/" : `#/?shelf=${name}`);
    this.open(name);
    this.choice.querySelector("[aria-pressed=true]")?.focus();
  }

  async #make(name) {
    if (name === "memories") return (await import("./memories.js")).memoryShelf();
    if (name === "tables") return (await import("./table.js")).tableShelf();
    if (name === "reports") return (await import("./reports.js")).reportShelf();
    return new DocumentShelf(this.query, this.kept, this.ask);
  }
}
