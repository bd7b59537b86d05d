// Routes: #/ the library, #/document/SHA a document with its thread, #/reading/ID a reading in its thread, #/journal all
// questions, #/search the full-text search, #/sample the recorded reading, #/compare/ID/ID two readings, #/runs the
// evaluations and training runs, #/run/ID one of them, #/run/ID/reading/ID a reading of a run.

import { h, refill, shown, wheel } from "./dom.js";
import { libraryView, receive } from "./library.js";
import * as service from "./service.js";
import { current, kept, speak, t } from "./words.js";

const THEMES = ["auto", "light", "dark"];
const main = h("main", { id: "content", tabindex: "-1" });
const header = h("header", { class: "top" });
const keys = h("dialog", { class: "keys" });
const skip = h("a", { class: "skip", href: "#content", onclick: toContent });
let shownView = {};
let visit = 0;

const workspace = () => import("./workspace.js");
const routes = [
  [/^\/$/, (_, query, kept) => libraryView(query, kept)],
  [/^\/document\/([0-9a-f]{64})$/, async ([sha], query, kept) => (await workspace()).documentView(sha, query, kept)],
  [/^\/reading\/([\w-]+)$/, async ([id], query, kept) => (await workspace()).readingWorkspace(id, query, kept)],
  [/^\/sample$/, async (_, query, kept) => (await workspace()).sampleView(query, kept)],
  [/^\/journal$/, async (_, query, kept) => (await import("./journal.js")).journalView(query, kept)],
  [/^\/search$/, async (_, query) => (await import("./search.js")).searchView(query)],
  [/^\/compare\/([\w-]+)\/([\w-]+)$/, async ([one, other], _, kept) => (await import("./compare.js")).compareView(one, other, kept)],
  [/^\/runs$/, async () => (await import("./run-list.js")).runsView()],
  [/^\/run\/([\w-]+)$/, async ([id], query, kept) => (await import("./run.js")).runView(id, query, kept)],
  [/^\/run\/([\w-]+)\/reading\/([\w-]+)$/, async ([run, id], query, kept) => (await workspace()).readingAlone(id, query, kept, service.keptIn(run))],
];

// `kept` is the state of the same view before the language changed: what was typed and chosen.
async function show(kept = null) {
  const mine = (visit += 1);
  const place = kept ? scrollY : 0;
  shownView.close?.();
  shownView = {};
  const [path, query] = (location.hash.slice(1) || "/").split("?");
  const found = routes.map(([pattern, view]) => [path.match(pattern), view]).find(([match]) => match);
  try {
    if (!found) throw new service.Refusal(t("error.not-found"), 404);
    const view = await found[1](found[0].slice(1), new URLSearchParams(query), kept);
    if (mine !== visit) return view.close?.();
    shownView = view;
    document.title = view.title ? `${shown(view.title)} · bookwheel` : "bookwheel";
    main.classList.toggle("wide", Boolean(view.wide));
    refill(main, view.node);
    if (mine > 1) scrollTo(0, place);
    if (mine > 1 && document.activeElement === document.body) main.focus({ preventScroll: true });
  } catch (problem) {
    if (mine === visit && !asksAgain(problem, kept)) refill(main, trouble(problem, kept));
  }
  return undefined;
}

const wantsKey = (problem) => problem instanceof service.Refusal && problem.status === 401;

// Do not redraw a form while somebody may be typing into it, except in another language.
const asksAgain = (problem, kept) => wantsKey(problem) && !kept && document.getElementById("key");

function trouble(problem, kept) {
  if (wantsKey(problem)) return keyForm(kept?.key);
  if (!(problem instanceof service.Refusal)) throw problem;
  return h("section", { class: "lead" }, wheel(), h("h1", { class: "sentence" }, problem.message), h("p", {}, h("a", { href: "#/" }, t("home"))));
}

function keyForm(typed = "") {
  const key = h("input", { id: "key", value: typed, type: "password", autocomplete: "current-password", required: true });
  const said = h("p", { class: "small problem", role: "alert" });
  const enter = async (event) => {
    event.preventDefault();
    try {
      await service.enter(key.value);
      show();
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

function paint(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  kept.set("theme", theme);
  dispatchEvent(new Event("repaint"));
}

function themeButton() {
  const now = () => (THEMES.includes(kept.get("theme")) ? kept.get("theme") : "auto");
  const label = () => `${t("theme")}: ${t(`theme.${now()}`)}`;
  const button = h("button", { class: "quiet", type: "button", "aria-label": label(), title: label() }, "◐");
  button.addEventListener("click", () => {
    paint(THEMES[(THEMES.indexOf(now()) + 1) % THEMES.length]);
    button.setAttribute("aria-label", label());
    button.title = label();
  });
  return button;
}

function frame() {
  const turn = () => {
    const typed = shownView.keep?.() ?? { key: document.getElementById("key")?.value };
    speak(current() === "zh" ? "en" : "zh");
    kept.set("language", current());
    frame();
    header.querySelector("[lang]").focus();
    show(typed);
  };
  refill(skip, t("skip"));
  refill(
    header,
    h("a", { class: "brand", href: "#/", "aria-label": "bookwheel" }, wheel(), h("span", {}, "bookwheel")),
    h(
      "nav",
      { "aria-label": t("nav") },
      h("a", { href: "#/" }, t("home")),
      h("a", { href: "#/journal" }, t("journal")),
      h("a", { href: "#/search" }, t("search")),
      h("a", { href: "#/runs" }, t("runs")),
      h("button", { class: "quiet by-keys", type: "button", "aria-label": t("keys"), title: t("keys"), onclick: () => keys.showModal() }, "?"),
      themeButton(),
      h("button", { class: "quiet", type: "button", lang: current() === "zh" ? "en" : "zh-Hans", onclick: turn }, t("language.other")),
    ),
  );
  refill(
    keys,
    h("h2", {}, t("keys")),
    h("ul", {}, t("keys.list").split(" · ").map((line) => h("li", {}, line))),
    h("form", { method: "dialog" }, h("button", { class: "main", autofocus: true }, "OK")),
  );
}

function toContent(event) {
  event.preventDefault();
  main.focus();
}

// A file that is dropped anywhere is taken to the form; beside it, the browser would leave the page for the file.
function takeFiles(event) {
  const files = [...(event.dataTransfer?.files ?? [])];
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  document.querySelector(".drop.over")?.classList.remove("over");
  if (event.type !== "drop" || !files.length) return;
  if (document.querySelector("form.ask")) dispatchEvent(new CustomEvent("files", { detail: files }));
  else {
    receive(files);
    location.hash = "#/";
  }
}

addEventListener("dragover", takeFiles);
addEventListener("drop", takeFiles);
addEventListener("hashchange", () => show());
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog")) return;
  if (event.key === "?" && !keys.open) keys.showModal();
  else if (event.key === "/") location.hash = "#/search";
  else return;
  event.preventDefault();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("repaint")));

speak(current());
if (THEMES.includes(kept.get("theme"))) paint(kept.get("theme"));
frame();
document.body.append(skip, header, main, keys);
show();
