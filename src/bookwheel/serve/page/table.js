// The rows that a reading collects: a table that fills while it reads. A row leads to its place in the document; a person
// may change or remove one; SQL counts them. Beside it, the shelf of all tables.

import { shareOf } from "./cards.js";
import { h, later, refill } from "./dom.js";
import { SearchedList } from "./lists.js";
import { answerOf, titleOf, trustBadge, whyNone } from "./marks.js";
import * as service from "./service.js";
import { moment, number, pages, t } from "./words.js";

const PAGE = 200;
const FILES = ["csv", "xlsx", "jsonl", "md"];

const GRAPH_COLUMNS = ["subject", "relation", "object"];

export const hasTable = ({ way }) => way.split("+").includes("collect");

export class TablePane {
  // `go(row)` leads to a row's place in the document; `own`: it may be changed.
  constructor({ reading, document: { length } }, go, own) {
    Object.assign(this, { reading, length, go, own, wanted: PAGE, asked: 0, steps: -1 });
    this.title = h("h2", {}, t("table"));
    this.told = h("p", { class: "small", role: "status" });
    this.problem = h("p", { class: "small problem", role: "alert" });
    this.body = h("div", { class: "table rows", tabindex: "0", role: "region", "aria-label": t("table") });
    this.more = h("button", { type: "button", class: "plain", hidden: true, onclick: () => this.load((this.wanted += PAGE)) }, t("list.more"));
    this.found = h("div", {});
    const files = FILES.map((kind) => h("a", { class: "choice", href: service.rowsFile(reading, kind), download: `rows.${kind}` }, kind.toUpperCase()));
    this.head = h("div", { class: "pane-head" }, this.title, this.told, own && h("details", { class: "menu" }, h("summary", { class: "button" }, t("table.export")), h("div", { class: "choices" }, files)));
    this.node = h("section", { class: "pane table-pane", "aria-label": t("table") }, this.head, h("div", { class: "pane-body" }, this.problem, own && this.#questions(), this.found, this.body, this.more));
    this.looks = h("span", { class: "looks", role: "group", "aria-label": t("table.look"), hidden: true });
    this.title.after(this.looks);
    this.again = later(400, () => this.load());
  }

  // Another step may have brought rows.
  draw(steps, status) {
    if (steps === this.steps && status === this.status) return;
    Object.assign(this, { steps, status });
    this.again();
  }

  async load() {
    const mine = (this.asked += 1);
    try {
      const table = await service.rows(this.reading, this.wanted);
      if (mine !== this.asked || this.body.contains(document.activeElement?.closest?.("form"))) return;
      this.#show(table);
    } catch (problem) {
      if (mine === this.asked) refill(this.problem, problem.message);
    }
  }

  #show(table) {
    this.table = table;
    refill(this.problem);
    const marks = [t("table.rows", { count: number(table.count) }), table.unproven && t("table.unproven", { count: number(table.unproven) }), table.removed && t("table.removed", { count: number(table.removed) })];
    refill(this.told, marks.filter(Boolean).join(" · "));
    const names = table.columns.map(({ name }) => name);
    if (this.own) this.#offerGraph(GRAPH_COLUMNS.every((name) => names.includes(name)));
    const open = document.activeElement?.closest?.("tr")?.dataset.row;
    const rows = table.rows.map((row) => this.#row(row, names));
    const head = h("tr", {}, names.map((name) => h("th", { scope: "col", dir: "auto" }, name)), h("th", { scope: "col" }, t("table.place")), this.own && h("th", { scope: "col" }, h("span", { class: "unseen" }, t("table.change"))));
    const notes = table.notes.length > 0 && h("ul", { class: "small" }, table.notes.map((one) => h("li", { dir: "auto" }, one)));
    refill(this.body, rows.length ? h("table", {}, h("thead", {}, head), h("tbody", {}, rows)) : h("p", { class: "soft" }, t(table.status === "reading" ? "table.yet" : "table.none")), notes);
    if (open) this.body.querySelector(`tr[data-row="${CSS.escape(open)}"] button`)?.focus({ preventScroll: true });
    this.more.hidden = table.count <= table.rows.length;
  }

  // The columns of a graph are drawn as one; the table stays beside it.
  async #offerGraph(is) {
    this.looks.hidden = !is;
    if (!is) return;
    this.look ??= "graph";
    const button = (name) => h("button", { type: "button", class: "quiet", "aria-pressed": String(this.look === name), onclick: () => this.#turn(name) }, t(name));
    if (!this.looks.contains(document.activeElement)) refill(this.looks, ["graph", "table"].map(button));
    await this.#drawGraph();
  }

  #turn(look) {
    this.look = look;
    this.looks.querySelectorAll("button").forEach((button, at) => button.setAttribute("aria-pressed", String(["graph", "table"][at] === look)));
    this.#drawGraph();
  }

  async #drawGraph() {
    const isDrawn = this.look === "graph";
    if (isDrawn && !this.graph) {
      const { GraphPane } = await import("./graph.js");
      if (!this.graph) this.body.before((this.graph = new GraphPane(this.reading, this.go)).node);
    }
    this.node.classList.toggle("drawn", isDrawn);
    if (isDrawn) await this.graph.load();
  }

  #row(row, names) {
    const cells = names.map((name) => h("td", { dir: "auto" }, row[name] ?? ""));
    const where = [row.page ? pages([row.page]) : row.start !== null && shareOf(row.start, this.length)].filter(Boolean).join(" · ") || t("table.nowhere");
    const marks = [!row.proven && h("span", { class: "chip" }, t(row.seen ? "verdict.seen" : "table.unproven.row")), row.contradicts && h("span", { class: "chip gone" }, t(row.later ? "table.later" : "table.contradicts")), row["by hand"] && h("span", { class: "chip nought" }, t("memory.by-hand")), row.places > 1 && h("span", { class: "chip nought" }, t("table.places", { count: number(row.places) }))];
    const place = h("button", { type: "button", class: "plain", title: row.quote, "aria-label": t("proof.show", { quote: String(row.quote).slice(0, 200) }), onclick: () => this.go(row) }, where);
    const tools = h("td", { class: "row-tools" }, h("button", { type: "button", class: "quiet", title: t("table.change"), "aria-label": t("table.change"), onclick: () => this.#edit(line, row, names) }, "✎"), h("button", { type: "button", class: "quiet", title: t("table.remove"), "aria-label": t("table.remove"), onclick: () => this.#change(row, { removed: true }) }, "×"));
    const line = h("tr", { "data-row": row.row, class: row.start === null ? "" : "leads", onclick: (event) => row.start !== null && !event.target.closest("button, input") && this.go(row) }, cells, h("td", {}, place, marks), this.own && tools);
    return line;
  }

  #edit(line, row, names) {
    const fields = names.map((name) => h("input", { value: row[name] ?? "", "aria-label": name, dir: "auto" }));
    const enter = (event) => {
      event.preventDefault();
      const cells = Object.fromEntries(names.map((name, at) => [name, fields[at].value]).filter(([name, value]) => value !== String(row[name] ?? "")).map(([name, value]) => [name, value || null]));
      if (Object.keys(cells).length) this.#change(row, { cells });
      else this.#show(this.table);
    };
    const form = h("form", { class: "row", onsubmit: enter }, names.map((name, at) => h("label", {}, name, fields[at])), h("button", { class: "main" }, t("table.save")), h("button", { type: "button", onclick: () => this.#show(this.table) }, t("memory.edit.leave")));
    refill(line, h("td", { colspan: names.length + 2 }, form));
    fields[0].focus();
  }

  async #change(row, change) {
    try {
      await service.changeRow(this.reading, { row: row.row, ...change });
      document.activeElement?.blur?.();
      await this.load();
    } catch (problem) {
      refill(this.problem, problem.message);
    }
  }

  // SQL by hand, or written by the model for a question in words; either is shown, and each figure leads to its rows.
  #questions() {
    const field = h("input", { id: "table-sql", "aria-label": t("table.sql"), placeholder: "select count(*) from rows", spellcheck: "false", dir: "ltr" });
    const words = h("input", { id: "table-ask", "aria-label": t("table.ask"), placeholder: t("table.ask.hint"), dir: "auto" });
    const ask = (find) => async (event) => {
      event.preventDefault();
      const button = event.target.querySelector("button");
      button.disabled = true;
      try {
        this.#showFigures(await find());
        refill(this.problem);
      } catch (problem) {
        refill(this.problem, problem.message);
      }
      button.disabled = false;
    };
    const inWords = async () => {
      const found = await service.askRows(this.reading, words.value.trim());
      if (found.sql) field.value = found.sql;
      return found;
    };
    return [
      h("form", { class: "row ask-rows", onsubmit: ask(inWords) }, words, h("button", {}, t("table.ask.go"))),
      h("details", {}, h("summary", {}, t("table.sql")), h("form", { class: "row sql", onsubmit: ask(() => service.rowsBy(this.reading, field.value)) }, field, h("button", {}, t("table.count")))),
    ];
  }

  #showFigures({ columns = [], rows = [], behind = null, sql = null }) {
    if (sql === "") return refill(this.found, h("p", { class: "soft" }, t("table.cannot")));
    const only = (ids) => h("button", { type: "button", class: "plain", onclick: () => this.#showOnly(ids) }, t("table.rows", { count: number(ids.length) }));
    const head = [...columns.map((name) => h("th", { scope: "col" }, name)), behind && h("th", { scope: "col" }, t("table.behind"))];
    const line = (row, at) => h("tr", {}, row.map((cell) => h("td", { dir: "auto" }, cell === null ? "" : String(cell))), behind && h("td", {}, only(behind[at])));
    const table = h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows.map(line)));
    return refill(this.found, h("div", { class: "table", tabindex: "0", role: "region", "aria-label": t("table.sql") }, table), sql && h("pre", { class: "sql", dir: "ltr" }, sql));
  }

  // The rows behind a figure alone, however far down the table they stand.
  async #showOnly(ids) {
    const wanted = new Set(ids);
    const table = await service.rows(this.reading, this.table.count);
    this.#show({ ...table, rows: table.rows.filter(({ row }) => wanted.has(row)) });
    this.more.hidden = true;
    const all = h("button", { type: "button", class: "plain", onclick: () => this.load() }, t("table.behind.all"));
    refill(this.told, t("table.behind.only", { count: number(ids.length) }), " · ", all);
    this.body.scrollIntoView({ block: "nearest" });
  }
}

// All tables that readings have collected.
export function tableShelf() {
  const entry = (reading) =>
    h(
      "li",
      { class: "book-row" },
      h("span", { "aria-hidden": "true" }, "▦"),
      h("div", {}, h("a", { href: service.own.place(reading.reading), class: "question", dir: "auto" }, titleOf(reading)), h("p", { class: "said", dir: "auto" }, answerOf(reading) ?? whyNone(reading)), h("p", { class: "small" }, trustBadge(reading), " ", [reading.document.name, moment(reading.created)].join(" · "))),
    );
  const list = new SearchedList({ words: "tables", id: "tables-search", fetch: (wanted, last) => service.readings({ ...wanted, way: "collect", before: last?.reading }), entry, key: ({ reading }) => reading, goes: ({ status }) => status === "reading" });
  list.load();
  return { node: h("div", {}, h("div", { class: "shelf-tools" }, list.search), list.told, list.rows), close: () => list.close(), load: () => list.load(true) };
}
