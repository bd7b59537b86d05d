// The memory after one step: the lines that the step added, reworded and removed, and the step each line is from.

import { arrange, h, refill } from "./dom.js";
import { readable } from "./marks.js";
import { knows, number, t } from "./words.js";

const chip = (text, kind = "") => h("span", { class: `chip ${kind}` }, text);
export const flagChip = (flag) => chip(knows(`flag.${flag}`) ? t(`flag.${flag}`) : flag, flag === "edited" ? "hand" : "");

// What may be the mark of a picture; the server knows which are.
const MARK = /\[([^[\]\n]*figure \d[^[\]\n]*)\]/g;

export class MemoryPane {
  // `picture(label)` is the address of the picture that a mark in a line names.
  constructor({ trace, limit, from = null, tools = null, label = t("memory"), origins = () => [], picture = null }) {
    Object.assign(this, { trace, limit, from, origins, picture, at: -1, kept: new Map() });
    this.after = h("span", { class: "soft" });
    this.gauge = h("meter", { min: 0, max: limit, "aria-label": t("memory") });
    this.size = h("span", { class: "small" });
    this.told = h("p", { class: "chips" });
    this.list = h("ol", { class: from ? "lines" : "lines bare" });
    this.words = h("p", { class: "reply", dir: "auto" });
    this.reply = h("details", {}, h("summary", {}, t("memory.reply")), this.words);
    this.flight = h("p", { class: "small" });
    this.draft = h("p", { class: "draft", dir: "auto" });
    this.live = h("div", { class: "live", hidden: true }, this.flight, this.draft);
    this.hint = from && h("p", { class: "small hint" }, t("memory.hint"));
    this.body = h("div", { class: "pane-body", tabindex: "0", role: "group", "aria-label": label }, this.live, this.told, this.list, this.reply, this.hint);
    this.node = h(
      "section",
      { class: "pane memory" },
      h("div", { class: "pane-head" }, h("h2", {}, t("memory"), " ", this.after), h("div", { class: "gauge" }, this.gauge, this.size), tools && h("span", { class: "tools" }, tools)),
      this.body,
    );
  }

  draw(at) {
    if (this.at !== at) this.#choose(null);
    this.at = at;
    const step = this.trace.steps[at];
    this.reply.hidden = !step;
    if (this.hint) this.hint.hidden = !step?.changes.length;
    if (!step) return void refill(this.list, h("li", { class: "nothing" }, t("memory.empty")));
    refill(this.after, t("memory.after", { at: number(at) }));
    this.gauge.value = step.memory_tokens;
    refill(this.size, t("memory.size", { tokens: number(step.memory_tokens), limit: number(this.limit) }));
    const changes = step.changes;
    refill(this.told, this.#counts(changes), step.flags.filter((flag) => flag !== "unchanged").map(flagChip));
    arrange(this.list, changes.length ? this.#lines(changes) : [h("li", { class: "nothing" }, t("memory.empty"))]);
    const said = step.reply.trim();
    this.reply.hidden = !said || said === step.memory.trim();
    if (!this.reply.hidden) refill(this.words, said);
    return undefined;
  }

  // Steps or the origins of lines are still to come, so the lines change by themselves.
  set isBusy(busy) {
    this.node.setAttribute("aria-busy", busy);
  }

  // The reply that is being written, and the section that it is about; null when nothing is under way.
  write(told, text = "") {
    this.live.hidden = told === null;
    if (told === null) return;
    refill(this.flight, told);
    refill(this.draft, text);
    if (text && this.at <= 0) this.body.scrollTop = 0;
  }

  #counts(changes) {
    const count = (kind) => changes.filter((change) => change.kind === kind).length;
    const told = [["new", "added"], ["reworded", "reworded"], ["gone", "gone"]].filter(([kind]) => count(kind));
    if (!told.length) return h("span", { class: "small" }, t("memory.same"));
    return told.map(([kind, word]) => chip(t(`memory.${word}`, { count: number(count(kind)) }), kind));
  }

  // A line that stays as it was keeps its element: a long memory is not drawn anew at every step.
  #lines(changes) {
    const before = this.kept;
    this.kept = new Map();
    return changes.map((change) => {
      const plain = change.kind === "kept" && !this.origins(this.at, change.text).length;
      const key = `${this.trace.entered(this.at, change.text)} ${change.text}`;
      const line = (plain && before.get(key)) || this.#line(change);
      before.delete(key);
      if (plain) this.kept.set(key, line);
      return line;
    });
  }

  #line(change) {
    const item = h("li", { class: change.kind, dir: "auto" });
    const said = change.kind === "kept" ? null : h("span", { class: "unseen" }, t(`kind.${change.kind}`));
    const text = h("p", {}, said, change.words ? change.words.map(markedWord) : readable(change.text), this.#marks(change), change.kind !== "gone" && this.#pictures(change.text));
    if (change.kind === "gone" || !this.from) item.append(h("span", { class: "since", "aria-hidden": "true" }, change.kind === "gone" ? "−" : ""), text);
    else item.append(this.#since(change.text, item), text);
    return item;
  }

  #pictures(line) {
    const labels = this.picture ? [...line.matchAll(MARK)].map(([, label]) => label) : [];
    // Words between brackets that are no mark have none.
    return labels.map((label) => h("img", { class: "pointed-at", src: this.picture(label), alt: label, title: label, loading: "lazy", onerror: ({ target }) => target.remove() }));
  }

  #since(line, item) {
    const step = this.origins(this.at, line)[0]?.step ?? this.trace.entered(this.at, line);
    const label = t("memory.from", { step: number(step) });
    const choose = () => {
      this.#choose(item);
      this.from(this.at, line);
    };
    return h("button", { class: "since", type: "button", title: label, "aria-label": label, onclick: choose }, number(step));
  }

  #choose(item) {
    this.list.querySelector(".chosen")?.classList.remove("chosen");
    item?.classList.add("chosen");
  }

  #marks({ kind, text }) {
    if (kind === "gone") return null;
    return this.origins(this.at, text).map((origin) => {
      if (origin.by_hand) return [" ", chip(t("memory.hand"), "hand")];
      if (origin.found) return null;
      return [" ", chip(origin.missing?.length ? t("memory.missing", { missing: origin.missing.join(", ") }) : t("memory.lost"))];
    });
  }
}

function markedWord([kind, piece]) {
  if (kind === "kept") return piece;
  return h(kind === "new" ? "ins" : "del", {}, piece);
}
