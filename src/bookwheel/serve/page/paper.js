// A text as a page of a book: headings, paragraphs, lists, tables and code, made as elements from the text itself, with the
// place of every shown character kept. Nothing is ever taken for HTML, and no link leads anywhere.

import { h, shown } from "./dom.js";

const CODE = /\.(py|pyi|js|mjs|ts|tsx|jsx|rs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|pl|lua|r|jl|swift|scala|sh|bash|ps1|sql|json|jsonl|ya?ml|toml|ini|cfg|conf|xml|css|log|diff|patch|tex|bib|vtt|srt)$/i;
const PLAIN = /\.(txt|text|asc)$/i;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(?=\S)/;
const FILE = /^(=====) (.+) =====$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const ITEM = /^([ \t]*)([-*+•·–]|\(?\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3})+\.?|\(?[a-z][.)])[ \t]+(?=\S)/;
const QUOTE = /^ {0,3}>[ \t]?/;
const FENCE = /^ {0,3}(```|~~~)/;
const ROW = /^\s*\|.*\|\s*$/;
const TABLE_RULE = /^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/;
const INLINE = /(\*\*|__)(?=\S)(.+?)(?<=\S)\1|(`+)(.+?)\3|!?\[([^\]]+)\]\(([^()\s]*)\)|(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])|\\([\\`*_{}[\]()#+.!|>~-])/gs;
// Lines that somebody's program broke: all nearly as long as the longest, only the last is shorter.
const NARROWEST = 45;
const WIDEST = 110;
const EVEN = 0.72;
const INDENT = 4;

// How a source is written, by its name: "code", "plain" or "marked".
export const styleOf = (name) => (CODE.test(name) ? "code" : PLAIN.test(name) ? "plain" : "marked");

// The elements of a text that begins at character `start` of its document, and its leaves: the text nodes in their order,
// each with the span of characters that it shows.
export function layOut(text, start, style) {
  const writer = new Writer(text, start);
  const lines = linesOf(text);
  if (style === "code") writer.add(h("pre", {}), 0, text.length);
  else new Blocks(writer, lines, style).write();
  return { nodes: writer.nodes, leaves: writer.leaves };
}

// Puts the characters from `start` to `end` into <mark>s; returns the first of them, or null where none is shown.
export function markLeaves(leaves, start, end) {
  let first = null;
  for (const leaf of leaves) {
    if (leaf.end <= start || leaf.start >= end) continue;
    const mark = h("mark", {});
    const text = Array.from(leaf.node.data);
    const [from, to] = [Math.max(0, start - leaf.start), Math.min(text.length, end - leaf.start)];
    mark.append(text.slice(from, to).join(""));
    leaf.node.replaceWith(text.slice(0, from).join(""), mark, text.slice(to).join(""));
    first ??= mark;
  }
  return first;
}

function linesOf(text) {
  const lines = [];
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const stop = end < 0 ? text.length : end;
    lines.push({ at, end: stop, text: text.slice(at, stop).replace(/\r$/, "") });
    at = stop + 1;
  }
  return lines;
}

class Writer {
  constructor(text, start) {
    Object.assign(this, { text, start, nodes: [], leaves: [] });
    // The server counts characters and the browser UTF-16 units.
    if (!/[\ud800-\udbff]/.test(text)) return;
    this.points = new Uint32Array(text.length + 1);
    for (let at = 0, point = 0; at <= text.length; at += 1) {
      this.points[at] = point;
      if (at < text.length && !/[\udc00-\udfff]/.test(text[at])) point += 1;
    }
  }

  point(at) {
    return this.start + (this.points ? this.points[at] : at);
  }

  // The text from `at` to `end` as a leaf of a node; `flat` has blanks for the ends of lines.
  leaf(node, at, end, flat = false) {
    if (end <= at) return;
    const piece = shown(flat ? this.text.slice(at, end).replace(/[\n\r]/g, " ") : this.text.slice(at, end));
    const leaf = document.createTextNode(piece);
    node.append(leaf);
    this.leaves.push({ node: leaf, start: this.point(at), end: this.point(end) });
  }

  // The same, with emphasis, code and links shown as such.
  inline(node, at, end, flat = false) {
    const text = this.text.slice(at, end);
    let done = 0;
    for (const found of text.matchAll(INLINE)) {
      const [whole, bold, strong, tick, code, label, target, light, escaped] = found;
      const from = found.index;
      this.leaf(node, at + done, at + from, flat);
      const inner = (name, content, props = {}) => {
        const child = h(name, props);
        const begin = at + from + whole.indexOf(content);
        if (name === "code") this.leaf(child, begin, begin + content.length, flat);
        else this.inline(child, begin, begin + content.length, flat);
        node.append(child);
      };
      if (bold) inner("strong", strong);
      else if (tick) inner("code", code);
      else if (label) inner("span", label, { class: "link", title: target });
      else if (light) inner("em", light);
      else this.leaf(node, at + from + whole.length - escaped.length, at + from + whole.length, flat);
      done = from + whole.length;
    }
    this.leaf(node, at + done, end, flat);
  }

  add(node, at, end, how = "leaf", flat = false) {
    this[how](node, at, end, flat);
    this.nodes.push(node);
    return node;
  }
}

class Blocks {
  constructor(writer, lines, style) {
    Object.assign(this, { writer, lines, marked: style === "marked", at: 0 });
  }

  write() {
    while (this.at < this.lines.length) {
      const line = this.lines[this.at];
      if (!line.text.trim()) this.at += 1;
      else if (FILE.test(line.text)) this.#line("h2", { class: "file" }, line, 6, 6);
      else if (this.marked && HEADING.test(line.text)) this.#heading(line);
      else if (this.marked && RULE.test(line.text)) this.#rule();
      else if (this.marked && FENCE.test(line.text)) this.#fence();
      else if (ROW.test(line.text)) this.#table();
      else if (this.marked && QUOTE.test(line.text)) this.#quote();
      else if (ITEM.test(line.text)) this.#item(line);
      else this.#paragraph();
    }
  }

  #line(name, props, line, before, after) {
    this.writer.add(h(name, props), line.at + before, line.at + line.text.length - after, "inline");
    this.at += 1;
  }

  #heading(line) {
    const [marks, { length: level }] = line.text.match(HEADING);
    const closing = line.text.match(/[ \t]+#+[ \t]*$/)?.[0].length ?? 0;
    // Below the headings of the page itself.
    this.#line(`h${Math.min(6, level + 2)}`, { class: `level-${level}` }, line, marks.length, closing);
  }

  #rule() {
    this.writer.nodes.push(h("hr"));
    this.at += 1;
  }

  #fence() {
    const begin = this.at + 1;
    let end = begin;
    while (end < this.lines.length && !FENCE.test(this.lines[end].text)) end += 1;
    if (end > begin) this.writer.add(h("pre", {}), this.lines[begin].at, this.lines[end - 1].end);
    this.at = end + 1;
  }

  #table() {
    const table = h("table", {});
    const headed = TABLE_RULE.test(this.lines[this.at + 1]?.text ?? "");
    for (let row = 0; this.at < this.lines.length && ROW.test(this.lines[this.at].text); row += 1, this.at += 1) {
      const line = this.lines[this.at];
      if (!TABLE_RULE.test(line.text)) table.append(this.#row(line, headed && row === 0 ? "th" : "td"));
    }
    this.writer.nodes.push(h("div", { class: "wide-table" }, table));
  }

  #row(line, name) {
    const row = h("tr", {});
    let at = line.text.indexOf("|") + 1;
    for (const cell of line.text.slice(at, line.text.lastIndexOf("|")).match(/(?:\\.|[^|\\])*(?:\||$)/g) ?? []) {
      if (!cell && row.childElementCount) break;
      const content = cell.replace(/\|$/, "");
      const node = h(name, {});
      const from = at + content.length - content.trimStart().length;
      this.writer.inline(node, line.at + from, line.at + at + content.trimEnd().length);
      row.append(node);
      at += cell.length;
    }
    return row;
  }

  #quote() {
    const node = h("blockquote", {});
    while (this.at < this.lines.length && QUOTE.test(this.lines[this.at].text)) {
      const line = this.lines[this.at];
      const child = h("p", {});
      this.writer.inline(child, line.at + line.text.match(QUOTE)[0].length, line.end);
      node.append(child);
      this.at += 1;
    }
    this.writer.nodes.push(node);
  }

  // The mark of an item is shown as it is written, because numbers of clauses are cited.
  #item(line) {
    const [whole, indent] = line.text.match(ITEM);
    const depth = Math.min(6, Math.floor(indent.replaceAll("\t", "    ").length / 2));
    const begin = this.at;
    this.at += 1;
    while (this.at < this.lines.length && this.#goesOn(this.lines[this.at], indent.length)) this.at += 1;
    const node = h("p", { class: "item", style: null });
    node.dataset.depth = depth;
    const bullet = h("span", { class: "bullet" });
    this.writer.leaf(bullet, line.at + indent.length, line.at + whole.trimEnd().length);
    node.append(bullet, " ");
    this.#words(node, line.at + whole.length, this.lines[this.at - 1].end, this.#isBroken(begin, this.at));
    this.writer.nodes.push(node);
  }

  #goesOn(line, indent) {
    return line.text.trim() && !this.#begins(line) && /^\s/.test(line.text) && line.text.search(/\S/) > indent;
  }

  #begins({ text }) {
    return ITEM.test(text) || ROW.test(text) || FILE.test(text) || (this.marked && (HEADING.test(text) || FENCE.test(text) || QUOTE.test(text) || RULE.test(text)));
  }

  #paragraph() {
    const begin = this.at;
    this.at += 1;
    while (this.at < this.lines.length && this.lines[this.at].text.trim() && !this.#begins(this.lines[this.at])) this.at += 1;
    const flat = this.#isBroken(begin, this.at);
    const node = h("p", { class: flat ? null : "as-it-stands" });
    this.#words(node, this.lines[begin].at, this.lines[this.at - 1].end, flat);
    this.writer.nodes.push(node);
  }

  #words(node, at, end, flat) {
    this.writer[this.marked ? "inline" : "leaf"](node, at, end, flat);
  }

  // Whether the lines are one sentence after the other, broken at a width: then the window breaks them anew.
  #isBroken(begin, end) {
    if (end - begin < 2) return true;
    const lengths = this.lines.slice(begin, end).map(({ text }) => text.trimEnd().length);
    const longest = Math.max(...lengths);
    if (longest < NARROWEST || longest > WIDEST) return this.marked && longest > WIDEST;
    const deep = this.lines.slice(begin + 1, end).some(({ text }) => text.search(/\S/) > INDENT);
    return !deep && lengths.slice(0, -1).every((length) => length > EVEN * longest);
  }
}
