// The form that starts a reading: the document, the questions, and the way of reading.

import { fromHere } from "./address.js";
import { h, refill } from "./dom.js";
import { draft, dropDraft, saveDraft } from "./drafts.js";
import { presetsOf, sectionsOf } from "./presets.js";
import { Questions, started, wanted } from "./questions.js";
import * as service from "./service.js";
import { knows, number, size, t } from "./words.js";

const BUDGETS = [
  ["chunk_tokens", "ask.chunk"],
  ["memory_tokens", "ask.memory"],
  ["answer_tokens", "ask.answer"],
  ["tokens", "ask.budget"],
];
const ADDRESS = /^https?:\/\/\S+$/i;

export const sourceOf = (file) => ({ file, name: file.name });

// A file is sent as soon as it is chosen, so that it is converted while the question is typed; one at a time, as the server
// takes a few. What failed is sent again with the question; one that was taken out is not read, and goes after a day.
let line = Promise.resolve();
function upload(source) {
  const send = async () => {
    if (!source.out) Object.assign(source, await service.upload(source.file).then(({ document: id, length }) => ({ id, length, problem: "" })));
  };
  source.sent ??= line = line.catch(() => {}).then(send);
  source.sent.catch(() => (source.sent = null));
  return source.sent;
}

// What the answer is shown by is fetched while somebody is busy with the form.
const prepare = () => void import("./workspace.js").catch(() => {});

