// The runs below the server's folder: evaluations and training runs, the newest first.

import { h, refill } from "./dom.js";
import * as service from "./service.js";
import { moment, number, percent, t } from "./words.js";

const LOOK_AGAIN = 15_000;

export async function runsView(lead = "runs.lead") {
  const runs = await service.runs().catch((problem) => (problem.status === 404 ? null : Promise.reject(problem)));
  return () => showRuns(lead, runs);
}

function showRuns(lead, fetched) {
  const list = h("ul", { class: "readings runs" });
  const told = h("p", { class: "soft", role: "status" });
  let timer = 0;
  const draw = (runs) => {
    refill(told, runs.length ? "" : t("runs.empty"));
    if (!list.contains(document.activeElement)) refill(list, runs.map(entry));
    timer = setTimeout(look, LOOK_AGAIN);
  };
  const look = async () => {
    const runs = await service.runs().catch(() => null);
    if (runs && timer) draw(runs);
  };
  if (fetched) draw(fetched);
  else refill(told, t("runs.none"), " ", h("code", {}, "bookwheel serve --runs FOLDER"));
  const node = h("div", { class: "home" }, h("div", { class: "lead" }, h("h1", {}, t("runs")), h("p", { class: "soft" }, t(lead)), told), list);
  return { node, title: t("runs"), close: () => (timer = clearTimeout(timer)) };
}

function entry(run) {
  return h(
    "li",
    {},
    h("span", { class: `status ${run.kind}` }, t(`runs.${run.kind}`)),
    h(
      "div",
      {},
      h("a", { href: `#/run/${run.run}`, class: "question", dir: "auto" }, run.name),
      h("p", { class: run.error ? "small problem" : "said", dir: "auto" }, run.error ?? outcome(run)),
      h("p", { class: "small" }, run.changed && t("runs.changed", { when: moment(new Date(run.changed * 1000).toISOString()) })),
    ),
  );
}

function outcome({ samples, models, tasks, ways, lengths, totals, held_out: held }) {
  if (samples !== undefined) {
    const span = lengths.length > 1 ? `${number(lengths[0])}–${number(lengths.at(-1))}` : number(lengths[0] ?? 0);
    return [t("runs.samples", { count: number(samples) }), models.join(", "), tasks.join(", "), t("runs.ways", { ways: ways.join(", ") }), t("runs.lengths", { span })].filter(Boolean).join(" · ");
  }
  if (!totals) return "";
  const steps = t("runs.steps", { warm: number(totals.warm), steps: number(totals.steps) });
  return held ? `${steps} · ${t("runs.held", { accuracy: percent(held.accuracy), step: number(held.step) })}` : steps;
}
