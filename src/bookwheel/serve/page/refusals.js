// What the server says, in the reader's language and without options of the command line.

import { current, t } from "./words.js";

const SENTENCES = [
  [/limit of ([\d.,]+) \(--max-tokens-total\)/, "refused.tokens"],
  [/after ([\d.,]+) seconds, the limit of --max-seconds/, "refused.seconds"],
  [/cost more than the limit of ([\d.,]+)/, "refused.cost"],
  [/^interrupted$/, "refused.interrupted"],
  [/question is empty/, "refused.no-question"],
  [/question has (\d+) tokens and its budget is (\d+)/, "refused.long-question"],
  [/the text is empty/, "refused.empty"],
  [/no (?:document|reading) of that name/, "refused.gone"],
  [/^(\S+) is at .*not a public address/, "refused.private"],
  [/readings are under way/, "refused.busy"],
  [/is being read by another process/, "refused.held"],
  [/no model '?(\S+?)'? here/, "refused.model"],
  [/new memory has (\d+) tokens and the plan gives it (\d+)/, "refused.memory"],
  [/window .*(?:too few|does not fit|too small)|too large for its window/i, "refused.window"],
  [/needs log-probabilities/, "refused.ability"],
  [/needs? a threshold|calibrat/i, "refused.threshold"],
  [/^left out as boilerplate[^:]*: (.*)$/s, "note.boilerplate"],
  [/^running titles and page numbers left out[^:]*: (.*)$/s, "note.titles"],
  [/journal has reached its|may take \d+ MiB/, "refused.full"],
];

// An answer of the server that is no success, with its message; 0 where there was no answer.
export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export function explain(message) {
  const known = SENTENCES.map(([pattern, key]) => [message.match(pattern), key]).find(([match]) => match);
  if (known) return t(known[1], { one: known[0][1], two: known[0][2] });
  const plain = message.replace(/\s*\((?:use |with )?--[^)]*\)/g, "");
  return current() === "en" ? plain : t("refused.own", { message: plain });
}
