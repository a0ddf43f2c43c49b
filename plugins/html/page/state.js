/** What the whole page shares; whoever changes it announces the change. */
const state = {
  zoom: null,     // [first epoch, last epoch]
  axis: "epoch",  // what plots go by: "epoch", "step" or "time"
  scale: "tag",   // "tag" as each tag says, "log" or "linear"
  search: "",
  order: null,    // of layers; null: what suits the tag
  hiddenRuns: new Set(),
  selectedLayer: null,
  tagName: null,  // of the overview
  openTags: layerTags.slice(0, 1).map((tag) => tag.name),
};

const listeners = new Map();

/**
 * Calls `react` whenever `change` is announced: "zoom", "scale", "axis", "search", "order", "runs", "theme", "cursor".
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

/** Shows the epochs from `low` to `high`, which snap to the nearest there are; all where none or one would be left. */
function setZoom(low, high) {
  const [first, last] = [low, high].map((wanted) => allEpochs[nearestIndex(allEpochs, wanted)]);
  const whole = first === firstEpoch && last === lastEpoch;
  setState("zoom", {zoom: whole || !(last > first) ? null : [first, last]});
}

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
