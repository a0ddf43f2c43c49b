import {formatEpoch, formatNumber, textWidth} from "./text.js";
import {nearestIndex, runs} from "./data.js";
import {showsDifferences, state} from "./state.js";

/**
 * What plots go by. All else on the page, as the part on show, the cursor and the marks, goes by epoch; so each run has
 * its places on every axis beside its epochs.
 */
const AXES = ["epoch", "step", "time"];

/** Numbers that begin anew where a run was resumed go on from where they were; null where there are none. */
function grown(numbers) {
  if (!numbers || numbers.length === 0 || !numbers.some((number) => number > 0)) return null;
  let before = 0, offset = 0;
  return numbers.map((number) => {
    if (number < before) offset += before;
    before = number;
    return offset + number;
  });
}

for (const run of runs) run.places = {epoch: run.epochs, step: grown(run.steps), time: grown(run.seconds)};

/** The axes that every run with an epoch has places on. */
export const knownAxes =
  AXES.filter((name) => runs.every((run) => run.epochs.length === 0 || run.places[name] !== null));

/** Where each tick of a run stands. */
export function placesOf(run) { return run.places[state.axis]; }

/** Where an epoch stands that need not have a tick of its own. */
export function placeOfEpoch(run, epoch) {
  if (state.axis === "epoch") return epoch;
  const places = placesOf(run), {epochs} = run;
  const nearest = nearestIndex(epochs, epoch), next = epochs[nearest] < epoch ? nearest + 1 : nearest;
  if (next < 0 || next >= epochs.length) return places[places.length - 1];
  if (next === 0 || epochs[next] === epoch) return places[next];
  const share = (epoch - epochs[next - 1]) / (epochs[next] - epochs[next - 1]);
  return places[next - 1] + share * (places[next] - places[next - 1]);
}

/** The epoch at a place: that of the nearest tick of any of the runs. */
export function epochAt(shownRuns, place) {
  if (state.axis === "epoch") return place;
  let nearest = null;
  for (const run of shownRuns) {
    const i = nearestIndex(placesOf(run), place);
    if (i < 0) continue;
    const distance = Math.abs(placesOf(run)[i] - place);
    if (nearest === null || distance < nearest.distance) nearest = {distance, epoch: run.epochs[i]};
  }
  return nearest === null ? null : nearest.epoch;
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

/** Ticks of a time axis, as dygraphs wants them: at round numbers of seconds, minutes or hours. */
export function timeTicks(low, high, pixels) {
  const room = Math.max(2, pixels / 80);
  const step = TIME_STEPS.find((each) => (high - low) / each <= room) || (high - low) / room;
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; ++i) ticks.push({v: i * step, label: formatSeconds(i * step)});
  return ticks;
}

/** A place in words for the axis; "" where none belongs. @param whole whether there are whole epochs only */
export function formatPlace(place, whole) {
  if (state.axis === "time") return formatSeconds(place);
  if (state.axis === "step") return Number.isInteger(place) ? formatNumber(place, 4) : "";
  return whole && !Number.isInteger(place) ? "" : formatEpoch(place);
}

/** "epoch 3", and on another axis "epoch 3 · 40 s" */
export function momentInWords(run, epoch) {
  const words = `epoch ${formatEpoch(epoch)}`, place = placeOfEpoch(run, epoch);
  if (state.axis === "epoch") return words;
  const there = state.axis === "time" ? formatSeconds(place) : `step ${Math.round(place).toLocaleString("en")}`;
  return `${words} · ${there}`;
}

/** Numbers as labels, in as many digits as it takes that no two different numbers read the same. */
export function distinctLabels(values, digits = 3) {
  const different = new Set(values).size;
  for (;; ++digits) {
    const labels = values.map((value) => formatNumber(value, digits));
    if (digits >= 16 || new Set(labels).size >= different) return labels;
  }
}

function labelled(values, digits) {
  const labels = distinctLabels(values, digits);
  return values.map((v, i) => ({v, label: labels[i]}));
}

/** Round numbers between two, as dygraphs places them. */
function roundNumbers(low, high, pixels, pixelsPerLabel) {
  const options = {pixelsPerLabel, axisLabelFormatter: String};
  return Dygraph.numericTicks(low, high, pixels, (name) => (name in options ? options[name] : null)).map(({v}) => v);
}

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
  return values.length > 1 ? values : roundNumbers(low, high, pixels, 28).filter((value) => value > 0);
}

/** Ticks of the axis of values, as dygraphs wants them: [{v, label}]. */
export function valueTicks(low, high, pixels, logarithmic) {
  return labelled(logarithmic ? roundPowers(low, high, pixels) : roundNumbers(low, high, pixels, 28));
}

/** The pixels that the labels of such ticks need. */
export function valueTicksWidth([low, high], pixels, logarithmic) {
  return Math.max(46, ...valueTicks(low, high, pixels, logarithmic).map(({label}) => textWidth(label) + 8));
}

/** Ticks of an axis of steps. */
export function stepTicks(low, high, pixels) {
  return labelled(roundNumbers(low, high, pixels, 70).filter(Number.isInteger), 4);
}

/** What stands beside the axis of values: the unit where the tag has one. */
export function valueTitle(tag) {
  const [title, unit] = tag.words || [];
  return `${showsDifferences(tag) ? "Δ " : ""}${unit || title || tag.name}`;
}

/** Text for those places where dygraphs takes HTML. */
export function asHtml(text) { return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`); }
