// The frame of every view: the header with language and colours, the list of keys, and the way from an address to a view.

import { h, refill, shown, wheel } from "./dom.js";
import { Refusal } from "./refusals.js";
import { current, kept, speak, t } from "./words.js";

const THEMES = ["auto", "light", "dark"];

export class Shell {
  // `routes` are pairs of a pattern and a view(parts, query, kept), where `kept` is the state of the same view before the
  // language changed; `links()` gives those of the header; `trouble(problem, kept)` draws what a view threw, or nothing
  // to leave the view as it is.
  constructor({ routes, links, trouble = drawTrouble }) {
    Object.assign(this, { routes, links, trouble, view: {}, visit: 0 });
    this.main = h("main", { id: "content", tabindex: "-1" });
    this.header = h("header", { class: "top" });
    this.notice = h("p", { class: "notice problem", role: "alert" });
    this.keys = h("dialog", { class: "keys" });
    const toContent = (event) => {
      event.preventDefault();
      this.main.focus();
    };
    this.skip = h("a", { class: "skip", href: "#content", onclick: toContent });
  }

  begin() {
    addEventListener("hashchange", () => this.show());
    addEventListener("keydown", (event) => {
      if (event.key !== "?" || isForOthers(event) || this.keys.open) return;
      event.preventDefault();
      this.keys.showModal();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("repaint")));
    speak(current());
    if (THEMES.includes(kept.get("theme"))) paint(kept.get("theme"));
    this.#frame();
    // What the server refuses where no view has a line of its own for it: a name, a deletion, the next page of a list.
    addEventListener("unhandledrejection", (event) => {
      if (!(event.reason instanceof Refusal)) return;
      event.preventDefault();
      refill(this.notice, event.reason.message);
    });
    addEventListener("pointerdown", () => refill(this.notice));
    document.getElementById("waiting")?.remove();
    document.body.append(this.skip, this.header, this.main, this.notice, this.keys);
    this.show();
  }

  async show(kept = null, place = 0) {
    const mine = (this.visit += 1);
    this.view.close?.();
    this.view = {};
    this.kept = kept; // until a view stands that can tell its own: the language may be turned again before
    refill(this.notice);
    this.main.ariaBusy = true;
    if (!this.main.childElementCount) refill(this.main, h("p", { class: "small loading", role: "status" }, t("list.loading")));
    const [path, query] = (location.hash.slice(1) || "/").split("?");
    const route = this.routes.map(([pattern, view]) => [path.match(pattern), view]).find(([match]) => match);
    try {
      if (!route) throw new Refusal(t("error.not-found"), 404);
      const view = await route[1](route[0].slice(1), new URLSearchParams(query), kept);
      if (mine !== this.visit) return view.close?.();
      Object.assign(this, { view, kept: null });
      document.title = view.title ? `${shown(view.title)} · bookwheel` : "bookwheel";
      this.main.classList.toggle("wide", Boolean(view.wide));
      refill(this.main, view.node);
      if (mine > 1) scrollTo(0, place);
      if (mine > 1 && document.activeElement === document.body) this.main.focus({ preventScroll: true });
    } catch (problem) {
      const trouble = mine === this.visit && this.trouble(problem, kept);
      if (trouble) refill(this.main, trouble);
    }
    if (mine === this.visit) this.main.ariaBusy = false;
    return undefined;
  }

  #frame() {
    const turn = () => {
      const key = document.getElementById("key")?.value;
      const typed = this.view.keep?.() ?? this.kept ?? (key === undefined ? null : { key });
      speak(current() === "zh" ? "en" : "zh");
      kept.set("language", current());
      this.#frame();
      this.header.querySelector("[lang]").focus();
      this.show(typed, scrollY);
    };
    refill(this.skip, t("skip"));
    refill(
      this.header,
      h("a", { class: "brand", href: "#/", "aria-label": "bookwheel" }, wheel(), h("span", {}, "bookwheel")),
      h(
        "nav",
        { "aria-label": t("nav") },
        this.links(),
        h("button", { class: "quiet by-keys", type: "button", "aria-label": t("keys"), title: t("keys"), onclick: () => this.keys.showModal() }, "?"),
        themeButton(),
        h("button", { class: "quiet", type: "button", lang: current() === "zh" ? "en" : "zh-Hans", onclick: turn }, t("language.other")),
      ),
    );
    refill(
      this.keys,
      h("h2", {}, t("keys")),
      h("ul", {}, t("keys.list").split(" · ").map((line) => h("li", {}, line))),
      h("form", { method: "dialog" }, h("button", { class: "main", autofocus: true }, t("call.close"))),
    );
  }
}

// True for keys that somebody types into a field, or presses for the browser.
export const isForOthers = (event) => event.ctrlKey || event.metaKey || event.altKey || Boolean(event.target.closest?.("input, textarea, select, dialog"));

export function drawTrouble(problem) {
  if (!(problem instanceof Refusal)) throw problem;
  return h("section", { class: "home lead" }, wheel(), h("h1", { class: "sentence" }, problem.message), h("div", { class: "row" }, problem.status === 0 && h("button", { type: "button", class: "main", onclick: () => location.reload() }, t("error.again")), h("a", { href: "#/" }, t("home"))));
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
