// One document: its thread at the left, and beside it the open reading, or the text where nothing was asked yet.

import { h } from "./dom.js";
import { FindBar } from "./find.js";
import { ReadingView } from "./reading.js";
import * as service from "./service.js";
import { SourcePane } from "./source.js";
import { Thread } from "./thread.js";
import { titleOf } from "./marks.js";
import { kept as stored, t } from "./words.js";

export async function readingWorkspace(id, query, kept) {
  const reading = await service.reading(id);
  const thread = new Thread(reading.document, id);
  const view = new ReadingView(reading, service.own, thread);
  const workspace = frame(thread, view.node, {});
  view.modes.show(query.has("step") ? "inspect" : view.modes.name, workspace.node);
  view.open(query, kept);
  thread.load();
  return Object.assign(workspace, { title: titleOf(reading), keep: () => view.keep(), close: () => (view.close(), thread.close()) });
}

// A reading of a run or the recorded one: it stands alone.
export async function readingAlone(id, query, kept, shelf, plays = false) {
  const view = new ReadingView(await shelf.reading(id), shelf);
  view.open(query, kept);
  if (plays && !kept && !query.has("step")) view.play();
  return { node: h("div", { class: "workspace alone" }, view.node), wide: true, title: view.reading.question, close: () => view.close(), keep: () => view.keep() };
}

// The newest reading of a document, or its text.
export async function documentView(sha, query, kept) {
  const book = await service.document(sha);
  const plain = query.has("quote") || query.has("text");
  if (!plain && book.newest) {
    history.replaceState(null, "", service.own.place(book.newest.reading));
    return readingWorkspace(book.newest.reading, new URLSearchParams(), kept);
  }
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

export const sampleView = async (query, kept) => {
  const { shelf } = await service.recorded();
  const view = await readingAlone("", query, kept, shelf, true);
  const line = h("p", { class: "small recorded" }, t("first.recorded"), " ", h("a", { href: "#/" }, t("first.own")));
  view.node.prepend(line);
  return view;
};
