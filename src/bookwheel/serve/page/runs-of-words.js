// The words of a memory's line in the text that it came from.

// A word, one character of a script without blanks, blanks, or a punctuation mark.
const PIECE = /[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff])[\p{L}\p{N}\p{M}_])+|\s+|[^\s]/gu;

// The span [start, end] of the longest run of a line's words in a text; null for less than two words.
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
  for (const piece of text.match(PIECE) ?? []) {
    const start = text.indexOf(piece, at);
    at = start + piece.length;
    if (/[\p{L}\p{N}]/u.test(piece)) found.push({ key: piece.toLowerCase(), start, end: at });
  }
  return found;
}
