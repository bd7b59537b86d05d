// The pages of a file as they look, one below the other; a page is drawn by the server when it comes near the window. A
// passage is a box over each of its lines.

import { h } from "./dom.js";
import { number, t } from "./words.js";

const NEAR = 1200; // pixels beyond the window in which pages are drawn
const WIDTHS = [700, 1100, 1600]; // pixels that a page is drawn in, so that few are drawn twice

export class Pages {
  // `picture(source, page, width)` is the address of a page's picture.
  constructor({ originals, label, picture }) {
    this.picture = picture;
    this.node = h("div", { class: "text pages", tabindex: "0", role: "group", "aria-label": label });
    this.sheets = new Map();
    for (const { source, pages } of originals) {
      pages.forEach(([width, height], at) => {
        const sheet = h("figure", { class: "page" }, h("figcaption", {}, number(at + 1)));
        sheet.style.aspectRatio = `${width} / ${height}`;
        Object.assign(sheet.dataset, { source, page: at + 1 });
        this.sheets.set(`${source}\n${at + 1}`, sheet);
      });
    }
    this.node.append(...this.sheets.values());
    this.watcher = new IntersectionObserver((entries) => entries.filter(({ isIntersecting }) => isIntersecting).forEach(({ target }) => this.#draw(target)), { root: this.node, rootMargin: `${NEAR}px 0px` });
    this.sheets.forEach((sheet) => this.watcher.observe(sheet));
  }

  close() {
    this.watcher.disconnect();
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

  #draw(sheet) {
    const wanted = sheet.clientWidth * devicePixelRatio;
    const width = WIDTHS.find((one) => one >= wanted) ?? WIDTHS.at(-1);
    if (Number(sheet.dataset.width) >= width) return;
    sheet.dataset.width = width;
    const { source, page } = sheet.dataset;
    const image = h("img", { src: this.picture(source, page, width), alt: t("source.page", { page: number(Number(page)) }), draggable: "false" });
    image.addEventListener("error", () => sheet.classList.add("undrawn"));
    sheet.querySelector("img")?.remove();
    sheet.prepend(image);
  }
}
