// Other training runs that are drawn into the plots of the open one: chosen by name, each with a colour of its own.

import { swatch } from "./chart.js";
import { h, refill } from "./dom.js";
import * as service from "./service.js";
import { number, t } from "./words.js";

export class Beside {
  // `chosen` are the ids to begin with; `changed(ids)` is told whenever the runs in `runs` are others.
  constructor(run, chosen, changed) {
    Object.assign(this, { run, changed, runs: [], chosen: [...chosen] });
    this.label = h("summary", { class: "button" });
    this.list = h("div", { class: "choices" });
    this.node = h("details", { class: "menu beside", hidden: true }, this.label, this.list);
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.node.open = false;
    });
    this.#tell();
  }

  // Which other training runs there are; one that was asked for and is gone is left out.
  async offer() {
    const runs = await service.runs().catch(() => []);
    const others = runs.filter(({ kind, run }) => kind === "training" && run !== this.run);
    this.node.hidden = !others.length;
    this.names = others;
    this.chosen = this.chosen.filter((id) => others.some(({ run }) => run === id));
    await this.#load();
  }

  async #load() {
    const wanted = [...this.chosen];
    const found = await Promise.all(wanted.map((id) => this.runs.find(({ run }) => run === id) ?? service.run(id).then(({ told }) => told, () => null)));
    if (wanted.join() !== this.chosen.join()) return;
    this.runs = found.filter(Boolean);
    this.#tell();
    this.changed(this.chosen);
  }

  #tell() {
    refill(this.label, t("curve.beside"), this.runs.length > 0 && ` (${number(this.runs.length)})`);
    const place = (id) => this.runs.findIndex(({ run }) => run === id) + 1;
    const line = ({ run, name }) => {
      const box = h("input", { type: "checkbox", checked: this.chosen.includes(run), onchange: () => this.#choose(run, box.checked) });
      return h("label", { class: "choice" }, box, " ", place(run) > 0 && swatch(place(run)), " ", h("bdi", {}, name));
    };
    const focused = [...this.list.querySelectorAll("input")].indexOf(document.activeElement);
    refill(this.list, (this.names ?? []).map(line));
    this.list.querySelectorAll("input")[focused]?.focus();
  }

  #choose(id, on) {
    this.chosen = on ? [...this.chosen, id] : this.chosen.filter((other) => other !== id);
    this.#load();
  }
}
