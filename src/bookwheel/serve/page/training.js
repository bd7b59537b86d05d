// A training run: its curves, its settings, and the rollouts that it stored.

import { Beside } from "./beside.js";
import { Chart, legend } from "./chart.js";
import { rememberAddress } from "./address.js";
import { h, refill } from "./dom.js";
import { advantageMark } from "./marks.js";
import * as service from "./service.js";
import { smooth } from "./smoothing.js";
import { figures, folded, offered } from "./tables.js";
import { compact, duration, figure, number, percent, t } from "./words.js";

const GOING = 120; // seconds without news, after which a run is taken to be at rest
const PANELS = [["loss", true], ["loss"], ["entropy"], ["gradient"], ["kl"], ["clipped"], ["mismatch"], ["failed"], ["dropped"]];
const SHARES = new Set(["clipped"]);
const SHARE = { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1], format: percent };

export class TrainingView {
  constructor(run, query, kept) {
    this.run = run;
    this.facts = h("dl", { class: "facts" });
    const x = { format: compact, told: (step) => t("train.step", { step: number(step) }) };
    this.x = x;
    this.main = new Chart({ label: t("train.accuracy.plot"), x, y: { ...SHARE }, tall: 300 });
    this.names = h("div");
    this.held = folded(t("train.held.table"), () => this.#heldTable());
    this.panels = new Map();
    this.small = h("div", { class: "plots small-plots" });
    this.weight = h("input", { type: "range", id: "smoothing", min: 0, max: 0.98, step: 0.02, value: kept?.weight ?? "0", oninput: () => this.#curves() });
    const chosen = kept?.beside ?? (query.get("beside") ?? "").split(",").filter(Boolean);
    this.beside = new Beside(run.run, chosen, (ids) => this.#setBeside(ids));
    const settings = h("div", { class: "row desk" }, h("label", { for: "smoothing" }, t("curve.smoothing")), this.weight, this.beside.node);
    this.step = h("select", { id: "kept-step", onchange: () => this.#rollouts() });
    this.rows = h("div");
    this.kept = h("section", { "aria-labelledby": "kept-title" }, h("div", { class: "pane-head" }, h("h2", { id: "kept-title" }, t("train.kept")), h("div", { class: "row" }, h("label", { for: "kept-step" }, t("train.kept.step")), this.step)), h("p", { class: "small" }, t("train.kept.told")), this.rows);
    this.settings = folded(t("train.settings"), () => this.#settingsTable());
    this.node = h("div", { class: "report" }, this.facts, h("section", { "aria-label": t("train.curves") }, settings, this.names, this.main.node, this.held, this.small), this.settings, this.kept);
    this.chosen = kept?.step;
    this.draw(run);
    this.beside.offer();
  }

  keep() {
    return { step: this.step.value, weight: this.weight.value, beside: this.beside.chosen };
  }

  close() {
    [this.main, ...this.panels.values()].forEach((chart) => chart.close());
  }

  draw(run) {
    this.run = run;
    refill(this.facts, this.#facts().filter(([, fact]) => fact).map(([name, fact]) => h("div", {}, h("dt", {}, t(name)), h("dd", {}, fact))));
    this.#curves();
    this.kept.hidden = !run.kept.length;
    if (run.kept.length) this.#steps();
  }

  #curves() {
    this.#accuracy();
    PANELS.forEach(([name, warm]) => this.#panel(name, warm));
  }

  // The address leads to the same runs again.
  #setBeside(ids) {
    this.#curves();
    if (this.node.isConnected) rememberAddress(`#/run/${this.run.run}${ids.length ? `?beside=${ids.join(",")}` : ""}`);
  }

  // The open run and those beside it. Alone, a colour means a curve; beside others, it means a run.
  #each(draw) {
    const runs = [this.run, ...this.beside.runs];
    return runs.flatMap((run, place) => draw(run, { place, named: (name) => (runs.length > 1 ? `${name} · ${run.name}` : name), ink: (index) => (runs.length > 1 ? place : index) }) ?? []);
  }

  #points(curve) {
    return smooth(curve.points, Number(this.weight.value)).map(([x, y]) => ({ x, y }));
  }

  #facts() {
    const { totals, held_out: held, settings } = this.run;
    const best = held.filter(({ warm }) => !warm).reduce((one, other) => (one && one.accuracy > other.accuracy ? one : other), null);
    const asked = settings.train?.steps;
    return [
      ["train.state", t(this.run.quiet < GOING ? "train.going" : "train.rests")],
      ["train.warm", totals.warm && number(totals.warm)],
      ["train.steps", asked ? t("train.steps.of", { steps: number(totals.steps), asked: number(asked) }) : number(totals.steps)],
      ["train.best", best && `${percent(best.accuracy)} [${percent(best.low)}, ${percent(best.high)}], n = ${number(best.n)}`],
      ["train.rollouts", totals.rollouts && t("train.rollouts.told", { count: number(totals.rollouts), failed: number(totals.failed) })],
      ["train.tokens", totals.tokens && number(totals.tokens)],
      ["reading.took", duration(totals.seconds)],
    ];
  }

  // Where the reward of every rollout is its accuracy, one line shows both.
  #accuracy() {
    const told = ({ step, accuracy: mean, low, high, n }) => `${t("train.step", { step: number(step) })}: ${percent(mean)} [${percent(low)}, ${percent(high)}], n = ${number(n)}`;
    const series = this.#each((run, { named, ink }) => {
      const held = { name: named(t("curve.held")), index: ink(0), points: run.held_out.map((one) => ({ x: one.step, y: one.accuracy, low: one.low, high: one.high, told: told(one) })) };
      const [reward, accuracy] = ["reward", "accuracy"].map((name) => curveOf(run, name));
      const same = reward && accuracy && JSON.stringify(reward.points) === JSON.stringify(accuracy.points);
      const line = (curve, index) => (curve ? [{ name: named(t(`curve.${curve.name}`)), index: ink(index), marks: false, faint: true, points: this.#points(curve) }] : []);
      return [held, ...line(reward, 1), ...(same ? [] : line(accuracy, 2))];
    }).filter((one) => one.points.length);
    const negative = series.some(({ points: all }) => all.some(({ y }) => y < 0 || y > 1));
    Object.assign(this.main.y, negative ? { low: undefined, high: undefined, ticks: undefined, format: figure } : SHARE);
    this.main.show(series, this.#turn);
    const names = series.map(({ name, index }) => `${index} ${name}`).join("\n");
    if (names !== this.named) refill(this.names, legend(series, [this.main]));
    this.named = names;
  }

  get #turn() {
    const { warm, steps } = this.run.totals;
    return warm && steps ? warm : null;
  }

  // A curve that is zero throughout, such as a divergence without weight, is not drawn.
  #panel(name, warm = false) {
    const key = warm ? `warm-${name}` : name;
    const phases = warm || name === "loss" ? [warm] : [true, false];
    const series = this.#each((run, { named, ink }) => {
      const found = phases.map((phase) => curveOf(run, name, phase)).filter((curve) => curve?.points.some(([, y]) => y));
      return found.map((curve) => ({ name: named(t(`curve.${name}`)), index: ink(curve.warm ? 3 : 1), marks: false, points: this.#points(curve) }));
    });
    if (!series.length && !this.panels.has(key)) return;
    if (!this.panels.has(key)) this.#begin(key, name);
    this.panels.get(key).show(series, phases.length > 1 ? this.#turn : null);
  }

  #begin(key, name) {
    const chart = new Chart({ label: t(`curve.${key}`), x: this.x, y: { format: SHARES.has(name) ? percent : figure }, tall: 170 });
    const several = () => this.beside.runs.length > 0;
    const cells = (of, { x, y }) => [number(x), ...(several() ? [of] : []), chart.y.format(y)];
    const rows = () => chart.series.flatMap(({ name: of, points: all }) => all.map((point) => cells(of, point)));
    const header = () => [t("train.steps"), ...(several() ? [t("train.run")] : []), t(`curve.${name}`)];
    this.panels.set(key, chart);
    this.small.append(h("div", {}, chart.node, folded(t("train.as-table"), () => figures({ caption: t(`curve.${key}`), header: header(), rows: rows() }))));
  }

  #heldTable() {
    const rows = this.run.held_out.map(({ step, accuracy, low, high, n, failed, warm }) => [number(step), percent(accuracy), `${percent(low)}–${percent(high)}`, number(n), number(failed), warm ? t("train.warm.mark") : ""]);
    return figures({ caption: t("train.held.told"), header: [t("train.steps"), t("curve.held"), t("train.interval"), "n", t("eval.failed"), ""], rows });
  }

  #settingsTable() {
    const rows = [...leaves(this.run.settings)].map(([name, value]) => [name, value]);
    return rows.length ? figures({ caption: "", header: [t("train.setting"), t("train.value")], rows }) : h("p", { class: "small" }, t("train.no-settings"));
  }

  #steps() {
    const known = this.step.options.length;
    offered(this.step, this.run.kept.map(({ step, rollouts, reward }) => [String(step), t("train.kept.option", { step: number(step), count: number(rollouts), reward: figure(reward) })]));
    if (known) return;
    this.step.value = this.chosen || String(this.run.kept.at(-1).step);
    this.#rollouts();
  }

  async #rollouts() {
    const step = this.step.value;
    const found = await service.rollouts(this.run.run, step).catch((problem) => problem);
    if (step !== this.step.value) return;
    if (found instanceof Error) return void refill(this.rows, h("p", { class: "small problem", role: "alert" }, found.message));
    refill(this.rows, figures({ caption: t("train.rollouts.caption", { step: number(Number(step)) }), header: ["sample", "rollout", "reward", "advantage", "parts"].map((name) => t(`train.${name}`)), rows: found.map((one) => this.#rollout(one)), kind: "rollouts" }));
    return undefined;
  }

  #rollout({ sample, rollout, reading, reward, advantage, parts, outcome, error }) {
    const name = rollout.split("/").at(-1);
    const link = reading ? h("a", { href: `#/run/${this.run.run}/reading/${encodeURIComponent(reading)}`, "aria-label": t("train.open", { sample, rollout: name }) }, t("train.open.short", { rollout: name })) : name;
    return [sample, link, reward === null ? t(`outcome.${outcome}`) : figure(reward), advantageMark(advantage), error || Object.entries(parts).map(([part, value]) => `${part} ${figure(value)}`).join(" · ")];
  }
}

function* leaves(table, prefix = "") {
  for (const [name, value] of Object.entries(table)) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) yield* leaves(value, `${prefix}${name}.`);
    else yield [`${prefix}${name}`, value === null ? "–" : value === "" ? "“”" : String(value)];
  }
}

const curveOf = (run, name, warm = false) => run.curves.find((curve) => curve.name === name && curve.warm === warm);
