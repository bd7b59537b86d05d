// A reading's steps as the page walks over them: every memory, how much each step changed it, and since when each of
// its lines is there. What costs time is worked out once for each step, when it is first looked at or drawn.

import { changes, linesOf, nearness, pieces, wordsOf } from "./diff.js";

const SAME = 0.5;

export class Trace {
  constructor(steps = []) {
    this.steps = [];
    this.shares = [];
    this.told = new Map();
    this.since = [];
    steps.forEach((step) => this.add(step));
  }

  // Events may come twice after a lost line; a step is known by its number.
  add(step) {
    if (step.index !== this.steps.length) return false;
    this.steps.push(step);
    this.shares.push(changed(this.before(step.index), step.memory));
    return true;
  }

  get length() {
    return this.steps.length;
  }

  get last() {
    return this.steps.length - 1;
  }

  before(at) {
    return this.steps[at].before ?? this.steps[at - 1]?.memory ?? "";
  }

  changes(at) {
    if (!this.told.has(at)) {
      if (this.told.size > 400) this.told.clear();
      this.told.set(at, changes(this.before(at), this.steps[at].memory));
    }
    return this.told.get(at);
  }

  // The step at which a line of the memory after step `at`, or an earlier wording of it, came in.
  entered(at, line) {
    for (let next = this.since.length; next <= at; next += 1) this.since.push(this.#lines(next));
    return this.since[at].get(line)?.step ?? at;
  }

  #lines(at) {
    const earlier = this.since[at - 1] ?? new Map();
    if (at && this.steps[at].memory === this.steps[at - 1].memory) return earlier;
    const lines = linesOf(this.steps[at].memory);
    const stay = new Set(lines);
    const gone = [...earlier].filter(([line]) => !stay.has(line)).map(([, known]) => known);
    return new Map(lines.map((line) => [line, earlier.get(line) ?? like(line, gone, at)]));
  }

  // The step that was reading this character of the document.
  stepAt(character) {
    let low = 0;
    let high = this.last;
    while (low < high) {
      const half = (low + high) >> 1;
      if (this.steps[half].end <= character) low = half + 1;
      else high = half;
    }
    return low;
  }
}

// What a line was reworded from, among the lines that went; two with nothing but different figures tell different things.
function like(line, gone, at) {
  const words = wordsOf(line);
  const figures = figuresOf(words);
  let best = { step: at, words };
  let share = SAME;
  for (const known of gone) {
    const others = figuresOf(known.words);
    if (figures.length && others.length && !figures.some((figure) => others.includes(figure))) continue;
    const near = nearness(words, known.words);
    if (near >= share) [best, share] = [{ step: known.step, words }, near];
  }
  return best;
}

const figuresOf = (words) => [...words].filter((word) => /^\p{N}/u.test(word));

// 0 where nothing changed, 1 where all of it did; words are counted, not ordered, so that 700 steps cost little.
function changed(before, after) {
  if (before === after) return 0;
  const counts = new Map();
  const old = pieces(before).filter((piece) => piece.trim());
  const fresh = pieces(after).filter((piece) => piece.trim());
  for (const word of old) counts.set(word, (counts.get(word) ?? 0) + 1);
  let same = 0;
  for (const word of fresh) {
    const left = counts.get(word) ?? 0;
    if (left) {
      counts.set(word, left - 1);
      same += 1;
    }
  }
  return 1 - (2 * same) / (old.length + fresh.length || 1);
}

// Where the longest run of a line's words stands in a text: [start, end], or null when no two of them do.
export function longestRun(line, text) {
  const wanted = located(line);
  const there = located(text);
  let best = [0, 0];
  let above = new Uint16Array(there.length + 1);
  for (const word of wanted) {
    const row = new Uint16Array(there.length + 1);
    there.forEach((other, j) => {
      if (other.key !== word.key) return;
      row[j + 1] = above[j] + 1;
      if (row[j + 1] > best[0]) best = [row[j + 1], j];
    });
    above = row;
  }
  const [run, last] = best;
  if (run < Math.min(2, wanted.length) || !run) return null;
  return [there[last - run + 1].start, there[last].end];
}

function located(text) {
  const found = [];
  let at = 0;
  for (const piece of pieces(text)) {
    const start = text.indexOf(piece, at);
    at = start + piece.length;
    if (/[\p{L}\p{N}]/u.test(piece)) found.push({ key: piece.toLowerCase(), start, end: at });
  }
  return found;
}
