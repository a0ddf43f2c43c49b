import {button, element, selector} from "./text.js";
import {addTo, firstEpoch, lastEpoch, mappedTags, runs, TICK} from "./data.js";
import {announce, epochWindow, on, plainView, setState, setZoom, snappedZoom, state} from "./state.js";
import {knownAxes} from "./axis.js";
import {followTheme, runColour} from "./colours.js";
import {firstTagName, ORDERS, ROW_CHOICES, usualLine} from "./heat_map.js";
import {SMOOTHINGS} from "./chart.js";

/**
 * Shows the parts of the bar that fit and folds the others under one button, so that nothing is cut off at any width.
 * @param order the part to fold first comes first
 */
export function foldedBar(bar, order) {
  const folded = element("div", {class: "folded"});
  const more = element("details", {class: "more-tools"}, element("summary", {}, "View options"), folded);
  const items = [...bar.children], theme = items.pop();
  bar.append(more, theme);
  const fit = () => {
    const isOpen = more.open;
    more.hidden = true;
    for (const item of items) bar.insertBefore(item, more);
    for (const item of order) {
      if (bar.scrollWidth <= bar.clientWidth) break;
      more.hidden = false;
      folded.append(item);
    }
    // Keep folded parts in the order of the bar.
    folded.append(...items.filter((item) => item.parentElement === folded));
    more.open = isOpen && !more.hidden;
  };
  new ResizeObserver(fit).observe(bar);
  on("baseline", fit);
  fit();
  addEventListener("pointerdown", ({target}) => {
    if (!more.contains(target)) more.open = false;
  });
  addEventListener("keydown", ({key}) => {
    if (key === "Escape") more.open = false;
  });
}

/** A drop-down list for a member of the state; it follows changes that come from elsewhere. */
function stateSelector(label, choices, key, parsed = (text) => text, change = key, also = () => ({})) {
  const text = () => String(state[key] ?? ""), field = selector(label, choices, text(), (chosen) =>
    setState(change, {[key]: parsed(chosen), ...also()}));
  on(change, () => field.querySelector("select").value = text());
  return field;
}

export function scaleSelector() {
  const choices = [["tag", "automatic"], ["log", "logarithmic"], ["linear", "linear"]];
  return stateSelector("Scale", choices, "scale", String, "scale", () => ({tagScales: new Map()}));
}

export function smoothingSelector() { return stateSelector("Smoothing", SMOOTHINGS, "smoothing", Number); }

/** The choice of an axis; null if there are only epochs. */
export function axisSelector() {
  return knownAxes.length < 2 ? null : stateSelector("By", knownAxes.map((name) => [name, name]), "axis");
}

/** The choice of a baseline, and whether curves show differences to it; null for a single run. */
export function baselineSelector() {
  if (runs.length < 2) return null;
  const choices = [["", "none"], ...runs.map((run) => [String(run.index), run.label])];
  const choice = stateSelector("Baseline", choices, "baseline", (index) => (index === "" ? null : Number(index)));
  const box = element("input", {type: "checkbox", id: "differences",
    onchange: () => setState("baseline", {differences: box.checked})});
  const differences = element("label", {class: "field"}, box, element("span", {}, "Curves as differences"));
  const show = () => {
    differences.hidden = state.baseline === null;
    box.checked = state.differences;
  };
  on("baseline", show);
  show();
  return element("div", {class: "field"}, choice, differences);
}

export function themeButton() {
  const switcher = button({id: "theme"});
  followTheme(switcher, () => announce("theme"));
  return switcher;
}

export function searchField() {
  let waiting = 0;
  const input = element("input", {
    type: "search", id: "search", placeholder: "Search layers", "aria-label": "Search layers", value: state.search,
    oninput: () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => setState("search", {search: input.value.trim()}), 120);
    },
  });
  on("search", () => {
    if (input.value.trim() !== state.search) input.value = state.search;
  });
  return input;
}

/** The first and last visible epoch as two fields, as an alternative to dragging. */
export function epochFields() {
  const apply = () => setZoom(Number(from.value || firstEpoch), Number(to.value || lastEpoch));
  const [from, to] = [`First ${TICK} on show`, `Last ${TICK} on show`].map((label) => element("input",
      {type: "number", step: "any", "aria-label": label, min: firstEpoch, max: lastEpoch, onchange: apply}));
  const whole = button({id: "zoom-out", onclick: () => setZoom(firstEpoch, lastEpoch)}, "All");
  const show = () => {
    [from.value, to.value] = epochWindow().map((epoch) => Number(epoch.toPrecision(10)));
    whole.disabled = state.zoom === null;
  };
  on("zoom", show);
  show();
  const name = element("span", {}, TICK === "step" ? "Steps" : "Epochs");
  return element("div", {class: "field"}, name, from, element("span", {}, "to"), to, whole);
}

const MOST_CHIPS = 8;

export function runChips() {
  // More runs are chosen in the table of the comparison.
  if (runs.length < 2 || runs.length > MOST_CHIPS) return null;
  const chips = runs.map((run) => button({class: "chip", onclick: () => {
    const hidden = new Set(state.hiddenRuns);
    if (!hidden.delete(run.index)) hidden.add(run.index);
    setState("runs", {hiddenRuns: hidden});
  }}, element("i", {class: "swatch line", "aria-hidden": "true"}), run.label));
  const show = () => chips.forEach((chip, i) => {
    chip.setAttribute("aria-pressed", String(!state.hiddenRuns.has(i)));
    chip.querySelector(".swatch").style.color = runColour(i);
  });
  for (const change of ["theme", "runs"]) on(change, show);
  show();
  return element("div", {class: "chips", role: "group", "aria-label": "Runs"}, chips);
}

