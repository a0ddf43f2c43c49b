import {element, formatNumber} from "./text.js";
import {runs} from "./data.js";
import {announce, on, state} from "./state.js";
import {lineColour} from "./colours.js";
import {svg} from "./small_curve.js";

const WIDTH = 210, HEIGHT = 140, LEFT = 46, RIGHT = 10, TOP = 8, BOTTOM = 32, MOST = 12;
// Uses a logarithmic axis where the largest value is at least this many times the smallest.
const SPREAD = 30;
// From so many settings on, which go together is seen along lines through all of them.
const FEWEST_FOR_LINES = 3;

function isNumber(text) { return text.trim() !== "" && Number.isFinite(Number(text)); }

/** Where values stand from 0 to 1, and what is labelled: [place, text]. What is no number stands in order of its first run. */
function placesOf(values) {
  const told = values.filter((value) => value !== undefined && value !== null);
  if (!told.every((value) => typeof value === "number" || isNumber(value))) {
    const names = [...new Set(told)], room = Math.max(1, names.length - 1);
    return {placeOf: (value) => names.indexOf(value) / room, labels: names.map((name, i) => [i / room, name])};
  }
  const numbers = told.map(Number), low = Math.min(...numbers), high = Math.max(...numbers);
  const up = low > 0 && high / low > SPREAD ? Math.log : (number) => number;
  const range = up(high) - up(low) || 1;
  return {placeOf: (value) => (up(Number(value)) - up(low)) / range,
    labels: low === high ? [[0, formatNumber(low, 3)]] : [[0, formatNumber(low, 3)], [1, formatNumber(high, 3)]]};
}

function text(x, y, words, anchor) {
  const short = words.length > 16 ? `${words.slice(0, 15)}…` : words;
  const made = svg("text", {x, y, "text-anchor": anchor});
  made.append(short);
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
function pointsOf({name, values}, {name: lossName, of}) {
  const having = runs.filter(({index}) => values[index] !== undefined && of[index]?.best);
  if (having.length < 2) return null;
  const across = placesOf(having.map(({index}) => values[index]));
  const up = placesOf(having.map(({index}) => of[index].best.value));
  const x = (place) => LEFT + 6 + place * (WIDTH - LEFT - RIGHT - 12), y = (place) => HEIGHT - BOTTOM - 5 - place * (HEIGHT - TOP - BOTTOM - 10);
  const marks = having.map((run) => {
    const value = values[run.index], best = of[run.index].best.value;
    return marked(svg("circle", {cx: x(across.placeOf(value)), cy: y(up.placeOf(best)), r: 4.5}), run,
        `${lossName} ${formatNumber(best)} with ${name} ${value}`);
  });
  follow(marks, "fill");
  return svg("svg", {class: "setting-plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": `Best ${lossName} by ${name}`},
  svg("path", {class: "axis", d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}`}),
  ...up.labels.map(([place, words]) => text(LEFT - 5, y(place) + 4, words, "end")),
  ...across.labels.map(([place, words], i) => (across.labels.length > 4 && i % Math.ceil(across.labels.length / 4) !== 0 ? null :
    text(x(place), HEIGHT - BOTTOM + 13, words, place < 0.2 ? "start" : place > 0.8 ? "end" : "middle"))).filter(Boolean),
  text((LEFT + WIDTH) / 2, HEIGHT - 4, name, "middle"), ...marks.map(({mark}) => mark));
}

/** All settings side by side and the best loss last, a line a run. */
function linesOf(settings, {name: lossName, of}) {
  const having = runs.filter(({index}) => of[index]?.best && settings.every(({values}) => values[index] !== undefined));
  if (having.length < 2) return null;
  const axes = [...settings, {name: `best ${lossName}`, values: of.map((loss) => loss?.best?.value)}]
      .map(({name, values}) => ({name, values, ...placesOf(having.map(({index}) => values[index]))}));
  const step = 130, width = 60 + step * (axes.length - 1) + 60, y = (place) => HEIGHT - BOTTOM - 4 - place * (HEIGHT - TOP - BOTTOM - 8);
  const x = (i) => 60 + i * step;
  const marks = having.map((run) => marked(svg("path", {class: "through", d: axes.map(({values, placeOf}, i) =>
    `${i === 0 ? "M" : "L"}${x(i)} ${y(placeOf(values[run.index])).toFixed(1)}`).join("")}), run,
  axes.map(({name, values}) => `${name} ${values[run.index]}`).join(", ")));
  follow(marks, "stroke");
  return svg("svg", {class: "setting-lines", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img",
    "aria-label": `Settings that go with the best ${lossName}`}, ...axes.flatMap(({name, labels}, i) => [
    svg("path", {class: "axis", d: `M${x(i)} ${TOP}V${HEIGHT - BOTTOM}`}),
    ...labels.map(([place, words]) => text(x(i) - 4, y(place) + 4, words, "end")),
    text(x(i), HEIGHT - 6, name, "middle"),
  ]), svg("g", {}, ...marks.map(({mark}) => mark)));
}

/** Which values of the settings that differ go with a low loss; null where none of them does in two runs. */
export function settingPlots(loss, differing) {
  if (loss === undefined) return null;
  const plots = differing.slice(0, MOST).map((setting) => pointsOf(setting, loss)).filter((plot) => plot !== null);
  const lines = plots.length >= FEWEST_FOR_LINES ? linesOf(differing.slice(0, MOST), loss) : null;
  return plots.length === 0 ? null : element("div", {class: "setting-plots"}, lines, plots);
}
