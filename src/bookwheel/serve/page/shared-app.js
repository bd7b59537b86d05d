// Runs in one HTML file that needs no server. Routes: #/runs the list, #/run/ID one of them, #/run/ID/reading/ID a reading
// of a run.

import { h } from "./dom.js";
import { runView } from "./run.js";
import { runsView } from "./run-list.js";
import * as service from "./service.js";
import { Shell } from "./shell.js";
import { t } from "./words.js";
import { readingAlone } from "./workspace.js";

const alone = (await service.runs()).length === 1 ? (await service.runs())[0].run : null;
const routes = [
  [/^\/(?:runs)?$/, (_, query, kept) => (alone ? runView(alone, query, kept) : runsView("runs.shared"))],
  [/^\/run\/([\w-]+)$/, ([id], query, kept) => runView(id, query, kept)],
  [/^\/run\/([\w-]+)\/reading\/([\w-]+)$/, ([run, id], query, kept) => readingAlone(id, query, kept, service.keptIn(run))],
];

new Shell({ routes, links: () => [h("a", { href: "#/runs" }, t("runs"))] }).begin();
