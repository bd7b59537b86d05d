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
  [/^\/(?:runs)?$/, () => (alone ? runView({ parts: [alone] }) : runsView("runs.shared"))],
  [/^\/run\/([\w-]+)$/, runView],
  [/^\/run\/([\w-]+)\/reading\/([\w-]+)$/, (asked) => readingAlone(asked, service.keptIn(asked.parts[0]))],
];

new Shell({ routes, links: () => [h("a", { href: "#/runs" }, t("runs"))] }).begin();
