// Reports, and tables of documents by questions: the shelf of those that were ordered in this browser, the forms for new
// ones, and one to read. Each sentence
// leads by its numbers to the words of the document; the last part says what the report rests on. A server keeps the
// readings that a report is made of and no report, so the orders stay in the browser.

import { answersForm, compared, isMarked, showAnswers } from "./answers.js";
import { h, refill } from "./dom.js";
import * as service from "./service.js";
import { figures } from "./tables.js";
import { moment, number, t } from "./words.js";

const KEPT = "bookwheel.reports";
const WAIT = 10; // seconds that a request may stay open
const FILES = ["md", "html", "docx"];

// Private windows may refuse storage; the orders then last as long as the page.
let orders = null;
function list() {
  try {
    orders ??= JSON.parse(localStorage.getItem(KEPT));
  } catch {
    // None can be kept.
  }
  return orders ?? [];
}
function keep(changed) {
  orders = changed;
  try {
    localStorage.setItem(KEPT, JSON.stringify(orders));
  } catch {
    // They stay here.
  }
}
const place = ({ id }) => `#/report/${id}`;
const passage = ({ document, start, end }) => `#/document/${document}${start === null ? "" : `?quote=${start}-${end}`}`;

export async function fetchReportShelf() {
  const books = await service.documents({ limit: 200 });
  return () => ({ node: makeShelf(books) });
}

function makeShelf(books) {
  const entry = (order) =>
    h(
      "li",
      { class: "book-row" },
      h("span", { "aria-hidden": "true" }, "❡"),
      h("div", {}, h("a", { href: place(order), class: "question", dir: "auto" }, order.brief), h("p", { class: "small" }, t("report.documents", { count: number(order.documents.length) }), " · ", moment(order.at))),
    );
  const ordered = list();
  const shown = ordered.length ? h("ul", { class: "readings" }, ordered.map(entry)) : h("p", { class: "soft" }, t("reports.empty"));
  return h("div", {}, orderForm(books), answersOrder(books), shown);
}

function begin(order) {
  const whole = { id: Date.now().toString(36), at: new Date().toISOString(), ...order };
  keep([whole, ...list()]);
  location.hash = place(whole);
}

// Made when it is opened: until then each document is offered once on the shelf.
function answersOrder(books) {
  const inner = h("div");
  const form = () => (books.length ? answersForm(chooseDocuments(books, [], t("report.of")), begin) : h("p", { class: "soft" }, t("report.no-documents")));
  const box = h("details", { class: "begin", ontoggle: () => box.open && !inner.firstChild && refill(inner, form()) }, h("summary", {}, t("answers.begin")), inner);
  return box;
}

function chooseDocuments(books, chosen, label) {
  const boxes = books.map((book) => [book.document, h("input", { type: "checkbox", checked: chosen.includes(book.document) }), book.name]);
  const node = h("fieldset", { class: "report-books" }, h("legend", {}, label), boxes.map(([, box, name]) => h("label", { dir: "auto" }, box, " ", name)));
  return { node, list: () => boxes.filter(([, box]) => box.checked).map(([sha]) => sha) };
}

// First the outline, which somebody may change; then the report by it.
function orderForm(books) {
  const brief = h("input", { id: "report-brief", required: true, placeholder: t("report.brief.hint"), autocomplete: "off", dir: "auto" });
  const chosen = chooseDocuments(books, [], t("report.of"));
  const outline = h("textarea", { id: "report-outline", rows: 10, dir: "auto", spellcheck: "false" });
  const problem = h("p", { class: "small problem", role: "alert" });
  const second = h("div", { hidden: true }, h("label", { for: outline.id }, t("report.outline")), h("p", { class: "small" }, t("report.outline.hint")), outline);
  const button = h("button", { class: "main" }, t("report.propose"));
  const enter = async (event) => {
    event.preventDefault();
    refill(problem);
    const documents = chosen.list();
    if (!documents.length) return refill(problem, t("report.none-chosen"));
    button.disabled = true;
    try {
      if (second.hidden) {
        outline.value = (await service.proposeOutline(brief.value.trim())).outline;
        second.hidden = false;
        refill(button, t("report.write"));
        outline.focus();
      } else {
        begin({ brief: brief.value.trim(), outline: outline.value, documents });
      }
    } catch (refused) {
      refill(problem, refused.message);
    }
    button.disabled = false;
    return undefined;
  };
  const form = h("form", { class: "report-form", onsubmit: enter }, h("label", { for: brief.id }, t("report.brief")), brief, chosen.node, second, h("div", {}, button), problem);
  return h("details", { class: "begin" }, h("summary", {}, t("report.begin")), books.length ? form : h("p", { class: "soft" }, t("report.no-documents")));
}

