// Names and stars: a star is a toggle, a name is written over in its place.

import { h, refill } from "./dom.js";
import { t } from "./words.js";

export class Star {
  constructor(on, set) {
    Object.assign(this, { on, set });
    this.node = h("button", { type: "button", class: "quiet star", onclick: () => this.toggle() });
    this.#draw();
  }

  async toggle() {
    this.on = !this.on;
    this.#draw();
    try {
      await this.set(this.on);
    } catch {
      this.on = !this.on; // the server did not take it
      this.#draw();
    }
  }

  #draw() {
    const label = t(this.on ? "label.unstar" : "label.star");
    this.node.setAttribute("aria-pressed", this.on);
    this.node.setAttribute("aria-label", label);
    this.node.title = label;
    refill(this.node, this.on ? "★" : "☆");
  }
}

// Puts a field over `node` until Enter or Escape; an empty name gives back the own one.
export function rename(node, name, set) {
  const field = h("input", { class: "rename", value: name, maxlength: 300, "aria-label": t("label.name"), dir: "auto" });
  let over = false;
  const end = async (takes) => {
    if (over) return;
    over = true;
    const wanted = field.value.trim();
    field.replaceWith(node);
    if (takes && wanted !== name) await set(wanted);
  };
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") end(true);
    if (event.key === "Escape") end(false);
    event.stopPropagation();
  });
  field.addEventListener("blur", () => end(true));
  node.replaceWith(field);
  field.select();
}

// The first press asks, the second does it. Who goes elsewhere has said no.
export function confirmed(label, act, sure = t("act.delete.sure")) {
  let asked = false;
  const ask = (on) => {
    asked = on;
    refill(button, on ? sure : label);
  };
  const button = h("button", { type: "button", class: "plain", onclick: () => (asked ? act() : ask(true)), onblur: () => ask(false) }, label);
  return button;
}
