// What a reading is of, what it took, and how far it is.

import { isFromMemory } from "./actions.js";
import { h, refill } from "./dom.js";
import { explain } from "./refusals.js";
import { duration, moment, number, pages, t } from "./words.js";

export class Facts {
  // `collect` begins the table of a question; null where nothing can be begun.
  constructor(collect = null) {
    this.collect = collect && h("button", { type: "button", onclick: () => this.#begin(collect) }, t("missed.collect"));
    this.bar = h("progress", { max: 1, "aria-label": t("reading.progress") });
    this.line = h("span", { class: "took" });
    this.list = h("dl", { class: "facts" });
    this.missed = h("p", { class: "small missed", role: "note" });
    this.node = h("details", { class: "menu about", ontoggle: () => this.node.open && this.tell?.() }, h("summary", { class: "quiet" }, t("reading.about")), h("div", { class: "choices" }, this.list));
  }

  // `elapsed`: seconds on the clock of a reading that goes on.
  draw(reading, trace, elapsed) {
    const reads = reading.status === "reading";
    this.bar.hidden = !reads;
    this.bar.value = share(reading, trace);
    const left = reads ? secondsLeft(reading, trace) : null;
    const remains = left === null ? t("reading.left.unknown") : duration(left);
    const told = [reading.model, h("span", { class: "detail" }, ` · ${reading.way}`), ` · ${duration(usageSoFar(reading, trace).seconds)}`];
    const clock = t("reading.clock", { took: duration(elapsed), left: remains });
    if (!reads) refill(this.line, told);
    else if (this.line.textContent !== clock) refill(this.line, clock);
    const missed = reads ? [] : listMissed(reading, trace);
    this.missed.hidden = !missed.length;
    const isList = !reads && (reading.cautions ?? []).some(({ kind }) => kind === "list");
    refill(this.missed, missed.map((one) => h("span", {}, one)), isList && this.collect && h("span", {}, this.collect));
    // While a reading goes on, nobody pays for facts that nobody looks at.
    this.tell = () => this.#tell(reading, trace);
    if (!reads || this.node.open) this.tell();
  }

  async #begin(collect) {
    this.collect.disabled = true;
    try {
      await collect();
    } catch (problem) {
      this.missed.append(h("span", { role: "alert" }, problem.message));
    }
    this.collect.disabled = false;
  }

  #tell(reading, trace) {
    const usage = usageSoFar(reading, trace);
    const { price_in, price_out } = reading.plan.budget;
    const cost = (usage.prompt_tokens * price_in + usage.completion_tokens * price_out) / 1e6;
    const facts = [
      ["reading.document", t("reading.of", { name: reading.document.name, length: number(reading.document.length) })],
      ["reading.began", moment(reading.created)],
      ["reading.model", reading.model],
      ["reading.way", reading.way],
      ["reading.tokens", t("reading.tokens.told", { read: number(usage.prompt_tokens), written: number(usage.completion_tokens) })],
      ["reading.calls", number(usage.calls)],
      ["reading.cost", (price_in || price_out) && cost.toFixed(4)],
      ["reading.took", duration(usage.seconds)],
      ["reading.gaps", (reading.gaps ?? []).map(gap).join(" · ")],
      ["reading.notes", (reading.document.notes ?? []).map(explain).join(" · ")],
      [trace.own.length < trace.length ? "reading.carried" : "reading.parent", reading.parent && h("a", { href: `#/reading/${encodeURIComponent(reading.parent)}` }, reading.parent.slice(0, 12))],
    ];
    refill(this.list, facts.filter(([, fact]) => fact).map(([name, fact]) => h("div", {}, h("dt", {}, t(name)), h("dd", {}, fact))));
  }
}

// What the answer does not rest on: sections that were not taken in, left out or never read, pages that have no text.
function listMissed(reading, trace) {
  const all = number(new Set(trace.own.map(({ start, end }) => `${start}-${end}`)).size);
  const gaps = reading.gaps ?? [];
  const flagged = (flag) => trace.own.filter(({ flags, start, end }) => end > start && flags.includes(flag)).length;
  const left = Math.round(100 * (1 - share(reading, trace)));
  const isLookedUp = reading.answer_turn?.flags.includes("looked-up");
  // Of an answer that found nothing, nobody can say that it was found before.
  const unread = reading.verdict === "absent" ? "missed.unread.absent" : "missed.unread";
  const told = [["missed.gaps", gaps.length], ["missed.skipped", flagged("skipped")], [unread, flagged("unread")]];
  const where = gaps.slice(0, 3).map(({ start, end, pages: on }) => pages(on) || t("source.span", { start: number(start), end: number(end) }));
  return [
    isFromMemory(reading) && t("missed.carried"),
    ...(reading.cautions ?? []).map(({ kind }) => t(`missed.${kind}`, { tokens: number(reading.plan.memory_tokens) })),
    isLookedUp && t("flag.looked-up"),
    ...told.filter(([key, count]) => count && !(isLookedUp && key === unread)).map(([key, count]) => t(key, { count: number(count), all, where: where.join(t("list.comma")) })),
    trace.own.length && left > 0 && !isLookedUp && t(reading.status === "answered" ? "missed.share" : "missed.rest", { share: `${number(left)} %` }),
    ...(reading.document.notes ?? []).map(explain),
  ].filter(Boolean);
}

// A section that the memory does not have, and why.
const gap = ({ start, end, flags }) => t("reading.gap", { start: number(start), end: number(end), why: flags.map((flag) => t(`flag.${flag}`)).join(", ") });

// Of any steps, in whatever order they read.
export const lengthOf = (steps) => steps.reduce((sum, step) => sum + step.end - step.start, 0);
const share = (reading, trace) => Math.min(1, lengthOf(trace.own) / Math.max(1, reading.document.length));

function usageSoFar(reading, trace) {
  const summed = { calls: 0, prompt_tokens: 0, completion_tokens: 0, seconds: 0 };
  const names = Object.keys(summed);
  const add = (usage) => names.forEach((name) => (summed[name] += usage[name]));
  trace.steps.forEach((step) => add(step.usage));
  if (reading.answer_turn) add(reading.answer_turn.usage);
  return summed.calls >= reading.usage.calls ? summed : reading.usage;
}

// Estimated from the newest steps: their own time or, where the model reports none, the time between their events.
function secondsLeft(reading, trace) {
  const newest = trace.own.slice(-12);
  if (newest.length < 2) return null;
  const characters = lengthOf(newest);
  const told = newest.reduce((sum, step) => sum + step.usage.seconds, 0);
  const arrived = newest.filter((step) => step.arrived);
  const between = arrived.length > 1 ? (arrived.at(-1).arrived - arrived[0].arrived) / 1000 : 0;
  const pace = told > 0 ? told / characters : between / Math.max(1, lengthOf(arrived.slice(1)));
  return pace > 0 ? pace * Math.max(0, reading.document.length - lengthOf(trace.own)) : null;
}
