// What an answer rests on, as cards below it: the words, the place they stand at and, where pages can be drawn, the page.

import { h, refill } from "./dom.js";
import { placeIn, readable } from "./marks.js";
import { number, pages, t } from "./words.js";

const MOST = 6;
const SHORT = 260; // characters of a quote that are shown
const THUMB = 180; // pixels

export class Cards {
  // `go(found)` leads to a passage in the document.
  constructor(go) {
    this.go = go;
    this.node = h("ul", { class: "cards", "aria-label": t("cards") });
  }

  // Drawn anew where the answer has changed, or the pane of the document knows its pages and its headings.
  draw({ evidence, document }, source) {
    if (evidence === this.evidence && source.outline === this.outline) return;
    Object.assign(this, { evidence, source, outline: source.outline });
    const found = unique(evidence ?? []);
    this.node.hidden = !found.length;
    refill(
      this.node,
      found.slice(0, MOST).map(([one, at]) => this.#card(one, at, document)),
      found.length > MOST && h("li", { class: "small" }, t("cards.more", { count: number(found.length - MOST) })),
    );
  }

  #card(found, at, document) {
    const page = found.pages?.[0];
    const drawn = this.source.pages;
    const address = drawn?.has(found.source, page) && drawn.picture(found.source, page, THUMB);
    const words = readable(found.quote);
    const quote = words.length > SHORT ? `${words.slice(0, SHORT)}…` : words;
    const [file, part] = [placeIn(found.source, document.name), !found.line && !page && this.source.partAt(found.start)];
    const where = [file, part !== file && part, found.line ? t("source.line", { line: found.line }) : pages(found.pages), !page && !found.line && shareOf(found.start, document.length)].filter(Boolean).join(" · ");
    const image = address && h("img", { src: address, alt: "", loading: "lazy", width: 54, onerror: (event) => event.target.remove() });
    return h("li", {}, h("button", { type: "button", class: "card", onclick: () => this.go(found) }, image, h("span", { class: "card-words" }, h("span", { class: "card-quote", dir: "auto" }, quote), h("span", { class: "small" }, `${number(at + 1)} · ${where}`))));
  }
}

// Each passage once, under its first number.
function unique(evidence) {
  const known = new Set();
  return evidence.map((one, at) => [one, at]).filter(([{ start, end }]) => !known.has(`${start}-${end}`) && known.add(`${start}-${end}`));
}

// How far into the text a passage stands, where there are no pages.
export const shareOf = (start, length) => t("cards.share", { share: `${number(Math.round((100 * start) / Math.max(1, length)))} %` });
