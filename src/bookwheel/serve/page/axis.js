// The axis below the timeline: pages where the document has some, else its chapters, as many as have room.

import { h, refill } from "./dom.js";
import { number } from "./words.js";

const MOST = 12;
const ROOM = 0.06; // share of the width that a label takes at least
const LONG = 22; // characters of a chapter's name

export class Axis {
  constructor() {
    this.node = h("div", { class: "axis", "aria-hidden": "true" });
  }

  // Drawn anew where the contents are others: they come after the reading itself.
  draw(outline, length) {
    if (outline === this.outline && length === this.length) return;
    Object.assign(this, { outline, length });
    const marks = marksOf(outline, Math.max(1, length));
    this.node.hidden = !marks.length;
    const place = ({ share, label }, at) => {
      const mark = h("span", { dir: "auto" }, label);
      mark.style.maxInlineSize = `${(100 * ((marks[at + 1]?.share ?? 1) - share) - 0.8).toFixed(2)}%`;
      mark.style.insetInlineStart = `${(100 * share).toFixed(2)}%`;
      return mark;
    };
    refill(this.node, marks.map(place));
  }
}

// Of pages, evenly many; of chapters, those of the highest level first.
export function marksOf({ headings = [], places = [] }, length) {
  const paged = places.filter(({ page }) => page !== null);
  if (paged.length > 1) {
    const every = Math.ceil(paged.length / MOST);
    return spread(paged.filter((_, at) => at % every === 0).map(({ start, page }) => ({ share: start / length, label: number(page) })), 0.03);
  }
  const top = Math.min(...headings.map(({ level }) => level));
  const chapters = headings.filter(({ level }) => level === top || headings.filter((one) => one.level === top).length < 3);
  return spread(chapters.map(({ start, title }) => ({ share: start / length, label: title.length > LONG ? `${title.slice(0, LONG - 1)}…` : title })), ROOM);
}

function spread(marks, least) {
  const kept = [];
  for (const mark of marks) {
    const before = kept.at(-1);
    const room = before ? Math.max(least, before.label.length * 0.0065 + 0.012) : 0;
    if (mark.share <= 0.97 && (!before || mark.share - before.share >= room)) kept.push(mark);
  }
  return kept;
}
