import {element, formatNumber, isNumber} from "./text.js";
import {runs} from "./data.js";
import {announce, on, state} from "./state.js";
import {lineColour} from "./colours.js";
import {svg} from "./small_curve.js";

const HEIGHT = 140, LEFT = 46, RIGHT = 10, TOP = 8, BOTTOM = 32, MOST = 12;
// A plot's width, so that those of up to five settings fit beside the lines through all.
const WIDE = 204, NARROW = 140, MOST_WIDE = 4;
// Uses a logarithmic axis where the largest value is at least this many times the smallest.
const SPREAD = 30;
// A loss is cut off that is so many times as far above the best as three quarters of the runs are.
const FAR = 4, CUT_AT = 0.84;
// From so many settings on, which go together is seen along lines through all of them.
const FEWEST_FOR_LINES = 3;
const SMALL_FROM = 40, MOST_LABELS = 4, LETTER_WIDTH = 5.6;

/** The highest number that does not flatten the others. */
function highestShown(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b), low = sorted[0];
  const usual = sorted[Math.floor(0.75 * (sorted.length - 1))] - low;
  return usual > 0 ? sorted.findLast((number) => number - low <= FAR * usual) : sorted[sorted.length - 1];
}

/**
 * Where values stand from 0 to 1, and what is labelled: [place, text]. What is no number stands in order of its first
 * run.
 * @param high the highest number that has a place of its own; all above it share one
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

/** @param room in pixels, beyond which words are cut */
function text(x, y, words, anchor, room = 90) {
  const most = Math.max(3, Math.floor(room / LETTER_WIDTH));
  const made = svg("text", {x, y, "text-anchor": anchor});
  made.append(words.length > most ? `${words.slice(0, most - 1)}…` : words);
  return made;
}

/** What stands for a run: it is named under the pointer and brought forward with it, and hidden as the run is. */
function marked(mark, run, words) {
  mark.append(svg("title", {}));
  mark.firstChild.append(`${run.label}: ${words}`);
  mark.addEventListener("pointerenter", () => announce("hover", run));
  mark.addEventListener("pointerleave", () => announce("hover", null));
  return {run, mark};
}

function follow(marks, colourOf) {
  const show = () => marks.forEach(({run, mark}) => {
    mark.setAttribute(colourOf, lineColour(run.index));
    mark.classList.toggle("gone", state.hiddenRuns.has(run.index));
  });
  for (const change of ["theme", "runs"]) on(change, show);
  on("hover", (hovered) => marks.forEach(({run, mark}) => {
    mark.classList.toggle("dimmed", hovered !== null && hovered !== run);
    if (run === hovered) mark.parentNode.append(mark);
  }));
  show();
}

/** A setting against the best loss, a point a run. */
function pointsOf({name, values}, {name: lossName, of}, width) {
  const having = runs.filter(({index}) => values[index] !== undefined && of[index]?.best);
  if (having.length < 2) return null;
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
  text((LEFT + width) / 2, HEIGHT - 4, name, "middle", inside + 30), ...marks.map(({mark}) => mark));
}

/** All settings side by side and the best loss last, a line a run. */
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

/** Which values of the settings that differ go with a low loss; null where none of them does in two runs. */
export function settingPlots(loss, differing) {
  if (loss === undefined) return null;
  const settings = differing.slice(0, MOST), width = settings.length > MOST_WIDE ? NARROW : WIDE;
  const plots = settings.map((setting) => pointsOf(setting, loss, width)).filter((plot) => plot !== null);
  const lines = plots.length >= FEWEST_FOR_LINES ? linesOf(settings, loss) : null;
  return plots.length === 0 ? null : element("div", {class: "setting-plots"}, lines, plots);
}
