// The server's routes. A refusal becomes an Error with the server's message; so does a server that cannot be reached.

import { Refusal, explain } from "./refusals.js";
import { t } from "./words.js";

export { Refusal };

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
  throw new Refusal(sentence ? explain(sentence) : `${response.status} ${response.statusText}`, response.status);
}

const send = (method, path, body) =>
  ask(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) });
const post = (path, body) => send("POST", path, body);
const at = (id, base = "") => `${base}/readings/${encodeURIComponent(id)}`;
const book = (sha) => `/documents/${encodeURIComponent(sha)}`;
const CHANGES = "?changes=1"; // the server compares the memories of each step
const query = (values) => new URLSearchParams(Object.entries(values).filter(([, value]) => value || value === 0));
const span = (document, start, end, base = "") =>
  ask(`${base}${book(document)}/text?start=${start}&end=${end}`).then((told) => told.text);

let asked = null;
// Kept once every server has said what its model can do.
export const models = () => (asked ??= ask("/models").then(
  (told) => (told.some(({ abilities }) => abilities === null) && (asked = null), told),
  (problem) => ((asked = null), Promise.reject(problem)),
));
export const enter = (key) => post("/session", { key });
export const readings = (wanted = {}) => ask(`/readings?${query(wanted)}`);
export const documents = (wanted = {}) => ask(`/documents?${query(wanted)}`);
export const changeDocuments = (documents, change) => send("PATCH", "/documents", { documents, ...change });
export const shelf = () => ask("/shelf");
export const document = (sha) => ask(book(sha));
export const find = (sha, text) => ask(`${book(sha)}/find?${query({ text, limit: 500 })}`);
export const search = (words, limit) => ask(`/search?${query({ query: words, limit })}`);
export const labelDocument = (sha, label) => send("PATCH", book(sha), label);
export const labelReading = (id, label) => send("PATCH", at(id), label);
// The address of the file that a document was read from.
export const original = (sha) => `${book(sha)}/original`;
export const removeDocument = (sha) => ask(book(sha), { method: "DELETE" });
export const call = (id, number) => ask(`${at(id)}/calls/${number}`);
export const reading = (id) => ask(`${at(id)}${CHANGES}`);
export const origins = (id) => ask(`${at(id)}/origins`);
export const worth = (id) => post(`${at(id)}/worth`);
export const text = (document, start, end) => span(document, start, end);
export const judge = (id, model) => post(`${at(id)}/judge${CHANGES}`, { model });
export const cancel = (id) => post(`${at(id)}/cancel${CHANGES}`);
export const resume = (id, budget) => post(`${at(id)}/resume${CHANGES}`, budget ? { plan: { budget } } : {});
export const fork = (id, step, memory) => post(`${at(id)}/fork`, { step, memory });
export const remove = (id) => ask(at(id), { method: "DELETE" });
export const rows = (id, limit) => ask(`${at(id)}/rows?limit=${limit}`);
export const rowsBy = (id, sql) => ask(`${at(id)}/rows?${query({ sql })}`);
export const askRows = (id, question) => post(`${at(id)}/rows`, { question });
export const rowsFile = (id, format) => `${at(id)}/rows?format=${format}`;
export const graph = (id, wanted) => ask(`${at(id)}/graph?${query(wanted)}`);
export const changeRow = (id, change) => send("PATCH", `${at(id)}/rows`, change);
export const proposeOutline = (brief) => post("/outlines", { brief });
const ordered = ({ questions }) => (questions ? "/matrices" : "/reports");
export const report = (order) => post(ordered(order), order);
export const reportFile = async (order, kind) =>
  (await answer(`${ordered(order)}?format=${kind}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(order) })).blob();
const lasting = (name) => `/memories/${encodeURIComponent(name)}`;
export const memories = () => ask("/memories");
export const beginMemory = (name, about) => post("/memories", { name, about });
export const addText = (name, text, source, day) => post(`${lasting(name)}/texts`, { text, source, at: day || null });
export const addFile = async (name, file, source, day) =>
  post(`${lasting(name)}/texts`, { document: (await upload(file)).document, source: source || file.name, at: day || null });
export const memoryPicture = (name, sha256) => `${lasting(name)}/pictures/${sha256}`;
export const correctMemory = (name, old, changed) => post(`${lasting(name)}/edits`, { old, new: changed });
export const memory = (name) => ask(lasting(name));
export const memoryLog = (name) => ask(`${lasting(name)}/log`);
export const askMemory = (name, question, day) => post(`${lasting(name)}/questions`, { question, as_of: day || null });
export const forgetSource = (name, source, preview) => post(`${lasting(name)}/forgets`, { source, preview });
export const runs = () => ask("/runs");
export const samples = (run, wanted) => ask(`${runAt(run)}/samples?${new URLSearchParams(wanted)}`);
export const matrix = (run, wanted) => ask(`${runAt(run)}/matrix?${query(wanted)}`);
// One run as a file that opens without a server.
export const share = (run) => `${runAt(run)}/page`;
export const rollouts = (run, step) => ask(`${runAt(run)}/rollouts?step=${step}`);
const runAt = (run) => `/runs/${encodeURIComponent(run)}`;

// A run and its ETag; null where it has not changed since the given ETag.
export async function run(id, tag = null) {
  const response = await answer(runAt(id), tag ? { headers: { "If-None-Match": tag } } : {});
  return response.status === 304 ? null : { told: await response.json(), tag: response.headers.get("ETag") };
}

// The source of readings: the server's own journal, or the read-only journal of a run.
export const own = {
  place: (id) => `#/reading/${encodeURIComponent(id)}`,
  file: at,
  reading,
  rows: true,
  origins,
  text,
  find,
  outline: (sha) => ask(`${book(sha)}/outline`),
  places: (sha, start, end) => ask(`${book(sha)}/places?start=${start}&end=${end}`),
  picture: (sha, label) => `${book(sha)}/pictures?${query({ label })}`,
  page: (sha, source, page, width) => `${book(sha)}/pages/${page}?${query({ source, width })}`,
};
export const keptIn = (run) => ({
  place: (id) => `#/run/${encodeURIComponent(run)}/reading/${encodeURIComponent(id)}`,
  file: (id) => at(id, runAt(run)),
  reading: (id) => ask(`${at(id, runAt(run))}${CHANGES}`),
  origins: (id) => ask(`${at(id, runAt(run))}/origins`),
  text: (document, start, end) => span(document, start, end, runAt(run)),
});

// The recorded reading that comes with the page; it needs no model and no journal.
export async function recorded() {
  const told = await (await answer("/page/sample.json")).json();
  const characters = Array.from(told.text);
  return {
    text: told.text,
    question: told.reading.question,
    shelf: {
      place: () => "#/sample",
      file: () => "/page/sample.json",
      reading: async () => told.reading,
      origins: async () => told.origins,
      text: async (_, start, end) => characters.slice(start, end).join(""),
    },
  };
}

export const upload = (file) =>
  ask("/documents", {
    method: "POST",
    headers: { "X-Filename": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" },
    body: file,
  });

// Several files as one document, in their order.
export const uploadTogether = (files) => {
  const body = new FormData();
  files.forEach((file) => body.append("file", file));
  return ask("/documents", { method: "POST", body });
};

// What a form asks for where no question is needed: a graph of the document.
export const GRAPH = "graph of all";

// A random idempotency key, so that a request sent twice starts one reading.
export const start = (wanted) => {
  const isGraph = wanted.way === GRAPH;
  const { way, question, questions, ...rest } = wanted;
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
  return ask(isGraph ? "/graphs" : "/readings", {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": key.join("") },
    body: JSON.stringify(isGraph ? rest : wanted),
  });
};

// The browser reconnects by itself after the last event it has; a final status closes the stream.
export function follow(id, { step, status, lost, answer = () => {}, waiting = () => {}, writing = () => {} }) {
  const source = new EventSource(`${at(id)}/events${CHANGES}&live=1`);
  source.addEventListener("step", (event) => step(JSON.parse(event.data)));
  source.addEventListener("answer", (event) => answer(JSON.parse(event.data)));
  source.addEventListener("writing", (event) => writing(JSON.parse(event.data)));
  source.addEventListener("waiting", (event) => waiting(JSON.parse(event.data)));
  source.addEventListener("status", (event) => {
    const told = JSON.parse(event.data);
    if (told.status !== "reading") source.close();
    status(told);
  });
  source.addEventListener("error", () => lost(source.readyState === EventSource.CLOSED));
  return () => source.close();
}
