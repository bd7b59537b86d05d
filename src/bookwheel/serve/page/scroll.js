// One long text to scroll through: it is cut into leaves of some thousand characters, and only those near the window are
// fetched and laid out; the others are empty boxes of about their height.

import { h, refill } from "./dom.js";
import { layOut, markLeaves, styleOf } from "./paper.js";

const LEAF = 8000; // characters
const SEAM = 1500; // characters in which the end of a paragraph is looked for, so that no leaf ends within one
const NEAR = 1600; // pixels beyond the window in which leaves are laid out
const AT_HAND = 24; // leaves laid out at once
const PIXELS = 0.4; // of height for a character, until some are measured

export class Scroll {
  // `fetch(start, end)` gives characters; `sourceAt(character)` the name of the file that is there.
  constructor({ length, label, fetch, sourceAt }) {
    Object.assign(this, { length, fetch, sourceAt, marked: null, section: null, laid: new Map(), texts: new Map(), pixels: PIXELS, asked: 0 });
    this.node = h("div", { class: "text", dir: "auto", tabindex: "0", role: "group", "aria-label": label });
    this.leaves = Array.from({ length: Math.max(1, Math.ceil(length / LEAF)) }, (_, index) => {
      const node = h("div", { class: "leaf" });
      node.dataset.leaf = index;
      node.style.minHeight = `${Math.round(PIXELS * Math.min(LEAF, length - index * LEAF))}px`;
      return node;
    });
    this.node.append(...this.leaves);
    this.watcher = new IntersectionObserver((entries) => entries.forEach((entry) => this.#passed(entry)), { root: this.node, rootMargin: `${NEAR}px 0px` });
    this.leaves.forEach((leaf) => this.watcher.observe(leaf));
  }

  close() {
    this.asked += 1;
    this.watcher.disconnect();
  }

  // Lays out the text at a passage, or the beginning of a section, and scrolls there. Resolves to whether it was shown.
  async show({ start, end, mark = null, section = null }) {
    const mine = (this.asked += 1);
    const before = this.#touched();
    Object.assign(this, { marked: mark, section });
    const goal = mark?.start ?? start;
    const indexes = await this.#leavesOf(goal, mark?.end ?? Math.min(end, goal + 1));
    await Promise.all(indexes.map((index) => this.#load(index)));
    if (mine !== this.asked) return false;
    [...new Set([...before, ...this.#touched(), ...indexes])].forEach((index) => this.texts.has(index) && this.#lay(index));
    this.#reveal(goal, indexes);
    // What is laid out above the passage meanwhile may move it.
    requestAnimationFrame(() => mine === this.asked && this.#reveal(goal, indexes));
    return true;
  }

  turn(by) {
    this.node.scrollBy({ top: by * this.node.clientHeight * 0.9 });
  }

  // The first character that is in the window, as near as a leaf tells.
  get first() {
    const top = this.node.getBoundingClientRect().top;
    const index = this.leaves.findIndex((leaf) => leaf.getBoundingClientRect().bottom > top + 1);
    const box = this.leaves[Math.max(0, index)].getBoundingClientRect();
    const share = box.height ? Math.min(1, Math.max(0, (top - box.top) / box.height)) : 0;
    return Math.min(this.length, Math.round((Math.max(0, index) + share) * LEAF));
  }

  #passed({ target, isIntersecting }) {
    const index = Number(target.dataset.leaf);
    target.dataset.near = isIntersecting ? "1" : "";
    if (isIntersecting) this.#load(index).then(() => this.laid.has(index) || this.#lay(index), () => {});
    else if (this.laid.size > AT_HAND && this.laid.has(index)) this.#drop(index);
  }

  #drop(index) {
    const leaf = this.leaves[index];
    leaf.style.minHeight = `${leaf.offsetHeight}px`;
    leaf.replaceChildren();
    this.laid.delete(index);
    this.texts.delete(index);
  }

  // A leaf's own text: from the first end of a paragraph behind its first character to that behind its last.
  async #load(index) {
    if (!this.texts.has(index)) {
      const [start, end] = [index * LEAF, Math.min(this.length, (index + 1) * LEAF + SEAM)];
      const loading = this.fetch(start, end).then((characters) => {
        const from = index ? seam(characters, 0) : 0;
        const to = (index + 1) * LEAF >= this.length ? characters.length : LEAF + seam(characters, LEAF);
        return { start: start + from, text: characters.slice(from, Math.max(from, to)).join("") };
      });
      this.texts.set(index, loading);
      loading.catch(() => this.texts.delete(index));
    }
    return this.texts.get(index);
  }

  async #lay(index) {
    const { start, text } = await this.#load(index);
    const leaf = this.leaves[index];
    const { nodes, leaves } = layOut(text, start, styleOf(this.sourceAt(start)));
    const top = this.node.scrollTop;
    leaf.style.minHeight = "";
    refill(leaf, nodes);
    this.laid.set(index, { nodes, leaves });
    if (this.section) shade(nodes, leaves, this.section);
    if (this.marked) markLeaves(leaves, this.marked.start, this.marked.end);
    // The browser keeps what is seen in its place, but not at the very top.
    if (!top) this.node.scrollTop = 0;
  }

  // The leaves with a mark or the end of a section in them.
  #touched() {
    const places = [this.marked?.start, this.marked?.end, this.section?.start, this.section?.end].filter((at) => at !== undefined);
    const [least, most] = [Math.min(...places), Math.max(...places)];
    return [...this.laid.keys()].filter((index) => places.length && (index + 1) * LEAF + SEAM >= least && index * LEAF <= most);
  }

  // A character may stand in the leaf before the one that its number tells, where a paragraph goes over the end.
  async #leavesOf(start, end) {
    const [first, last] = [Math.floor(start / LEAF), Math.floor(Math.max(start, end - 1) / LEAF)].map((index) => Math.min(index, this.leaves.length - 1));
    const { start: begins } = await this.#load(first);
    const from = begins > start ? Math.max(0, first - 1) : first;
    return Array.from({ length: Math.min(last, from + 3) - from + 1 }, (_, at) => from + at);
  }

  #reveal(goal, indexes) {
    const mark = this.node.querySelector("mark");
    const near = mark ?? this.#nodeAt(goal, indexes);
    if (!near) return;
    const gap = near.getBoundingClientRect().top - this.node.getBoundingClientRect().top;
    this.node.scrollTop += gap - (mark ? this.node.clientHeight / 3 : 12);
  }

  #nodeAt(goal, indexes) {
    for (const index of indexes) {
      const found = this.laid.get(index)?.leaves.find((leaf) => leaf.end > goal);
      if (found) return found.node.parentElement;
    }
    return this.leaves[indexes.at(-1)];
  }
}

// Behind the first empty line, or the first line, from `at` on; where there is none, here.
function seam(characters, at) {
  const text = characters.slice(at, at + SEAM);
  let line = -1;
  for (let place = 0; place < text.length; place += 1) {
    if (text[place] !== "\n") continue;
    if (line < 0) line = place + 1;
    if (text[place + 1] === "\n") return place + 2;
  }
  return Math.max(0, line);
}

// What is outside of the section that a step read stands back.
function shade(nodes, leaves, { start, end }) {
  const spans = new Map();
  for (const leaf of leaves) {
    const block = nodes.find((node) => node.contains(leaf.node));
    if (!block) continue;
    const span = spans.get(block);
    spans.set(block, span ? [span[0], leaf.end] : [leaf.start, leaf.end]);
  }
  for (const [block, [from, to]] of spans) block.classList.toggle("around", to <= start || from >= end);
}
