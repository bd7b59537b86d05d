// The pages of a file as they look, one below the other; a page is drawn by the server when it comes near the window,
// those that are seen first. A passage is a box over each of its lines.

import { h } from "./dom.js";
import { number, t } from "./words.js";

const NEAR = 1200; // pixels beyond the window in which pages are drawn
const WIDTHS = [700, 1100, 1600]; // pixels that a page is drawn in, so that few are drawn twice
const AT_ONCE = 2; // pages asked for at a time: a browser has six connections to a server, and others need some
const TRIES = 3;
const AGAIN = 3000; // milliseconds until a page is tried again

export class Pages {
  // `picture(source, page, width)` is the address of a page's picture.
  constructor({ originals, label, picture }) {
    this.picture = picture;
    this.node = h("div", { class: "text pages", tabindex: "0", role: "group", "aria-label": label });
    this.sheets = new Map();
    for (const { source, pages } of originals) {
      pages.forEach(([width, height], at) => {
        const sheet = h("figure", { class: "page", "aria-label": t("source.drawing", { page: number(at + 1) }) }, h("figcaption", {}, number(at + 1)));
        sheet.style.aspectRatio = `${width} / ${height}`;
        Object.assign(sheet.dataset, { source, page: at + 1 });
        this.sheets.set(`${source}\n${at + 1}`, sheet);
      });
    }
    this.node.append(...this.sheets.values());
    [this.near, this.loading] = [new Set(), new Map()];
    this.watcher = new IntersectionObserver((entries) => this.#passed(entries), { root: this.node, rootMargin: `${NEAR}px 0px` });
    this.sheets.forEach((sheet) => this.watcher.observe(sheet));
  }

  close() {
    this.watcher.disconnect();
    this.isClosed = true;
    this.near.clear();
  }

  turn(by) {
    this.node.scrollBy({ top: by * this.node.clientHeight * 0.9 });
  }

  has(source, page) {
    return this.sheets.has(`${source}\n${page}`);
  }

  // Shows a page, or the first line of the passage that stands at `found`: boxes by page.
  show(source, page, found = []) {
    this.node.querySelectorAll(".box").forEach((box) => box.remove());
    let first = null;
    for (const place of found) {
      for (const [left, top, right, bottom] of place.boxes) {
        const box = h("mark", { class: "box" });
        const percent = (share) => `${(100 * share).toFixed(3)}%`;
        Object.assign(box.style, { left: percent(left), top: percent(top), width: percent(right - left), height: percent(bottom - top) });
        this.sheets.get(`${place.source}\n${place.page}`)?.append(box);
        first ??= box;
      }
    }
    const sheet = this.sheets.get(`${source}\n${page}`);
    const goal = first?.isConnected ? first : sheet;
    if (!goal) return;
    const gap = goal.getBoundingClientRect().top - this.node.getBoundingClientRect().top;
    this.node.scrollTop += gap - (first ? this.node.clientHeight / 3 : 8);
  }

  // A page that has left the window before it came is asked for no longer.
  #passed(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.near.add(target);
      else this.near.delete(target);
      if (!isIntersecting && this.loading.has(target)) this.#end(target, null);
    }
    this.#next();
  }

  #next() {
    const middle = (node) => node.getBoundingClientRect().top + node.offsetHeight / 2;
    const far = (sheet) => Math.abs(middle(sheet) - middle(this.node));
    const waiting = [...this.near].filter((sheet) => !this.loading.has(sheet) && Number(sheet.dataset.width ?? 0) < this.#width(sheet));
    waiting.sort((one, other) => far(one) - far(other));
    waiting.slice(0, Math.max(0, AT_ONCE - this.loading.size)).forEach((sheet) => this.#draw(sheet));
  }

  #width(sheet) {
    return WIDTHS.find((one) => one >= sheet.clientWidth * devicePixelRatio) ?? WIDTHS.at(-1);
  }

  #draw(sheet) {
    const { source, page } = sheet.dataset;
    const width = this.#width(sheet);
    const image = h("img", { src: this.picture(source, page, width), alt: t("source.page", { page: number(Number(page)) }), draggable: "false" });
    this.loading.set(sheet, image);
    image.addEventListener("load", () => this.loading.get(sheet) === image && this.#end(sheet, image, width));
    image.addEventListener("error", () => this.loading.get(sheet) === image && this.#fail(sheet));
  }

  // `image`: the page as it came, null where none did.
  #end(sheet, image, width) {
    if (image) {
      sheet.querySelector("img")?.remove(); // one that is less sharp
      sheet.prepend(image);
      Object.assign(sheet.dataset, { width, tries: 0 });
      sheet.removeAttribute("aria-label");
    } else {
      this.loading.get(sheet).src = "";
    }
    this.loading.delete(sheet);
    this.#next();
  }

  #watchAnew(sheet) {
    if (this.isClosed) return;
    this.watcher.unobserve(sheet);
    this.watcher.observe(sheet);
  }

  #fail(sheet) {
    this.loading.delete(sheet);
    this.near.delete(sheet);
    sheet.dataset.tries = Number(sheet.dataset.tries ?? 0) + 1;
    if (Number(sheet.dataset.tries) < TRIES) setTimeout(() => this.#watchAnew(sheet), AGAIN);
    else if (!sheet.dataset.width) sheet.setAttribute("aria-label", t("source.undrawn"));
    this.#next();
  }
}
