import {formatNumber} from "./text.js";
import {allEpochs, firstEpoch, lastEpoch, layerTags, nearestIndex, NUMERICAL, RELATION, reportSettings, runs, Series,
  TICK} from "./data.js";
import {worstInHeatMap} from "./findings.js";

// The number of steps that each stream of an incident keeps; streams with fewer measurements go farther back.
const INCIDENT_STEPS = 64;

// The heat map first shows the run with the worst finding.
const [worst] = runs.map(worstInHeatMap).filter(Boolean).sort((a, b) => b.severity - a.severity);
const namedBaseline = runs.find((run) => [run.name, run.label].includes(reportSettings.baseline));

/** The state of the whole page; call announce() after every change. */
export const state = {
  zoom: TICK === "step" ? snappedZoom(lastEpoch - INCIDENT_STEPS, lastEpoch) : null,  // [first epoch, last epoch]
  axis: "epoch",  // the horizontal axis of plots: "epoch", "step" or "time"
  scale: "tag",   // "tag": as each tag and its data require; or "log", "linear"
  tagScales: new Map(),  // by tag name, "log" or "linear" if the reader chose a scale for it
  smoothing: 0,   // the weight of the previous average; 0: no smoothing
  search: "",
  order: null,  // the order of layers; null: the tag's default
  hiddenRuns: new Set(),
  baseline: namedBaseline ? namedBaseline.index : null,  // the index of the run to which others are compared
  differences: false,  // whether curves show differences to the baseline
  selectedLayer: null,
  plotName: null,  // the tag of the layer's plot to scroll to
  tagName: null,   // the tag of the overview; the three below are also of the overview
  lineName: null,  // null: the default line
  heatRun: worst ? worst.run.index : 0,
  heatRows: null,  // null: the default of the order
  openTags: layerTags.slice(0, 1).map((tag) => tag.name),
};

/** The state that an address without a hash means. */
export const {openTags: _, ...plainView} = state;

const listeners = new Map();

/**
 * Calls `react` whenever `change` is announced: "zoom", "scale", "axis", "smoothing", "search", "order", "runs", "theme",
 * "cursor", "hover" (with the highlighted run or null), "baseline", "overview", "heat" (the heat map was redrawn), "layer"
 * (a different layer is chosen), "selected" (the layer's plots are in place).
 */
export function on(change, react) {
  if (!listeners.has(change)) listeners.set(change, new Set());
  listeners.get(change).add(react);
}

export function announce(change, ...details) {
  for (const react of [...(listeners.get(change) || [])]) react(...details);
}

export function setState(change, values) {
  Object.assign(state, values);
  announce(change);
}

/** The epochs from `low` to `high`, snapped to existing ones; null, meaning all, if fewer than two would remain. */
export function snappedZoom(low, high) {
  const [first, last] = [low, high].map((wanted) => allEpochs[nearestIndex(allEpochs, wanted)]);
  return (first === firstEpoch && last === lastEpoch) || !(last > first) ? null : [first, last];
}

export function setZoom(low, high) { setState("zoom", {zoom: snappedZoom(low, high)}); }

/** The visible epochs. */
export function epochWindow() { return state.zoom || [firstEpoch, lastEpoch]; }

export function visibleRuns() { return runs.filter((run) => !state.hiddenRuns.has(run.index)); }

/** Whether a layer's name contains every word of the search. */
export function isFound(layerName) {
  const name = layerName.toLowerCase();
  return state.search.toLowerCase().split(/\s+/).every((word) => name.includes(word));
}

/** The scale of a tag's values: "log" or "linear" if the reader or the tag chose one, else "data": as the data require. */
export function chosenScale(tag) {
  if (tag.type !== NUMERICAL) return "linear";
  return state.tagScales.get(tag.name) ?? (state.scale !== "tag" ? state.scale : tag.log ? "log" : "data");
}

/** Uses the reader's choice for all plots of a tag. */
export function setTagScale(tag, scale) {
  setState("scale", {tagScales: new Map([...state.tagScales, [tag.name, scale]])});
}

export function baselineRun() { return state.baseline === null ? null : runs[state.baseline]; }

/** Whether curves of a tag show differences to the baseline; shares of a whole and histograms never do. */
export function showsDifferences(tag) {
  return state.differences && state.baseline !== null && runs.length > 1 && tag.type !== RELATION;
}

/** A series minus the baseline's values at the same epochs; no value where either has none. */
export function differenceSeries(run, series, base) {
  const made = new Series("", series.values.length), other = baselineRun();
  const indexOf = new Map(base === null ? [] : other.epochs.map((epoch, i) => [epoch, i]));
  run.epochs.forEach((epoch, i) => {
    const j = indexOf.get(epoch);
    if (j !== undefined && !series.isMissing(i) && !base.isMissing(j))
      made.values[i] = series.values[i] - base.values[j];
  });
  return made;
}

/** "+0.02 (+10 %)" */
export function differenceInWords(value, base) {
  const signed = (number, digits) => (number > 0 ? "+" : number === 0 ? "±" : "") + formatNumber(number, digits);
  // The report holds numbers of five digits; a smaller difference means nothing.
  const difference = Math.abs(value - base) < 1e-5 * Math.abs(base) ? 0 : value - base;
  const share = base === 0 ? "" : ` (${signed((difference / Math.abs(base)) * 100, 3)} %)`;
  return `${signed(difference, 3)}${share}`;
}
