// The samples of an evaluation that match the filters, each with question, answer, gold answers and reading.

import { h, later, refill } from "./dom.js";
import { verdict } from "./marks.js";
import * as service from "./service.js";
import { offered } from "./tables.js";
import { duration, number, t } from "./words.js";

const NAMES = ["model", "way", "task", "length"];
const CAUSES = ["never-captured", "overwritten", "misused", "unsupported", "supported"];
const PART = 25;

export class Samples {
  constructor(run, query, remember) {
    Object.assign(this, { run, remember, asked: 0, first: query });
    this.selects = NAMES.map((name) => h("select", { id: `sample-${name}`, onchange: () => this.load() }));
    this.search = h("input", { type: "search", id: "sample-search", value: query.get("search") ?? "", oninput: later(250, () => this.load()) });
    this.cause = h("select", { id: "sample-memory", onchange: () => this.load() }, h("option", { value: "" }, t("samples.any")), CAUSES.map((cause) => h("option", { value: cause }, t(`cause.${cause}`, { step: "…" }))));
    this.cause.value = query.get("memory") ?? "";
    this.wrong = h("input", { type: "checkbox", id: "sample-wrong", checked: query.has("wrong"), onchange: () => this.load() });
    this.told = h("p", { class: "small", role: "status" });
    this.list = h("ul", { class: "readings samples" });
    this.more = h("button", { type: "button", hidden: true, onclick: () => this.#next() }, t("samples.more"));
    this.fields = NAMES.map((name, at) => h("div", {}, h("label", { for: `sample-${name}` }, t(`eval.${name}`)), this.selects[at]));
    this.title = h("h2", { id: "samples-title", tabindex: "-1" }, t("samples"));
    this.node = h(
      "section",
      { "aria-labelledby": "samples-title" },
      h("div", { class: "pane-head" }, this.title),
      h("div", { class: "fields filters" }, this.fields, h("div", {}, h("label", { for: "sample-memory" }, t("samples.cause")), this.cause), h("div", {}, h("label", { for: "sample-search" }, t("samples.search")), this.search), h("div", { class: "check" }, this.wrong, h("label", { for: "sample-wrong" }, t("samples.wrong")))),
      this.told,
      this.list,
      h("div", { class: "row" }, this.more),
    );
    if ([...NAMES, "wrong", "search", "memory"].some((name) => query.has(name))) requestAnimationFrame(() => this.node.scrollIntoView({ block: "start" }));
  }

  close() {
    this.asked += 1;
  }

  // The options of the filters. A choice stays as long as it is among them.
  offer(cells) {
    this.selects.forEach((select, at) => {
      const values = [...new Set(cells.map((cell) => String(cell[NAMES[at]])))];
      offered(select, [["", t("samples.any")], ...values.map((value) => [value, NAMES[at] === "length" ? number(Number(value)) : value])]);
      const wanted = this.first.get(NAMES[at]);
      if (values.includes(wanted)) select.value = wanted;
      this.fields[at].hidden = values.length < 2;
    });
    this.first = new URLSearchParams();
    const looked = this.list.childElementCount > PART || this.list.contains(document.activeElement);
    if (!looked) this.load();
  }

  want(wanted) {
    this.selects.forEach((select, at) => {
      select.value = wanted[NAMES[at]] ?? "";
    });
    this.wrong.checked = false;
    this.search.value = "";
    this.cause.value = wanted.memory ?? "";
    this.load();
    this.node.scrollIntoView({ block: "start" });
    this.title.focus({ preventScroll: true });
  }

  get #wanted() {
    const fields = [...NAMES.map((name, at) => [name, this.selects[at].value]), ["search", this.search.value.trim()], ["memory", this.cause.value]];
    const chosen = fields.filter(([, value]) => value);
    return Object.fromEntries(this.wrong.checked ? [...chosen, ["wrong", "1"]] : chosen);
  }

  async load() {
    const wanted = this.#wanted;
    const place = new URLSearchParams(wanted).toString();
    this.remember(place && `?${place}`);
    await this.#fetch(wanted, 0);
  }

  #next() {
    const next = this.list.childElementCount;
    this.#fetch(this.#wanted, next).then(() => this.list.children[next]?.querySelector("a")?.focus());
  }

  async #fetch(wanted, start) {
    const mine = (this.asked += 1);
    try {
      const { total, samples } = await service.samples(this.run, { ...wanted, start, limit: PART });
      if (mine !== this.asked) return;
      if (!start) refill(this.list);
      this.list.append(...samples.map((sample) => this.#entry(sample)));
      refill(this.told, t(total ? "samples.shown" : "samples.none", { shown: number(this.list.childElementCount), total: number(total) }));
      this.more.hidden = this.list.childElementCount >= total;
    } catch (problem) {
      if (mine === this.asked) refill(this.told, problem.message);
    }
  }

  #entry(sample) {
    const where = [sample.way, sample.task, t("eval.tokens", { length: number(sample.length) }), sample.steps && t("samples.steps", { count: number(sample.steps) }), sample.memory && sample.score < 1 && t(`cause.${sample.memory}`, { step: sample.memory_step === null ? "" : number(sample.memory_step) }), duration(sample.seconds)];
    return h(
      "li",
      {},
      verdict(sample),
      h(
        "div",
        {},
        h("p", { class: "question", dir: "auto" }, sample.question),
        h("p", { class: "said", dir: "auto" }, sample.answer || sample.error || t("journal.no-answer")),
        h("p", { class: "golds", dir: "auto" }, h("span", { class: "small" }, t("samples.golds"), " "), sample.golds.join(" · ")),
        h("p", { class: "small" }, where.filter(Boolean).join(" · "), sample.kept && [" · ", h("a", { href: `#/run/${this.run}/reading/${encodeURIComponent(sample.reading)}`, "aria-label": t("samples.open.told", { sample: sample.sample, way: sample.way }) }, t("samples.open"))]),
      ),
    );
  }
}
