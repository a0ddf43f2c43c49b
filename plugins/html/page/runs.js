import {breakable, button, element, fill, formatEpoch, formatNumber, isNumber, plural, section, selector} from "./text.js";
import {bigTags, layerNames, lineNames, runs, tagNamed, TICK} from "./data.js";
import {ABOUT_MEASURING, findings, isHealthy, notes, severityName} from "./findings.js";
import {announce, baselineRun, differenceInWords, on, setState, state} from "./state.js";
import {svg} from "./axis.js";
import {colourRunsBy, runColour} from "./colours.js";

/** The last, lowest and highest number of a line, each with its epoch; null if it has no numbers. */
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

/** The last and best values: the lowest of a loss, the lowest and highest of a metric. */
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

/** "3 h 12 min" between two times; null if one is unknown. */
function formatDuration(from, to) {
  const seconds = Math.round((new Date(to) - new Date(from)) / 1000);
  if (!Number.isFinite(seconds) || seconds < 0) return null;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/** Whether the report was written while the run trained: a replayed run has ticks at a different time. */
function isFirsthand(run) { return Math.abs(new Date(run.begun) - new Date(run.started)) < 10 * 60 * 1000; }

/** The duration of a run; null if the report does not contain it. The two times of a short run are too coarse. */
function durationOf(run) {
  const seconds = run.seconds?.at(-1), whole = formatDuration(run.started, run.lastTick);
  if (!isFirsthand(run) || whole === null) return null;
  return seconds > 0 && seconds < 10 && !run.resumed ? `${formatNumber(seconds, 2)} s` : whole;
}

// If a kind has more models than this, they are folded.
const MOST_UNFOLDED = 3;

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
      Object.keys(rest).length === 0 ? null : folded("Details", JSON.stringify(rest, null, 2)));
}

function folded(title, text) {
  return element("details", {}, element("summary", {}, title), element("pre", {tabindex: "0"}, text));
}

/** The models of a kind: each one, or all folded into one if a program made many in turn. */
function kindSummary({kind, models}) {
  if (models.length <= MOST_UNFOLDED) return models.map(modelSummary);
  return element("details", {class: "model"},
      element("summary", {}, element("strong", {}, `${models.length} models ${kind}`)), models.map(modelSummary));
}

/** The number of parameters that train at the same time: of models made in turn, only the last one counts. */
function parametersOf({kinds, kindsInTurn}) {
  const count = (model) => (model && Number(model.parameters)) || 0;
  return kinds.flatMap(({kind, models}) => (kindsInTurn.has(kind) ? models.slice(-1) : models))
      .reduce((sum, model) => sum + count(model), 0);
}

/** ", last update 05:30", with the date if that is not today. */
function lastUpdateOf({lastTick}) {
  const [day, clock] = new Date(lastTick).toLocaleString("sv").split(" ");
  const isToday = day === new Date().toLocaleDateString("sv");
  return `, last update ${isToday ? "" : `${day} `}${clock.slice(0, 5)}`;
}

/** The state of a run. @param isBrief leaves out the explanation */
function stateOf(run, isBrief = false) {
  const {ending, resumed, state: word, why} = run;
  const when = run.isSilent ? lastUpdateOf(run) :
    word === "completed" || !ending?.step ? "" : ` at step ${ending.step.toLocaleString("en")}`;
  const isBad = ["failed", "crashed or killed"].includes(word);
  return [element("span", {class: isBad ? "alarm" : null}, word), when, resumed ? "; resumed" : "",
    why && !isBrief ? element("div", {class: "muted"}, why) : null];
}

/** The text of a setting, with powers of ten in the report's style: "2·10⁻⁴" for "2e-04". */
function settingText(text) { return /^-?[\d.]+e[-+]?\d+$/i.test(text) && isNumber(text) ? formatNumber(Number(text)) : text; }

/** Names and texts, one per line. */
function settingsList(settings) {
  return element("dl", {class: "settings"}, settings.flatMap(([name, text]) =>
    [element("dt", {}, breakable(name)), element("dd", {}, breakable(settingText(text)))]));
}

