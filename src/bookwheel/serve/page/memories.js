// Lasting memories: the list, and one memory with what it says now, a question to it, and its timeline by date. To
// forget a source shows first what falls with it.

import { fromHere } from "./address.js";
import { h, refill } from "./dom.js";
import { explain } from "./refusals.js";
import * as service from "./service.js";
import { duration, knows, moment, number, t } from "./words.js";

const LOOK = 1000; // milliseconds between two looks at whether the model answers
const MOST = 100; // versions that are shown at first

export async function memoriesView() {
  const makeShelf = await fetchMemoryShelf();
  return () => ({ node: h("section", { class: "home" }, h("h1", {}, t("memories")), makeShelf().node), title: t("memories") });
}

// The list with a way to begin one, for the library and for its own address.
export async function fetchMemoryShelf() {
  const rows = await service.memories();
  const list = () => (rows.length ? h("ul", { class: "readings" }, rows.map(entry)) : h("p", { class: "soft" }, t("memories.empty")));
  return () => ({ node: h("div", {}, beginForm(), list()) });
}

function beginForm() {
  const name = h("input", { id: "memory-name", required: true, maxlength: 64, placeholder: t("memories.name.hint"), autocomplete: "off", dir: "auto" });
  const about = h("input", { id: "memory-about", required: true, placeholder: t("memories.about.hint"), autocomplete: "off", dir: "auto" });
  const problem = h("p", { class: "small problem", role: "alert" });
  const begin = async (event) => {
    event.preventDefault();
    const lead = fromHere();
    try {
      const begun = await service.beginMemory(name.value.trim(), about.value.trim());
      lead(`#/memory/${encodeURIComponent(begun.memory)}`);
    } catch (refused) {
      refill(problem, refused.message);
    }
  };
  const field = (label, input) => h("div", {}, h("label", { for: input.id }, t(label)), input);
  return h("details", { class: "begin" }, h("summary", {}, t("memories.begin")), h("form", { class: "fields", onsubmit: begin }, field("memories.name", name), field("memories.about", about), h("div", {}, h("button", { class: "main" }, t("memories.begin.go"))), problem));
}

const facts = (one) =>
  [t("memory.texts", { count: number(one.texts) }), t("memory.version", { version: number(one.version) }), t("memory.tokens", { count: number(one.tokens), limit: number(one.limit) })].join(" · ");

function entry(one) {
  const link = h("a", { href: `#/memory/${encodeURIComponent(one.memory)}`, class: "question", dir: "auto" }, one.memory);
  return h("li", { class: "book-row" }, h("span", { "aria-hidden": "true" }, "◈"), h("div", {}, link, h("p", { class: "said", dir: "auto" }, one.about), h("p", { class: "small" }, facts(one), " · ", moment(one.created))));
}

export async function memoryView({ parts: [encoded] }) {
  const name = decodeURIComponent(encoded);
  const fetched = await fetchMemory(name);
  return () => {
    const memory = new Memory(name);
    memory.draw(fetched);
    return { node: memory.node, title: name };
  };
}

const fetchMemory = (name) => Promise.all([service.memoryLog(name), service.memory(name)]);

