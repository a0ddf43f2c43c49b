import {breakable, element, fill, formatEpoch, formatNumber, section} from "./text.js";
import {bigTags, layerNames, lineNames, runs} from "./data.js";
import {baselineRun, differenceInWords, on} from "./state.js";

/** The last, lowest and highest number of a line, each with its epoch; null where there is none. */
function extremesOf(run, tagName, layerName, lineName) {
  const series = run.line(tagName, layerName, lineName);
  let last = null, lowest = null, highest = null, broken = null;
  run.epochs.forEach((epoch, i) => {
    const value = series === null ? null : series.at(i);
    if (value === null) return;
    if (!Number.isFinite(value)) return broken ??= epoch;
    last = [value, epoch];
    if (lowest === null || value < lowest[0]) lowest = last;
    if (highest === null || value > highest[0]) highest = last;
  });
  return last === null && broken === null ? null : {last, lowest, highest, broken};
}

/** Losses and metrics as they ended and were at their best: a loss where it is lowest, a metric at both ends. */
function resultRows() {
  const cell = (tag, layer, line) => (run) => {
    const found = extremesOf(run, tag.name, layer, line);
    if (found === null) return "–";
    const compared = [null, run].includes(baselineRun()) ? null : extremesOf(baselineRun(), tag.name, layer, line);
    const lines = ["last", "lowest", ...(tag.name === "Metrics" ? ["highest"] : [])].map((name) => {
      if (found.last === null) return null;
      const [value, epoch] = found[name], base = compared && compared[name];
      const difference = base && element("span", {class: "difference"}, ` ${differenceInWords(value, base[0])}`);
      if (name === "last") return element("div", {}, "last ", element("b", {}, formatNumber(value)), difference);
      const words = `${name} ${formatNumber(value)} in epoch ${formatEpoch(epoch)}`;
      return element("div", {class: "muted"}, words, difference);
    });
    if (found.broken !== null)
      lines.push(element("div", {class: "alarm"}, `NaN or ∞ from epoch ${formatEpoch(found.broken)}`));
    return lines;
  };
  return bigTags.filter(({name}) => /^(Loss|Metrics)/.test(name)).flatMap((tag) =>
    layerNames(tag.name).flatMap((layer) =>
      lineNames(tag.name).map((line) => [line.replace(/ mean$/, ""), cell(tag, layer, line)])));
}

function formatTime(text) {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text || "–" : element("time", {datetime: text}, time.toLocaleString());
}

/** "3 h 12 min" between two times; null where one is unknown. */
function formatDuration(from, to) {
  const seconds = Math.round((new Date(to) - new Date(from)) / 1000);
  if (!Number.isFinite(seconds) || seconds < 0) return null;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/** Whether the report was written while the run trained: a recorded run ticks at another time when it is replayed. */
function isFirsthand(run) { return Math.abs(new Date(run.begun) - new Date(run.started)) < 10 * 60 * 1000; }

/** How long a run took; null where the report cannot know. */
export function durationOf(run) { return isFirsthand(run) ? formatDuration(run.started, run.lastTick) : null; }

/** One model as the run describes it: an object of name, type, parameters and modules. */
function modelSummary(model) {
  if (model === null || typeof model !== "object") return element("div", {}, String(model));
  const {name, type, parameters, modules, ...others} = model;
  const rest = {...others, ...(Array.isArray(modules) ? {modules} : {}),
    ...(Array.isArray(parameters) ? {parameters} : {})};
  const count = (value) => (Array.isArray(value) ? value.length : value ?? "–").toLocaleString("en");
  return element("div", {class: "model"},
      element("strong", {}, name || type || "model"), name && type ? ` ${type}` : "",
      element("div", {class: "muted"}, `${count(parameters)} parameters · ${count(modules)} modules`),
      Object.keys(rest).length === 0 ? null : folded("All that was told", JSON.stringify(rest, null, 2)));
}

function folded(title, text) {
  return element("details", {}, element("summary", {}, title), element("pre", {tabindex: "0"}, text));
}

/** How a run ended, as far as is known. */
export function stateOf({ending, resumed}) {
  const resumption = resumed ? "; resumed" : "";
  if (ending === null) return `not ended${resumption}`;
  const how = {1: "completed", 2: "interrupted", 3: "failed"}[ending.how] || "ended";
  const when = ending.how === 1 || !ending.step ? "" : ` at step ${ending.step.toLocaleString("en")}`;
  return [element("span", {class: how === "failed" ? "alarm" : null}, how), when, resumption,
    ending.message ? element("div", {class: "muted"}, ending.message) : null];
}

/** Names and texts, a line each. */
export function settingsList(settings) {
  return element("dl", {class: "settings"},
    settings.flatMap(([name, text]) => [element("dt", {}, breakable(name)), element("dd", {}, breakable(text))]));
}

function epochSpan({epochs, stride}) {
  if (epochs.length === 0) return "none yet";
  const span = `${formatEpoch(epochs[0])} to ${formatEpoch(epochs[epochs.length - 1])}`;
  return stride > 1 ? `${span}; one of ${stride} is shown` : span;
}

/** A table of the runs, a column each. */
function newTable() {
  const rows = [
    ["Model", ({models}) => (models.length > 0 ? models.map(modelSummary) : "–")],
    ["Epochs", epochSpan],
    ["State", stateOf],
    ...resultRows(),
    ["Settings", ({hyperparameters}) => (hyperparameters.length > 0 ? settingsList(hyperparameters) : "–")],
    ["Started", (run) => formatTime(run.started)],
    ["Last tick", (run) => (isFirsthand(run) ? formatTime(run.lastTick) : "–")],
    ["Duration", (run) => durationOf(run) || "–"],
    ["Directory", (run) => run.directory || "–"],
    ["Loupe", (run) => run.loupe || "–"],
    ["LibTorch", (run) => run.libtorch || "–"],
    ["Config", (run) => (run.config ? folded("Show", run.config) : "–")],
  ];
  const name = (run) => (run === baselineRun() ? [run.label, element("div", {class: "muted"}, "baseline")] : run.label);
  const head = (text, scope) => element("th", {scope}, text);
  return element("table", {class: "run-table"},
      element("thead", {}, element("tr", {}, head("Name", "col"), runs.map((run) => head(name(run), "col")))),
      element("tbody", {}, rows.map(([text, cell]) =>
        element("tr", {}, head(text, "row"), runs.map((run) => element("td", {}, cell(run)))))));
}

/** The section of the runs; its numbers follow the choice of a baseline. */
export function runTable() {
  const panel = element("div", {class: "panel scrolled"}, newTable());
  on("baseline", () => fill(panel, newTable()));
  return section("run", runs.length > 1 ? "Runs" : "Run", null, panel);
}
