/** What the address says after its "#": all values of each key; what is malformed is left out. */
function addressParts() {
  const told = new Map();
  for (const part of location.hash.slice(1).split("&")) {
    const [, key, text] = /^(\w+)=(.*)$/.exec(part) || [];
    if (key === undefined) continue;
    try {
      told.set(key, [...(told.get(key) || []), decodeURIComponent(text)]);
    } catch {
      // Cut off within a character.
    }
  }
  return told;
}

/**
 * The choices that make a view, as keys of the address: `change` is what is announced when it changes, `read` gives the
 * values of the state for what the address says, or null where that is no choice, and `write` the other way round;
 * null stands for what is shown anyway.
 */
const VIEW = {
  layer: {change: "layer", read: ([name]) => ({selectedLayer: name}), write: () => state.selectedLayer},
  plot: {change: "layer", read: ([name]) => ({plotName: name}), write: () => state.plotName},
  tag: {
    change: "overview",
    read: ([name]) => (mappedTags().some((tag) => tag.name === name) ? {tagName: name} : null),
    write: () => (state.tagName === null || state.tagName === mappedTags()[0].name ? null : state.tagName),
  },
  line: {
    change: "overview",
    read: ([name]) => ({lineName: name}),
    write: () =>
        state.lineName === null || state.lineName === tellingLine(lineNames(state.tagName)) ? null : state.lineName,
  },
  run: {
    change: "overview",
    read: ([label]) => (runLabelled(label) ? {heatRun: runLabelled(label).index} : null),
    write: () => (state.heatRun === 0 ? null : runs[state.heatRun].label),
  },
  rows: {
    change: "overview",
    read: ([rows]) => (ROW_CHOICES.some(([each]) => each === rows) ? {heatRows: rows} : null),
    write: () => state.heatRows,
  },
  order: {
    change: "order",
    read: ([order]) => (ORDERS.some(([each]) => each === order) ? {order} : null),
    write: () => state.order,
  },
  by: {
    change: "axis",
    read: ([axis]) => (knownAxes.includes(axis) ? {axis} : null),
    write: () => (state.axis === "epoch" ? null : state.axis),
  },
  scale: {
    change: "scale",
    read: ([scale]) => (["log", "linear"].includes(scale) ? {scale} : null),
    write: () => (state.scale === "tag" ? null : state.scale),
  },
  smoothing: {
    change: "smoothing",
    read: ([weight]) => (SMOOTHINGS.some(([each]) => each === weight) ? {smoothing: Number(weight)} : null),
    write: () => (state.smoothing === 0 ? null : String(state.smoothing)),
  },
  epochs: {
    change: "zoom",
    read: ([text]) => {
      const [, low, high] = /^([^~]+)~([^~]+)$/.exec(text) || [];
      return [low, high].map(Number).every(Number.isFinite) ? {zoom: snappedZoom(Number(low), Number(high))} : null;
    },
    write: () => (state.zoom === null ? null : state.zoom.join("~")),
  },
  search: {change: "search", read: ([search]) => ({search}), write: () => state.search || null},
  hide: {
    change: "runs",
    read: (labels) => ({hiddenRuns: new Set(labels.map(runLabelled).filter(Boolean).map((run) => run.index))}),
    write: () => [...state.hiddenRuns].map((index) => runs[index].label),
  },
  // An empty one stands for none where the report was made with one.
  baseline: {
    change: "baseline",
    read: ([label]) =>
        (label === ""           ? {baseline: null} :
             runLabelled(label) ? {baseline: runLabelled(label).index} :
                                  null),
    write: () =>
        (state.baseline === (startingView.baseline ?? null) ? null :
             state.baseline === null                        ? "" :
                                                              runs[state.baseline].label),
  },
  curves: {
    change: "baseline",
    read: ([kind]) => (kind === "differences" ? {differences: true} : null),
    write: () => (state.differences ? "differences" : null),
  },
};

function runLabelled(label) { return runs.find((run) => run.label === label); }

/** The values that the state has where an address says nothing. */
function viewOfNothing() { return {...plainView, hiddenRuns: new Set(), ...startingView}; }

function addressOfView() {
  const parts = Object.entries(VIEW).flatMap(
      ([
        key, {write}
      ]) => [write()].flat().filter((value) => value !== null).map((value) => `${key}=${encodeURIComponent(value)}`));
  return parts.length === 0 ? "" : `#${parts.join("&")}`;
}

/** Takes over what the address says, as far as there is such a choice. */
function readView() {
  for (const [key, values] of addressParts()) {
    const chosen = Object.hasOwn(VIEW, key) ? VIEW[key].read(values) : null;
    if (chosen !== null) Object.assign(state, chosen);
  }
}

function writtenView() { return new Map(Object.entries(VIEW).map(([key, {write}]) => [key, JSON.stringify(write())])); }

// While the page follows the address it does not write it.
let isFollowing = true;

/** Of a section, which is a place on the page and says nothing of the view. */
function isPlainAnchor() { return location.hash !== "" && addressParts().size === 0; }

/** @param replaces whether "back" passes this view by, as letters of a search */
function writeView(replaces) {
  if (isFollowing) return;
  const hash = addressOfView();
  if (hash === location.hash) return;
  const address = location.pathname + location.search + hash;
  try {
    if (replaces)
      history.replaceState(null, "", address);
    else
      history.pushState(null, "", address);
  } catch {
    // A browser that forbids it shows the page all the same.
  }
}

/** "Back", "forward", or an address that the reader changed. */
function followAddress() {
  if (isPlainAnchor()) return;
  isFollowing = true;
  const before = writtenView();
  Object.assign(state, viewOfNothing());
  readView();
  const after = writtenView();
  const changes =
      new Set([...after].filter(([key, text]) => before.get(key) !== text).map(([key]) => VIEW[key].change));
  for (const change of changes) announce(change);
  isFollowing = false;
}

/** Once everything stands: from now on the address follows the view, and the view the address. */
function linkViewAndAddress() {
  isFollowing = false;
  for (const change of new Set(Object.values(VIEW).map(({change}) => change)))
    on(change, () => writeView(change === "search"));
  addEventListener("hashchange", followAddress);
}
