// The form that starts a reading: the document, the questions, and the settings.

import { h, refill } from "./dom.js";
import { Journal } from "./journal.js";
import * as service from "./service.js";
import { number, size, t } from "./words.js";

const BUDGETS = [
  ["chunk_tokens", "ask.chunk"],
  ["memory_tokens", "ask.memory"],
  ["answer_tokens", "ask.answer"],
  ["tokens", "ask.budget"],
];
const ADDRESS = /^https?:\/\/\S+$/i;

export async function askView(query, kept) {
  const journal = new Journal();
  const form = new AskForm(await service.models(), journal);
  if (query.has("document")) form.take({ id: query.get("document"), name: query.get("name") || query.get("document") });
  if (kept) form.restore(kept);
  journal.load();
  const node = h("div", { class: "home" }, h("div", { class: "lead" }, h("h1", {}, t("title")), h("p", { class: "soft" }, t("lead"))), form.node, journal.node);
  if (kept) return { node, close: () => journal.close(), keep: () => form.keep() };
  if (query.has("journal")) requestAnimationFrame(() => journal.search.focus());
  else requestAnimationFrame(() => query.has("document") && form.questions.querySelector("textarea").focus());
  return { node, close: () => journal.close(), keep: () => form.keep() };
}

class AskForm {
  constructor(models, journal) {
    Object.assign(this, { journal, models: models.models ?? models, sources: [] });
    this.text = h("textarea", { id: "text", rows: 5, dir: "auto", placeholder: t("ask.hint") });
    this.files = h("input", { type: "file", id: "files", class: "unseen", multiple: true, onchange: () => this.#add(this.files) });
    this.chosen = h("ul", { class: "chosen-files" });
    this.questions = h("div", { class: "questions" });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.button = h("button", { class: "main big" }, t("ask.start"));
    this.node = this.#node();
    this.#question();
    this.#drops();
  }

  keep() {
    const questions = [...this.questions.querySelectorAll("textarea")].map((area) => area.value);
    const budgets = this.budgets.map((field) => field.value);
    return { text: this.text.value, questions, budgets, model: this.model.value, open: this.how.open, sources: this.sources, search: this.journal.search.value };
  }

  restore({ text, questions, budgets, model, open, sources, search }) {
    this.text.value = text;
    questions.forEach((question, at) => {
      (at ? this.#question() : this.questions.querySelector("textarea")).value = question;
    });
    budgets.forEach((value, at) => {
      this.budgets[at].value = value;
    });
    this.model.value = model;
    this.how.open = open;
    this.journal.search.value = search;
    this.sources = sources;
    this.#list();
  }

  #node() {
    this.how = this.#how();
    const again = h("button", { type: "button", class: "plain", onclick: () => this.#question().focus() }, `+ ${t("ask.another")}`);
    return h(
      "form",
      { class: "ask", onsubmit: (event) => this.#start(event), onkeydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && this.#start(event) },
      h("label", { for: "text" }, t("ask.document")),
      h("div", { class: "drop", "data-told": t("ask.drop") }, this.text, h("div", { class: "row" }, this.files, h("label", { class: "button", for: "files" }, t("ask.choose")), this.chosen)),
      this.questions,
      again,
      this.how,
      this.problem,
      h("div", { class: "row" }, this.button),
    );
  }

  #how() {
    this.model = h("select", { id: "model" }, this.models.map((model) => h("option", { value: model.name }, model.window ? `${model.name} · ${number(model.window)}` : model.name)));
    const plan = this.models[0]?.plan ?? {};
    this.budgets = BUDGETS.map(([name]) => h("input", { id: name, type: "number", min: name === "tokens" ? 1 : 8, inputmode: "numeric", placeholder: plan[name] ? String(plan[name]) : t("ask.default") }));
    const fields = BUDGETS.map(([name, label], at) => h("div", {}, h("label", { for: name }, t(label)), this.budgets[at]));
    return h("details", {}, h("summary", {}, t("ask.more")), h("div", { class: "fields" }, h("div", {}, h("label", { for: "model" }, t("ask.model")), this.model), fields));
  }

  #question() {
    const count = this.questions.childElementCount;
    const area = h("textarea", { rows: 2, id: `question-${count}`, dir: "auto", placeholder: count ? "" : t("ask.question.hint") });
    const less = count ? h("button", { type: "button", class: "quiet", "aria-label": t("ask.less"), title: t("ask.less"), onclick: () => row.remove() }, "×") : null;
    const row = h("div", { class: "question-row" }, h("label", { for: area.id }, t("ask.question")), area, less);
    this.questions.append(row);
    return area;
  }

  #drops() {
    const zone = this.node.querySelector(".drop");
    const over = (on) => (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      zone.classList.toggle("over", on);
    };
    zone.addEventListener("dragover", over(true));
    zone.addEventListener("dragleave", over(false));
    zone.addEventListener("drop", (event) => {
      over(false)(event);
      this.#add(event.dataTransfer);
    });
  }

  #add(from) {
    for (const file of from.files) this.take({ file, name: file.name });
    if (from === this.files) this.files.value = "";
  }

  take(source) {
    this.sources.push(source);
    this.#list();
  }

  #list() {
    const told = ({ file, name }) => (file ? t("ask.chosen", { name, size: size(file.size) }) : t("ask.again", { name }));
    const out = (source) => {
      this.sources = this.sources.filter((other) => other !== source);
      this.#list();
    };
    refill(
      this.chosen,
      this.sources.map((source) => h("li", {}, told(source), h("button", { type: "button", class: "quiet", "aria-label": t("ask.take-out", { name: source.name }), onclick: () => out(source) }, "×"))),
    );
  }

  #wanted() {
    const plan = {};
    BUDGETS.forEach(([name], at) => {
      const value = Number(this.budgets[at].value);
      if (value && name === "tokens") plan.budget = { tokens: value };
      else if (value) plan[name] = value;
    });
    return { ...(this.model.value && { model: this.model.value }), ...(Object.keys(plan).length && { plan }) };
  }

  // The id of an upload is stored with its file, so that a second try does not send it again.
  async #documents() {
    const text = this.text.value;
    const pasted = text.trim() ? [ADDRESS.test(text.trim()) ? { url: text.trim() } : { text }] : [];
    for (const source of this.sources) source.id ??= (await service.upload(source.file)).document;
    return [...pasted, ...this.sources.map(({ id, name }) => ({ document: id, name }))];
  }

  async #start(event) {
    event.preventDefault();
    refill(this.problem);
    const questions = [...this.questions.querySelectorAll("textarea")].map((area) => area.value.trim()).filter(Boolean);
    if (!this.text.value.trim() && !this.sources.length) return void refill(this.problem, t("ask.no-document"));
    if (!questions.length) return void refill(this.problem, t("ask.no-question"));
    this.button.disabled = true;
    refill(this.button, t("ask.busy"));
    try {
      await this.#send(questions);
    } catch (problem) {
      refill(this.problem, problem.message);
    }
    this.button.disabled = false;
    refill(this.button, t("ask.start"));
    return undefined;
  }

  async #send(questions) {
    const started = [];
    for (const document of await this.#documents()) {
      for (const question of questions) started.push(await service.start({ question, ...document, ...this.#wanted() }));
    }
    if (started.length === 1) location.hash = `#/reading/${encodeURIComponent(started[0].reading)}`;
    else {
      refill(this.problem, t("ask.several", { count: number(started.length) }));
      await this.journal.load();
    }
  }
}
