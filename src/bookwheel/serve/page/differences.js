// Two memories against each other: which lines both have, which one has alone, and which words of a line differ.

const words = (text) => text.toLowerCase().match(/[\u3040-\u30ff\u3400-\u9fff]|[\p{L}\p{N}]+/gu) ?? [];
const NEAR = 0.5; // share of a line's words that make another line a wording of it

// Each line of `text`: {line, kind: "both" | "reworded" | "alone", pieces} where pieces are [is it here alone, words].
export function against(text, other) {
  const there = other.split("\n").filter((line) => line.trim());
  const sets = there.map((line) => new Set(words(line)));
  const exact = new Set(there.map((line) => words(line).join(" ")));
  return text
    .split("\n")
    .filter((line) => line.trim())
    .map((line) => {
      const own = words(line);
      if (exact.has(own.join(" "))) return { line, kind: "both", pieces: [[false, line]] };
      const shares = sets.map((set) => own.filter((word) => set.has(word)).length / Math.max(1, own.length, set.size));
      const best = Math.max(0, ...shares);
      if (best < NEAR) return { line, kind: "alone", pieces: [[false, line]] };
      return { line, kind: "reworded", pieces: marked(line, sets[shares.indexOf(best)]) };
    });
}

function marked(line, there) {
  const pieces = line.split(/([\u3040-\u30ff\u3400-\u9fff]|[\p{L}\p{N}]+)/u);
  return pieces.filter(Boolean).map((piece) => [words(piece).length > 0 && !there.has(piece.toLowerCase()), piece]);
}
