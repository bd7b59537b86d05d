// The timeline: the document from beginning to end, one bar a step; its height is the share of the memory that changed.
// The bars are painted once into a second canvas, so that a frame is one copy and one line, for any number of steps; a
// step that arrives adds its bar. For the keyboard and for screen readers it is a slider.

import { h } from "./dom.js";
import { number, pages, t } from "./words.js";

const TALL = 30;
const FOOT = 9; // below the bars, for the marks of the evidence
const KNOB = 5; // radius of the head, which stays whole at both ends
const KEYS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: -10, PageDown: 10 };

export class Ribbon {
  constructor({ trace, length, proofs = () => [], move }) {
    Object.assign(this, { trace, length, proofs, move, at: -1, marked: -1, stale: true, painted: 0, inks: null, wide: 0 });
    this.still = document.createElement("canvas");
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.node = h("div", { class: "ribbon", role: "slider", tabindex: "0", "aria-label": t("timeline.slider"), "aria-valuemin": 0 }, this.canvas);
    this.#listen();
  }

  #listen() {
    const point = (event) => this.move(this.trace.stepAt(this.#character(event)));
    this.node.addEventListener("pointerdown", (event) => {
      if (!this.trace.length || event.button) return;
      this.node.setPointerCapture(event.pointerId);
      point(event);
    });
    this.node.addEventListener("pointermove", (event) => {
      if (this.node.hasPointerCapture(event.pointerId)) point(event);
    });
    // Told, not asked for: to ask makes the browser lay out the page in the middle of a frame.
    this.watch = new ResizeObserver(([entry]) => {
      this.wide = entry.contentRect.width;
      this.repaint();
    });
    this.watch.observe(this.node);
    this.again = () => {
      this.inks = null;
      this.repaint();
    };
    addEventListener("repaint", this.again);
  }

  close() {
    this.watch.disconnect();
    removeEventListener("repaint", this.again);
  }

  #character(event) {
    const box = this.node.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * this.whole - 1e-6;
  }

  get whole() {
    return Math.max(this.length ?? 0, this.trace.steps.at(-1)?.end ?? 0, 1);
  }

  repaint() {
    this.stale = true;
    this.draw(this.at, this.marked);
  }

  draw(at, marked = -1) {
    Object.assign(this, { at, marked });
    this.#tell();
    const { wide } = this;
    if (!wide) return;
    const sharp = devicePixelRatio || 1;
    if (this.stale || this.still.width !== Math.round(wide * sharp) || this.scale !== this.whole) this.#paint(wide, sharp);
    else this.#paintNew(wide);
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.still, 0, 0);
    pen.scale(sharp, sharp);
    if (this.flight) this.#flight(pen, wide);
    if (marked >= 0) this.#band(pen, wide, marked, this.inks.fresh, 0.45);
    if (at >= 0) this.#head(pen, wide, at);
  }

  #tell() {
    const step = this.trace.steps[this.at];
    this.node.setAttribute("aria-valuemax", Math.max(0, this.trace.last));
    this.node.setAttribute("aria-valuenow", Math.max(0, this.at));
    const told = step ? [t("timeline.step", { at: number(this.at), last: number(this.trace.last) }), pages(step.pages)] : [t("timeline.begin")];
    this.node.setAttribute("aria-valuetext", told.filter(Boolean).join(", "));
  }

  #paint(wide, sharp) {
    for (const canvas of [this.still, this.canvas]) {
      canvas.width = Math.round(wide * sharp);
      canvas.height = Math.round((TALL + FOOT) * sharp);
    }
    this.inks ??= this.#inks();
    const pen = this.still.getContext("2d");
    pen.scale(sharp, sharp); // it stays: setting the width of a canvas had reset it
    pen.fillStyle = this.inks.rule;
    pen.globalAlpha = 0.35;
    pen.fillRect(0, TALL - 1, wide, 1);
    [this.painted, this.scale] = [0, this.whole];
    this.#paintNew(wide);
    pen.globalAlpha = 1;
    pen.fillStyle = this.inks.ink;
    for (const proof of this.proofs()) this.#proof(pen, (proof.start / this.whole) * wide);
    this.stale = false;
  }

  #paintNew(wide) {
    const pen = this.still.getContext("2d");
    for (const step of this.trace.steps.slice(this.painted)) this.#bar(pen, wide, step);
    this.painted = this.trace.length;
  }

  #bar(pen, wide, step) {
    const x = (step.start / this.whole) * wide;
    const room = ((step.end - step.start) / this.whole) * wide;
    const broad = Math.max(1, room - (room > 4 ? 1.5 : 0));
    const share = step.changed_share;
    const high = share ? Math.max(3, Math.sqrt(share) * TALL) : 0;
    pen.globalAlpha = 0.5;
    pen.fillStyle = this.inks.rule;
    pen.fillRect(x, 0, broad, TALL);
    pen.globalAlpha = 0.9;
    pen.fillStyle = step.flags.includes("edited") ? this.inks.fresh : this.inks.accent;
    pen.fillRect(x, TALL - high, broad, high);
  }

  // The section that is being read.
  #flight(pen, wide) {
    pen.globalAlpha = 0.35;
    pen.fillStyle = this.inks.fresh;
    pen.fillRect((this.flight.start / this.whole) * wide, 0, Math.max(3, ((this.flight.end - this.flight.start) / this.whole) * wide), TALL);
    pen.globalAlpha = 1;
  }

  #proof(pen, x) {
    pen.beginPath();
    pen.moveTo(x, TALL + 2);
    pen.lineTo(x + 3.5, TALL + FOOT);
    pen.lineTo(x - 3.5, TALL + FOOT);
    pen.fill();
  }

  #band(pen, wide, at, ink, strength) {
    const step = this.trace.steps[at];
    pen.globalAlpha = strength;
    pen.fillStyle = ink;
    pen.fillRect((step.start / this.whole) * wide, 0, Math.max(2, ((step.end - step.start) / this.whole) * wide), TALL);
    pen.globalAlpha = 1;
  }

  #head(pen, wide, at) {
    const step = this.trace.steps[at];
    const x = Math.max(KNOB, Math.min(wide - KNOB, (((step.start + step.end) / 2) * wide) / this.whole));
    pen.fillStyle = this.inks.ink;
    pen.fillRect(x - 1, 0, 2, TALL);
    pen.beginPath();
    pen.arc(x, KNOB, KNOB - 1, 0, 7);
    pen.fill();
  }

  #inks() {
    const probe = h("i", { hidden: true });
    this.node.append(probe);
    const ink = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    const inks = { ink: ink("ink"), rule: ink("rule"), accent: ink("accent"), fresh: ink("fresh") };
    probe.remove();
    return inks;
  }
}

// The step that a key leads to from step `at`, or null for other keys.
export function stepOfKey(event, at, last) {
  if (event.key === "Home") return 0;
  if (event.key === "End") return last;
  return event.key in KEYS ? Math.max(0, Math.min(last, at + KEYS[event.key])) : null;
}
