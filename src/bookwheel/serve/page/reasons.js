// Sentences of an evaluation in the reader's language: reasons of scores, and the report's own. Those of a judge model and
// of other packages' metrics stay as they are.

import { t } from "./words.js";

const REASONS = [
  [/^(.*), and names "(.*)" too$/s, "reason.extra"],
  [/^(.*), and says it of some only$/s, "reason.of-one"],
  [/^is "(.*)"$/s, "reason.is"],
  [/^is none of the golds$/, "reason.is-none"],
  [/^holds "(.*)"$/s, "reason.holds"],
  [/^holds none of the golds$/, "reason.holds-none"],
  [/^holds (\d+) of (\d+)$/, "reason.holds-of"],
  [/^names "(.*)" without deciding for it$/s, "reason.names"],
  [/^names "(.*)" and settles on another$/s, "reason.settles"],
  [/^lists (\d+) of (\d+)$/, "reason.lists"],
  [/^the last line lists no nodes$/, "reason.no-nodes"],
  [/^says yes$/, "reason.yes"],
  [/^says no$/, "reason.no"],
  [/^says neither$/, "reason.neither"],
  [/^decides for a gold$/, "reason.decides"],
  [/^does not decide for a gold$/, "reason.undecided"],
  [/^F1 ([\d.]+)$/, "reason.f1"],
  [/^F1 ([\d.]+) of (\d+) nodes$/, "reason.f1-nodes"],
  [/^set F1 ([\d.]+)$/, "reason.set-f1"],
  [/^picks the right option$/, "reason.picks"],
  [/^does not pick the right option$/, "reason.picks-not"],
  [/^names (\d+) classes$/, "reason.classes"],
  [/^says that it is not there$/, "reason.absent"],
  [/^asks instead of answering$/, "reason.asks"],
  [/^gives an answer where there is none$/, "reason.invents"],
  [/^gives an answer$/, "reason.answers"],
  [/^by the published metric, which takes substrings/, "reason.published"],
  [/^by RULER's metric, (\d+) of (\d+) are substrings$/, "reason.ruler-share"],
  [/^by RULER's metric, which takes any gold/, "reason.ruler"],
  [/^does not begin with "(.*)"$/s, "reason.begins"],
  [/^repeats ([\d.]+%) of the text$/, "reason.repeats"],
  [/^the answer is empty$/, "reason.empty"],
  [/^no answer$/, "reason.no-answer"],
  [/^no answer: (.*)$/s, "reason.no-answer-why"],
  [/^no such sample$/, "reason.no-sample"],
  [/^(\S+) ([\d.]+)$/, "reason.measure"],
];

const REPORT = [
  [/^(\d+) samples had no answer and count as wrong\.$/, "report.no-answer"],
  [/^(\d+) samples could not be made at their length and count nowhere\.$/, "report.not-made"],
  [/^(\d+) lines of files hold no sample that can be used, and count nowhere\.$/, "report.unread"],
  [/^(\d+) rarer errors are only in the results file\.$/, "report.rarer"],
  [/^Sample seed (.*)\.$/, "report.seeds"],
  [/^Runs that this results file comes from\.$/, "report.runs"],
  [/^What the numbers depend on\.$/, "report.settings"],
  [/^The manifest of the newest run, and what all runs used\.$/, "report.manifest"],
  [/^(model|way|outcome|error|samples|for example|started|bookwheel|command|setting|value|what)$/, "report.$"],
  [/^(refused|failed|stopped|infeasible)$/, "outcome.$"],
];

const inWordsOf = (sentences) => (text) => {
  const [match, key] = sentences.map(([pattern, name]) => [text.match(pattern), name]).find(([found]) => found) ?? [];
  return match ? t(key.replace("$", match[1]), { one: match[1], two: match[2] }) : text;
};

export const explainScore = inWordsOf(REASONS);
export const explainReport = inWordsOf(REPORT);
