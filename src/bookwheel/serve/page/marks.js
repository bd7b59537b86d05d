// Small marks: the status of a reading, the verdict on a sample, the advantage of a rollout.

import { h } from "./dom.js";
import { explainScore } from "./reasons.js";
import { percent, signed, t } from "./words.js";

// An answer is green only where the document bears it out.
export const statusChip = (status, support = "found") => h("span", { class: `status ${status}${(support ?? "found") === "found" ? "" : " unproved"}` }, t(`status.${status}`));

export const advantageMark = (advantage) => h("span", { class: `chip ${advantage > 0 ? "new" : advantage < 0 ? "gone" : "nought"}` }, signed(advantage));

// How far the document bears out an answer, or one sentence of it.
export const supportChip = (support, text = t(`verdict.${support}`)) => h("span", { class: `status support ${support}` }, text);

export function verdict({ outcome, score, reason }) {
  const title = reason ? explainScore(reason) : null;
  if (outcome !== "scored") return h("span", { class: "status stopped", title }, t(`outcome.${outcome}`));
  const kind = score >= 1 ? "answered" : score > 0 ? "stopped" : "failed";
  return h("span", { class: `status ${kind}`, title }, score >= 1 ? t("samples.right") : score > 0 ? percent(score) : t("samples.not"));
}