export async function reportView({ parts: [id] }) {
  const order = list().find((one) => one.id === id);
  if (!order) return () => ({ node: h("section", { class: "home" }, h("p", { class: "soft" }, t("report.gone"))), title: t("shelf.reports") });
  // One that is written stands at once, so that "back" from a source leads to its sentence.
  const made = await service.report({ ...wantedOf(order), wait: 0 }).catch(() => null);
  return () => {
    const view = new Report(order);
    if (made?.report ?? made?.matrix) view.show(made);
    else view.load();
    return { node: view.node, title: order.brief, close: () => view.close() };
  };
}

// What the server is asked for: a report by its outline, or answers to questions.
const wantedOf = ({ brief, outline, questions, documents }) => (questions ? { title: brief, questions, documents } : { brief, outline, documents });

class Report {
  constructor(order) {
    Object.assign(this, { order, isOpen: true });
    this.told = h("p", { class: "small", role: "status" });
    this.problem = h("div", { role: "alert" });
    this.body = h("div");
    const files = FILES.map((kind) => h("button", { type: "button", class: "choice", onclick: () => this.#save(kind) }, kind.toUpperCase()));
    this.files = h("details", { class: "menu", hidden: true }, h("summary", { class: "button" }, t("table.export")), h("div", { class: "choices" }, files));
    this.update = h("details", { class: "begin" }, h("summary", {}, t("report.update")));
    const remove = h("button", { type: "button", class: "quiet", onclick: () => this.#remove() }, t("report.remove"));
    this.node = h("section", { class: "home report" }, h("h1", { dir: "auto" }, order.brief), h("div", { class: "row" }, this.told, this.files, remove), this.problem, this.body, this.update);
    this.#offerUpdate();
  }

  close() {
    this.isOpen = false;
  }

  // The same order again tells how far it is, until it is written.
  async load(goesOn = false) {
    refill(this.problem);
    try {
      for (let first = true; this.isOpen; first = false) {
        const made = await service.report({ ...wantedOf(this.order), wait: first ? 0 : WAIT, resume: first && goesOn });
        if (made.report ?? made.matrix) return this.show(made);
        refill(this.told, t(`report.${made.status}`, { ended: number(made.ended), total: number(made.total) }));
      }
    } catch (refused) {
      refill(this.problem, h("p", { class: "problem" }, refused.message), h("button", { type: "button", onclick: () => this.load(true) }, t("report.again")));
    }
    return undefined;
  }

  show({ report, matrix }) {
    refill(this.told, t("report.documents", { count: number(this.order.documents.length) }));
    this.files.hidden = false;
    if (matrix) refill(this.body, showAnswers(matrix));
    else this.#report(report);
  }

  #report(report) {
    const sources = new Map(report.sources.map((one) => [one.number, one]));
    // A row that a person changed, or that a picture alone shows, counts by its values.
    const how = (one) => (one.is_by_hand ? t("memory.by-hand") : one.is_seen ? t("verdict.seen") : "");
    const told = (one) => (how(one) ? `${how(one)}: ${one.said}` : one.quote);
    // A sentence in other words than its sources has a mark, and opens the passage to compare.
    const mark = (one) => (at) => h("a", { href: passage(sources.get(at)), class: "report-mark", title: told(sources.get(at)), "aria-label": t("proof.show", { quote: told(sources.get(at)).slice(0, 200) }) }, `[${isMarked(one) ? "≈" : ""}${number(at)}]`);
    const sentence = (one) => [one.text, " ", one.numbers.map(mark(one)), " "];
    const section = (one) => [h("h2", { dir: "auto" }, one.title), h("p", { class: "report-text", dir: "auto" }, one.sentences.length ? one.sentences.map(sentence) : t(one.rows ? "report.no-sentence" : "report.no-row"))];
    const left = report.sections.flatMap((one) => one.left_out);
    const marked = report.sections.flatMap((one) => one.sentences.filter(isMarked));
    refill(
      this.body,
      report.sections.map(section),
      compared("report.marked", marked),
      compared("report.left-out", left),
      h("h2", {}, t("report.sources")),
      h("ul", { class: "report-sources" }, report.sources.map((one) => h("li", { dir: "auto" }, h("span", { class: "small" }, `[${number(one.number)}] `), h("a", { href: passage(one) }, `“${one.quote}”`), " ", how(one) && [h("span", { class: "chip nought" }, how(one)), " ", one.said, " "], h("span", { class: "small" }, [one.source, one.page && t("page.one", { first: number(one.page) })].filter(Boolean).join(" · "))))),
      this.#coverage(report),
    );
  }

  // What it rests on, and which parts of which document nobody read.
  #coverage({ coverage, notes, sections }) {
    const share = (part, whole) => `${number(part)} (${number(Math.round((100 * part) / Math.max(1, whole)))} %)`;
    const rows = coverage.map((one) => [one.name, number(one.length), share(one.used, one.length), share(one.unused, one.length), share(one.unread, one.length)]);
    const header = ["document", "length", "used", "unused", "unread"].map((name) => t(`report.${name}`));
    const piece = (one, part) => {
      const node = h("span", { class: part });
      node.style.flexGrow = one[part];
      return one[part] > 0 && node;
    };
    const bars = coverage.map((one) => h("div", { class: "report-bar", "aria-hidden": "true" }, ["used", "unused", "unread"].map((part) => piece(one, part))));
    const spans = coverage.flatMap((one) => one.unread_spans.map(([start, end]) => h("li", {}, h("a", { href: passage({ document: one.document, start, end }), dir: "auto" }, `${one.name}: ${number(start)}–${number(end)}`))));
    const unproven = sections.reduce((sum, one) => sum + one.unproven, 0);
    const told = [unproven > 0 && t("report.unproven", { count: number(unproven) }), ...notes].filter(Boolean);
    return h("section", { class: "report-coverage" }, h("h2", {}, t("report.coverage")), bars, figures({ caption: "", header, rows, kind: "report-table" }), spans.length > 0 && [h("h3", {}, t("report.unread.spans")), h("ul", {}, spans)], told.length > 0 && h("ul", { class: "small" }, told.map((one) => h("li", { dir: "auto" }, one))));
  }

  async #offerUpdate() {
    const books = await service.documents({ limit: 200 }).catch(() => []);
    const chosen = chooseDocuments(books, this.order.documents, t("report.of"));
    const enter = (event) => {
      event.preventDefault();
      const here = chosen.list();
      // A document that is not listed any more stays in the report.
      const listed = books.map(({ document }) => document);
      this.order.documents = [...this.order.documents.filter((sha) => here.includes(sha) || !listed.includes(sha)), ...here.filter((sha) => !this.order.documents.includes(sha))];
      keep(list().map((one) => (one.id === this.order.id ? this.order : one)));
      this.update.open = false;
      this.load(true);
    };
    this.update.append(h("form", { class: "report-form", onsubmit: enter }, h("p", { class: "small" }, t("report.update.hint")), chosen.node, h("div", {}, h("button", { class: "main" }, t("report.update.go")))));
  }

  async #save(kind) {
    try {
      const file = await service.reportFile(wantedOf(this.order), kind);
      const link = h("a", { href: URL.createObjectURL(file), download: `report.${kind}` });
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (refused) {
      refill(this.problem, h("p", { class: "problem" }, refused.message));
    }
  }

  #remove() {
    keep(list().filter(({ id }) => id !== this.order.id));
    location.hash = "#/?shelf=reports";
  }
}
