// An evaluation: the accuracy and cost of each way of reading at each length, and every sample.

import { rememberAddress } from "./address.js";
import { Chart, legend } from "./chart.js";
import { h, later, refill } from "./dom.js";
import { Matrix } from "./matrix.js";
import { explainReport } from "./reasons.js";
import { Samples } from "./samples.js";
import { figures, folded, offered } from "./tables.js";
import { compact, duration, number, percent, points, t } from "./words.js";

const ALL = "all";
const BESIDE = 4; // lengths with which the table leaves room for the plots beside it

export class EvaluationView {
  constructor(run, query, kept) {
    this.run = run;
    this.tasks = h("select", { id: "report-task", onchange: () => this.#drawn() });
    const x = { log: true, ticks: () => this.#lengths(), format: compact, told: (length) => t("eval.tokens", { length: number(length) }) };
    this.accuracy = new Chart({ label: t("eval.accuracy.plot"), x, y: { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1], format: percent }, tall: 280 });
    this.tokens = new Chart({ label: t("eval.tokens.plot"), x, y: { log: true, format: compact }, tall: 240 });
    this.names = h("div");
    this.grid = h("div");
    this.costs = h("div");
    this.made = h("div", { class: "made" });
    this.samples = new Samples(run.run, query, later(200, (place) => rememberAddress(`#/run/${run.run}${place}`)));
    this.matrix = new Matrix(run.run, () => this.run.cells);
    this.causes = h("div");
    const plots = h("section", { "aria-label": t("eval.plots") }, this.names, h("div", { class: "plots" }, this.accuracy.node, this.tokens.node));
    this.top = h("div", { class: "top-figures" }, this.grid, plots);
    this.node = h(
      "div",
      { class: "report" },
      h("div", { class: "row" }, h("label", { for: "report-task" }, t("eval.task")), this.tasks),
      this.top,
      this.causes,
      this.matrix.node,
      this.costs,
      this.made,
      this.samples.node,
    );
    this.task = kept?.task;
    this.draw(run);
  }

  keep() {
    return { task: this.tasks.value };
  }

  close() {
    this.accuracy.close();
    this.tokens.close();
    this.samples.close();
    this.matrix.close();
  }

  draw(run) {
    this.run = run;
    const tasks = [...new Set(run.cells.map(({ task }) => task))].sort((one, other) => (other === ALL) - (one === ALL));
    offered(this.tasks, tasks.map((task) => [task, task === ALL ? t("eval.all-tasks") : task]));
    if (tasks.includes(this.task)) this.tasks.value = this.task;
    this.task = undefined;
    this.samples.offer(run.cells.filter(({ task }) => task !== ALL));
    refill(this.made, this.#differences(), ...run.sections.map((section) => this.#section(section)));
    this.#drawn();
  }

  get #cells() {
    return this.run.cells.filter(({ task }) => task === this.tasks.value);
  }

  #lengths() {
    return [...new Set(this.#cells.map(({ length }) => Math.max(1, length)))].sort((one, other) => one - other);
  }

  #drawn() {
    const readers = this.#readers();
    const spread = (index) => (index - (readers.length - 1) / 2) * Math.min(5, 36 / readers.length);
    const series = (of, shifted) => readers.map(({ name, cells }, index) => ({ name, index, shift: shifted ? spread(index) : 0, points: cells.filter(measured).map((cell) => ({ x: Math.max(1, cell.length), ...of(cell) })) }));
    const score = ({ score: { mean, low, high, n }, way, length }) => ({ y: mean, low, high, told: `${way} · ${number(length)}: ${percent(mean)} [${percent(low)}, ${percent(high)}], n = ${number(n)}` });
    const spent = ({ prompt_tokens, completion_tokens, way, length }) => ({ y: prompt_tokens + completion_tokens, told: `${way} · ${number(length)}: ${number(Math.round(prompt_tokens + completion_tokens))}` });
    this.accuracy.show(series(score, true));
    this.tokens.show(series(spent, false).map((one) => ({ ...one, points: one.points.filter(({ y }) => y > 0) })));
    const names = readers.map(({ name }) => name).join("\n");
    if (names !== this.named) refill(this.names, legend(series(score), [this.accuracy, this.tokens]));
    this.named = names;
    refill(this.grid, this.#grid(readers));
    this.top.classList.toggle("beside", this.#lengths().length <= BESIDE);
    refill(this.causes, this.#causes());
    refill(this.costs, folded(t("eval.cells"), () => this.#costs()));
  }

  // Models and ways in the order of the report, each with its cells by length.
  #readers() {
    const found = new Map();
    const alone = new Set(this.#cells.map(({ model }) => model)).size === 1;
    for (const cell of this.#cells) {
      const name = alone ? cell.way : `${cell.model} · ${cell.way}`;
      if (!found.has(name)) found.set(name, []);
      found.get(name).push(cell);
    }
    return [...found].map(([name, cells]) => ({ name, cells: cells.sort((one, other) => one.length - other.length) }));
  }

  #grid(readers) {
    const lengths = [...new Set(this.#cells.map(({ length }) => length))].sort((one, other) => one - other);
    const rows = readers.map(({ name, cells }) => [name, ...lengths.map((length) => this.#score(cells.find((cell) => cell.length === length)))]);
    const counts = [...new Set(this.#cells.map(({ score }) => number(score.n)))].join(", ");
    const [metrics, methods] = [this.#cells.map(({ metric }) => metric), this.#cells.map(({ score }) => score.method)].map((all) => [...new Set(all)].join(", "));
    return figures({
      caption: [t("eval.grid"), t("eval.metric", { metrics }), `n = ${counts}`, t("eval.interval", { methods })].join(" · "),
      header: [t("eval.way"), ...lengths.map(number)],
      rows,
      kind: "grid",
    });
  }

  #score(cell) {
    if (!cell) return "–";
    const press = () => this.samples.want({ model: cell.model, way: cell.way, task: cell.task === ALL ? "" : cell.task, length: String(cell.length) });
    if (!measured(cell)) return h("span", { class: "soft" }, t("eval.no-fit"));
    const { mean, low, high, n } = cell.score;
    const button = h("button", { type: "button", class: "score", title: t("eval.see", { count: number(n) }), onclick: press }, h("b", {}, points(mean)), h("span", {}, `${points(low)}–${points(high)}`));
    button.style.setProperty("--share", `${Math.round(100 * mean)}%`);
    return button;
  }

  // Where the evidence of each wrong answer was lost; ways without a memory have none to lose it from.
  #causes() {
    const cells = this.#cells.filter(({ memory }) => Object.keys(memory ?? {}).length);
    if (!cells.length) return null;
    const causes = ["never-captured", "overwritten", "misused", "unsupported", "supported"].filter((cause) => cells.some(({ memory }) => memory[cause]));
    const sum = (all, cause) => all.reduce((total, { memory }) => total + (memory[cause] ?? 0), 0);
    const press = (cause, model, way) => () => this.samples.want({ model, way, memory: cause });
    const rows = this.#readers().flatMap(({ name, cells: all }) => {
      const own = all.filter((cell) => cells.includes(cell));
      if (!own.length) return [];
      const [{ model, way }] = own;
      return [[name, ...causes.map((cause) => (sum(own, cause) ? h("button", { type: "button", class: "quiet", onclick: press(cause, model, way) }, number(sum(own, cause))) : "0"))]];
    });
    return folded(t("eval.causes"), () => figures({ caption: t("eval.causes.told"), header: [t("eval.way"), ...causes.map((cause) => t(`cause.${cause}`, { step: "…" }))], rows }));
  }

  #costs() {
    const header = ["way", "length", "n", "score", "failed", "stopped", "refused", "truncated", "cut", "prompt", "reply", "seconds", "cost"].map((name) => t(`eval.${name}`));
    const rows = this.#readers().flatMap(({ name, cells }) => cells.map((cell) => [name, number(cell.length), number(cell.score.n), measured(cell) ? points(cell.score.mean) : t("eval.no-fit"), ...["failed", "stopped", "refused", "truncated", "cut"].map((one) => number(cell[one])), number(Math.round(cell.prompt_tokens)), number(Math.round(cell.completion_tokens)), duration(cell.seconds), cell.cost ? cell.cost.toPrecision(3) : "0"]));
    return figures({ caption: t("eval.cells.told"), header, rows });
  }

  #differences() {
    if (!this.run.differences.length) return null;
    const header = ["first", "second", "task", "length", "pairs", "ahead", "wins", "losses", "p", "holm"].map((name) => t(`eval.${name}`));
    const chance = (p) => (p >= 0.001 ? p.toFixed(3) : p.toExponential(1));
    const signed = (value) => (value === null ? "–" : `${value > 0 ? "+" : value < 0 ? "−" : "±"}${points(Math.abs(value))}`);
    const rows = this.run.differences.map(({ first, second, task, length, difference: one, holm }) => [
      first,
      second,
      task === ALL ? t("eval.all-tasks") : task,
      length === null ? t("eval.all-lengths") : number(length),
      number(one.n),
      `${signed(one.mean)} [${signed(one.low)}, ${signed(one.high)}]`,
      number(one.ahead),
      number(one.behind),
      chance(one.p),
      chance(holm),
    ]);
    return folded(t("eval.differences"), () => figures({ caption: t("eval.differences.told"), header, rows }));
  }

  #section({ title, words, tables }) {
    const known = { "No answer": "eval.no-answer", "How this was made": "eval.made" }[title];
    const inWords = ({ caption, header, rows }) => figures({ caption: explainReport(caption), header: header.map(explainReport), rows: rows.map((row) => row.map(explainReport)) });
    return folded(known ? t(known) : title, () => [words.map((word) => h("p", { class: "small" }, explainReport(word))), tables.map(inWords)]);
  }
}

const measured = (cell) => cell.refused < cell.score.n;
