// The frame of every view: the header with language and colours, the list of keys, and the way from an address to a view.

import { here, isStanding, isWithin, placeHere, rememberPlace, stand } from "./address.js";
import { h, later, refill, shown, wheel } from "./dom.js";
import { Refusal } from "./refusals.js";
import { current, kept, speak, t } from "./words.js";

const THEMES = ["auto", "light", "dark"];

export class Shell {
  // `routes` are pairs of a pattern and a view({parts, query}), which fetches what it needs and gives a build(kept, query);
  // that draws it at once. `kept` is what keep() of the same view told before the language changed. `links()` gives the
  // links of the header; `trouble(problem, turned)` draws what a view threw, or nothing to leave the page as it is.
  constructor({ routes, links, trouble = drawTrouble }) {
    Object.assign(this, { routes, links, trouble, view: null, visit: 0 });
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
    addEventListener("hashchange", () => this.#moves() || this.show());
    addEventListener("scroll", later(150, rememberPlace));
    addEventListener("click", rememberPlace, true); // a press may lead away
    // A menu that opens beyond the end of a pane is brought into it; a toggle does not bubble.
    addEventListener("toggle", ({ target }) => target.matches?.(".menu[open]") && target.querySelector(".choices")?.scrollIntoView({ block: "nearest" }), true);
    history.scrollRestoration = "manual"; // the views come later than the browser would scroll
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

  // `turned`: the page is drawn anew where it stands, in another language or with a key. The view before stays open until
  // the next one is there to stand: what is pressed and typed meanwhile is its own, and goes over with the rest.
  async show(turned = false) {
    const mine = (this.visit += 1);
    const [{ path, query }, address, stays] = [here(), location.hash, isStanding()];
    refill(this.notice);
    this.main.ariaBusy = true;
    if (!this.main.childElementCount) refill(this.main, h("p", { class: "small loading", role: "status" }, t("list.loading")));
    const route = this.routes.map(([pattern, view]) => [path.match(pattern), view]).find(([match]) => match);
    let build = null;
    let problem = null;
    try {
      if (!route) throw new Refusal(t("error.not-found"), 404);
      build = await route[1]({ parts: route[0].slice(1), query });
    } catch (refused) {
      problem = refused;
    }
    // Whoever has gone on is not led back: their address has its own turn.
    if (mine !== this.visit || (stays ? !isStanding() : location.hash !== address)) return;
    const kept = turned && stays ? (this.view.keep?.() ?? null) : null;
    if (build) this.#stand(() => build(kept, here().query), turned && stays);
    else this.#fail(problem, turned, kept);
    this.main.ariaBusy = false;
  }

  #stand(build, turned) {
    const typed = typedIn(this.main);
    const place = turned ? scrollY : placeHere();
    const isFirst = !this.view;
    this.view?.close?.();
    this.view = {};
    stand();
    this.view = build();
    const { node, title, wide } = this.view;
    document.title = title ? `${shown(title)} · bookwheel` : "bookwheel";
    this.main.classList.toggle("wide", Boolean(wide));
    refill(this.main, node);
    goOnTyping(typed, this.main, turned);
    if (isFirst) return;
    scrollBack(place, this.main);
    if (document.activeElement === document.body) this.main.focus({ preventScroll: true });
  }

  #fail(problem, turned, kept) {
    const trouble = this.trouble(problem, turned);
    if (!trouble) return;
    this.#stand(() => ({ node: trouble, keep: () => kept }), false);
  }

  // An address within the view that stands: "back" from a passage to the answer, a link to another passage.
  #moves() {
    if (!this.view?.reopen || !isWithin()) return false;
    this.visit += 1;
    this.main.ariaBusy = false;
    const place = placeHere();
    stand();
    this.view.reopen(here().query);
    scrollBack(place, this.main);
    return true;
  }

  #frame() {
    const turn = () => {
      speak(current() === "zh" ? "en" : "zh");
      kept.set("language", current());
      this.#frame();
      this.header.querySelector("[lang]").focus();
      this.show(true);
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

// A list that is still coming is followed down to where it was left, until somebody does something else.
let way = new AbortController();
function scrollBack(place, main) {
  way.abort();
  way = new AbortController();
  const { signal } = way;
  const there = () => (scrollTo(0, place), scrollY >= place - 1);
  if (there()) return;
  const watch = new ResizeObserver(() => there() && way.abort());
  signal.addEventListener("abort", () => watch.disconnect());
  for (const event of ["wheel", "touchstart", "pointerdown", "keydown", "hashchange"]) addEventListener(event, () => way.abort(), { signal, passive: true });
  watch.observe(main);
}

const FIELDS = "input[id]:not([type=checkbox], [type=radio], [type=file], [type=password]), textarea[id]";

// What stands in the fields of a view, by their names, and the one that somebody types into.
function typedIn(main) {
  const active = document.activeElement;
  const field = main.contains(active) && active.matches(FIELDS) ? active : null;
  const fields = [...main.querySelectorAll(FIELDS)].map((one) => [one.id, { value: one.value, open: one.closest("details")?.open }]);
  return { fields: new Map(fields), id: field?.id, value: field?.value, caret: field && [field.selectionStart, field.selectionEnd] };
}

// Nobody is interrupted: a field with the same words goes on being typed into, where its caret was. The same view in
// another language takes all over.
function goOnTyping({ fields, id, value, caret }, main, turned) {
  for (const field of turned ? main.querySelectorAll(FIELDS) : []) {
    const typed = fields.get(field.id);
    if (!typed || typed.value === field.value) continue;
    field.value = typed.value;
    if (typed.open) field.closest("details").open = true;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  const next = id && main.querySelector(`#${CSS.escape(id)}`);
  if (!value || next?.value !== value) return;
  next.focus({ preventScroll: true });
  if (caret[0] !== null) next.setSelectionRange(...caret);
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
