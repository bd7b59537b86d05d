// The actions of a reading: stop, resume, delete, ask its document again, compare, download.

import { h, refill } from "./dom.js";
import * as service from "./service.js";
import { t } from "./words.js";

export function actions(reading, shelf, changed) {
  const file = h("a", { class: "button", href: shelf.file(reading.reading), download: `reading-${reading.reading}.json` }, t("act.json"));
  if (reading.run) return [h("a", { class: "button", href: `#/run/${reading.run.run}` }, t("act.run", { name: reading.run.name })), file];
  const problem = h("span", { class: "small problem", role: "alert" });
  const act = (label, run, kind = "") => {
    const press = async (event) => {
      const button = event.currentTarget;
      button.disabled = true;
      try {
        await run(button);
      } catch (refused) {
        refill(problem, refused.message);
      }
      button.disabled = false;
    };
    return h("button", { type: "button", class: kind, onclick: press }, label);
  };
  const id = reading.reading;
  const reads = reading.status === "reading";
  const budget = nextBudget(reading);
  const onwards = t(budget && reading.status === "stopped" ? "act.resume.more" : "act.resume");
  const onward = ["stopped", "failed", "cancelled"].includes(reading.status);
  return [
    reads && act(t("act.stop"), async () => changed(await service.cancel(id))),
    onward && act(onwards, async () => changed(await service.resume(id, budget)), "main"),
    h("a", { class: "button", href: `#/?${new URLSearchParams({ document: reading.document.id, name: reading.document.name })}` }, t("act.ask")),
    compareMenu(reading),
    file,
    !reads && act(t("act.delete"), confirmDelete(id), "plain"),
    problem,
  ];
}

// The budget of a resumed reading starts at zero. The server drops limits that are not sent, so all are sent; if one of
// them stopped the reading, all are doubled.
function nextBudget({ status, plan }) {
  const limits = ["tokens", "seconds", "cost"].filter((name) => plan.budget[name]);
  if (!limits.length) return undefined;
  const factor = status === "stopped" ? 2 : 1;
  const { price_in, price_out } = plan.budget;
  return { price_in, price_out, ...Object.fromEntries(limits.map((name) => [name, factor * plan.budget[name]])) };
}

// The first press asks for confirmation, the second deletes.
function confirmDelete(id) {
  let asked = false;
  return async (button) => {
    if (asked) {
      await service.remove(id);
      location.hash = "#/";
    }
    asked = true;
    refill(button, t("act.delete.sure"));
  };
}

// The list of other readings of this document is loaded when the menu opens.
function compareMenu(reading) {
  const list = h("div", { class: "choices" });
  const open = async () => {
    if (!box.open) return;
    const others = (await service.readings("", 500)).filter((other) => other.document.id === reading.document.id && other.reading !== reading.reading);
    const link = (other) => h("a", { href: `#/compare/${encodeURIComponent(reading.reading)}/${encodeURIComponent(other.reading)}`, dir: "auto" }, other.question);
    refill(list, others.length ? others.map(link) : h("p", { class: "small" }, t("compare.none")));
  };
  const box = h("details", { class: "menu", ontoggle: open }, h("summary", { class: "button" }, t("act.compare")), list);
  return box;
}
