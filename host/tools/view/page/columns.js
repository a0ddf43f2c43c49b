import {button, element, formatEpoch, formatNumber, isNumber, plural} from "../../../../plugins/html/page/text.js";
import {smallCurve} from "../../../../plugins/html/page/axis.js";
import {STATES} from "./common.js";

/** A number from a record: values that JSON cannot hold are strings, unknown values are null. */
function numberOf(value) { return value === null ? null : Number(value); }

const STATE_ORDER = ["running", "reading", "unknown", "crashed", "damaged", "failed", "interrupted", "ended",
  "completed"];

/** The loss for which most runs have a best value; the validation loss if at least half have one. Null without any. */
export function comparedLoss(runs) {
  const counts = new Map();
  for (const {losses} of runs)
    for (const {name, best} of losses) if (best !== null) counts.set(name, (counts.get(name) || 0) + 1);
  const weight = (name) => counts.get(name) * (name.startsWith("val") ? 2 : 1);
  return [...counts.keys()].reduce((a, b) => (a === null || weight(b) > weight(a) ? b : a), null);
}

function lossNamed(run, name) { return run.losses.find((loss) => loss.name === name); }

/** The program that a run is of: the file in its command; "" if the run does not name a command. */
function programOf(run) { return String(settingOf(run, "command") ?? "").split(" ")[0].split("/").at(-1); }

/** Whether a run may be the best in a loss: a run with an open error may have a low loss because of it. */
function competes({findings: {counts}}) { return counts.error === 0; }

/**
 * The lowest value of the compared loss by program, because losses of different programs cannot be compared. A program
 * has none if fewer than two of its runs compete.
 */
export function lowestOf(runs, compared) {
  const values = new Map();
  for (const run of runs.filter(competes)) {
    const best = lossNamed(run, compared)?.best ?? null, program = programOf(run);
    if (best !== null) values.set(program, [...(values.get(program) || []), best]);
  }
  return Object.fromEntries([...values].filter(([, all]) => all.length > 1).map(([program, all]) => [program, Math.min(...all)]));
}

/** Splits a text so that it may break within its long names, but not within a number. */
export function breakableText(text) {
  return text.split(/(?<=[_:/]|[.-](?!\d))(?=\S)/).flatMap((part, i) => (i === 0 ? [part] : [element("wbr"), part]));
}

function startedCell({started}) {
  const time = new Date(started * 1000), [day, clock] = time.toLocaleString("sv").split(" ");
  return [element("time", {datetime: time.toISOString()}, element("span", {class: "whole-words"}, day), " ",
      clock.slice(0, 5))];
}

