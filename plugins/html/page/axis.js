import {formatEpoch, formatNumber, isPlain, textWidth} from "./text.js";
import {nearestIndex, runs, TICK} from "./data.js";
import {chosenScale, epochWindow, showsDifferences, state} from "./state.js";

// If the largest number is this many times the least, the scale is logarithmic.
const SPREAD = 1000;

/** Numbers as labels, in one notation, with enough digits that different numbers have different labels. */
export function distinctLabels(values, digits = 3) {
  const different = new Set(values).size, inPowers = values.some((value) => !isPlain(value));
  for (;; ++digits) {
    const labels = values.map((value) => formatNumber(value, digits, inPowers));
    if (digits >= 16 || new Set(labels).size >= different) return labels;
  }
}

/** Round numbers between two, as dygraphs places them. */
function roundNumbers(low, high, pixels, pixelsPerLabel) {
  const options = {pixelsPerLabel, axisLabelFormatter: String};
  return Dygraph.numericTicks(low, high, pixels, (name) => (name in options ? options[name] : null)).map(({v}) => v);
}

function roundLinear(low, high, pixels) { return roundNumbers(low, high, pixels, 28); }

/** Powers of ten, with 2 and 5 between them if only a few powers are visible. */
function roundPowers(low, high, pixels) {
  const decades = Math.log10(high / low);
  const room = Math.max(2, pixels / 26);
  const factors = decades * 3 <= room ? [1, 2, 5] : decades * 2 <= room ? [1, 3] : [1];
  const every = Math.max(1, Math.ceil(decades / room));
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    if (power % every !== 0) continue;
    for (const factor of factors) {
      const value = Number(`${factor}e${power}`);
      if (value >= low && value <= high) values.push(value);
    }
  }
  return values.length > 1 ? values : roundLinear(low, high, pixels).filter((value) => value > 0);
}

/**
 * The scales of an axis. `up` maps a number to its height, `down` does the reverse, `round` returns the numbers to label
 * in a range; `words` names the scale on the axis unless it is linear.
 */
export const LINEAR = {words: "", up: (value) => value, down: (height) => height, round: roundLinear};
export const LOGARITHMIC =
  {words: "log", up: (value) => Math.log10(value), down: (height) => 10 ** height, round: roundPowers};

/** Logarithmic on both sides of zero, and linear between -10^power and 10^power, which is as wide as one decade. */
function symmetric(power) {
  const threshold = Number(`1e${power}`);
  const up = (value) => {
    const magnitude = Math.abs(value) / threshold;
    return Math.sign(value) * (magnitude <= 1 ? magnitude : 1 + Math.log10(magnitude));
  };
  const down = (height) => {
    const magnitude = Math.abs(height);
    return Math.sign(height) * threshold * (magnitude <= 1 ? magnitude : 10 ** (magnitude - 1));
  };
  const round = (low, high, pixels) => {
    const every = Math.max(1, Math.ceil((up(high) - up(low)) / Math.max(2, pixels / 26)));
    const values = [0];
    for (let k = 0; Number(`1e${power + k}`) <= Math.max(-low, high); k += every)
      values.push(Number(`1e${power + k}`), -Number(`1e${power + k}`));
    const shown = values.filter((value) => value >= low && value <= high).sort((a, b) => a - b);
    return shown.length > 1 ? shown : roundLinear(low, high, pixels);
  };
  return {words: `log, linear below ${formatNumber(threshold, 1, true)}`, up, down, round};
}

/**
 * The scale for the numbers of some series: the one that the reader or the tag chose, otherwise logarithmic if they are
 * positive and span three decades. A logarithmic scale has a place for zero and negative numbers, too.
 */
export function scaleOf(tag, allSeries) {
  const chosen = chosenScale(tag);
  if (chosen === "linear") return LINEAR;
  let least = Infinity, most = 0, hasZero = false, isNegative = false;
  for (const {values} of allSeries) {
    for (const value of values) {
      if (value === 0) hasZero = true;
      if (value < 0) isNegative = true;
      const magnitude = Math.abs(value);
      if (!(magnitude > 0) || magnitude === Infinity) continue;
      least = Math.min(least, magnitude);
      most = Math.max(most, magnitude);
    }
  }
  if (most === 0) return LINEAR;
  const isBounded = tag.low !== null && tag.high !== null;
  // Allow for rounding: the report's numbers have five digits.
  if (chosen === "data" && (isNegative || isBounded || most < 0.9999 * SPREAD * least)) return LINEAR;
  if (!hasZero && !isNegative) return LOGARITHMIC;
  // If numbers have both signs, the smallest magnitudes mean nothing, so they do not widen the range.
  return symmetric(Math.floor(Math.log10(Math.max(least, most * (isNegative ? 1e-4 : 1e-12)))));
}

