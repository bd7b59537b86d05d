// Small marks: the status of a reading, the verdict on a sample, the advantage of a rollout.

import { h } from "./dom.js";
import { explainScore } from "./reasons.js";
import { percent, signed, t } from "./words.js";

// An answer is green only where the document bears it out and it answers the question.
export const statusChip = (status, sign = "green") => h("span", { class: `status ${status}${status === "answered" && sign !== "green" ? " unproved" : ""}` }, t(`status.${status}`));

export const advantageMark = (advantage) => h("span", { class: `chip ${advantage > 0 ? "new" : advantage < 0 ? "gone" : "nought"}` }, signed(advantage));

// How far the document bears out an answer, or one sentence of it, and whether that answers the question.
export const supportChip = ({ verdict, answers }, sign, text = t(`verdict.${verdict}`)) =>
  h("span", { class: `status support ${sign}` }, [text, answers && answers !== "yes" && verdict !== "absent" && t(`answers.${answers}`)].filter(Boolean).join(" · "));

const BORNE_OUT = ["quoted", "supported"];

// The colour of one sentence; that of the whole answer comes with the reading.
export const signOf = ({ verdict, answers }) =>
  BORNE_OUT.includes(verdict) ? (answers === "yes" ? "green" : "amber") : ["contradicted", "not-found"].includes(verdict) ? "red" : ["absent", "unchecked"].includes(verdict) ? "grey" : "amber";

export function verdict({ outcome, score, reason }) {
  const title = reason ? explainScore(reason) : null;
  if (outcome !== "scored") return h("span", { class: "status stopped", title }, t(`outcome.${outcome}`));
  const kind = score >= 1 ? "answered" : score > 0 ? "stopped" : "failed";
  return h("span", { class: `status ${kind}`, title }, score >= 1 ? t("samples.right") : score > 0 ? percent(score) : t("samples.not"));
}
