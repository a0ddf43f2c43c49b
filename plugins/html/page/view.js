import {addTo, mappedTags, runs} from "./data.js";
import {firstTagName, usualLine} from "./opening.js";
import {announce, epochWindow, on, plainView, snappedZoom, state} from "./state.js";
import {knownAxes} from "./axis.js";
import {ORDERS} from "./ranking.js";
import {SMOOTHINGS} from "./chart_data.js";
import {ROW_CHOICES} from "./overview.js";

function runLabelled(label) { return runs.find((run) => run.label === label); }

/** A choice that the address holds as the state does, null where it is the usual one. */
function plainChoice(change, key, isChoice = () => true, usual = null) {
  return {change, read: ([text]) => (isChoice(text) ? {[key]: text} : null),
    write: () => (state[key] === usual ? null : state[key])};
}

function isAmong(choices) { return (text) => choices.some(([value]) => value === text); }

/**
 * The choices that make a view, as keys of the address: `change` is announced when it changes, `read` turns what the
 * address says into values of the state, or null where that is no choice, and `write` does the reverse; it gives null
 * for what is shown anyway.
 */
const VIEW = {
  layer: plainChoice("layer", "selectedLayer"),
  plot: plainChoice("layer", "plotName"),
  tag: {
    change: "overview",
    read: ([name]) => (mappedTags.some((tag) => tag.name === name) ? {tagName: name} : null),
    write: () => (state.tagName === null || state.tagName === firstTagName(runs[state.heatRun]) ? null : state.tagName),
  },
  line: {
    change: "overview",
    read: ([name]) => ({lineName: name}),
    write: () => (state.lineName === usualLine(runs[state.heatRun], state.tagName) ? null : state.lineName),
  },
  run: {
    change: "overview",
    read: ([label]) => (runLabelled(label) ? {heatRun: runLabelled(label).index} : null),
    write: () => (state.heatRun === plainView.heatRun ? null : runs[state.heatRun].label),
  },
  rows: plainChoice("overview", "heatRows", isAmong(ROW_CHOICES)),
  order: plainChoice("order", "order", isAmong(ORDERS)),
  by: plainChoice("axis", "axis", (axis) => knownAxes.includes(axis), "epoch"),
  scale: plainChoice("scale", "scale", (scale) => ["log", "linear"].includes(scale), "tag"),
  axes: {
    change: "scale",
    read: (texts) => ({tagScales: new Map(texts.map((text) => /^(log|linear)~(.+)$/.exec(text)).filter(Boolean)
        .map(([, scale, name]) => [name, scale]))}),
    write: () => [...state.tagScales].map(([name, scale]) => `${scale}~${name}`),
  },
  smoothing: {
    change: "smoothing",
    read: ([weight]) => (isAmong(SMOOTHINGS)(weight) ? {smoothing: Number(weight)} : null),
    write: () => (state.smoothing === 0 ? null : String(state.smoothing)),
  },
  epochs: {
    change: "zoom",
    read: ([text]) => {
      const [low, high] = (/^([^~]+)~([^~]+)$/.exec(text) || []).slice(1).map(Number);
      return Number.isFinite(low) && Number.isFinite(high) ? {zoom: snappedZoom(low, high)} : null;
    },
    write: () => (String(state.zoom) === String(plainView.zoom) ? null : epochWindow().join("~")),
  },
  search: plainChoice("search", "search", () => true, ""),
  hide: {
    change: "runs",
    read: (labels) => ({hiddenRuns: new Set(labels.map(runLabelled).filter(Boolean).map((run) => run.index))}),
    write: () => [...state.hiddenRuns].map((index) => runs[index].label),
  },
  // An empty one stands for none where the report was made with one.
  baseline: {
    change: "baseline",
    read: ([label]) => {
      const run = runLabelled(label);
      return label === "" ? {baseline: null} : run ? {baseline: run.index} : null;
    },
    write: () => {
      if (state.baseline === plainView.baseline) return null;
      return state.baseline === null ? "" : runs[state.baseline].label;
    },
  },
  curves: {
    change: "baseline",
    read: ([kind]) => (kind === "differences" ? {differences: true} : null),
    write: () => (state.differences ? "differences" : null),
  },
};

/** What the address says after its "#": all values of each key; what is malformed is left out. */
function addressParts() {
  const told = new Map();
  for (const part of location.hash.slice(1).split("&")) {
    const [, key, text] = /^(\w+)=(.*)$/.exec(part) || [];
    if (key === undefined) continue;
    try {
      addTo(told, key, decodeURIComponent(text));
    } catch {
      // Cut off within a character.
    }
  }
  return told;
}

function addressOfView() {
  const parts = Object.entries(VIEW).flatMap(([key, {write}]) =>
    [write()].flat().filter((value) => value !== null).map((value) => `${key}=${encodeURIComponent(value)}`));
  return parts.length === 0 ? "" : `#${parts.join("&")}`;
}

/** Takes over what the address says, as far as there is such a choice. */
export function readView() {
  for (const [key, values] of addressParts()) {
    if (Object.hasOwn(VIEW, key)) Object.assign(state, VIEW[key].read(values));
  }
}

// While the page follows the address it does not write it.
let isFollowing = true;

/** @param replaces whether "back" passes this view by, as letters of a search */
function writeView(replaces) {
  const hash = addressOfView();
  if (isFollowing || hash === location.hash) return;
  const address = location.pathname + location.search + hash;
  try {
    if (replaces) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  } catch {
    // A browser that forbids it shows the page all the same.
  }
}

/** "Back", "forward", or an address that the reader changed. */
function followAddress() {
  // That of a section is a place on the page and says nothing of the view.
  if (location.hash !== "" && addressParts().size === 0) return;
  isFollowing = true;
  const written = () => Object.values(VIEW).map(({change, write}) => [change, JSON.stringify(write())]);
  const before = written();
  Object.assign(state, plainView, {hiddenRuns: new Set()});
  readView();
  const changed = written().filter(([, text], i) => text !== before[i][1]);
  for (const change of new Set(changed.map(([each]) => each))) announce(change);
  isFollowing = false;
}

/** Once everything stands: from now on the address follows the view, and the view the address. */
export function linkViewAndAddress() {
  isFollowing = false;
  for (const change of new Set(Object.values(VIEW).map((choice) => choice.change)))
    on(change, () => writeView(change === "search"));
  addEventListener("hashchange", followAddress);
}