/** Ticks of the vertical axis for dygraphs: [{v, label}]. @param low, high heights */
export function valueTicks(scale, low, high, pixels) {
  const values = scale.round(scale.down(low), scale.down(high), pixels), labels = distinctLabels(values);
  return values.map((value, i) => ({v: scale.up(value), label: labels[i]}));
}

/** The width in pixels of the labels of these ticks. */
export function valueTicksWidth(scale, [low, high], pixels) {
  return Math.max(46, ...valueTicks(scale, low, high, pixels).map(({label}) => textWidth(label) + 13));
}

/**
 * The horizontal axes of plots. Everything else on the page, for example the cursor and the marks, uses epochs; so each
 * run stores the positions of its epochs on every axis.
 */
const AXES = ["epoch", "step", "time"];

/** Makes numbers that restarted at a resumption continue from the previous value; null without numbers. */
function grown(numbers) {
  if (!numbers || numbers.length === 0 || !numbers.some((number) => number > 0)) return null;
  let before = 0, offset = 0;
  return numbers.map((number) => {
    if (number < before) offset += before;
    before = number;
    return offset + number;
  });
}

for (const run of runs)
  run.places = {epoch: run.epochs, step: run.incident ? null : grown(run.steps), time: grown(run.seconds)};

/** The axes on which every run that has epochs has positions. */
export const knownAxes =
  AXES.filter((name) => runs.every((run) => run.epochs.length === 0 || run.places[name] !== null));

/** The name of the current horizontal axis. */
export function axisName() { return state.axis === "epoch" ? TICK : state.axis; }

/** The positions of all ticks of a run, or of some of its moments. */
export function placesOf(moments) { return moments.places[state.axis]; }

/** The position of an epoch, interpolated if the epoch has no tick. Before the first tick, positions begin at 0. */
export function placeOfEpoch(run, epoch, axis = state.axis) {
  if (axis === "epoch") return epoch;
  const places = run.places[axis], {epochs} = run;
  const nearest = nearestIndex(epochs, epoch), next = epochs[nearest] < epoch ? nearest + 1 : nearest;
  if (next < 0 || next >= epochs.length) return places[places.length - 1];
  if (epochs[next] === epoch) return places[next];
  const [from, before] = next === 0 ? [epochs[0] - 1, 0] : [epochs[next - 1], places[next - 1]];
  const share = Math.max(0, (epoch - from) / (epochs[next] - from));
  return before + share * (places[next] - before);
}

/** The moments of single steps of a run, interpolated between epochs. */
export function momentsAt(run, epochs) {
  const along = (axis) => run.places[axis] && epochs.map((epoch) => placeOfEpoch(run, epoch, axis));
  return {epochs, places: Object.fromEntries(AXES.map((axis) => [axis, along(axis)]))};
}

/** The epoch of the moment that is nearest to a position, among all runs. */
export function epochAt(allMoments, place) {
  if (state.axis === "epoch") return place;
  let nearest = null;
  for (const moments of allMoments) {
    const i = nearestIndex(placesOf(moments), place);
    if (i < 0) continue;
    const distance = Math.abs(placesOf(moments)[i] - place);
    if (nearest === null || distance < nearest.distance) nearest = {distance, epoch: moments.epochs[i]};
  }
  return nearest === null ? null : nearest.epoch;
}

/** The range of positions of the visible epochs, over the given runs. */
export function shownPlaces(shownRuns) {
  const shown = epochWindow();
  if (state.axis === "epoch") return shown;
  const places = shownRuns.flatMap(
    (run) => placesOf(run).filter((_, i) => run.epochs[i] >= shown[0] && run.epochs[i] <= shown[1]));
  if (places.length === 0) return [0, 1];
  return places.reduce(([a, b], c) => [Math.min(a, c), Math.max(b, c)], [Infinity, -Infinity]);
}

/** The epochs at which a run was resumed: its clock restarted there. */
export function resumptionsOf({resumed, epochs, seconds}) {
  return resumed && seconds ? epochs.filter((_, i) => i > 0 && seconds[i] < seconds[i - 1]) : [];
}

