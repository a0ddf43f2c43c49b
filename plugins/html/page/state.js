import {formatNumber} from "./text.js";
import {allEpochs, firstEpoch, lastEpoch, layerTags, nearestIndex, NUMERICAL, RELATION, reportSettings, runs, Series,
  TICK} from "./data.js";
import {worstInHeatMap} from "./findings.js";

// The steps of an incident that each stream keeps; a stream that was seldom looked at goes farther back.
const INCIDENT_STEPS = 64;

// The heat map first shows the run that is worst off.
const [worst] = runs.map(worstInHeatMap).filter(Boolean).sort((a, b) => b.severity - a.severity);
const namedBaseline = runs.find((run) => [run.name, run.label].includes(reportSettings.baseline));

/** The state of the whole page; announce() every change of it. */
export const state = {
  zoom: TICK === "step" ? snappedZoom(lastEpoch - INCIDENT_STEPS, lastEpoch) : null,  // [first epoch, last epoch]
  axis: "epoch",  // of plots: "epoch", "step" or "time"
  scale: "tag",   // "tag" as each tag and its data want, "log" or "linear"
  tagScales: new Map(),  // "log" or "linear", by tag name, where the reader chose another scale
  smoothing: 0,   // the weight of the average so far; 0: none
  search: "",
  order: null,  // of layers; null: what suits the tag
  hiddenRuns: new Set(),
  baseline: namedBaseline ? namedBaseline.index : null,  // the index of the run that others are compared with
  differences: false,  // whether curves are shown as differences to it
  selectedLayer: null,
  plotName: null,  // the tag of the plot sought in it
  tagName: null,   // of the overview, as the three below
  lineName: null,  // null: the telling one
  heatRun: worst ? worst.run.index : 0,
  heatRows: null,  // null: what suits the order
  openTags: layerTags.slice(0, 1).map((tag) => tag.name),
};

/** What an address that says nothing stands for. */
export const {openTags: _, ...plainView} = state;

const listeners = new Map();

/**
 * Calls `react` whenever `change` is announced: "zoom", "scale", "axis", "smoothing", "search", "order", "runs",
 * "theme", "cursor", "hover" with the run pointed at or null, "baseline", "overview", "heat" when the heat map was
 * redrawn, "layer" when another layer is chosen, "selected" when its plots stand.
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

/** The epochs from `low` to `high`, snapped to existing ones; null, for all, where less than two would be left. */
export function snappedZoom(low, high) {
  const [first, last] = [low, high].map((wanted) => allEpochs[nearestIndex(allEpochs, wanted)]);
  return (first === firstEpoch && last === lastEpoch) || !(last > first) ? null : [first, last];
}

export function setZoom(low, high) { setState("zoom", {zoom: snappedZoom(low, high)}); }

/** The epochs on show. */
export function epochWindow() { return state.zoom || [firstEpoch, lastEpoch]; }

export function visibleRuns() { return runs.filter((run) => !state.hiddenRuns.has(run.index)); }

/** Whether a layer's name contains every word of the search. */
export function isFound(layerName) {
  const name = layerName.toLowerCase();
  return state.search.toLowerCase().split(/\s+/).every((word) => name.includes(word));
}

/** The scale of a tag's values: "log" or "linear" as the reader or the tag wants it, else "data", as the data needs. */
export function chosenScale(tag) {
  if (tag.type !== NUMERICAL) return "linear";
  return state.tagScales.get(tag.name) ?? (state.scale !== "tag" ? state.scale : tag.log ? "log" : "data");
}

/** Lets the reader's choice count for all plots of a tag. */
export function setTagScale(tag, scale) {
  setState("scale", {tagScales: new Map([...state.tagScales, [tag.name, scale]])});
}

export function baselineRun() { return state.baseline === null ? null : runs[state.baseline]; }

/** Whether the curves of a tag are shown as differences to the baseline; shares of a whole and histograms never are. */
export function showsDifferences(tag) {
  return state.differences && state.baseline !== null && runs.length > 1 && tag.type !== RELATION;
}

/** What a line is more than the baseline's at the same epochs; nothing where either has no value. */
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
