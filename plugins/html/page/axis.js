import {formatEpoch, textWidth} from "./text.js";
import {nearestIndex, runs, TICK} from "./data.js";
import {epochWindow, showsDifferences, state} from "./state.js";
import {distinctLabels, roundNumbers} from "./value_scale.js";

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

for (const run of runs)
  run.places = {epoch: run.epochs, step: run.incident ? null : grown(run.steps), time: grown(run.seconds)};

/** The axes that every run with an epoch has places on. */
export const knownAxes =
  AXES.filter((name) => runs.every((run) => run.epochs.length === 0 || run.places[name] !== null));

/** The name of the axis that plots go by. */
export function axisName() { return state.axis === "epoch" ? TICK : state.axis; }

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

/** From where to where the epochs on show reach, of all of some runs. */
export function shownPlaces(shownRuns) {
  const shown = epochWindow();
  if (state.axis === "epoch") return shown;
  const places = shownRuns.flatMap(
    (run) => placesOf(run).filter((_, i) => run.epochs[i] >= shown[0] && run.epochs[i] <= shown[1]));
  if (places.length === 0) return [0, 1];
  return places.reduce(([a, b], c) => [Math.min(a, c), Math.max(b, c)], [Infinity, -Infinity]);
}

/** The epochs at which a run went on after it had stopped: its clock began anew. */
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

/** Ticks of the axis that plots go by: as many as fit beside each other. @param whole whether places are whole */
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

/** What stands beside the axis of values: its scale where that is no plain one, and the unit where the tag has one. */
export function valueTitle(tag, {words}) {
  const [title, unit] = tag.words || [], name = `${showsDifferences(tag) ? "Δ " : ""}${unit || title || tag.name}`;
  return words === "" ? name : `${words} · ${name}`;
}

/** Text for those places where dygraphs takes HTML. */
export function asHtml(text) { return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`); }
