// Which view stands on the page: #/ asks and lists, #/reading/ID watches, #/compare/ID/ID lays two side by side.

import { askView } from "./ask.js";
import { compareView } from "./compare.js";
import { h, refill, shown, wheel } from "./dom.js";
import { readingView } from "./reading.js";
import * as service from "./service.js";
import { current, kept, speak, t } from "./words.js";

const THEMES = ["auto", "light", "dark"];
const main = h("main", { id: "content", tabindex: "-1" });
const header = h("header", { class: "top" });
const keys = h("dialog", { class: "keys" });
let close = () => {};
let visit = 0;

const routes = [
  [/^\/$/, (_, query) => askView(query)],
  [/^\/reading\/([\w-]+)$/, ([id], query) => readingView(id, query)],
  [/^\/compare\/([\w-]+)\/([\w-]+)$/, ([one, other]) => compareView(one, other)],
];

async function show() {
  const mine = (visit += 1);
  close();
  close = () => {};
  const [path, query] = (location.hash.slice(1) || "/").split("?");
  const found = routes.map(([pattern, view]) => [path.match(pattern), view]).find(([match]) => match);
  try {
    if (!found) throw new service.Refusal(t("error.not-found"), 404);
    const view = await found[1](found[0].slice(1), new URLSearchParams(query));
    if (mine !== visit) return view.close?.();
    close = view.close ?? close;
    document.title = view.title ? `${shown(view.title)} · bookwheel` : "bookwheel";
    refill(main, view.node);
    if (mine > 1) scrollTo(0, 0);
    if (mine > 1 && document.activeElement === document.body) main.focus({ preventScroll: true });
  } catch (problem) {
    if (mine === visit) refill(main, trouble(problem));
  }
  return undefined;
}

function trouble(problem) {
  if (problem instanceof service.Refusal && problem.status === 401) return keyForm();
  if (!(problem instanceof service.Refusal) && !(problem instanceof TypeError)) throw problem;
  const sentence = problem instanceof service.Refusal ? problem.message : t("error.away");
  return h("section", { class: "lead" }, wheel(), h("h1", {}, sentence), h("p", {}, h("a", { href: "#/" }, t("home"))));
}

function keyForm() {
  const key = h("input", { id: "key", type: "password", autocomplete: "current-password", required: true });
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
    speak(current() === "zh" ? "en" : "zh");
    kept.set("language", current());
    frame();
    show();
  };
  refill(
    header,
    h("a", { class: "brand", href: "#/", "aria-label": "bookwheel" }, wheel(), h("span", {}, "bookwheel")),
    h(
      "nav",
      { "aria-label": t("nav") },
      h("a", { href: "#/" }, t("home")),
      h("a", { href: "#/?journal" }, t("journal")),
      h("button", { class: "quiet", type: "button", "aria-label": t("keys"), title: t("keys"), onclick: () => keys.showModal() }, "?"),
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

addEventListener("hashchange", show);
addEventListener("keydown", (event) => {
  if (event.key === "?" && !event.target.closest?.("input, textarea, select") && !keys.open) keys.showModal();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("repaint")));

speak(current());
if (THEMES.includes(kept.get("theme"))) paint(kept.get("theme"));
frame();
document.body.append(h("a", { class: "skip", href: "#content", onclick: toContent }, t("skip")), header, main, keys);
show();
