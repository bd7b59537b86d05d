// One document: its thread at the left, and beside it the open reading, or the text where nothing was asked yet.

import { rememberAddress } from "./address.js";
import { h } from "./dom.js";
import { FindBar } from "./find.js";
import { ReadingView } from "./reading.js";
import * as service from "./service.js";
import { SourcePane } from "./source.js";
import { Thread } from "./thread.js";
import { titleOf } from "./marks.js";
import { kept as stored, t } from "./words.js";

export async function readingWorkspace({ parts: [id] }) {
  const reading = await service.reading(id);
  return (kept, query) => readInThread(reading, query, kept);
}

function readInThread(reading, query, kept) {
  const thread = new Thread(reading.document, reading.reading);
  const view = new ReadingView(reading, service.own, thread);
  const workspace = frame(thread, view.node, {});
  // An address with a step is there to be inspected.
  const show = (asked) => view.modes.show(asked.has("step") ? "inspect" : view.modes.name, workspace.node);
  const reopen = (now) => (show(now), view.reopen(now));
  show(query);
  view.open(query, kept);
  thread.load();
  return Object.assign(workspace, { title: titleOf(reading), keep: () => view.keep(), reopen, close: () => (view.close(), thread.close()) });
}

// A reading of a run or the recorded one: it stands alone.
export async function readingAlone({ parts }, shelf, plays = false) {
  const reading = await shelf.reading(parts.at(-1));
  return (kept, query) => {
    const view = new ReadingView(reading, shelf);
    view.open(query, kept);
    if (plays && !kept && !query.has("step")) view.play();
    return { node: h("div", { class: "workspace alone" }, view.node), wide: true, title: reading.question, close: () => view.close(), keep: () => view.keep(), reopen: (now) => view.reopen(now) };
  };
}

// The newest reading of a document, or its text.
export async function documentView({ parts: [sha], query }) {
  const book = await service.document(sha);
  const plain = query.has("quote") || query.has("text");
  if (plain || !book.newest) return (kept, now) => textInThread(sha, book, now);
  const newest = await service.reading(book.newest.reading);
  return (kept) => {
    rememberAddress(service.own.place(newest.reading));
    return readInThread(newest, new URLSearchParams(), kept);
  };
}

function textInThread(sha, book, query) {
  const info = { id: sha, name: book.name, length: book.length };
  const thread = new Thread(info);
  const source = new SourcePane(info, service.own);
  const find = new FindBar(source, (text) => service.find(sha, text));
  const span = parseSpan(query.get("quote"));
  source.browse(span?.start ?? 0, span);
  const keys = (event) => {
    if (event.key !== "f" || event.ctrlKey || event.metaKey || event.target.closest?.("input, textarea, select")) return;
    event.preventDefault();
    find.open();
  };
  addEventListener("keydown", keys);
  thread.load();
  const close = () => {
    removeEventListener("keydown", keys);
    source.close();
    thread.close();
  };
  const { node, wide } = frame(thread, h("article", { class: "sheet plain-text" }, h("h1", { dir: "auto" }, book.name), source.node), {});
  node.classList.toggle("reads", stored.get("mode") !== "inspect");
  return { node, wide, title: book.name, close, keep: () => ({}) };
}

const frame = (thread, sheet, view) => ({ ...view, wide: true, node: h("div", { class: "workspace" }, thread.node, sheet) });

export function parseSpan(text) {
  const found = text?.match(/^(\d+)-(\d+)$/);
  return found ? { start: Number(found[1]), end: Number(found[2]) } : null;
}

export async function sampleView(asked) {
  const { shelf } = await service.recorded();
  const build = await readingAlone(asked, shelf, true);
  return (kept, query) => {
    const view = build(kept, query);
    view.node.prepend(h("p", { class: "small recorded" }, t("first.recorded"), " ", h("a", { href: "#/" }, t("first.own"))));
    return view;
  };
}
