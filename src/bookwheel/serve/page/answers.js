// Documents by questions: the form that orders such a table, and the table itself. Each answer leads to its reading, and
// each sentence of what a column comes to, by its numbers, to the readings that it rests on.

import { h, refill } from "./dom.js";
import { figures, folded } from "./tables.js";
import { number, t } from "./words.js";

const reading = (cell) => `#/reading/${encodeURIComponent(cell.reading)}`;

// `begin` takes the order: its title, its questions, its documents.
export function answersForm(chosen, begin) {
  const title = h("input", { id: "answers-title", required: true, placeholder: t("answers.name.hint"), autocomplete: "off", dir: "auto" });
  const questions = h("textarea", { id: "answers-questions", rows: 4, required: true, placeholder: t("answers.questions.hint"), dir: "auto" });
  const problem = h("p", { class: "small problem", role: "alert" });
  const enter = (event) => {
    event.preventDefault();
    const asked = [...new Set(questions.value.split("\n").map((line) => line.trim()).filter(Boolean))];
    if (!chosen.list().length) return void refill(problem, t("report.none-chosen"));
    if (!asked.length) return void refill(problem, t("ask.no-question"));
    return begin({ brief: title.value.trim(), questions: asked, documents: chosen.list() });
  };
  return h("form", { class: "report-form", onsubmit: enter }, h("label", { for: title.id }, t("answers.name")), title, h("label", { for: questions.id }, t("answers.questions")), questions, chosen.node, h("div", {}, h("button", { class: "main" }, t("answers.go"))), problem);
}

// A sentence that says its sources in other words.
export const isMarked = (sentence) => sentence.verdict === "partly";

// Sentences with the passages to compare.
export const compared = (name, sentences) =>
  sentences.length > 0 &&
  folded(t(name, { count: number(sentences.length) }), () => h("ul", {}, sentences.map((one) => h("li", { dir: "auto" }, one.text, one.passage && h("span", { class: "small" }, ` “${one.passage}”`)))));

export function showAnswers({ rows, syntheses }) {
  const cell = (one) => [
    h("a", { href: reading(one), dir: "auto", title: one.quotes.join(" … ") }, one.answer || t(`status.${one.status}`)),
    one.verdict && h("span", { class: "small verdict-line" }, ` ${t(`verdict.${one.verdict}`)}`),
  ];
  const body = rows.map((row, at) => [`[${number(at + 1)}] ${row.name}`, ...row.cells.map(cell)]);
  const header = [t("report.document"), ...syntheses.map(({ question }) => question)];
  const column = ({ question, sentences, left_out: left }, at) => {
    const mark = (one) => (row) => rows[row - 1] && h("a", { href: reading(rows[row - 1].cells[at]), class: "report-mark", title: rows[row - 1].name }, `[${isMarked(one) ? "≈" : ""}${number(row)}]`);
    return [
      h("h3", { dir: "auto" }, question),
      h("p", { class: "report-text", dir: "auto" }, sentences.length ? sentences.map((one) => [one.text, " ", one.numbers.map(mark(one)), " "]) : t(left.length ? "answers.left" : "answers.nothing")),
      compared("report.marked", sentences.filter(isMarked)),
      compared("answers.left-out", left),
    ];
  };
  return [figures({ caption: "", header, rows: body, kind: "report-table" }), h("h2", {}, t("answers.columns")), syntheses.map(column)];
}
