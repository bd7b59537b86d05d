// To read or to inspect. "read": the open answer stands in the thread, as a conversation, with the document beside it.
// "inspect": it stands above the timeline, the memory and the document.

import { h, refill } from "./dom.js";
import { readable } from "./marks.js";
import { kept, number, t } from "./words.js";

const FOUND = 5; // lines of what was found so far

export class Modes {
  // `view` is the reading's; without a thread it stands alone and is there to be inspected.
  constructor(view) {
    this.view = view;
    this.name = view.thread && kept.get("mode") !== "inspect" ? "read" : "inspect";
    this.node = h("span", { class: "modes", role: "group", "aria-label": t("mode") });
    this.found = h("ul", { class: "sofar", "aria-label": t("live.sofar"), hidden: true });
  }

  get inspects() {
    return this.name === "inspect";
  }

  turn() {
    if (this.view.thread) this.choose(this.inspects ? "read" : "inspect");
  }

  choose(name) {
    kept.set("mode", name);
    this.show(name);
    this.node.querySelector("[aria-pressed=true]")?.focus();
  }

  // `workspace` is the element that the thread and the reading are in.
  show(name, workspace = this.view.node.parentElement) {
    const { thread, headline, node } = this.view;
    this.name = thread ? name : "inspect";
    workspace?.classList.toggle("reads", !this.inspects);
    thread?.hold(this.inspects ? null : headline);
    if (this.inspects) node.prepend(headline);
    const button = (one) => h("button", { type: "button", class: "quiet", title: t(`mode.${one}.hint`), "aria-pressed": String(one === this.name), onclick: () => this.choose(one) }, t(`mode.${one}`));
    refill(this.node, thread && ["read", "inspect"].map(button));
    this.view.ribbon.repaint();
    this.view.draw();
  }

  // What was found so far, for whoever waits for the answer without the memory before them.
  draw(reads, trace, length) {
    this.found.hidden = !reads || this.inspects;
    if (this.found.hidden) return;
    const lines = (trace.own.at(-1)?.memory ?? "").split("\n").filter((line) => line.trim());
    refill(this.found, h("li", { class: "small" }, h("b", {}, sectionOf(trace, length)), " · ", t(lines.length ? "live.sofar" : "live.nothing")), lines.slice(-FOUND).map((line) => h("li", { dir: "auto" }, readable(line))));
  }
}

// "Section 12 of about 80", by the sections that were read so far.
export function sectionOf({ own }, length) {
  const read = own.filter(({ start, end }) => end > start);
  const characters = read.reduce((sum, { start, end }) => sum + end - start, 0);
  const all = characters ? Math.max(read.length, Math.round((length * read.length) / characters)) : 0;
  return all ? t("live.section", { at: number(Math.min(all, read.length + 1)), all: number(all) }) : t("timeline.begin");
}