/** The notes on how Loupe read and measured the program. */
function measuringOf(run) {
  const about = notes.filter((note) => note.run === run && ABOUT_MEASURING.includes(note.kind));
  return about.length === 0 ? "–" : element("details", {}, element("summary", {}, plural(about.length, "remark")),
      element("ul", {class: "told"}, about.map(({text: words}) => element("li", {}, words))));
}

function epochSpan({epochs, stride}) {
  if (epochs.length === 0) return "none yet";
  const span = `${formatEpoch(epochs[0])} to ${formatEpoch(epochs[epochs.length - 1])}`;
  return stride > 1 ? `${span}; one of ${stride} is shown` : span;
}

/** A table of the runs, one column per run. */
function newTable() {
  const rows = [
    ["Model", ({kinds}) => (kinds.length > 0 ? kinds.flatMap(kindSummary) : "–")],
    ["Epochs", epochSpan],
    ["State", (run) => stateOf(run)],
    ...resultRows(),
    ["Settings", ({hyperparameters}) => (hyperparameters.length > 0 ? settingsList(hyperparameters) : "–")],
    ["Measured", (run) => measuringOf(run)],
    ["Started", (run) => formatTime(run.started)],
    ["Last update", (run) => (isFirsthand(run) ? formatTime(run.lastTick) : "–")],
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

/** The section of the runs; its numbers change with the baseline. */
export function runTable() {
  const panel = element("div", {class: "panel scrolled"}, newTable());
  on("baseline", () => fill(panel, newTable()));
  return section("run", runs.length > 1 ? "Runs" : "Run", null, panel);
}

/** The last and lowest number of a line with their epochs, and all numbers; null if it has none. */
function lossOf(run, line) {
  const series = run.line("Loss", "Loss", line);
  if (series === null) return null;
  let best = null, last = null;
  const values = [];
  run.epochs.forEach((epoch, i) => {
    if (series.isMissing(i)) return;
    last = {value: series.values[i], epoch};
    values.push(last);
    if (Number.isFinite(last.value) && (best === null || last.value < best.value)) best = last;
  });
  return last === null ? null : {name: line.replace(/ mean$/, ""), last, best, values};
}

/** Whether a loss is a validation loss, by which runs are compared. */
function isOfValidation(name) { return name.includes("val"); }

/**
 * The losses of a run whose lines match. Losses that never were finite have no best value (null), nor do losses that are
 * trained together, for example an actor's and a critic's.
 */
function lossesOf(run, wanted = /./) {
  if (!bigTags.some(({name}) => name === "Loss")) return [];
  const losses = lineNames("Loss").filter((line) => wanted.test(line)).map((line) => lossOf(run, line))
      .filter((loss) => loss !== null);
  const trained = losses.filter(({name}) => !isOfValidation(name));
  if (new Set(trained.map(({name}) => name)).size > 1) trained.forEach((loss) => { loss.best = null; });
  return losses;
}

function item(name, ...what) {
  return element("span", {class: "summary-item"}, element("span", {class: "muted"}, name, " "), ...what);
}

/** "Net Adam 0.001" */
function rates(run) {
  const tag = tagNamed.get("Learning Rate");
  if (!tag) return [];
  const all = layerNames(tag.name).flatMap((layer) => lineNames(tag.name).map((line) => {
    const series = run.line(tag.name, layer, line), value = series && series.last();
    return value === null ? null : [item("rate", element("b", {}, formatNumber(value)), ` ${line}`), series];
  })).filter((each) => each !== null);
  // An optimizer that no longer steps has no value in the last epoch.
  const now = all.filter(([, series]) => !series.isMissing(run.epochs.length - 1));
  return (now.length > 0 ? now : all).slice(0, 2).map(([each]) => each);
}

/** The last value of each metric, for example the accuracy. */
function metricsOf(run) {
  if (!bigTags.some(({name}) => name === "Metrics")) return [];
  return lineNames("Metrics").filter((line) => / mean$/.test(line)).flatMap((line) => {
    const series = run.line("Metrics", "Metrics", line), value = series && series.last();
    return value === null ? [] : [item(line.replace(/ mean$/, ""), element("b", {}, formatNumber(value)))];
  }).slice(0, 3);
}

/** "Training looks healthy" for a run without errors and warnings; null for others and for runs that nothing judged. */
function healthOf(run) {
  if (!isHealthy(run) || ["failed", "crashed or killed"].includes(run.state)) return null;
  return element("span", {class: "summary-item healthy"}, run.ended ? "✓ Training looks healthy" :
    "✓ Training looks healthy so far");
}

/** A run in one line: state, health, epoch, losses, metrics, duration, parameters, rate. */
export function summaryOf(run) {
  const parameters = parametersOf(run);
  const last = run.epochs[run.epochs.length - 1];
  const losses = lossesOf(run).slice(0, 3).map(({name, last: now, best}) => item(name,
      element("b", {class: Number.isFinite(now.value) ? null : "alarm"}, formatNumber(now.value)),
      best === null || best.epoch === now.epoch ? "" :
        `, best ${formatNumber(best.value)} in ${TICK} ${formatEpoch(best.epoch)}`));
  const duration = run.incident ? null : durationOf(run);
  return [
    element("span", {class: "summary-item"},
        run.incident ? "incident" : stateOf(run, true)), healthOf(run),
    last === undefined ? null : item(TICK, element("b", {}, formatEpoch(last))), ...losses, ...metricsOf(run),
    duration === null ? null : item("in", duration),
    run.ranks > 1 ? item("of", element("b", {}, `${run.ranks} ranks`)) : null,
    parameters > 0 ? item("parameters", parameters.toLocaleString("en")) : null, ...rates(run),
    run.libtorch ? item("LibTorch", run.libtorch) : null,
  ].filter((part) => part !== null);
}

/** An alert for a run whose loss fell and then stayed far above its minimum in most epochs; null if there is none. */
export function collapseAlert() {
  const FAR = 3, MOST = 0.5, FEWEST = 6;
  // Each model that was made in turn begins with a high loss.
  for (const run of runs.filter((each) => !each.incident && each.modelStarts().length === 0)) {
    for (const {name, last, best, values} of lossesOf(run)) {
      if (best === null || best.value <= 0 || values.length < FEWEST) continue;
      const isFar = ({value}) => !(value < FAR * best.value);
      const allFar = values.filter((each) => each.epoch > best.epoch && isFar(each)), far = allFar.length;
      if (!isFar(last) || far < MOST * values.length) continue;
      const others = allFar.some(({value}) => Number.isFinite(value)) ? " or far higher" : "";
      const began = ` ${name} reached ${formatNumber(best.value)} in epoch ${formatEpoch(best.epoch)}`;
      const text = Number.isFinite(last.value) ?
        `${began} and ended at ${formatNumber(last.value)}: ${far} of ${values.length} epochs were more than ${FAR} ` +
          "times as high." :
        `${began} and was ${formatNumber(last.value)}${others} in the ${far} epochs after.`;
      return element("div", {class: "alert", id: "collapse"}, element("strong", {},
          runs.length > 1 ? `'${run.label}' collapsed.` : "The run collapsed."), element("span", {}, text));
    }
  }
  return null;
}

const HEIGHT = 150, LEFT = 46, RIGHT = 10, TOP = 18, BOTTOM = 32, MOST = 12;
// The width of a plot, so that up to five of them fit beside the plot of lines through all settings.
const WIDE = 204, NARROW = 140, MOST_WIDE = 4;
// An axis is logarithmic if the largest value is at least this many times the smallest.
const SPREAD = 30;
// A loss is cut off if it is FAR times as far above the best as three quarters of the runs.
const FAR = 4, CUT_AT = 0.84;
// With at least this many settings, lines through all of them show which values go together.
const FEWEST_FOR_LINES = 3;
const FEWEST_POINTS = 3, SMALL_FROM = 40, MOST_LABELS = 4, LETTER_WIDTH = 5.6;

/** The highest number that is not cut off. */
function highestShown(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b), low = sorted[0];
  const usual = sorted[Math.floor(0.75 * (sorted.length - 1))] - low;
  return usual > 0 ? sorted.findLast((number) => number - low <= FAR * usual) : sorted[sorted.length - 1];
}

/**
 * The positions of values, from 0 to 1, and the labels: [place, text]. Values that are not numbers are in order of their
 * first run.
 * @param high the highest number with its own position; all higher numbers share one
 */
function placesOf(values, high = Math.max(...values.map(Number))) {
  if (!values.every((value) => typeof value === "number" || isNumber(value))) {
    const names = [...new Set(values)], room = Math.max(1, names.length - 1);
    const every = Math.ceil(names.length / MOST_LABELS);
    return {placeOf: (value) => names.indexOf(value) / room,
      labels: names.map((name, i) => [i / room, name]).filter((_, i) => i % every === 0)};
  }
  const numbers = values.map(Number), low = Math.min(...numbers), isCut = numbers.some((number) => number > high);
  const up = low > 0 && high / low > SPREAD ? Math.log : (number) => number;
  const range = (up(high) - up(low) || 1) / (isCut ? CUT_AT : 1), end = isCut ? CUT_AT : 1;
  return {placeOf: (value) => (Number(value) > high ? 1 : (up(Number(value)) - up(low)) / range),
    labels: [[0, formatNumber(low, 3)], ...(low === high ? [] : [[end, formatNumber(high, 3)]]),
      ...(isCut ? [[1, "higher"]] : [])]};
}

/** @param room width in pixels, beyond which the text is cut */
function text(x, y, words, anchor, room = 90) {
  const most = Math.max(3, Math.floor(room / LETTER_WIDTH));
  const made = svg("text", {x, y, "text-anchor": anchor});
  made.append(words.length > most ? `${words.slice(0, most - 1)}…` : words);
  return made;
}

/** Makes a mark stand for a run: it has a tooltip, and is highlighted and hidden with the run. */
function marked(mark, run, words) {
  mark.append(svg("title", {}));
  mark.firstChild.append(`${run.label}: ${words}`);
  mark.addEventListener("pointerenter", () => announce("hover", run));
  mark.addEventListener("pointerleave", () => announce("hover", null));
  return {run, mark};
}

function follow(marks, colourOf) {
  const show = () => marks.forEach(({run, mark}) => {
    mark.setAttribute(colourOf, runColour(run.index));
    mark.classList.toggle("gone", state.hiddenRuns.has(run.index));
  });
  for (const change of ["theme", "runs"]) on(change, show);
  on("hover", (hovered) => marks.forEach(({run, mark}) => {
    mark.classList.toggle("dimmed", hovered !== null && hovered !== run);
    if (run === hovered) mark.parentNode.append(mark);
  }));
  show();
}

/** Plots a setting against the best loss, one point per run. */
function pointsOf({name, values}, {name: lossName, of}, width) {
  const having = runs.filter(({index}) => values[index] !== undefined && of[index]?.best);
  if (having.length < FEWEST_POINTS) return null;
  const losses = having.map(({index}) => of[index].best.value);
  const across = placesOf(having.map(({index}) => values[index])), up = placesOf(losses, highestShown(losses));
  const inside = width - LEFT - RIGHT;
  const x = (place) => LEFT + 6 + place * (inside - 12);
  const y = (place) => HEIGHT - BOTTOM - 5 - place * (HEIGHT - TOP - BOTTOM - 10);
  const marks = having.map((run) => {
    const value = values[run.index], best = of[run.index].best.value;
    const r = runs.length > SMALL_FROM ? 3 : 4.5;
    return marked(svg("circle", {cx: x(across.placeOf(value)), cy: y(up.placeOf(best)), r}), run,
        `${lossName} ${formatNumber(best)} with ${name} ${value}`);
  });
  follow(marks, "fill");
  return svg("svg", {class: "setting-plot", viewBox: `0 0 ${width} ${HEIGHT}`, style: `width:${width}px`, role: "img",
    "aria-label": `Best ${lossName} by ${name}`},
  svg("path", {class: "axis", d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${width - RIGHT}`}),
  ...up.labels.map(([place, words]) => text(LEFT - 5, y(place) + 4, words, "end", LEFT - 5)),
  ...across.labels.map(([place, words]) => text(x(place), HEIGHT - BOTTOM + 13, words,
      place < 0.2 ? "start" : place > 0.8 ? "end" : "middle", inside / across.labels.length)),
  text((LEFT + width) / 2, HEIGHT - 4, name, "middle", inside + 30),
  text(LEFT - 5, 10, `best ${lossName}`, "start", inside), ...marks.map(({mark}) => mark));
}

/** Plots all settings side by side and the best loss last, one line per run. */
function linesOf(settings, {name: lossName, of}) {
  const having = runs.filter(({index}) => of[index]?.best && settings.every(({values}) => values[index] !== undefined));
  if (having.length < 2) return null;
  const losses = of.map((loss) => loss?.best?.value);
  const ofLosses = having.map(({index}) => losses[index]);
  const axes = settings.map(({name, values}) => ({name, values, ...placesOf(having.map(({index}) => values[index]))}));
  axes.push({name: `best ${lossName}`, values: losses, ...placesOf(ofLosses, highestShown(ofLosses))});
  const step = Math.max(78, Math.min(130, 410 / settings.length)), width = 56 + step * settings.length + 50;
  const x = (i) => 56 + i * step, y = (place) => HEIGHT - BOTTOM - 4 - place * (HEIGHT - TOP - BOTTOM - 8);
  const marks = having.map((run) => marked(svg("path", {class: "through", d: axes.map(({values, placeOf}, i) =>
    `${i === 0 ? "M" : "L"}${x(i)} ${y(placeOf(values[run.index])).toFixed(1)}`).join("")}), run,
  axes.map(({name, values}) => `${name} ${values[run.index]}`).join(", ")));
  follow(marks, "stroke");
  const drawn = svg("svg", {class: "setting-lines", viewBox: `0 0 ${width} ${HEIGHT}`, style: `width:${width}px`,
    role: "img", "aria-label": `Settings that go with the best ${lossName}`},
  ...axes.map((_, i) => svg("path", {class: "axis", d: `M${x(i)} ${TOP}V${HEIGHT - BOTTOM}`})),
  svg("g", {}, ...marks.map(({mark}) => mark)),
  ...axes.flatMap(({name, labels}, i) => [
    ...labels.map(([place, words]) => (i === settings.length ? text(x(i) + 4, y(place) + 4, words, "start") :
      text(x(i) - 4, y(place) + 4, words, "end", step - 8))),
    text(x(i), HEIGHT - 6, name, "middle", step),
  ]));
  return element("div", {class: "scrolled"}, drawn);
}

/** Plots that show which settings go with a low loss; null if no setting that differs has a value in two runs. */
function settingPlots(loss, differing) {
  if (loss === undefined) return null;
  // Leave out texts that are different in each run, for example command lines.
  const areNumbers = ({values}) => values.every((value) => value === undefined || isNumber(value));
  const settings = differing.filter((each) => areNumbers(each) || new Set(each.values).size < runs.length).slice(0, MOST);
  const width = settings.length > MOST_WIDE ? NARROW : WIDE;
  const plots = settings.map((setting) => pointsOf(setting, loss, width)).filter((plot) => plot !== null);
  const lines = plots.length >= FEWEST_FOR_LINES ? linesOf(settings, loss) : null;
  return plots.length === 0 ? null : element("div", {class: "setting-plots"}, lines, plots);
}

const FIRST = 5, MOST_AT_FIRST = 20, MOST_NAMED = 3;

/** "'a', 'b' and 'c'"; of many names the first few, and how many more. */
function listOf(names) {
  const more = names.length - MOST_NAMED;
  const shown = more > 1 ? [...names.slice(0, MOST_NAMED), `${more} more`] : names;
  return shown.join(", ").replace(/, (?=[^,]*$)/, " and ");
}

/** All losses: {name, of: its values in each run or undefined, best: the runs in which it is lowest}. */
function comparedLosses() {
  const told = runs.map((run) => new Map(lossesOf(run, / mean$/).map((loss) => [loss.name, loss])));
  const names = [...new Set(told.flatMap((losses) => [...losses.keys()]))];
  return [...names.filter(isOfValidation), ...names.filter((name) => !isOfValidation(name))].map((name) => {
    const of = told.map((losses) => losses.get(name)), having = runs.filter((_, i) => of[i] !== undefined);
    const lowest = Math.min(...of.map((loss) => loss?.best?.value ?? Infinity));
    const best = having.length < 2 ? [] : having.filter(({index}) => of[index].best?.value === lowest);
    return {name, of, having, best};
  });
}

/** A sentence on which run is best in a loss, or why none is. */
function answerOf({name, of, having, best}) {
  const loss = element("b", {}, name);
  if (having.length === 1)
    return ["Only '", having[0].label, "' has ", loss, ", so it is not compared."];
  if (best.length === 0 && of.some((each) => Number.isFinite(each?.last.value)))
    return [loss, " is one of several trained losses, so its lowest value is not its best."];
  if (best.length === 0) return [loss, " was finite in no run."];
  const {value, epoch} = of[best[0].index].best;
  return [
    "Best ", loss, ": ", element("b", {}, listOf(best.map(({label}) => `'${label}'`))), ` with ${formatNumber(value)}`,
    best.length === 1 ? ` in epoch ${formatEpoch(epoch)}` : "",
    having.length < runs.length ? `, of the ${having.length} runs that have it.` : ".",
  ];
}

/** Models, hyperparameters and the configuration by name, each with its value in each run or undefined. */
function comparedSettings() {
  const bare = (type) => type.replace(/^.*::/, "").replace(/(?<=.)Impl$/, "");
  const described = ({name, type, parameters}) =>
    [name && name !== bare(type) ? `model ${name}` : "model", `${bare(type)} of ${plural(Number(parameters) || 0, "parameter")}`];
  const models = ({kinds}) => kinds.flatMap(({kind, models: all}) => (all.length > MOST_UNFOLDED ?
    [[`models ${kind}`, plural(all.length, "model")]] : all.filter((model) => model && model.type).map(described)));
  const told = runs.map((run) => new Map([...models(run), ...run.hyperparameters, ...run.settings]));
  return [...new Set(told.flatMap((each) => [...each.keys()]))]
      .map((name) => ({name, values: told.map((each) => each.get(name))}));
}

/** @param isBrief puts the epoch of the best value and the last value into a tooltip */
function lossCell({of, best}, run, isBrief) {
  const loss = of[run.index];
  if (loss === undefined) return "–";
  const last = `last ${formatNumber(loss.last.value)}`;
  if (loss.best === null) return element("span", {class: Number.isFinite(loss.last.value) ? null : "alarm"}, last);
  const when = `in epoch ${formatEpoch(loss.best.epoch)} · ${last}`;
  return [
    element("b", {title: when}, formatNumber(loss.best.value)), " ",
    best.length <= MOST_NAMED && best.includes(run) ? element("span", {class: "best"}, "best") : null,
    isBrief ? null : element("span", {class: "muted"}, ` ${when}`),
  ];
}

/** The value of a setting, formatted as in the plots; the tooltip has the whole value. */
function settingCell(text) {
  if (text === undefined) return "–";
  return isNumber(text) && !/^-?\d+$/.test(text) ? element("span", {title: text}, formatNumber(Number(text))) : text;
}

/** The worst finding of a run; an open one counts as worse than any resolved one. */
function worstFinding(run) {
  const own = findings.filter((finding) => finding.run === run);
  return own.find(({gone}) => !gone) || own[0];
}

function findingCell(run) {
  const worst = worstFinding(run);
  if (isHealthy(run)) return element("span", {class: "healthy", title: worst?.message}, "healthy");
  if (worst === undefined) return "–";
  const place = worst.layer === null ? "" : ` in ${worst.layer}${worst.parameter ? `.${worst.parameter}` : ""}`;
  return element("span", {class: worst.gone ? "noted" : severityName(worst), title: worst.message},
      element("span", {class: "severity"}, severityName(worst)), ` ${worst.gone ? "(resolved) " : ""}`,
      worst.rule.replaceAll("_", " ") + place);
}

/** The name of a run, its colour, and a box that shows or hides it. */
function nameCell(run) {
  const box = element("input", {type: "checkbox", "aria-label": `Show ${run.label}`, onchange: () => {
    const hiddenRuns = new Set(state.hiddenRuns);
    if (box.checked) hiddenRuns.delete(run.index);
    else hiddenRuns.add(run.index);
    setState("runs", {hiddenRuns});
  }});
  const show = () => box.checked = !state.hiddenRuns.has(run.index);
  show();
  const swatch = element("i", {class: "swatch line", style: `color:${runColour(run.index)}`, "aria-hidden": "true"});
  return {show, cell: [element("label", {class: "entry"}, box, swatch, element("span", {}, run.label)),
    run === baselineRun() ? element("span", {class: "muted"}, " baseline") : null]};
}

const WORST = "Worst finding";

/** The class of a column's cells in the list of runs. */
function classOf(title) {
  return Array.isArray(title) ? "setting" : title === WORST ? "words" : null;
}

/** The table of the runs, best first until the reader sorts it; its boxes choose the visible runs. */
class RunList {
  /** @param judging the loss by which they are sorted at first; it is shown in full */
  constructor(losses, judging, differing) {
    const settingKey = ({values}) => {
      const areNumbers = values.every((value) => value === undefined || isNumber(value));
      return ({index}) => (values[index] === undefined ? null : areNumbers ? Number(values[index]) : values[index]);
    };
    const severity = (run) => {
      const worst = worstFinding(run);
      return worst === undefined ? 0 : -(worst.gone ? 0.5 : worst.severity);
    };
    // A title, a cell, and a sort key; null comes last.
    this.columns = [
      ["Run", null, ({label}) => label],
      ...losses.map((loss, i) => [loss.name, (run) => lossCell(loss, run, i !== judging),
        ({index}) => loss.of[index]?.best?.value ?? null]),
      ...differing.map((setting) => [breakable(setting.name), ({index}) => settingCell(setting.values[index]),
        settingKey(setting)]),
      ["State", (run) => stateOf(run), ({state: word}) => word], [WORST, findingCell, severity],
    ];
    this.sorted = losses.length > 0 ? 1 + judging : null;
    this.isReversed = false;
    this.root = element("div", {class: "scrolled comparison-box"});
    for (const change of ["theme", "baseline"]) on(change, () => this.draw());
    on("runs", () => this.shows.forEach((show) => show()));
    on("hover", (run) => this.rows.forEach((row, each) => row.classList.toggle("pointed", each === run)));
    this.draw();
  }

  ordered() {
    if (this.sorted === null) return runs;
    const [, , key] = this.columns[this.sorted], sign = this.isReversed ? -1 : 1;
    const compare = (a, b) => (a === null || b === null ? (a === null) - (b === null) :
      typeof a === "number" ? sign * (a - b) : sign * String(a).localeCompare(String(b), "en", {numeric: true}));
    return [...runs].sort((a, b) => compare(key(a), key(b)));
  }

  sortBy(column) {
    this.isReversed = this.sorted === column && !this.isReversed;
    this.sorted = column;
    this.draw();
    this.root.querySelectorAll("thead button")[column].focus();
  }

  head([title], i) {
    const sort = this.sorted !== i ? "none" : this.isReversed ? "descending" : "ascending";
    return element("th", {scope: "col", "aria-sort": sort, class: classOf(title)},
        button({class: "link", onclick: () => this.sortBy(i)}, title));
  }

  draw() {
    this.shows = [];
    this.rows = new Map();
    const row = (run) => {
      const {show, cell: name} = nameCell(run);
      this.shows.push(show);
      const made = element("tr", {onpointerenter: () => announce("hover", run), onpointerleave: () => announce("hover", null)},
          element("th", {scope: "row"}, ...name),
          this.columns.slice(1).map(([title, cell]) => element("td", {class: classOf(title)}, cell(run))));
      this.rows.set(run, made);
      return made;
    };
    fill(this.root, element("table", {class: "comparison-table"},
        element("thead", {}, element("tr", {}, this.columns.map((column, i) => this.head(column, i)))),
        element("tbody", {}, this.ordered().map(row))));
  }

  /** Shows the first `count` runs of the table. */
  choose(count) {
    setState("runs", {hiddenRuns: new Set(this.ordered().slice(count).map(({index}) => index))});
  }
}

/** Buttons to choose which of many runs are visible. */
function choiceOf(list) {
  const choice = (text, count) => button({onclick: () => list.choose(count)}, text);
  return element("div", {class: "buttons"}, choice("Show all", runs.length), choice(`Show the first ${FIRST}`, FIRST),
      choice("Show none", 0));
}

/** The choice of colours for runs: by name, best loss, or a numerical setting; null for few runs. */
function colourChoice(loss, differing) {
  const isKnown = (value) => value !== undefined && isNumber(value);
  const numbers = differing.filter(({values}) => values.filter(isKnown).length >= FEWEST_POINTS);
  const scales = [
    ...(loss?.best.length > 0 ? [[`best ${loss.name}`, loss.of.map((each) => each?.best?.value)]] : []),
    ...numbers.map(({name, values}) => [name, values.map((value) => (isKnown(value) ? Number(value) : undefined))]),
  ];
  if (runs.length < FEWEST_POINTS || scales.length === 0) return null;
  const choices = [["", "run"], ...scales.map(([name], i) => [String(i), name])];
  return selector("Color by", choices, "", (choice) => {
    const values = choice === "" ? null : scales[Number(choice)][1], known = values?.filter((value) => value !== undefined);
    const high = known && (choice === "0" ? highestShown(known) : Math.max(...known));
    colourRunsBy(values && values.map((value) => (value === undefined ? undefined : placesOf(known, high).placeOf(value))));
    announce("theme");
  });
}

/**
 * A section on which run is best, and how the runs differ; null for a single run.
 * @param beside an element beside the table, or null
 */
export function comparisonSection(beside) {
  if (runs.length < 2) return null;
  const losses = comparedLosses(), settings = comparedSettings();
  const isSame = ({values}) => values.every((value) => value === values[0]);
  // The first loss that can be compared.
  const judging = Math.max(0, losses.findIndex(({best}) => best.length > 0));
  const same = settings.filter(isSame), differing = settings.filter((each) => !isSame(each));
  const answers = losses.map((loss) => element("p", {class: "answer"}, answerOf(loss)));
  if (answers.length === 0)
    answers.push(element("p", {class: "answer"}, "No run has a loss, so no run is the best."));
  const list = new RunList(losses, judging, differing);
  // Do not override a choice in the address.
  if (runs.length > MOST_AT_FIRST && state.hiddenRuns.size === 0) list.choose(MOST_AT_FIRST);
  const plots = settingPlots(losses[judging], differing);
  const folded = same.length === 0 ? null : element("details", {class: "same"},
      element("summary", {}, `${plural(same.length, "setting")} identical in all runs`),
      settingsList(same.map(({name, values}) => [name, values[0]])));
  return section("comparison", "Comparison", null, element("div", {class: "panel"},
      element("div", {class: "answers"}, answers, colourChoice(losses[judging], differing),
          runs.length > FIRST ? choiceOf(list) : null),
      element("div", {class: "compared"}, element("div", {class: "compared-table"}, list.root, folded), beside, plots)));
}
