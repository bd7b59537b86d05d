// What service.js asks the server, answered from the data within the file: runs that were written into one HTML file.
// The file has this module in the place of service.js. The filters are those of lab/desk/matrix.py and routes.py.

import { Refusal } from "./refusals.js";
import { t } from "./words.js";

export { Refusal };

async function unpack() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

const { runs: listed, details, samples: stored, rollouts: rolled, readings: read, texts } = await unpack();

function found(table, id) {
  if (Object.hasOwn(table, id)) return table[id];
  throw new Refusal(t("error.not-found"), 404);
}

export const runs = async () => listed;
export const run = async (id, tag = null) => (tag ? null : { told: found(details, id), tag: "whole" });
export const rollouts = async (id, step) => found(rolled, id).filter((rollout) => rollout.step === Number(step));

const NAMES = ["model", "way", "task", "length"];
const isOn = (value) => Boolean(value) && value !== "0";

function hasText({ question, answer, golds, sample, error }, search) {
  return !search || [question, answer, ...golds, sample, error].join("\n").toLowerCase().includes(search.toLowerCase());
}

const hasNames = (sample, wanted) => NAMES.every((name) => wanted[name] === undefined || String(sample[name]) === wanted[name]);

function isWanted(sample, wanted) {
  if (isOn(wanted.wrong) && sample.score >= 1) return false;
  if (wanted.memory && sample.memory !== wanted.memory) return false;
  return hasNames(sample, wanted) && hasText(sample, wanted.search);
}

export async function samples(id, wanted) {
  const { start = 0, limit } = wanted;
  const all = found(stored, id).filter((sample) => isWanted(sample, wanted));
  return { total: all.length, start, samples: all.slice(start, start + limit) };
}

// Samples against readers, of one run or of two on the samples that both have.
export async function matrix(id, wanted) {
  const { start = 0, limit, against } = wanted;
  const readers = new Map();
  const rows = new Map();
  const ids = [...new Set([id, against].filter(Boolean))];
  for (const one of ids) for (const sample of found(stored, one)) if (hasNames(sample, wanted)) place(one, sample, readers, rows);
  const all = [...rows.values()].filter((cells) => isWantedRow(cells, [...readers.values()], ids, wanted));
  return { readers: [...readers.values()], total: all.length, start, rows: all.slice(start, start + limit).map((cells) => rowOf(cells, readers.size)) };
}

function place(run, sample, readers, rows) {
  const { model, way, task, length, content, question } = sample;
  const reader = JSON.stringify([run, model, way]);
  if (!readers.has(reader)) readers.set(reader, { run, model, way });
  const key = JSON.stringify([task, length, content || [sample.sample, question]]);
  const column = [...readers.keys()].indexOf(reader);
  if (!rows.has(key)) rows.set(key, new Map());
  const cells = rows.get(key);
  cells.set(column, [...(cells.get(column) ?? []), sample]);
}

const mean = (samples) => Number((samples.reduce((sum, { score }) => sum + score, 0) / samples.length).toFixed(4));

function isWantedRow(cells, readers, ids, { mixed, memory, search }) {
  if (ids.length > 1 && new Set([...cells.keys()].map((column) => readers[column].run)).size < ids.length) return false;
  if (isOn(mixed) && new Set([...cells.values()].map(mean)).size < 2) return false;
  const flat = [...cells.values()].flat();
  if (memory && flat.every((sample) => sample.memory !== memory)) return false;
  return flat.some((sample) => hasText(sample, search));
}

function rowOf(cells, columns) {
  const { task, length, sample, question, golds } = cells.values().next().value[0];
  return { task, length, sample, question, golds, cells: Array.from({ length: columns }, (_, column) => (cells.has(column) ? cellOf(cells.get(column)) : null)) };
}

// Repeats of a sample are one cell with their mean; it leads to the first of them, if the file has that reading.
function cellOf(samples) {
  const [{ outcome, answer, reading, memory, memory_step, kept }] = samples;
  return { score: mean(samples), repeats: samples.length, outcome, answer, reading: kept ? reading : "", memory, memory_step };
}

const characters = new Map(); // by document, because JavaScript counts UTF-16 units and places count characters

function textOf(sha) {
  if (!characters.has(sha)) characters.set(sha, Array.from(found(texts, sha)));
  return characters.get(sha);
}

export const own = { place: (id) => `#/reading/${encodeURIComponent(id)}` };
export const keptIn = (run) => {
  const reading = (id) => found(found(read, run), id);
  return {
    place: (id) => `#/run/${encodeURIComponent(run)}/reading/${encodeURIComponent(id)}`,
    file: (id) => URL.createObjectURL(new Blob([JSON.stringify(reading(id).reading)], { type: "application/json" })),
    reading: async (id) => reading(id).reading,
    origins: async (id) => reading(id).origins,
    text: async (document, start, end) => textOf(document).slice(start, end).join(""),
  };
};