export class AskForm {
  constructor(models, begun) {
    Object.assign(this, { models, begun, sources: [] });
    this.text = h("textarea", { id: "text", rows: 3, dir: "auto", placeholder: t("ask.hint") });
    this.files = h("input", { type: "file", id: "files", class: "unseen", multiple: true, onchange: () => this.#chosen() });
    this.chosen = h("ul", { class: "chosen-files" });
    this.together = h("input", { type: "checkbox", id: "together", onchange: () => this.#tellCost() });
    this.offer = h("label", { class: "small", for: "together", hidden: true }, this.together, ` ${t("ask.together")}`);
    this.questions = new Questions({ name: "question", hint: t("ask.question.hint"), changed: () => this.#save(), send: (event) => this.#start(event) });
    this.problem = h("p", { class: "problem", role: "alert" });
    this.told = h("p", { class: "small started", role: "status" });
    this.button = h("button", { class: "main big" }, t("ask.start"));
    this.node = this.#node();
    this.restore(draft("ask"));
  }

  keep() {
    const budgets = this.budgets.map((field) => field.value);
    return { text: this.text.value, questions: this.questions.all, budgets, model: this.model.value, way: this.way.value, preset: this.preset, open: this.how.open };
  }

  restore(state) {
    if (!state) return;
    this.text.value = state.text;
    this.questions.restore(state.questions);
    state.budgets.forEach((value, at) => {
      this.budgets[at].value = value;
    });
    this.model.value = state.model || this.models[0]?.name;
    this.#ways(state.way, state.preset);
    this.how.open = state.open;
    this.#list();
  }

  take(sources) {
    this.sources.push(...sources);
    this.#list();
    if (sources.length) prepare();
    for (const source of sources.filter(({ file, id }) => file && !id)) {
      const told = (problem) => {
        source.problem = problem?.message;
        this.#list();
      };
      upload(source).then(() => told(), told);
    }
  }

  // What was chosen and not sent; what is under way is sent all the same.
  get unsent() {
    return this.button.disabled ? [] : this.sources;
  }

  // Documents that are here already.
  takeDocuments(books) {
    for (const { document: id, name, length } of books) if (!this.sources.some((source) => source.id === id)) this.sources.push({ id, name, length });
    this.#list();
    this.node.scrollIntoView({ block: "start" });
    this.questions.first.focus({ preventScroll: true });
  }

  // The sample is pasted, so that its reader sees what is read.
  sample({ text, question }) {
    this.text.value = text;
    this.questions.clear();
    this.questions.first.value = question;
    return this.#start();
  }

  #node() {
    this.how = this.#how();
    const leave = (on) => (event) => {
      event.preventDefault();
      zone.classList.toggle("over", on);
    };
    const paste = (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (!files.length) return;
      event.preventDefault();
      this.take(files.map(sourceOf));
    };
    const zone = h(
      "div",
      { class: "drop", "data-told": t("ask.drop"), ondragover: leave(true), ondragleave: leave(false), ondrop: leave(false), onpaste: paste },
      this.text,
      h("div", { class: "row" }, this.files, h("label", { class: "button", for: "files" }, t("ask.choose")), this.chosen, this.offer),
    );
    return h(
      "form",
      { class: "ask", onsubmit: (event) => this.#start(event), oninput: () => this.#save(), onfocusin: prepare },
      h("label", { for: "text" }, t("ask.document")),
      zone,
      this.questions.node,
      this.presets,
      this.how,
      this.problem,
      h("div", { class: "row" }, this.button, this.told),
    );
  }

  #how() {
    this.model = h("select", { id: "model", onchange: () => this.#ways() }, this.models.map((model) => h("option", { value: model.name }, model.window ? `${model.name} · ${number(model.window)}` : model.name)));
    this.presets = h("fieldset", { class: "presets" });
    this.way = h("select", { id: "way", onchange: () => this.#choose(this.way.value ? "expert" : undefined) });
    this.line = h("p", { class: "small", id: "way-line" });
    this.way.setAttribute("aria-describedby", "way-line");
    const plan = this.models[0]?.plan ?? {};
    this.budgets = BUDGETS.map(([name]) => h("input", { id: name, type: "number", min: name === "tokens" ? 1 : 8, inputmode: "numeric", placeholder: plan[name] ? String(plan[name]) : t("ask.default") }));
    const fields = BUDGETS.map(([name, label], at) => h("div", {}, h("label", { for: name }, t(label)), this.budgets[at]));
    this.#ways();
    return h(
      "details",
      {},
      h("summary", {}, t("ask.more")),
      h("div", { class: "fields" }, h("div", {}, h("label", { for: "model" }, t("ask.model")), this.model), h("div", {}, h("label", { for: "way" }, t("ask.way")), this.way), this.line, fields),
    );
  }

  #ways(chosen = "", preset = undefined) {
    const model = this.models.find(({ name }) => name === this.model.value) ?? this.models[0];
    const own = model?.way ?? "sequential";
    const names = [...new Set([own, ...(model?.ways ?? [])])].filter((name) => name !== "closed-book");
    refill(this.way, names.map((name) => h("option", { value: name === own ? "" : name }, name === own ? t("ask.way.own", { way: name }) : name)));
    this.own = own;
    this.way.value = names.includes(chosen) ? chosen : "";
    this.offered = presetsOf(model);
    this.#choose(this.way.value ? "expert" : preset);
  }

  // One of the ways in plain words; without a name, the one that the server would choose. The first line says what it costs.
  #choose(name) {
    const known = this.offered.find((one) => one.name === name) ?? (name === "expert" ? null : this.offered.find(({ way }) => way === ""));
    this.preset = known?.name ?? "expert";
    if (known) this.way.value = "";
    const option = (one, label) => [
      h("input", { type: "radio", class: "unseen", name: "preset", id: `preset-${one}`, value: one, checked: one === this.preset, onchange: () => this.#choose(one) }),
      h("label", { class: "button", for: `preset-${one}` }, label),
    ];
    if (this.presets.contains(document.activeElement)) this.presets.querySelectorAll("input").forEach((input) => (input.checked = input.value === this.preset));
    else refill(this.presets, h("legend", {}, t("preset")), this.offered.map((one) => option(one.name, t(`preset.${one.name}`))), this.preset === "expert" && option("expert", t("preset.expert")), (this.cost = h("p", { class: "small", role: "status" })));
    this.questions.node.hidden = this.#way === service.GRAPH;
    this.questions.first.placeholder = t(this.preset === "table" ? "preset.table.hint" : "ask.question.hint");
    refill(this.line, wayLine(this.way.value || this.own));
    this.#tellCost();
  }

  get #way() {
    return this.way.value || this.offered.find(({ name }) => name === this.preset)?.way || "";
  }

  #tellCost() {
    const known = this.offered.find(({ name }) => name === this.preset);
    const lengths = this.sources.map(({ length }) => length);
    const isKnown = !ADDRESS.test(this.text.value.trim()) && lengths.every(Boolean);
    const length = this.text.value.length + lengths.reduce((sum, one) => sum + (one ?? 0), 0);
    const plan = this.models.find(({ name }) => name === this.model.value)?.plan ?? {};
    const sections = isKnown && length ? sectionsOf(this.text.value, length, Number(this.budgets[0].value) || plan.chunk_tokens || 4096) : 0;
    const here = sections && t("preset.here", { count: number(sections) });
    const each = lengths.length > 1 && !this.#areOne && t("ask.each");
    const lines = known ? [t(`preset.${known.name}.cost`), known.name === "thorough" && known.own === "quotes" && t("preset.small"), each, here] : [t("preset.expert.cost"), each, here];
    refill(this.cost, lines.filter(Boolean).join(" "));
  }

  // Files of this form are read as one document where somebody wants it; documents that are here already are not.
  get #areOne() {
    return !this.offer.hidden && this.together.checked;
  }

  #save() {
    this.#tellCost();
    saveDraft("ask", this.keep());
  }

  #chosen() {
    this.take([...this.files.files].map(sourceOf));
    this.files.value = "";
  }

  #list() {
    this.offer.hidden = this.sources.length < 2 || !this.sources.every(({ file }) => file);
    this.#tellCost();
    const out = (source) => {
      source.out = !this.button.disabled; // what is under way is sent all the same
      this.sources = this.sources.filter((other) => other !== source);
      this.#list();
    };
    refill(this.problem, this.sources.map(({ problem }) => problem).filter(Boolean).join(" "));
    refill(
      this.chosen,
      this.sources.map((source) => h("li", { "aria-busy": String(Boolean(source.file && !source.id && !source.problem)) }, source.file ? t("ask.chosen", { name: source.name, size: size(source.file.size) }) : source.name, h("button", { type: "button", class: "quiet", "aria-label": t("ask.take-out", { name: source.name }), onclick: () => out(source) }, "×"))),
    );
  }

  #plan() {
    const plan = {};
    BUDGETS.forEach(([name], at) => {
      const value = Number(this.budgets[at].value);
      if (value && name === "tokens") plan.budget = { tokens: value };
      else if (value) plan[name] = value;
    });
    return { ...(this.model.value && { model: this.model.value }), ...(this.#way && { way: this.#way }), ...(Object.keys(plan).length && { plan }) };
  }

  async #documents({ text, sources, areOne }) {
    const pasted = text.trim() ? [ADDRESS.test(text.trim()) ? { url: text.trim() } : { text }] : [];
    if (areOne) {
      const { document, name } = await service.uploadTogether(sources.map(({ file }) => file));
      return [...pasted, { document, name }];
    }
    for (const source of sources) if (!source.id) await upload(source);
    return [...pasted, ...sources.map(({ id, name }) => ({ document: id, name }))];
  }

  async #start(event) {
    event?.preventDefault();
    refill(this.problem);
    const isGraph = this.#way === service.GRAPH;
    const questions = isGraph ? [t("graph")] : this.questions.asked;
    if (!this.text.value.trim() && !this.sources.length) return void refill(this.problem, t("ask.no-document"));
    if (!questions.length) return void refill(this.problem, t("ask.no-question"));
    this.button.disabled = true;
    refill(this.button, t("ask.busy"));
    const [lead, sent, plan] = [fromHere(), { ...this.keep(), sources: [...this.sources], areOne: this.#areOne, draft: draft("ask") }, this.#plan()];
    try {
      const readings = [];
      for (const document of await this.#documents(sent)) readings.push(...started(await service.start({ ...wanted(questions), ...document, ...plan })));
      this.#sent(readings, sent, lead);
    } catch (problem) {
      refill(this.problem, problem.message);
    }
    this.button.disabled = false;
    refill(this.button, t("ask.start"));
    return undefined;
  }

  // What was sent leaves the form; what was typed and chosen meanwhile stays. One document leads to its thread; of several,
  // the shelf has them all.
  #sent(readings, sent, lead) {
    if (this.text.value === sent.text) this.text.value = "";
    this.questions.drop(sent.questions);
    this.sources = this.sources.filter((source) => !sent.sources.includes(source));
    this.#list();
    dropDraft("ask", sent.draft);
    if (new Set(readings.map(({ document }) => document.id)).size === 1) lead(service.own.place(readings[0].reading));
    else {
      refill(this.told, t("ask.several", { count: number(readings.length) }));
      this.begun();
    }
  }
}

// The line of a way; of several that go together, one after the other.
function wayLine(name) {
  const lines = name.split("+").map((part) => t(knows(`way.${part}`) ? `way.${part}` : "way.other"));
  return [...new Set(lines)].join(" ");
}
