// What can be done with a reading: stop and resume it, copy and export the answer, name, star, compare, delete it.

import { fromHere } from "./address.js";
import { h, refill } from "./dom.js";
import { Star, confirmed, rename } from "./labels.js";
import * as service from "./service.js";
import { titleOf } from "./marks.js";
import { moment, t } from "./words.js";

// `own`: changed(reading), ask(), copy(), and the heading that is written over.
export function actions(reading, shelf, own) {
  const file = (format, label) => h("a", { class: "choice", href: `${shelf.file(reading.reading)}/export?format=${format}`, download: "" }, label);
  const json = h("a", { class: "choice", href: shelf.file(reading.reading), download: `reading-${reading.reading || "sample"}.json` }, t("act.json"));
  if (reading.run) return [h("a", { class: "button", href: `#/run/${reading.run.run}` }, t("act.run", { name: reading.run.name })), h("a", { class: "button", href: json.href, download: json.download }, t("act.json"))];
  if (shelf !== service.own) return null;
  const id = reading.reading;
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
  const reads = reading.status === "reading";
  const budget = nextBudget(reading);
  const onward = ["stopped", "failed", "cancelled"].includes(reading.status);
  const star = new Star(Boolean(reading.starred), (starred) => service.labelReading(id, { starred }));
  const name = act(t("label.rename"), () => rename(own.heading, titleOf(reading), async (given) => own.changed({ ...reading, ...(await service.labelReading(id, { name: given })) })), "choice");
  const copied = act(t("act.copy"), async (button) => {
    await own.copy();
    refill(button, t("act.copied"));
  });
  const remove = confirmed(t("act.delete"), async () => {
    const lead = fromHere();
    await service.remove(id);
    lead(`#/document/${reading.document.id}`);
  });
  const reread = async () => {
    const lead = fromHere();
    const anew = await service.start({ reading: id, from_memory: false, question: reading.question });
    lead(service.own.place(anew.reading));
  };
  return [
    reads && act(t("act.stop"), async () => own.changed(await service.cancel(id))),
    onward && act(t(budget && reading.status === "stopped" ? "act.resume.more" : "act.resume"), async () => own.changed(await service.resume(id, budget)), "main"),
    reading.answer && copied,
    isFromMemory(reading) && act(t("act.reread"), reread),
    own.correct && !reads && reading.steps?.length > 0 && act(t("act.correct"), async () => own.correct(), "to-correct"),
    !reads && h("a", { class: "button", href: `${shelf.file(id)}/export?format=html`, download: "", title: t("act.share.told") }, t("act.share")),
    !reads && compareMenu(reading),
    star.node,
    menu(t("act.more"), [name, file("markdown", t("act.markdown")), json, !reads && remove]),
    problem,
  ];
}

// Whether the notes of an earlier question answered this one, without a word of the document being read again.
export const isFromMemory = ({ status, steps }) => status === "answered" && Boolean(steps?.at(-1)?.flags.includes("carried"));

function menu(label, choices, opened = () => {}) {
  const box = h("details", { class: "menu" }, h("summary", { class: "button" }, label), h("div", { class: "choices" }, choices));
  const away = (event) => {
    if (!box.contains(event.target)) box.open = false;
    if (!box.open || !box.isConnected) removeEventListener("click", away, true);
  };
  box.addEventListener("toggle", () => box.open && (addEventListener("click", away, true), opened()));
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    box.open = false;
    box.firstElementChild.focus();
  });
  return box;
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

// What a reading was made from is beside it at one press; other readings of its document are listed when the menu opens.
function compareMenu(reading) {
  const place = (other) => `#/compare/${encodeURIComponent(reading.reading)}/${encodeURIComponent(other)}`;
  const isFork = reading.parent && reading.steps?.some(({ flags }) => flags.includes("edited"));
  if (isFork) return h("a", { class: "button", href: place(reading.parent) }, t("act.compare.before"));
  const list = h("div", {});
  const open = async () => {
    const others = (await service.readings({ document: reading.document.id, limit: 500 })).filter((other) => other.reading !== reading.reading);
    const link = (other) => h("a", { class: "choice", href: place(other.reading), dir: "auto" }, titleOf(other), h("span", { class: "small" }, ` ${moment(other.created)}`));
    refill(list, others.length ? others.map(link) : h("p", { class: "small" }, t("compare.none")));
  };
  return menu(t("act.compare"), list, open);
}