/** "12 s", "3 min", "5 h", "2 days" */
function formatAge(seconds) {
  if (seconds < 100) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} min`;
  return seconds < 48 * 3600 ? `${Math.round(seconds / 3600)} h` : plural(Math.round(seconds / 86400), "day");
}

/** Updates the ages on the page. @param now the time of the server's clock, in seconds */
export function showAges(now) {
  for (const age of document.querySelectorAll("[data-written]"))
    age.textContent = `written ${formatAge(now - Number(age.dataset.written))} ago`;
}

function stateCell(run) {
  const goesOn = ["running", "unknown"].includes(run.state);
  return [element("div", {class: `state ${run.state}`}, STATES[run.state] || run.state),
    run.resumed ? element("div", {class: "muted small"}, "resumed") : null,
    run.why === "" ? null : element("div", {class: "muted small why", title: run.why}, breakableText(run.why)),
    goesOn ? element("div", {class: "muted small whole-words", "data-written": run.written}) : null];
}

/** The duration of a run until now; null if its record does not have it. */
function durationOf({seconds}) { return seconds > 0 ? seconds : null; }

function durationCell(run) {
  const seconds = durationOf(run);
  if (seconds === null) return ["–"];
  return [element("span", {class: "whole-words"}, seconds < 10 ? `${formatNumber(seconds, 2)} s` : formatAge(seconds))];
}

function epochCell(run) {
  if (run.epoch === null) return ["–"];
  const step = `step ${run.step.toLocaleString("en")}`;
  return [formatEpoch(run.epoch), element("div", {class: "muted small whole-words"}, step)];
}

function curveCell(run) {
  const values = run.curve === null ? [] : run.curve.values.map(numberOf);
  const finite = values.filter(Number.isFinite);
  const ends = [values[0], values[values.length - 1]].map((value) => formatNumber(value));
  const label = `${run.curve?.name} from ${ends.join(" to ")}`;
  const series = {values, isMissing: () => false};
  const isSteep = Math.min(...finite) > 0 && Math.max(...finite) > 100 * Math.min(...finite);
  const curve = smallCurve({epochs: values}, series, {log: isSteep}, label);
  return [curve === null ? "–" : element("div", {title: `${label}${isSteep ? ", logarithmic" : ""}`}, curve)];
}

/** Shows the loss that the column names in normal size; the others follow in small print with their names. */
function lossLines(losses, compared, textOf) {
  const main = losses.find(({name}) => name === compared);
  const others = losses.filter((loss) => loss !== main).map((loss) =>
    element("div", {class: "muted small loss"}, `${loss.name} `, textOf(loss)));
  // A row of two lines may not have room for all.
  const title = others.map(({textContent}) => textContent).join("\n") || null;
  // A row without the main loss still has two lines.
  const none = others.length === 0 ? "–" : element("div", {}, "–");
  return [main === undefined ? none : element("div", {class: "loss", title}, textOf(main)), ...others];
}

function lastCell({losses}, {compared}) {
  return lossLines(losses, compared, ({last}) =>
    element("span", {class: typeof last === "string" ? "broken" : null}, formatNumber(numberOf(last))));
}

function bestCell(run, {compared, lowest}) {
  const {losses} = run, isLowest = (best) => competes(run) && best === lowest[programOf(run)];
  const isLoss = ({metric, best}) => !metric && best !== null;
  return lossLines(losses.filter(isLoss), compared, ({name, best, best_epoch: epoch}) => {
    const text = formatNumber(best), when = `in epoch ${formatEpoch(epoch)}`;
    if (name !== compared) return element("span", {title: when}, text);
    const value = isLowest(best) ? element("span", {class: "badge lowest"}, `${text} best`) : text;
    return element("span", {}, value, element("div", {class: "muted small"}, when));
  });
}

/** As in a report, the badges count rules, not layers. "healthy" is said only of runs that a lens has judged in at least one epoch. */
function findingCell({findings, judged, state, epoch}) {
  const {rule_counts: counts, worst} = findings;
  if (worst === null && (epoch === null || state === "damaged" || state === "reading")) return ["–"];
  if (!judged) return [element("span", {class: "muted"}, "not judged")];
  const isHealthy = counts.error + counts.warning === 0 && !["failed", "crashed"].includes(state);
  const title = worst && `${worst.gone ? "resolved: " : ""}${worst.text}`;
  if (isHealthy) return [element("div", {class: "healthy", title}, "healthy")];
  if (worst === null) return ["none"];
  const words = (kind) => (kind === "gone" ? `${counts[kind]} resolved` : plural(counts[kind], kind));
  const badges = ["error", "warning", "gone"].filter((kind) => counts[kind] > 0)
      .map((kind) => element("span", {class: `badge ${kind}`}, words(kind)));
  const rule = worst.rule.replaceAll("_", " ");
  return [element("div", {class: `rule ${worst.gone ? "gone" : worst.severity}`},
      `${rule.charAt(0).toUpperCase()}${rule.slice(1)}${worst.gone ? " (resolved)" : ""}`),
    element("div", {class: "worst", title: worst.text}, breakableText(worst.text)),
    element("div", {class: "badges"}, badges)];
}

/** A click on a tag filters by it. */
function tagsCell({tags}, {filterBy}) {
  if (tags.length === 0) return ["–"];
  return [element("div", {class: "badges", title: tags.join(" ")},
      tags.map((tag) => button({class: "badge tag", onclick: () => filterBy(`tag=${tag}`)}, tag)))];
}

function noteCell({note}) { return note === "" ? ["–"] : [element("div", {class: "note-text", title: note}, note)]; }

/** A weight for sorting in which one error counts more than any number of warnings. */
function weightOf({findings: {counts}}) {
  return ["error", "warning", "info", "gone"].reduce((weight, kind) => 1000 * weight + Math.min(counts[kind], 999), 0);
}

function settingText(value) {
  if (value === undefined) return "–";
  return String(value);
}

/** A cell with the whole text as its tooltip, because a row has only two lines. */
function settingCell(text) { return [text === "–" ? text : element("span", {title: text}, breakableText(text))]; }

function settingOf(run, name) { return run.settings.find(([each]) => each === name)?.[1]; }

/** All settings by which runs can be grouped and filtered: hyperparameters, then the configuration. */
function allSettingsOf({settings, configured}) { return [...settings, ...configured]; }

/** A loss for sorting: values that are not finite count as worse than any number. */
function sortable(value) {
  if (value === undefined || value === null) return null;
  return Number.isFinite(value) ? value : Infinity;
}

/**
 * The columns of a table of these runs, including the settings in which the runs differ. `value` is the sort key of a
 * column, null last; `descends` says whether the first click puts the largest first.
 */
export function columnsOf(runs, compared) {
  const lossOf = (run) => lossNamed(run, compared) || {};
  const by = compared === null ? "" : ` · ${compared}`;
  const tags = {key: "tags", title: "Tags", cell: tagsCell, value: (run) => run.tags[0] ?? null};
  const note = {key: "note", title: "Note", cell: noteCell, value: (run) => run.note || null};
  const setting = (name) => ({key: `:${name}`, title: name, value: (run) => settingOf(run, name) ?? null,
    cell: (run) => settingCell(settingText(settingOf(run, name)))});
  return [
    {key: "name", title: "Run", value: (run) => run.name},
    // Tags and notes have a column if any run has them.
    ...(runs.some((run) => run.tags.length > 0) ? [tags] : []),
    {key: "state", title: "State", cell: stateCell, value: (run) => STATE_ORDER.indexOf(run.state)},
    {key: "finding", title: "Worst finding", cell: findingCell, descends: true, value: weightOf},
    {key: "started", title: "Started", cell: startedCell, descends: true, value: (run) => run.started},
    {key: "duration", title: "Duration", cell: durationCell, descends: true, value: durationOf},
    {key: "epoch", title: "Epoch", cell: epochCell, descends: true, value: (run) => run.epoch},
    {key: "curve", title: "Loss", cell: curveCell},
    {key: "last", title: `Last${by}`, cell: lastCell, value: (run) => sortable(numberOf(lossOf(run).last ?? null))},
    {key: "best", title: `Best${by}`, cell: bestCell, value: (run) => sortable(lossOf(run).best)},
    ...(runs.some((run) => run.note !== "") ? [note] : []),
    ...differingSettings(runs).map(setting),
  ];
}

/** The runs that have settings: a run has none before its first optimizer step. */
function told(runs) { return runs.filter(({settings}) => settings.length > 0); }

function isAlike(runs, name) { return new Set(runs.map((run) => settingText(settingOf(run, name)))).size === 1; }

function settingNames(runs) { return [...new Set(runs.flatMap(({settings}) => settings.map(([name]) => name)))]; }

function differingSettings(runs) { return settingNames(runs).filter((name) => !isAlike(told(runs), name)); }

/** The settings that need no column: the number of runs that share them, and each setting as [name, text]. */
export function alikeSettings(runs) {
  const some = told(runs), names = settingNames(runs).filter((name) => isAlike(some, name));
  return {count: some.length, settings: names.map((name) => [name, settingText(settingOf(some[0], name))])};
}

/** The names of settings that differ between runs, hyperparameters first, without those that are unique to each run. */
export function groupings(runs) {
  const values = new Map();
  for (const [name, value] of runs.flatMap(allSettingsOf)) values.set(name, [...(values.get(name) || []), settingText(value)]);
  return [...values].filter(([, all]) => {
    const {size} = new Set(all);
    return all.length < runs.length || (size > 1 && size < all.length);
  }).map(([name]) => name);
}

/** Groups runs by the value of a setting, sorted by that value, runs without a value last: [{value, runs}]. */
export function grouped(runs, name) {
  const groups = new Map();
  for (const run of runs) {
    const value = allSettingsOf(run).find(([each]) => each === name)?.[1];
    groups.set(value, [...(groups.get(value) || []), run]);
  }
  const ordered = [...groups].sort(([a], [b]) => (a === undefined) - (b === undefined) ||
    inOrder(...[a, b].map((value) => (isNumber(String(value)) ? Number(value) : settingText(value)))));
  return ordered.map(([value, members]) => ({value: settingText(value), runs: members}));
}

/** The heading of a group: the value, the number of runs that have it, and the best value of the compared loss. */
export function groupWords(name, {value, runs}, compared) {
  const isComparable = new Set(runs.map(programOf)).size === 1;
  const lowest = Math.min(...runs.filter((run) => isComparable && competes(run))
      .map((run) => lossNamed(run, compared)?.best ?? Infinity));
  return [`${name} `, element("b", {}, value), ` · ${plural(runs.length, "run")}`,
    Number.isFinite(lowest) ? ` · best ${compared} ${formatNumber(lowest)}` : ""];
}

/** The text that the filter searches. */
export function wordsOf(run) {
  const {rules, worst, counts} = run.findings, plainRules = rules.map((rule) => rule.replaceAll("_", " "));
  const settings = run.settings.map(([name, value]) => `${name} ${settingText(value)}`);
  const severities = Object.keys(counts).filter((kind) => counts[kind] > 0);
  return [run.name, run.folder, ...run.tags, run.note, run.archived ? "archived" : "", run.state,
    STATES[run.state], run.why, run.resumed ? "resumed" : "", ...rules, ...plainRules, worst?.text,
    ...severities, ...settings].join("\n").toLowerCase();
}

const OF_A_SETTING = /^(.+?)(<=|>=|<|>|=)(.+)$/s;

/** Whether a run has a setting as in "rate=0.1" or "rate<0.1"; a name may be its last word: "size=64" for "batch size". */
function hasSetting(run, [, wanted, sign, text]) {
  return allSettingsOf(run).some(([name, value]) => {
    const own = name.toLowerCase();
    if (own !== wanted && !own.endsWith(` ${wanted}`) && !own.endsWith(`.${wanted}`)) return false;
    if (sign === "=") return settingText(value).toLowerCase() === text || (typeof value === "number" && value === Number(text));
    const [a, b] = [Number(value), Number(text)];
    return sign.startsWith("<") ? a < b || (sign === "<=" && a === b) : a > b || (sign === ">=" && a === b);
  });
}

/** Whether a run matches all words of the filter. `tag=v1` matches a whole tag, not v10. @param words from wordsOf() */
export function hasAll(wanted, run, words) {
  return wanted.every((word) => {
    const asked = OF_A_SETTING.exec(word);
    // A sign without a value: the user is still typing.
    return asked === null ? words.includes(word.replace(/[<>=]+$/, "")) : asked[1] === "tag" && asked[2] === "=" ?
      run.tags.some((tag) => tag.toLowerCase() === asked[3]) : hasSetting(run, asked);
  });
}

function inOrder(a, b) {
  if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b), "en", {numeric: true});
  return Number(a) === Number(b) ? 0 : a < b ? -1 : 1;
}

/** Sorts runs by a column; equal runs and runs without a value are sorted by their start. */
export function sorted(runs, column, descends) {
  return [...runs].sort((a, b) => {
    const [x, y] = [a, b].map(column.value);
    const newest = b.started - a.started || b.id - a.id;
    if (x === null || y === null) return (x === null) - (y === null) || newest;
    return (descends ? inOrder(y, x) : inOrder(x, y)) || newest;
  });
}