const RELOAD_SECONDS = 20;
// Files opened from a disk share one store, so each report has its own key.
const READING_KEY = `loupe-reading:${location.pathname}`;

/** What the page stored before it reloaded itself; {} otherwise. */
const resumedReading = (() => {
  try {
    const kept = JSON.parse(sessionStorage.getItem(READING_KEY)) || {};
    sessionStorage.removeItem(READING_KEY);
    return kept;
  } catch {
    // Some browsers store nothing for local files.
    return {};
  }
})();
if (resumedReading.openTags) state.openTags = resumedReading.openTags;

/** Stores what the page needs after reloading itself. */
function keepReading() {
  try {
    // The address holds the rest of the view.
    sessionStorage.setItem(READING_KEY, JSON.stringify({openTags: state.openTags, scroll: scrollY, reloads: true}));
  } catch {
    // Without a store, the page loads as if for the first time.
  }
}

/** Whether the run may still change. */
function goesOn(run) { return !run.ended && !run.isOld && run.state.startsWith("running"); }

let lastKey = -Infinity;
addEventListener("keydown", () => lastKey = performance.now(), {capture: true});

/** Whether the reader is doing something that a reload would interrupt. */
function isBusy() {
  const types = performance.now() - lastKey < RELOAD_SECONDS * 500;
  return document.hidden || types || document.querySelector(".help-panel, .card-menu") || !getSelection().isCollapsed;
}

/** Tells the page around this one, for example of `loupe view`, whether this one can be replaced. */
function followPageAround() {
  const BUSY_SECONDS = 2;
  let waiting = 0;
  const goOn = () => {
    clearTimeout(waiting);
    if (isBusy()) {
      waiting = setTimeout(goOn, BUSY_SECONDS * 1000);
    } else {
      keepReading();
      window.parent.postMessage("loupe: go on", "*");
    }
  };
  addEventListener("message", ({source, data}) => {
    if (source === window.parent && data === "loupe: news") goOn();
  });
}

/**
 * A switch that makes the page reload now and then while a run trains, on by default; null once all runs have ended, and
 * in a page within another one, which has a switch itself.
 */
export function reloadSwitch() {
  if (window.top !== window) followPageAround();
  if (window.top !== window || runs.length === 0 || runs.every((run) => run.ended)) return null;
  const {reloads = runs.some((run) => goesOn(run))} = resumedReading;
  let waiting = 0;
  const wait = (wanted) => {
    clearTimeout(waiting);
    if (wanted) waiting = setTimeout(() => {
      if (isBusy()) return wait(true);
      keepReading();
      location.reload();
    }, RELOAD_SECONDS * 1000);
  };
  wait(reloads);
  const box = element("input", {type: "checkbox", id: "reload", checked: reloads, onchange: () => wait(box.checked)});
  return element("label", {class: "field"}, box, element("span", {}, `Reload every ${RELOAD_SECONDS} s`));
}

/** Scrolls to the reader's position before the reload, when the page is complete. */
export function goOnReading() {
  if (resumedReading.scroll !== undefined) scrollTo(0, resumedReading.scroll);
}

function runLabelled(label) { return runs.find((run) => run.label === label); }

/** A choice that the address holds in the same form as the state; the address leaves out the default. */
function plainChoice(change, key, isChoice = () => true, usual = null) {
  return {change, read: ([text]) => (isChoice(text) ? {[key]: text} : null),
    write: () => (state[key] === usual ? null : state[key])};
}

function isAmong(choices) { return (text) => choices.some(([value]) => value === text); }

/**
 * The choices that make up a view, by their keys in the address. `change` is announced when a choice changes. `read`
 * turns the values in the address into values of the state, or null if they are invalid. `write` does the reverse; it
 * returns null for a default.
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
    read: (texts) => ({tagScales: new Map(texts.map((text) => /^(log|linear)~(.+)$/s.exec(text)).filter(Boolean)
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
  // An empty value means no baseline, if the report was made with one.
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

/** The values of each key after the "#" of the address; malformed parts are left out. */
function addressParts() {
  const told = new Map();
  for (const part of location.hash.slice(1).split("&")) {
    const [, key, text] = /^(\w+)=(.*)$/.exec(part) || [];
    if (key === undefined) continue;
    try {
      addTo(told, key, decodeURIComponent(text));
    } catch {
      // The address was cut off within a character.
    }
  }
  return told;
}

function addressOfView() {
  const parts = Object.entries(VIEW).flatMap(([key, {write}]) =>
    [write()].flat().filter((value) => value !== null).map((value) => `${key}=${encodeURIComponent(value)}`));
  return parts.length === 0 ? "" : `#${parts.join("&")}`;
}

/** Applies the valid choices of the address. */
export function readView() {
  for (const [key, values] of addressParts()) {
    if (Object.hasOwn(VIEW, key)) Object.assign(state, VIEW[key].read(values));
  }
}

// The page does not write the address while it follows the address.
let isFollowing = true;

/** @param replaces whether "back" skips this view, as for letters typed into the search */
function writeView(replaces) {
  const hash = addressOfView();
  if (isFollowing || hash === location.hash) return;
  const address = location.pathname + location.search + hash;
  try {
    if (replaces) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  } catch {
    // Some browsers forbid it; the page works without.
  }
}

/** Reacts to "back", "forward", or an address that the reader edited. */
function followAddress() {
  // The address of a section is a place on the page and does not change the view.
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

/** Call this when the page is complete: from then on the address follows the view, and the view follows the address. */
export function linkViewAndAddress() {
  isFollowing = false;
  for (const change of new Set(Object.values(VIEW).map((choice) => choice.change)))
    on(change, () => writeView(change === "search"));
  addEventListener("hashchange", followAddress);
}
