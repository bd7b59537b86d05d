// One evaluation or training run, polled while it is open and updated in place.

import { h, refill } from "./dom.js";
import { EvaluationView } from "./evaluation.js";
import * as service from "./service.js";
import { TrainingView } from "./training.js";
import { moment, t } from "./words.js";

const OFTEN = 4000;
const SELDOM = 30_000;
const LIVELY = 600; // seconds without news, after which a run is looked at only seldom; a large report is never asked for often

export async function runView({ parts: [id] }) {
  const began = performance.now();
  const fetched = await service.run(id);
  return (kept, query) => showRun(id, { ...fetched, took: performance.now() - began }, query, kept);
}

function showRun(id, { told, tag, took }, query, kept) {
  let began = 0;
  const view = told.kind === "training" ? new TrainingView(told, query, kept) : new EvaluationView(told, query, kept);
  const changed = h("span");
  const line = h("p", { class: "small problem", role: "status" });
  const when = () => refill(changed, t("runs.changed", { when: moment(new Date(told.changed * 1000).toISOString()) }));
  let timer = 0;
  const again = () => {
    timer = setTimeout(look, Math.max(told.quiet < LIVELY ? OFTEN : SELDOM, 10 * took));
  };
  const look = async () => {
    try {
      began = performance.now();
      const next = await service.run(id, tag);
      if (next) took = performance.now() - began;
      refill(line);
      if (next) {
        ({ told, tag } = next);
        view.draw(told);
        when();
      } else told.quiet += (told.quiet < LIVELY ? OFTEN : SELDOM) / 1000;
    } catch (problem) {
      refill(line, problem.message);
    }
    if (timer !== null) again();
  };
  // A file that was shared offers no other one.
  const file = service.share && h("a", { href: service.share(id), download: "", title: t("runs.share.told") }, t("runs.share"));
  when();
  again();
  const node = h(
    "article",
    { class: "run" },
    h("div", {}, h("p", { class: "eyebrow" }, h("a", { href: "#/runs" }, t("runs")), h("span", { class: `status ${told.kind}` }, t(`runs.${told.kind}`)), changed, file), h("h1", { dir: "auto" }, told.name)),
    line,
    view.node,
  );
  const close = () => {
    clearTimeout(timer);
    timer = null;
    view.close();
  };
  return { node, title: told.name, close, keep: () => view.keep() };
}
