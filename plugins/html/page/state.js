/** What the whole page shares; whoever changes it announces the change. */
const state = {
  zoom: null,     // [first epoch, last epoch]
  axis: "epoch",  // what plots go by: "epoch", "step" or "time"
  scale: "tag",   // "tag" as each tag says, "log" or "linear"
  smoothing: 0,   // the weight of the average so far; 0: none
  search: "",
  order: null,  // of layers; null: what suits the tag
  hiddenRuns: new Set(),
  baseline: null,      // the index of the run that others are compared with
  differences: false,  // whether curves are shown as differences to it
  selectedLayer: null,
  plotName: null,  // the tag of the plot sought in it
  tagName: null,   // of the overview, as the three below
  lineName: null,  // null: the telling one
  heatRun: 0,
  heatRows: null,  // null: what suits the order
  openTags: layerTags.slice(0, 1).map((tag) => tag.name),
};

const {openTags: _, ...plainView} = state;

/** What differs from that in this report when it is opened. */
const startingView = {};

const listeners = new Map();

/**
 * Calls `react` whenever `change` is announced: "zoom", "scale", "axis", "smoothing", "search", "order", "runs",
 * "theme", "cursor", "baseline", "overview", "layer" of which plots are shown where, "selected" when a layer is.
 */
function on(change, react) {
  if (!listeners.has(change)) listeners.set(change, new Set());
  listeners.get(change).add(react);
  return () => listeners.get(change).delete(react);
}

function announce(change, ...details) {
  for (const react of [...(listeners.get(change) || [])]) react(...details);
}

function setState(change, values) {
  Object.assign(state, values);
  announce(change);
}

/**
 * The epochs from `low` to `high`, which snap to the nearest there are; null, for all, where none or one would be
 * left.
 */
function snappedZoom(low, high) {
  const [first, last] = [low, high].map((wanted) => allEpochs[nearestIndex(allEpochs, wanted)]);
  const whole = first === firstEpoch && last === lastEpoch;
  return whole || !(last > first) ? null : [first, last];
}

function setZoom(low, high) { setState("zoom", {zoom: snappedZoom(low, high)}); }

/** The epochs on show. */
function epochWindow() { return state.zoom || [firstEpoch, lastEpoch]; }

function visibleRuns() { return runs.filter((run) => !state.hiddenRuns.has(run.index)); }

/** Whether a layer's name contains every word of the search. */
function isFound(layerName) {
  const name = layerName.toLowerCase();
  return state.search.toLowerCase().split(/\s+/).every((word) => name.includes(word));
}

/** Whether a tag is drawn on a logarithmic scale. */
function isLogarithmic(tag) {
  if (tag.type !== NUMERICAL) return false;
  return state.scale === "log" || (state.scale === "tag" && tag.log);
}
