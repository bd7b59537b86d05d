// Routes: #/ the library, #/document/SHA a document with its thread, #/reading/ID a reading in its thread, #/journal all
// questions, #/memories the lasting memories, #/memory/NAME one of them, #/report/ID a report, #/search the full-text search, #/sample the recorded reading, #/compare/ID/ID two readings, #/runs the
// evaluations and training runs, #/run/ID one of them, #/run/ID/reading/ID a reading of a run.

import { h, refill, wheel } from "./dom.js";
import { filesOf } from "./drops.js";
import { libraryView, receive } from "./library.js";
import { Refusal } from "./refusals.js";
import * as service from "./service.js";
import { Shell, drawTrouble, isForOthers } from "./shell.js";
import { t } from "./words.js";

const workspace = () => import("./workspace.js");
const routes = [
  [/^\/$/, libraryView],
  [/^\/document\/([0-9a-f]{64})$/, async (asked) => (await workspace()).documentView(asked)],
  [/^\/reading\/([\w-]+)$/, async (asked) => (await workspace()).readingWorkspace(asked)],
  [/^\/sample$/, async (asked) => (await workspace()).sampleView(asked)],
  [/^\/journal$/, async () => (await import("./journal.js")).journalView()],
  [/^\/memories$/, async () => (await import("./memories.js")).memoriesView()],
  [/^\/memory\/([^/]+)$/, async (asked) => (await import("./memories.js")).memoryView(asked)],
  [/^\/report\/(\w+)$/, async (asked) => (await import("./reports.js")).reportView(asked)],
  [/^\/search$/, async () => (await import("./search.js")).searchView()],
  [/^\/compare\/([\w-]+)\/([\w-]+)$/, async (asked) => (await import("./compare.js")).compareView(asked)],
  [/^\/runs$/, async () => (await import("./run-list.js")).runsView()],
  [/^\/run\/([\w-]+)$/, async (asked) => (await import("./run.js")).runView(asked)],
  [/^\/run\/([\w-]+)\/reading\/([\w-]+)$/, async (asked) => (await workspace()).readingAlone(asked, service.keptIn(asked.parts[0]))],
];

const links = () => [["#/", "home"], ["#/journal", "journal"], ["#/search", "search"], ["#/runs", "runs"]].map(([href, name]) => h("a", { href }, t(name)));

// A server that wants a key is given one; a form that somebody may be typing into is redrawn only in another language.
function trouble(problem, turned) {
  if (!(problem instanceof Refusal) || problem.status !== 401) return drawTrouble(problem);
  const typed = document.getElementById("key")?.value;
  return typed !== undefined && !turned ? null : keyForm(typed);
}

function keyForm(typed = "") {
  const key = h("input", { id: "key", value: typed, type: "password", autocomplete: "current-password", required: true });
  const said = h("p", { class: "small problem", role: "alert" });
  const enter = async (event) => {
    event.preventDefault();
    try {
      await service.enter(key.value);
      shell.show(true);
    } catch {
      refill(said, t("key.wrong"));
    }
  };
  return h(
    "form",
    { class: "lead key", onsubmit: enter },
    wheel(),
    h("h1", {}, t("key.title")),
    h("label", { for: "key" }, t("key.label")),
    h("div", { class: "row" }, key, h("button", { class: "main" }, t("key.enter"))),
    said,
  );
}

// A file that is dropped anywhere is taken to the form; beside it, the browser would leave the page for the file.
async function takeFiles(event) {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  document.querySelector(".drop.over")?.classList.remove("over");
  const files = event.type === "drop" ? await filesOf(event.dataTransfer) : [];
  if (!files.length) return;
  if (document.querySelector("form.ask")) dispatchEvent(new CustomEvent("files", { detail: files }));
  else {
    receive(files);
    location.hash = "#/";
  }
}

addEventListener("dragover", takeFiles);
addEventListener("drop", takeFiles);
addEventListener("keydown", (event) => {
  if (event.key !== "/" || isForOthers(event)) return;
  event.preventDefault();
  location.hash = "#/search";
});

const shell = new Shell({ routes, links, trouble });
shell.begin();
