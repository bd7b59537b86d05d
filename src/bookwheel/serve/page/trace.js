// A reading's steps as the page walks over them: every memory, how much each step changed it, and since when each of
// its lines is there.

export class Trace {
  constructor(steps = []) {
    this.steps = [];
    this.own = []; // those that this reading made itself: a further question may begin with the memory of another one
    this.entries = []; // for each step, since which step each line of its memory is there
    steps.forEach((step) => this.add(step));
  }

  // Events may come twice after a reconnect; a step is known by its number.
  add(step) {
    if (step.index !== this.steps.length) return false;
    this.steps.push(step);
    if (step.flags.includes("carried")) this.own = [];
    else this.own.push(step);
    return true;
  }

  get length() {
    return this.steps.length;
  }

  get last() {
    return this.steps.length - 1;
  }

  // Where the section that is being read begins, which is known, and about where it ends; null where a rank decides.
  flight({ way, plan, document }) {
    if (/\b(quotes|ranked)\b/.test(way)) return null;
    const { own } = this;
    const start = own.at(-1)?.end ?? 0;
    const long = own.length ? start / own.length : plan.chunk_tokens * 4;
    return { start, end: Math.min(document.length || start + long, Math.round(start + long)), pages: [] };
  }

  // The step at which a line of the memory after step `at`, or an earlier wording of it, came in.
  entered(at, line) {
    for (let next = this.entries.length; next <= at; next += 1) this.entries.push(this.#entriesAfter(next));
    return this.entries[at].get(line) ?? at;
  }

  #entriesAfter(at) {
    const earlier = this.entries[at - 1] ?? new Map();
    const entry = (change) => (hasOtherFigures(change) ? at : earlier.get(oldText(change)) ?? at);
    return new Map(this.steps[at].changes.filter(({ kind }) => kind !== "gone").map((change) => [change.text, entry(change)]));
  }

  // The step that read this character of the document, the newest of several; some ways read in an order of their own.
  stepAt(character) {
    const at = this.steps.findLastIndex(({ start, end }) => start <= character && character < end);
    return at < 0 ? this.last : at;
  }
}

const oldText = ({ text, words }) => words?.filter(([kind]) => kind !== "new").map(([, piece]) => piece).join("") ?? text;

// Two lines that differ in all their figures are two facts, not two wordings of one.
function hasOtherFigures({ words = [] }) {
  const has = (wanted) => words.some(([kind, piece]) => kind === wanted && /\p{N}/u.test(piece));
  return has("gone") && has("new") && !has("kept");
}
