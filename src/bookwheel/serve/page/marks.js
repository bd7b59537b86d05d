// Small marks: the status of a reading, the verdict on a sample, the advantage of a rollout.

import { h } from "./dom.js";
import { explainScore } from "./reasons.js";
import { number, percent, signed, t } from "./words.js";

const BORNE_OUT = ["quoted", "supported"];

// What an answer is worth, in plain words: green only where the document bears it out and it answers the question. A
// reading without an answer says how it ended.
export function trustBadge(reading) {
  const { status, sign } = reading;
  if (status !== "answered") return h("span", { class: `status ${status}` }, t(status === "reading" && reading.answer ? "status.judging" : `status.${status}`));
  const words = trustOf(reading);
  return h("span", { class: `status answered trust ${sign ?? "grey"}`, title: t(`trust.${words}.why`) }, h("span", { "aria-hidden": "true" }, words === "table" ? "▦ " : `${SIGNS[sign] ?? "?"} `), t(`trust.${words}`));
}

export const trustOf = ({ verdict, answers, sign, way }) =>
  way?.split("+").includes("collect") ? "table" : BORNE_OUT.includes(verdict) ? (sign === "green" ? "yes" : answers === "no" ? "off" : "maybe") : (verdict ?? "unchecked");

const SIGNS = { green: "✓", amber: "!", red: "✕", grey: "?" };

// A quote without the marks of Markdown: no signs of headings and of emphasis, the cells of a row one after the other.
export const readable = (quote) =>
  quote
    .split("\n")
    .filter((line) => !/^\s*\|?(\s*:?-{3,}:?\s*\|)+[\s:-]*$/.test(line))
    .map((line) => line.replace(/^\s*#{1,6}\s+/, "").replace(/\*\*(.+?)\*\*/g, "$1"))
    .map((line) => (/^\s*\|.*\|\s*$/.test(line) ? line.split("|").map((cell) => cell.trim()).filter(Boolean).join(" · ") : line))
    .join("\n");

// What a reading answers, in words; the number of a table's rows in those of the page.
export function answerOf({ answer, way }) {
  const rows = way?.split("+").includes("collect") && answer?.match(/^\d+(?= (?:rows?|行)$)/);
  return rows ? t("table.rows", { count: number(Number(rows[0])) }) : answer;
}

// Why a reading has no answer: whether its schema was not met, else how it stands.
export const whyNone = ({ status, error_kind: kind }) => t(`none.${kind === "UnfitAnswer" ? "unfit" : status}`);

// A file or a chapter within the open document, in as few words as tell it.
export const placeIn = (source, name) => source && source !== name && source.replace(`${name}#`, "");

// The columns of a table stand behind its question, for the model.
export const titleOf = ({ name, question }) => name || question.split("\n{")[0];

export const advantageMark = (advantage) => h("span", { class: `chip ${advantage > 0 ? "new" : advantage < 0 ? "gone" : "nought"}` }, signed(advantage));

// How far the document bears out one sentence of an answer, and whether that answers the question.
export const claimChip = ({ verdict, answers }, sign, text = t(`verdict.${verdict}`)) =>
  h("span", { class: `status support ${sign}` }, [text, hasDoubt(verdict, answers) && t(`answers.${answers}`)].filter(Boolean).join(" · "));

// A slight doubt is told where nothing else keeps a sentence from being green.
const hasDoubt = (verdict, answers) => (answers === "no" && verdict !== "absent") || (answers === "doubtful" && BORNE_OUT.includes(verdict));

// The colour of one sentence; that of the whole answer comes with the reading.
export const signOf = ({ verdict, answers }) =>
  BORNE_OUT.includes(verdict) ? (answers === "yes" ? "green" : "amber") : ["contradicted", "not-found"].includes(verdict) ? "red" : ["absent", "unchecked"].includes(verdict) ? "grey" : "amber";

export function verdict({ outcome, score, reason }) {
  const title = reason ? explainScore(reason) : null;
  if (outcome !== "scored") return h("span", { class: "status stopped", title }, t(`outcome.${outcome}`));
  const kind = score >= 1 ? "green" : score > 0 ? "stopped" : "failed";
  return h("span", { class: `status ${kind}`, title }, score >= 1 ? t("samples.right") : score > 0 ? percent(score) : t("samples.not"));
}
