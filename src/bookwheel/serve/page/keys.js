// What the keys of a reading do, where nobody types and no dialog is open.

import { copy } from "./dom.js";
import { stepOfKey } from "./ribbon.js";
import * as service from "./service.js";

export function pressKey(view, event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.("input, textarea, select, dialog")) return;
  const { modes, trace, reading, thread, shelf } = view;
  const at = trace.length && modes.inspects ? stepOfKey(event, view.shown, trace.last) : null;
  const scrolls = /^(Home|End|Page|ArrowUp|ArrowDown)/.test(event.key) && event.target !== view.ribbon.node;
  const edits = trace.length && shelf === service.own && modes.inspects;
  if (at !== null && !scrolls) view.go(at);
  else if (event.key === "e" && edits) view.editor.open();
  else if (event.key === "p" && edits) view.openCall();
  else if (event.key === "i" && thread) modes.turn();
  else if (event.key === "a" && thread) thread.ask();
  else if (event.key === "f" && shelf.find) view.find.open();
  else if (event.key === "c" && reading.answer) copy(reading.answer);
  else if (event.key === " " && modes.inspects && !event.target.closest?.("button, a, summary, .text, .pane-body")) view.transport.play();
  else return;
  event.preventDefault();
}
