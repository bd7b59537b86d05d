// The question and its answer: each sentence marked by its verdict, its passages as numbers beside it. A number shows its
// quote under the pointer or the focus; pressed, it leads to the passage in the document.

import { h, refill } from "./dom.js";
import { advantageMark, answerOf, claimChip, readable, signOf, titleOf, trustBadge, verdict, whyNone } from "./marks.js";
import { flagChip } from "./memory.js";
import { explainScore } from "./reasons.js";
import { figure, number, percent, t } from "./words.js";

const SHORT = 300; // characters of a quote that are shown
const EDGE = 12; // pixels between a quote and the edge of the window

export class Answer {
  constructor(proof) {
    this.proof = proof;
    this.chips = h("span", { class: "chips" });
    this.question = h("h1", { dir: "auto" });
    this.text = h("div", { class: "answer", dir: "auto", role: "status" });
    this.flags = h("p", { class: "chips" });
    this.earned = h("p", { class: "chips earned", dir: "auto" });
    this.problem = h("p", { class: "small problem", role: "alert" });
    this.claims = h("ul", { class: "claims" });
    this.why = h("details", { class: "why" }, h("summary", {}, t("verdict")), this.claims);
    this.node = [this.question, this.text, this.earned, this.flags, this.problem, this.why];
  }

  draw(reading, why) {
    const told = JSON.stringify([reading.status, reading.answer, why, reading.evidence, reading.claims, reading.name]);
    if (told === this.told) return;
    this.told = told;
    refill(this.chips, trustBadge(reading));
    refill(this.question, titleOf(reading));
    this.question.title = reading.question;
    this.text.classList.toggle("none", !reading.answer);
    refill(this.text, reading.answer ? this.#marked({ ...reading, answer: answerOf(reading) }) : whyNone(reading));
    // The badge of an answer that may be wrong says so already.
    const flags = (reading.answer_turn?.flags ?? []).filter((flag) => flag !== "unsure" || !["amber", "red"].includes(reading.sign));
    refill(this.flags, flags.map(flagChip));
    refill(this.earned, judged(reading));
    refill(this.problem, reading.status === "cancelled" ? "" : why);
    const { claims = [], evidence = [] } = reading;
    this.why.hidden = !claims.length;
    refill(this.claims, claims.map((claim) => this.#claim(claim, claims.length > 1, evidence)));
  }

  // Open what is said of each sentence, and go there.
  explain() {
    this.why.open = true;
    this.why.firstElementChild.focus();
  }

  // The answer sentence by sentence; a reading from before verdicts has its passages at the end.
  #marked({ answer, claims = [], evidence = [] }) {
    let at = 0;
    const pieces = claims.flatMap((claim) => {
      const start = answer.indexOf(claim.text, at);
      if (start < 0) return [];
      const before = answer.slice(at, start);
      at = start + claim.text.length;
      const text = claims.length > 1 ? h("span", { class: `claimed ${signOf(claim)}`, title: t(`verdict.${claim.verdict}`) }, readable(claim.text)) : readable(claim.text);
      return [readable(before), text, quotes(claim).map((index) => this.#cite(index, evidence[index]))];
    });
    const loose = claims.length ? [] : evidence.map((found, index) => this.#cite(index, found));
    return [...pieces, readable(answer.slice(at)), loose];
  }

  #cite(index, found) {
    const words = readable(found.quote);
    const quote = words.length > SHORT ? `${words.slice(0, SHORT)}…` : words;
    return h(
      "span",
      { class: "cited", onpointerenter: keepInside, onfocusin: keepInside },
      h("button", { type: "button", class: "cite", "aria-label": t("proof.show", { quote: quote.slice(0, 200) }), onclick: () => this.proof(found) }, number(index + 1)),
      h("span", { class: "quote", role: "presentation", "aria-hidden": "true", dir: "auto" }, quote),
    );
  }

  #claim(claim, named, evidence) {
    const missing = claim.missing.length && claim.verdict !== "by-hand" ? t("verdict.missing", { missing: claim.missing.join(", ") }) : "";
    const unsaid = claim.unsaid?.length ? t("verdict.unsaid", { unsaid: claim.unsaid.join(" … ") }) : "";
    const sure = claim.verdict === "supported" && claim.score !== null ? ` (${percent(claim.score)})` : "";
    const text = claim.step === null ? t(`verdict.${claim.verdict}`) + sure : t("verdict.by-hand.at", { step: number(claim.step) });
    return h(
      "li",
      { dir: "auto" },
      named && h("p", { class: "sentence" }, readable(claim.text)),
      h("p", { class: "small" }, claimChip(claim, signOf(claim), text), unsaid && ` ${unsaid}`, missing && ` ${missing}`, claim.judge && ` · ${judgeOf(claim)}`),
      quotes(claim).map((at) => h("button", { class: "proof", type: "button", dir: "auto", onclick: () => this.proof(evidence[at]) }, readable(evidence[at].quote))),
    );
  }
}

// Who judged a sentence; readings of before do not say.
const judgeOf = ({ judge }) => (judge === "words" ? t("judge.words") : t("judge.model", { name: judge }));

// The passages that bear a sentence out, then those that say otherwise.
const quotes = ({ evidence, against = [] }) => [evidence, against].flatMap((found) => found.toSorted((one, other) => one - other));

// A quote opens beside its number; at the edge of the window, or of the conversation, it is moved in.
function keepInside({ currentTarget }) {
  const quote = currentTarget.lastElementChild;
  quote.style.translate = "";
  const { left, right } = quote.getBoundingClientRect();
  const rail = quote.closest(".rail-scroll")?.getBoundingClientRect();
  const [least, most] = [Math.max(0, rail?.left ?? 0) + EDGE, Math.min(document.documentElement.clientWidth, rail?.right ?? Infinity) - EDGE];
  const by = Math.min(0, most - right) || Math.max(0, least - left);
  if (by) quote.style.translate = `${by}px`;
}

// The verdict on a reading of an evaluation or a training run, and the right answer.
function judged({ sample, rollout }) {
  if (rollout) {
    const parts = Object.entries(rollout.parts).map(([name, value]) => `${name} ${figure(value)}`);
    const reward = rollout.reward === null ? t(`outcome.${rollout.outcome}`) : `${t("train.reward")} ${figure(rollout.reward)}`;
    return [h("span", { class: "chip nought" }, reward), h("span", { class: "small" }, t("train.advantage")), advantageMark(rollout.advantage), h("span", { class: "small" }, [t("train.at", { step: number(rollout.step), sample: rollout.sample }), ...parts].join(" · "))];
  }
  if (!sample) return null;
  return [verdict(sample), h("span", { class: "small" }, t("samples.golds")), h("span", {}, sample.golds.join(" · ")), sample.reason && h("span", { class: "small" }, explainScore(sample.reason))];
}