class Memory {
  constructor(name) {
    this.name = name;
    this.head = h("div");
    this.now = h("div");
    this.timeline = h("div");
    this.asked = h("div", { class: "answered" });
    this.said = h("div", { role: "status" });
    this.question = h("input", { id: "memory-question", required: true, placeholder: t("memory.ask.hint"), autocomplete: "off" });
    this.send = h("button", { class: "main" }, t("memory.ask"));
    this.asOf = h("input", { type: "date", "aria-labelledby": "memory-as-of" });
    const then = h("p", { class: "small" }, h("span", { id: "memory-as-of" }, t("memory.as-of")), " ", this.asOf);
    const form = h("form", { class: "memory-ask", onsubmit: (event) => this.#ask(event) }, h("label", { for: "memory-question" }, t("ask.question")), this.question, this.send, then);
    this.node = h("section", { class: "home memory" }, this.head, this.now, form, this.said, this.asked, this.#addForm(), this.timeline);
  }

  // A text that is told it: read now, and the memory drawn anew.
  #addForm() {
    const text = h("textarea", { id: "memory-text-add", rows: 3, required: true, dir: "auto" });
    const source = h("input", { id: "memory-source", placeholder: t("memory.source.hint"), autocomplete: "off", dir: "auto" });
    const day = h("input", { id: "memory-day", type: "date" });
    const file = h("input", { id: "memory-file", type: "file", multiple: true });
    file.addEventListener("change", () => (text.required = !file.files.length));
    const button = h("button", { class: "main" }, t("memory.add.go"));
    const problem = h("p", { class: "small problem", role: "alert" });
    const add = async (event) => {
      event.preventDefault();
      button.disabled = true;
      refill(problem);
      const done = this.#tell(problem, "memory.adding");
      try {
        for (const one of file.files) await service.addFile(this.name, one, source.value.trim(), day.value);
        file.value = "";
        const told = text.value;
        if (told.trim()) await service.addText(this.name, told, source.value.trim(), day.value);
        day.value = "";
        if (text.value === told) text.value = ""; // somebody may have typed on
        text.required = true;
        await this.load();
        done();
        refill(problem);
      } catch (refused) {
        done();
        refill(problem, refused.message);
      }
      button.disabled = false;
    };
    return h("details", { class: "begin" }, h("summary", {}, t("memory.add")), h("form", { class: "memory-add", onsubmit: add }, h("label", { for: text.id }, t("memory.add.text")), text, h("label", { for: file.id }, t("memory.add.file")), file, h("label", { for: source.id }, t("memory.source")), source, h("label", { for: day.id }, t("memory.day")), day, h("div", { class: "row" }, button), problem));
  }

  async load(most = MOST) {
    this.draw(await fetchMemory(this.name), most);
  }

  draw([log, shown], most = MOST) {
    refill(this.head, h("h1", { dir: "auto" }, log.memory), h("p", { class: "soft", dir: "auto" }, log.about), h("p", { class: "small" }, facts(log), shown.waiting ? ` · ${t("memory.waiting", { count: number(shown.waiting) })}` : ""));
    const lines = shown.text.split("\n").filter(Boolean);
    const full = shown.gaps.length > 0 && h("p", { class: "problem", role: "alert" }, t("memory.full"));
    // A line that somebody is putting right stays under their hands.
    if (!this.now.querySelector("form")) refill(this.now, h("h2", {}, t("memory.now")), full, lines.length ? h("ul", { class: "noted" }, lines.map((line) => this.#drawLine(line, shown.pictures))) : h("p", { class: "soft" }, t("memory.nothing")));
    this.#drawAsked(log);
    this.#drawTimeline(log, most);
  }

  #drawLine(line, pictures) {
    const mine = pictures.filter(({ label }) => line.includes(`[${label}]`) || line.includes(`[${label}, box `));
    const seen = () => mine.map((one) => h("img", { class: "pointed-at", src: service.memoryPicture(this.name, one.sha256), alt: one.words || one.label, title: one.label, width: one.width, height: one.height, loading: "lazy" }));
    return this.#drawCorrectable(line, () => h("p", {}, line, seen()));
  }

  // What it says now, or a text said; a press opens it to be put right.
  #drawCorrectable(line, draw) {
    const node = h("li", { dir: "auto" });
    const show = () => refill(node, draw(), h("button", { type: "button", class: "quiet", "aria-label": t("memory.correct", { line }), title: t("memory.correct", { line }), onclick: edit }, "✎"));
    const edit = () => {
      const field = h("input", { value: line, "aria-label": t("memory.correct", { line }), dir: "auto" });
      const enter = async (event) => {
        event.preventDefault();
        if (field.value.trim() === line) return show();
        await service.correctMemory(this.name, line, field.value.trim());
        show();
        refill(this.said); // the answer is one of before
        return this.load();
      };
      refill(node, h("form", { class: "row correct", onsubmit: enter }, field, h("button", { class: "main" }, t("table.save")), h("button", { type: "button", onclick: show }, t("memory.edit.leave"))));
      field.focus();
    };
    show();
    return node;
  }

  #drawTimeline(log, most) {
    const versions = log.versions.toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at) || other.version - one.version);
    const days = Map.groupBy(versions.slice(0, most), ({ at }) => at.slice(0, 10));
    const left = versions.length - most;
    refill(
      this.timeline,
      h("h2", {}, t("memory.timeline")),
      [...days].map(([day, found]) => h("section", {}, h("h3", {}, day), h("ol", { class: "list" }, found.map((version) => this.#drawVersion(version))))),
      left > 0 && h("button", { type: "button", onclick: () => this.load(versions.length) }, t("memory.older", { count: number(left) })),
      log.forgotten.map((one) => h("p", { class: "small" }, t("memory.forgotten", { sources: one.sources.join(t("list.comma")), lines: describeLines(one), when: moment(one.ended || one.began) }))),
    );
  }

  #drawVersion(version) {
    const isWritten = version.kind === "edit";
    const told = [t("memory.version", { version: number(version.version) }), version.at.slice(11, 16), version.late && t("memory.late"), ...version.flags.map((flag) => (knows(`flag.${flag}`) ? t(`flag.${flag}`) : flag))];
    const falls = h("div", { role: "status" });
    const forget = h("button", { type: "button", class: "quiet", onclick: () => this.#preview(version.source, falls) }, t("memory.forget"));
    return h(
      "li",
      {},
      h("span", {}),
      h("div", {}, h("p", {}, h("b", { dir: "auto" }, isWritten ? t("memory.by-hand") : version.source), " ", h("span", { class: "small" }, told.filter(Boolean).join(" · "))), drawChanges(version.changes), !isWritten && forget, falls),
    );
  }

  async #preview(source, falls) {
    const found = await service.forgetSource(this.name, source, true);
    const sure = h("button", { type: "button", class: "main", onclick: () => this.#forget(source, sure) }, t("memory.forget.sure"));
    const keep = h("button", { type: "button", onclick: () => refill(falls) }, t("memory.forget.keep"));
    const words = { source, texts: t("memory.texts", { count: number(found.texts.length) }), versions: t("memory.versions", { count: number(found.versions) }), later: number(found.later) };
    refill(falls, h("p", {}, t("memory.falls", words)), h("div", { class: "row" }, sure, keep));
    sure.focus();
  }

  async #forget(source, button) {
    button.disabled = true;
    try {
      await service.forgetSource(this.name, source, false);
    } finally {
      button.disabled = false;
    }
    refill(this.said);
    await this.load();
  }

  async #ask(event) {
    event.preventDefault();
    this.send.disabled = true;
    const done = this.#tell(this.said, "memory.asking");
    try {
      const found = await service.askMemory(this.name, this.question.value, this.asOf.value);
      done();
      refill(this.said, this.#drawAnswer(found, (quote, draw) => this.#drawCorrectable(quote, draw)));
      this.said.scrollIntoView({ block: "nearest" });
      this.#drawAsked(await service.memoryLog(this.name));
    } catch (refused) {
      done();
      refill(this.said, h("p", { class: "problem" }, refused.message));
    } finally {
      this.send.disabled = false;
    }
  }

  // `line` draws one quote of its evidence.
  #drawAnswer(found, line = (_, draw) => h("li", { dir: "auto" }, draw())) {
    const where = t(found.from === "memory" ? "memory.from.memory" : "memory.from.texts");
    const verdict = found.verdict && knows(`verdict.${found.verdict}`) ? t(`verdict.${found.verdict}`) : "";
    const quotes = [["", found.evidence], ["memory.newer", found.newer], ["memory.superseded", found.superseded]];
    return [
      h("p", { class: "said", dir: "auto" }, found.answer || found.error),
      h("p", { class: "small" }, [where, verdict, t("memory.version", { version: number(found.version) })].filter(Boolean).join(" · ")),
      h("ul", { class: "noted" }, quotes.flatMap(([label, list]) => list.map((quote) => (label ? h("li", {}, drawQuote(label, quote)) : line(quote.quote.trim(), () => drawQuote(label, quote)))))),
    ];
  }

  // The answers that are kept with it, newest first: also those of a page that was closed while it waited.
  #drawAsked({ answers }) {
    const one = (found) => h("details", {}, h("summary", { dir: "auto" }, found.question), this.#drawAnswer(found));
    refill(this.asked, answers.length > 0 && h("h2", {}, t("memory.asked")), answers.toReversed().map(one));
  }

  // Says at once that the model is at work, and why it is not while its server is away; until what is returned is called.
  #tell(place, words) {
    const line = h("p", { class: "small" }, t(words));
    const look = async () => {
      const { stalled } = await service.memory(this.name).catch(() => ({}));
      refill(line, stalled ? t("reading.waiting", { since: duration(stalled.seconds), error: explain(stalled.error) }) : t(words));
    };
    const timer = setInterval(look, LOOK);
    refill(place, line);
    place.scrollIntoView({ block: "nearest" });
    return () => clearInterval(timer);
  }
}

const SIGNS = { new: "+", gone: "−", reworded: "~" };
const describeLines = ({ lines, changed }) => [number(lines), changed.length && `(${changed.map(({ kind, line }) => SIGNS[kind] + line).join(", ")})`].filter(Boolean).join(" ");

const drawQuote = (label, { quote, source, speaker, at, page, confidence }) => {
  const place = [source, page && t("source.page", { page: number(page) }), confidence && t("memory.recognised", { share: number(Math.round(100 * confidence)) }), speaker, moment(at)];
  return h("p", { dir: "auto" }, label && h("b", {}, `${t(label)} `), h("q", {}, quote.trim()), h("span", { class: "small" }, ` ${place.filter(Boolean).join(" · ")}`));
};

const drawChanges = (changes) =>
  h("ul", { class: "noted" }, changes.map(({ kind, text, old }) => [old && h("li", { class: "gone", dir: "auto" }, h("p", {}, old)), h("li", { class: kind === "gone" ? "gone" : "new", dir: "auto" }, h("p", {}, text))]));
