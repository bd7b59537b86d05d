// The reason of a score, in the reader's language. Those of a judge model and of other packages' metrics stay as they are.

import { t } from "./words.js";

const SENTENCES = [
  [/^is "(.*)"$/s, "reason.is"],
  [/^is none of the golds$/, "reason.is-none"],
  [/^holds "(.*)"$/s, "reason.holds"],
  [/^holds none of the golds$/, "reason.holds-none"],
  [/^holds (\d+) of (\d+)$/, "reason.holds-of"],
  [/^names "(.*)" without deciding for it$/s, "reason.names"],
  [/^says yes$/, "reason.yes"],
  [/^says no$/, "reason.no"],
  [/^says neither$/, "reason.neither"],
  [/^decides for a gold$/, "reason.decides"],
  [/^does not decide for a gold$/, "reason.undecided"],
  [/^F1 ([\d.]+)$/, "reason.f1"],
  [/^set F1 ([\d.]+)$/, "reason.set-f1"],
  [/^says that it is not there$/, "reason.absent"],
  [/^asks instead of answering$/, "reason.asks"],
  [/^gives an answer where there is none$/, "reason.invents"],
  [/^by the published metric, which takes substrings/, "reason.published"],
  [/^by RULER's metric, (\d+) of (\d+) are substrings$/, "reason.ruler-share"],
  [/^by RULER's metric, which takes any gold/, "reason.ruler"],
  [/^does not begin with "(.*)"$/s, "reason.begins"],
  [/^repeats ([\d.]+%) of the text$/, "reason.repeats"],
  [/^the answer is empty$/, "reason.empty"],
  [/^no answer$/, "reason.no-answer"],
  [/^no answer: (.*)$/s, "reason.no-answer-why"],
  [/^no such sample$/, "reason.no-sample"],
];

export function explainScore(reason) {
  const [match, key] = SENTENCES.map(([pattern, name]) => [reason.match(pattern), name]).find(([found]) => found) ?? [];
  return match ? t(key, { one: match[1], two: match[2] }) : reason;
}
