// The buttons below the timeline: steps back and on, to the next change, and playing.

import { h, refill } from "./dom.js";
import { t } from "./words.js";

const PLAY_EVERY = 450;

export class Transport {
  constructor({ trace, shown, newest, go }) {
    Object.assign(this, { trace, shown, newest, go });
    const button = (key, sign, act) => h("button", { class: "quiet", type: "button", "aria-label": t(key), title: t(key), onclick: act }, sign);
    this.player = button("timeline.play", "▷", () => this.play());
    this.place = h("p", { class: "place" });
    this.node = h(
      "div",
      { class: "transport", title: t("timeline.legend") },
      button("timeline.first", "⇤", () => go(0)),
      button("timeline.back", "←", () => go(shown() - 1)),
      this.player,
      button("timeline.on", "→", () => go(shown() + 1)),
      button("timeline.change", "↷", () => this.#nextChange()),
      button("timeline.newest", "⇥", () => go(null)),
      this.place,
    );
  }

  draw(...told) {
    refill(this.place, told);
  }

  close() {
    clearInterval(this.playing);
  }

  play() {
    if (this.playing) return this.#stop();
    if (this.newest()) this.go(0);
    refill(this.player, "‖").setAttribute("aria-label", t("timeline.pause"));
    this.playing = setInterval(() => {
      this.go(this.shown() + 1);
      if (this.newest()) this.#stop();
    }, Math.max(60, Math.min(PLAY_EVERY, 20_000 / this.trace.length)));
    return undefined;
  }

  #stop() {
    clearInterval(this.playing);
    this.playing = undefined;
    refill(this.player, "▷").setAttribute("aria-label", t("timeline.play"));
  }

  #nextChange() {
    const next = this.trace.steps.findIndex((step, at) => at > this.shown() && step.changed_share > 0);
    this.go(next < 0 ? null : next);
  }
}
