// What one memory did to another: line by line, and within a reworded line word by word.

const PIECE = /[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff])[\p{L}\p{N}\p{M}_])+|\s+|[^\s]/gu;
const ALIKE = 0.45; // how alike two lines are at least, to be shown as one that was reworded
const MOST_CELLS = 4_000_000; // of a comparison; beyond it everything counts as replaced

export const pieces = (line) => line.match(PIECE) ?? [];
export const linesOf = (text) => text.split(/\r\n|\n|\r/).filter((line) => line.trim());
export const wordsOf = (line) => new Set(pieces(line).filter((piece) => /[\p{L}\p{N}]/u.test(piece)).map((piece) => piece.toLowerCase()));

export function nearness(one, other) {
  if (!one.size || !other.size) return 0;
  let common = 0;
  for (const word of one) if (other.has(word)) common += 1;
  return (2 * common) / (one.size + other.size);
}

// [["same" | "out" | "in", value], …] by the longest common subsequence; equal ends are set aside first.
export function compare(old, fresh) {
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const same = (value) => ["same", value];
  return [
    ...old.slice(0, head).map(same),
    ...middle(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...fresh.slice(fresh.length - tail).map(same),
  ];
}

function middle(old, fresh) {
  if (!old.length || !fresh.length || old.length * fresh.length > MOST_CELLS) {
    return [...old.map((value) => ["out", value]), ...fresh.map((value) => ["in", value])];
  }
  const wide = fresh.length + 1;
  const best = new Uint16Array((old.length + 1) * wide);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      const at = i * wide + j;
      best[at] = old[i] === fresh[j] ? best[at + wide + 1] + 1 : Math.max(best[at + wide], best[at + 1]);
    }
  }
  return walk(old, fresh, best, wide);
}

function walk(old, fresh, best, wide) {
  const told = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      told.push(["same", old[i]]);
      i += 1;
      j += 1;
    } else if (j >= fresh.length || (i < old.length && best[(i + 1) * wide + j] >= best[i * wide + j + 1])) {
      told.push(["out", old[i]]);
      i += 1;
    } else {
      told.push(["in", fresh[j]]);
      j += 1;
    }
  }
  return told;
}

// [{kind: "kept" | "new" | "gone" | "reworded", text, words?}, …] in the order of the new memory.
export function changes(before, after) {
  const told = [];
  let out = [];
  let came = [];
  const settle = () => {
    told.push(...replaced(out, came));
    out = [];
    came = [];
  };
  for (const [what, line] of compare(linesOf(before), linesOf(after))) {
    if (what === "out") out.push(line);
    else if (what === "in") came.push(line);
    else {
      settle();
      told.push({ kind: "kept", text: line });
    }
  }
  settle();
  return told;
}

function replaced(out, came) {
  const gone = new Map(out.map((line) => [line, wordsOf(line)]));
  const told = came.map((line) => {
    const mine = wordsOf(line);
    const [nearest, share] = [...gone].reduce(
      (best, [other, theirs]) => (nearness(mine, theirs) > best[1] ? [other, nearness(mine, theirs)] : best),
      [null, 0],
    );
    if (nearest === null || share < ALIKE) return { kind: "new", text: line };
    gone.delete(nearest);
    return { kind: "reworded", text: line, words: joined(compare(pieces(nearest), pieces(line))) };
  });
  return [...told, ...[...gone.keys()].map((line) => ({ kind: "gone", text: line }))];
}

function joined(words) {
  const runs = [];
  for (const [what, piece] of words) {
    if (runs.at(-1)?.[0] === what) runs.at(-1)[1] += piece;
    else runs.push([what, piece]);
  }
  return runs;
}
