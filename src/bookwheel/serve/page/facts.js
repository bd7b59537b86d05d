// The head of a reading: question, answer, evidence, and cost so far.

import { h, refill, wheel } from "./dom.js";
import { advantageMark, statusChip, supportChip, verdict } from "./marks.js";
import { flagChip } from "./memory.js";
import { duration, figure, moment, number, t } from "./words.js";

export class Headline {
  constructor(proof) {
    this.proof = proof;
    this.eyebrow = h("p", { class: "eyebrow" });
    this.question = h("h1", { dir: "auto" });
    this.answer = h("div", { class: "answer", dir: "auto", role: "status" });
    this.flags = h("p", { class: "chips" });
    this.earned = h("p", { class: "chips earned", dir: "auto" });
    this.problem = h("p", { class: "small problem", role: "alert" });
    this.proofs = h("div", { class: "proofs" });
    this.node = h("div", { class: "headline" }, this.eyebrow, this.question, this.answer, this.earned, this.flags, this.problem, this.proofs);
    this.told = null;
  }

  draw(reading) {
    const told = JSON.stringify([reading.status, reading.answer, reading.error, reading.evidence, reading.claims]);
    if (told === this.told) return;
    this.told = told;
    refill(this.eyebrow, wheel(reading.status === "reading"), statusChip(reading.status, reading.verdict), reading.verdict && supportChip(reading.verdict), h("span", {}, moment(reading.created)));
    refill(this.question, reading.question);
    this.answer.classList.toggle("none", !reading.answer);
    refill(this.answer, reading.answer ? marked(reading.answer, reading.claims ?? []) : t(`none.${reading.status}`));
    refill(this.flags, (reading.answer_turn?.flags ?? []).map(flagChip));
    refill(this.earned, judged(reading));
    refill(this.problem, reading.status === "cancelled" ? "" : reading.error);
    refill(this.proofs, this.#proofs(reading));
  }

  // Each sentence of the answer with its verdict and its passages; a reading from before verdicts has passages only.
  #proofs({ claims = [], evidence = [] }) {
    if (!claims.length) return evidence.length ? [h("h2", {}, t("proofs")), evidence.map((found) => this.#quote(found))] : null;
    return [h("h2", {}, t("verdict")), h("ul", { class: "claims" }, claims.map((claim) => this.#claim(claim, claims.length > 1, evidence)))];
  }

  #claim(claim, named, evidence) {
    const missing = claim.missing.length && claim.verdict !== "by-hand" ? t("verdict.missing", { missing: claim.missing.join(", ") }) : "";
    const text = claim.step === null ? t(`verdict.${claim.verdict}`) : t("verdict.by-hand.at", { step: number(claim.step) });
    return h(
      "li",
      { dir: "auto" },
      named && h("p", { class: "sentence" }, claim.text),
      h("p", { class: "small" }, supportChip(claim.verdict, text), missing && ` ${missing}`),
      claim.evidence.map((at) => this.#quote(evidence[at])),
    );
  }

  #quote(found) {
    const show = () => this.proof(found);
    return h(
      "button",
      { class: "proof", type: "button", dir: "auto", "aria-label": t("proof.show", { quote: found.quote.slice(0, 200) }), onclick: show },
      found.quote.length > 300 ? `${found.quote.slice(0, 300)}…` : found.quote,
    );
  }
}

// The answer, with each sentence marked by its verdict where there are several.
function marked(answer, claims) {
  if (claims.length < 2) return answer;
  let at = 0;
  const pieces = claims.flatMap((claim) => {
    const start = answer.indexOf(claim.text, at);
    if (start < 0) return [];
    const before = answer.slice(at, start);
    at = start + claim.text.length;
    return [before, h("span", { class: `claimed ${claim.verdict}`, title: t(`verdict.${claim.verdict}`) }, claim.text)];
  });
  return [...pieces, answer.slice(at)];
}

// The verdict on a reading of an evaluation or a training run, and the right answer.
function judged({ sample, rollout }) {
  if (rollout) {
    const parts = Object.entries(rollout.parts).map(([name, value]) => `${name} ${figure(value)}`);
    const reward = rollout.reward === null ? t(`outcome.${rollout.outcome}`) : `${t("train.reward")} ${figure(rollout.reward)}`;
    return [h("span", { class: "chip nought" }, reward), h("span", { class: "small" }, t("train.advantage")), advantageMark(rollout.advantage), h("span", { class: "small" }, [t("train.at", { step: number(rollout.step), sample: rollout.sample }), ...parts].join(" · "))];
  }
  if (!sample) return null;
  return [verdict(sample), h("span", { class: "small" }, t("samples.golds")), h("span", {}, sample.golds.join(" · ")), sample.reason && h("span", { class: "small" }, sample.reason)];
}

export class Facts {
  constructor() {
    this.bar = h("progress", { max: 1, "aria-label": t("reading.progress") });
    this.list = h("dl", { class: "facts" });
    this.node = h("div", {}, this.bar, this.list);
  }

  draw(reading, trace) {
    const reads = reading.status === "reading";
    const usage = usageSoFar(reading, trace);
    this.bar.hidden = !reads;
    this.bar.value = share(reading, trace);
    const { price_in, price_out } = reading.plan.budget;
    const cost = (usage.prompt_tokens * price_in + usage.completion_tokens * price_out) / 1e6;
    const left = reads ? secondsLeft(reading, trace) : null;
    const facts = [
      ["reading.left", reads && (left === null ? t("reading.left.unknown") : duration(left))],
      ["reading.document", t("reading.of", { name: reading.document.name, length: number(reading.document.length) })],
      ["reading.model", reading.model],
      ["reading.tokens", t("reading.tokens.told", { read: number(usage.prompt_tokens), written: number(usage.completion_tokens) })],
      ["reading.calls", number(usage.calls)],
      ["reading.cost", (price_in || price_out) && cost.toFixed(4)],
      ["reading.took", duration(usage.seconds)],
      ["reading.gaps", (reading.gaps ?? []).map(gap).join(" · ")],
      ["reading.notes", (reading.document.notes ?? []).join(" · ")],
      ["reading.parent", reading.parent && h("a", { href: `#/reading/${encodeURIComponent(reading.parent)}` }, reading.parent.slice(0, 12))],
    ];
    refill(this.list, facts.filter(([, fact]) => fact).map(([name, fact]) => h("div", {}, h("dt", {}, t(name)), h("dd", {}, fact))));
  }
}

// A section that the memory does not have, and why.
const gap = ({ start, end, flags }) => t("reading.gap", { start: number(start), end: number(end), why: flags.map((flag) => t(`flag.${flag}`)).join(", ") });

const share = (reading, trace) => Math.min(1, (trace.steps.at(-1)?.end ?? 0) / Math.max(1, reading.document.length));

function usageSoFar(reading, trace) {
  const none = { calls: 0, prompt_tokens: 0, completion_tokens: 0, seconds: 0 };
  const summed = [...trace.steps.map((step) => step.usage), reading.answer_turn?.usage ?? none].reduce(
    (sum, one) => Object.fromEntries(Object.keys(none).map((name) => [name, sum[name] + one[name]])),
    none,
  );
  return summed.calls >= reading.usage.calls ? summed : reading.usage;
}

// Estimated from the newest steps: their own time or, where the model reports none, the time between their events.
function secondsLeft(reading, trace) {
  const newest = trace.steps.slice(-12);
  if (newest.length < 2) return null;
  const characters = newest.at(-1).end - newest[0].start;
  const told = newest.reduce((sum, step) => sum + step.usage.seconds, 0);
  const arrived = newest.filter((step) => step.arrived);
  const between = arrived.length > 1 ? (arrived.at(-1).arrived - arrived[0].arrived) / 1000 : 0;
  const pace = told > 0 ? told / characters : between / Math.max(1, arrived.at(-1)?.end - arrived[0]?.end);
  return pace > 0 ? pace * Math.max(0, reading.document.length - newest.at(-1).end) : null;
}
