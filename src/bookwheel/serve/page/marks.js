// Small marks: the status of a reading, the verdict on a sample, the advantage of a rollout.

import { h } from "./dom.js";
import { percent, signed, t } from "./words.js";

export const statusChip = (status) => h("span", { class: `status ${status}` }, t(`status.${status}`));

export const advantageMark = (advantage) => h("span", { class: `chip ${advantage > 0 ? "new" : advantage < 0 ? "gone" : "nought"}` }, signed(advantage));

export function verdict({ outcome, score, reason }) {
  const title = reason || null;
  if (outcome !== "scored") return h("span", { class: "status stopped", title }, t(`outcome.${outcome}`));
  const kind = score >= 1 ? "answered" : score > 0 ? "stopped" : "failed";
  return h("span", { class: `status ${kind}`, title }, score >= 1 ? t("samples.right") : score > 0 ? percent(score) : t("samples.not"));
}