/** "1 h 20 min", "3.5 s", "40 ms" */
function formatSeconds(seconds) {
  const whole = (number, unit) => `${Number(number.toPrecision(3))} ${unit}`;
  if (seconds === 0) return "0";
  if (seconds < 1) return whole(seconds * 1000, "ms");
  if (seconds < 120) return whole(seconds, "s");
  if (seconds < 7200) {
    const rest = Math.round(seconds % 60);
    return rest === 0 || rest === 60 ? `${Math.round(seconds / 60)} min` : `${Math.floor(seconds / 60)} min ${rest} s`;
  }
  const minutes = Math.round((seconds % 3600) / 60);
  return minutes === 0 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 3600)} h ${minutes} min`;
}

const TIME_STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200,
  14400, 21600, 43200, 86400, 172800, 432000, 864000
];

/** Whether labels at a distance of `spacing` pixels do not touch each other. */
function fit(labels, spacing) { return Math.max(0, ...labels.map(textWidth)) + 10 <= spacing; }

/** Ticks at round numbers of seconds, minutes or hours. */
function timeTicks(low, high, pixels) {
  const widest = (high - low) || 1;
  for (const step of [...TIME_STEPS, widest]) {
    if (widest / step > pixels / 30 && step !== widest) continue;
    const ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high; ++i)
      ticks.push({v: i * step, label: formatSeconds(i * step)});
    if (step >= widest || fit(ticks.map(({label}) => label), (step / widest) * pixels)) return ticks;
  }
  return [];
}

/** "epoch 3"; on another axis than epochs "epoch 3 · 40 s" */
export function momentInWords(run, epoch) {
  const words = `${TICK} ${formatEpoch(epoch)}`, place = placeOfEpoch(run, epoch);
  if (state.axis === "epoch") return words;
  const there = state.axis === "time" ? formatSeconds(place) : `step ${Math.round(place).toLocaleString("en")}`;
  return `${words} · ${there}`;
}

/** Ticks of the horizontal axis, as many as fit side by side. @param whole whether positions are integers */
export function placeTicks(low, high, pixels, whole) {
  if (state.axis === "time") return timeTicks(low, high, pixels);
  for (let room = state.axis === "epoch" ? 46 : 70;; room *= 1.5) {
    const values = roundNumbers(low, high, pixels, room)
      .filter((value) => value >= low && value <= high && (!whole || Number.isInteger(value)));
    const labels = state.axis === "epoch" ? values.map(formatEpoch) : distinctLabels(values, 4);
    const spacing = ((values[1] - values[0]) / (high - low || 1)) * pixels;
    if (values.length < 2 || room > pixels || fit(labels, spacing))
      return values.map((v, i) => ({v, label: labels[i]}));
  }
}

/** The title of the axis of values: its scale unless it is linear, and the tag's unit, if any. */
export function valueTitle(tag, {words}) {
  const [title, unit] = tag.words || [], name = `${showsDifferences(tag) ? "Δ " : ""}${unit || title || tag.name}`;
  return words === "" ? name : `${words} · ${name}`;
}

/** Escapes text for places where dygraphs expects HTML. */
export function asHtml(text) { return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`); }

const WIDTH = 160, HEIGHT = 40, MOST_POINTS = 160;

export function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A small curve without axes, on the scale of its tag; a value that is not finite leaves a gap and a cross. */
export function smallCurve(run, series, tag, label) {
  const count = run.epochs.length, step = Math.max(1, Math.ceil(count / MOST_POINTS)), points = [];
  for (let i = 0; i < count; i += step) if (!series.isMissing(i)) points.push([i, series.values[i]]);
  const finite = points.map(([, value]) => value).filter(Number.isFinite);
  if (points.length < 2) return null;
  const {up: height} = scaleOf(tag, [series]);
  const low = Math.min(...finite.map(height)), high = Math.max(...finite.map(height)), range = high - low || 1;
  const x = (i) => 2 + (i / Math.max(1, count - 1)) * (WIDTH - 4);
  const y = (value) => HEIGHT - 4 - ((height(value) - low) / range) * (HEIGHT - 8);
  let path = "", isDown = false;
  const crosses = [];
  for (const [i, value] of points) {
    if (Number.isFinite(value)) path += `${isDown ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    else crosses.push(svg("path", {d: `M${Math.min(Math.max(x(i) - 3, 1), WIDTH - 7)} 4l6 6m0 -6l-6 6`, class: "broken"}));
    isDown = Number.isFinite(value);
  }
  return svg("svg", {class: "small-curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label},
      svg("path", {d: path}), ...crosses);
}
