// The ways of reading in plain words. What a model cannot do is not offered.

import { GRAPH } from "./service.js";

const NAMES = ["fast", "thorough", "quotes", "table", "graph"];

// Those of a model, each with its way; an empty way is the server's own choice.
export function presetsOf({ way: own = "sequential", ways = [] } = {}) {
  const has = (name) => ways.includes(name);
  const quick = ["ranked", "bm25"].find((name) => has(name) && (own !== "quotes" || name !== "ranked"));
  const found = {
    fast: quick,
    thorough: own === "quotes" ? "sequential" : "",
    quotes: own === "quotes" ? "" : has("quotes") ? "quotes" : undefined,
    table: "collect",
    graph: own === "quotes" ? undefined : GRAPH, // its facts must be written
  };
  return NAMES.filter((name) => found[name] !== undefined).map((name) => ({ name, way: found[name], own }));
}

// About how many sections a text of so many characters has: a token is some four letters, or one Chinese character.
export function sectionsOf(text, length, chunk) {
  const wide = (text.match(/[\u3400-\u9fff]/g) ?? []).length / Math.max(1, text.length);
  return Math.max(1, Math.ceil(length / (chunk * (4 - 3 * wide))));
}
