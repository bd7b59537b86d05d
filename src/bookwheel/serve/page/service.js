// The server's routes. A refusal becomes an Error with the server's message; so does a server that cannot be reached.

import { t } from "./words.js";

export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const response = await answer(path, options);
  return response.status === 204 ? null : response.json();
}

async function answer(path, options = {}) {
  const response = await fetch(path, { credentials: "same-origin", ...options }).catch(() => {
    throw new Refusal(t("error.away"), 0);
  });
  if (response.ok || response.status === 304) return response;
  const told = await response.json().catch(() => ({}));
  const sentence = typeof told.error === "string" ? told.error : told.error?.message;
  throw new Refusal(sentence || `${response.status} ${response.statusText}`, response.status);
}

const post = (path, body) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) });
const at = (id, base = "") => `${base}/readings/${encodeURIComponent(id)}`;
const CHANGES = "?changes=1"; // the server compares the memories of each step
const span = (document, start, end, base = "") =>
  ask(`${base}/documents/${encodeURIComponent(document)}/text?start=${start}&end=${end}`).then((told) => told.text);

export const models = () => ask("/models");
export const enter = (key) => post("/session", { key });
export const readings = (search = "", limit = 60) =>
  ask(`/readings?${new URLSearchParams(search ? { search, limit } : { limit })}`).then((told) => told.readings ?? told);
export const reading = (id) => ask(`${at(id)}${CHANGES}`);
export const origins = (id) => ask(`${at(id)}/origins`).then((told) => told.origins ?? told);
export const text = (document, start, end) => span(document, start, end);
export const cancel = (id) => post(`${at(id)}/cancel${CHANGES}`);
export const resume = (id, budget) => post(`${at(id)}/resume${CHANGES}`, budget ? { plan: { budget } } : {});
export const fork = (id, step, memory) => post(`${at(id)}/fork`, { step, memory });
export const remove = (id) => ask(at(id), { method: "DELETE" });
export const runs = () => ask("/runs");
export const samples = (run, wanted) => ask(`${shelf(run)}/samples?${new URLSearchParams(wanted)}`);
export const rollouts = (run, step) => ask(`${shelf(run)}/rollouts?step=${step}`);
const shelf = (run) => `/runs/${encodeURIComponent(run)}`;

// A run and its ETag; null where it has not changed since the given ETag.
export async function run(id, tag = null) {
  const response = await answer(shelf(id), tag ? { headers: { "If-None-Match": tag } } : {});
  return response.status === 304 ? null : { told: await response.json(), tag: response.headers.get("ETag") };
}

// The source of readings: the server's own journal, or the read-only journal of a run.
export const own = { place: (id) => `#/reading/${encodeURIComponent(id)}`, file: at, reading, origins, text };
export const keptIn = (run) => ({
  place: (id) => `#/run/${encodeURIComponent(run)}/reading/${encodeURIComponent(id)}`,
  file: (id) => at(id, shelf(run)),
  reading: (id) => ask(`${at(id, shelf(run))}${CHANGES}`),
  origins: (id) => ask(`${at(id, shelf(run))}/origins`),
  text: (document, start, end) => span(document, start, end, shelf(run)),
});

export const upload = (file) =>
  ask("/documents", {
    method: "POST",
    headers: { "X-Filename": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" },
    body: file,
  });

// A random idempotency key, so that a request sent twice starts one reading.
export const start = (wanted) => {
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
  return ask("/readings", {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": key.join("") },
    body: JSON.stringify(wanted),
  });
};

// The browser reconnects by itself after the last event it has; a final status closes the stream.
export function follow(id, { step, status, lost, waiting = () => {} }) {
  const source = new EventSource(`${at(id)}/events${CHANGES}`);
  source.addEventListener("step", (event) => step(JSON.parse(event.data)));
  source.addEventListener("waiting", (event) => waiting(JSON.parse(event.data)));
  source.addEventListener("status", (event) => {
    const told = JSON.parse(event.data);
    if (told.status !== "reading") source.close();
    status(told);
  });
  source.addEventListener("error", () => lost(source.readyState === EventSource.CLOSED));
  return () => source.close();
}
