// Samples against readers: one row a sample, one column a model and way, of one run or of two set against each other. Each
// cell leads to its reading.

import { h, later, refill } from "./dom.js";
import * as service from "./service.js";
import { offered } from "./tables.js";
import { number, percent, t } from "./words.js";

const PART = 40;

export class Matrix {
  // `cells()` gives those of the report: its order of models and ways is that of the columns.
  constructor(run, cells) {
    Object.assign(this, { run, cells, asked: 0, rows: 0 });
    const again = () => this.load();
    this.search = h("input", { type: "search", id: "matrix-search", oninput: later(250, again) });
    this.mixed = h("input", { type: "checkbox", id: "matrix-mixed", onchange: again });
    this.against = h("select", { id: "matrix-against", onchange: again });
    this.told = h("p", { class: "small", role: "status" });
    this.head = h("thead");
    this.body = h("tbody");
    this.more = h("button", { type: "button", hidden: true, onclick: () => this.#fetch(this.rows) }, t("list.more"));
    const field = (id, label, node) => h("div", {}, h("label", { for: id }, t(label)), node);
    this.node = h(
      "details",
      { class: "folded", ontoggle: () => this.node.open && !this.rows && this.#begin() },
      h("summary", {}, t("matrix")),
      h(
        "div",
        {},
        h("div", { class: "fields filters" }, field("matrix-search", "samples.search", this.search), field("matrix-against", "matrix.against", this.against), h("div", { class: "check" }, this.mixed, h("label", { for: "matrix-mixed" }, t("matrix.mixed")))),
        this.told,
        h("div", { class: "table grid matrix", tabindex: "0", role: "region", "aria-label": t("matrix") }, h("table", {}, this.head, this.body)),
        h("div", { class: "row" }, this.more),
      ),
    );
  }

  close() {
    this.asked += 1;
  }

  async #begin() {
    const runs = await service.runs().catch(() => []);
    const others = runs.filter(({ kind, run }) => kind === "evaluation" && run !== this.run);
    offered(this.against, [["", t("matrix.alone")], ...others.map(({ run, name }) => [run, name])]);
    this.names = new Map(runs.map(({ run, name }) => [run, name]));
    this.load();
  }

  load() {
    return this.#fetch(0);
  }

  async #fetch(start) {
    const mine = (this.asked += 1);
    const wanted = { start, limit: PART, search: this.search.value.trim(), against: this.against.value, mixed: this.mixed.checked ? 1 : "" };
    try {
      const { readers, rows, total } = await service.matrix(this.run, wanted);
      if (mine !== this.asked) return;
      if (!start) this.#begun(readers);
      this.body.append(...rows.map((row) => this.#row(row, readers)));
      this.rows = start + rows.length;
      this.more.hidden = this.rows >= total;
      refill(this.told, t(total ? "samples.shown" : "samples.none", { shown: number(this.rows), total: number(total) }));
    } catch (problem) {
      if (mine === this.asked) refill(this.told, problem.message);
    }
  }

  #begun(readers) {
    const known = this.cells().map(({ model, way }) => `${model}\n${way}`);
    const rank = ({ run, model, way }) => (run === this.run ? 0 : known.length + 1) + (known.indexOf(`${model}\n${way}`) + 1 || known.length + 1);
    this.columns = readers.map((reader, at) => [rank(reader), at]).sort(([one], [other]) => one - other).map(([, at]) => at);
    const several = (name) => new Set(readers.map((reader) => reader[name])).size > 1;
    const parts = ["run", "model", "way"].filter((name) => name === "way" || several(name));
    const label = (reader) => parts.map((name) => (name === "run" ? this.names.get(reader.run) : reader[name])).join(" · ");
    refill(this.head, h("tr", {}, h("th", { scope: "col" }, t("train.sample")), this.columns.map((at) => h("th", { scope: "col" }, label(readers[at])))));
    refill(this.body);
  }

  #row({ task, length, question, golds, cells }, readers) {
    return h(
      "tr",
      {},
      h("th", { scope: "row", dir: "auto" }, h("span", { class: "asked-of", title: golds.join(" · ") }, question), h("span", { class: "small" }, `${task} · ${number(length)}`)),
      this.columns.map((at) => h("td", {}, cells[at] ? this.#cell(cells[at], readers[at].run) : "–")),
    );
  }

  #cell({ score, outcome, answer, reading, memory, memory_step: step }, run) {
    const cause = memory && score < 1 ? t(`cause.${memory}`, { step: step === null ? "" : number(step) }) : "";
    const told = outcome === "scored" ? percent(score) : t(`outcome.${outcome}`);
    const cell = h(reading ? "a" : "span", { class: "score", href: reading ? `#/run/${run}/reading/${encodeURIComponent(reading)}` : null, title: answer }, h("b", {}, told), cause && h("span", {}, cause));
    cell.style.setProperty("--share", `${Math.round(100 * score)}%`);
    return cell;
  }
}
