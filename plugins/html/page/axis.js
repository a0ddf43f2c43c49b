import {formatEpoch, formatNumber, isPlain, textWidth} from "./text.js";
import {nearestIndex, runs, TICK} from "./data.js";
import {chosenScale, epochWindow, showsDifferences, state} from "./state.js";

// Numbers whose largest is this many times the least are drawn by their logarithm.
const SPREAD = 1000;

/** Numbers as labels, in one notation and in as many digits as it takes that no two different ones read the same. */
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

/** Powers of ten, with 2 and 5 between them where few powers are on show. */
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
 * How numbers lie along an axis. `up` gives a number's height, `down` the reverse, `round` the numbers to label between
 * two; `words` says on the axis what is not plain.
 */
export const LINEAR = {words: "", up: (value) => value, down: (height) => height, round: roundLinear};
export const LOGARITHMIC =
  {words: "log", up: (value) => Math.log10(value), down: (height) => 10 ** height, round: roundPowers};

/** Powers of ten on both sides of zero, and between 10^power and its negative as far as a decade is wide. */
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
 * The scale for the numbers of some series: as the reader or the tag wants it, else by their logarithm where they are
 * positive and spread over three decades. What is zero or less has its place on a logarithmic axis, too.
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
  // The report's numbers have five digits.
  if (chosen === "data" && (isNegative || isBounded || most < 0.9999 * SPREAD * least)) return LINEAR;
  if (!hasZero && !isNegative) return LOGARITHMIC;
  // What lies on both sides of zero comes near it by chance.
  return symmetric(Math.floor(Math.log10(Math.max(least, most * (isNegative ? 1e-4 : 1e-12)))));
}

/** Ticks of the axis of values, as dygraphs wants them: [{v, label}]. @param low, high heights */
export function valueTicks(scale, low, high, pixels) {
  const values = scale.round(scale.down(low), scale.down(high), pixels), labels = distinctLabels(values);
  return values.map((value, i) => ({v: scale.up(value), label: labels[i]}));
}

/** The pixels that the labels of such ticks need. */
export function valueTicksWidth(scale, [low, high], pixels) {
  return Math.max(46, ...valueTicks(scale, low, high, pixels).map(({label}) => textWidth(label) + 13));
}

/**
 * The axis of the plots. Everything else on the page, for example the cursor and the marks, uses epochs; so each run has
 * its places on every axis beside its epochs.
 */
const AXES = ["epoch", "step", "time"];

/** Numbers that restarted where a run was resumed, made to go on from where they were; null without numbers. */
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

/** The axes that every run with an epoch has places on. */
export const knownAxes =
  AXES.filter((name) => runs.every((run) => run.epochs.length === 0 || run.places[name] !== null));

/** The name of the plots' axis. */
export function axisName() { return state.axis === "epoch" ? TICK : state.axis; }

/** Where each tick of a run, or each of some moments of it, stands. */
export function placesOf(moments) { return moments.places[state.axis]; }

/** Where an epoch stands that need not have its own tick. Before the first tick, the run began at 0. */
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

/** The moments of single steps of a run, which lie between two epochs. */
export function momentsAt(run, epochs) {
  const along = (axis) => run.places[axis] && epochs.map((epoch) => placeOfEpoch(run, epoch, axis));
  return {epochs, places: Object.fromEntries(AXES.map((axis) => [axis, along(axis)]))};
}

/** The epoch at a place: that of the nearest moment of any of the runs. */
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

/** From where to where the epochs on show reach, of all of some runs. */
export function shownPlaces(shownRuns) {
  const shown = epochWindow();
  if (state.axis === "epoch") return shown;
  const places = shownRuns.flatMap(
    (run) => placesOf(run).filter((_, i) => run.epochs[i] >= shown[0] && run.epochs[i] <= shown[1]));
  if (places.length === 0) return [0, 1];
  return places.reduce(([a, b], c) => [Math.min(a, c), Math.max(b, c)], [Infinity, -Infinity]);
}

/** The epochs at which a stopped run went on: its clock restarted there. */
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

/** Whether labels at every `spacing` pixels do not touch. */
function fit(labels, spacing) { return Math.max(0, ...labels.map(textWidth)) + 10 <= spacing; }

/** At round numbers of seconds, minutes or hours. */
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

/** "epoch 3", and on another axis "epoch 3 · 40 s" */
export function momentInWords(run, epoch) {
  const words = `${TICK} ${formatEpoch(epoch)}`, place = placeOfEpoch(run, epoch);
  if (state.axis === "epoch") return words;
  const there = state.axis === "time" ? formatSeconds(place) : `step ${Math.round(place).toLocaleString("en")}`;
  return `${words} · ${there}`;
}

/** Ticks of the plots' axis: as many as fit beside each other. @param whole whether places are whole */
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

/** Text for those places where dygraphs takes HTML. */
export function asHtml(text) { return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`); }

const WIDTH = 160, HEIGHT = 40, MOST_POINTS = 160;

export function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A line of a run's numbers without axes, on the scale of its tag; what is not finite leaves a gap and a cross. */
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
    else crosses.push(svg("path", {d: `M${x(i) - 3} 4l6 6m0 -6l-6 6`, class: "broken"}));
    isDown = Number.isFinite(value);
  }
  return svg("svg", {class: "small-curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label},
      svg("path", {d: path}), ...crosses);
}
