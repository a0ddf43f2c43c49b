import {button, element, selector} from "./text.js";
import {addTo, firstEpoch, lastEpoch, mappedTags, runs, TICK} from "./data.js";
import {announce, epochWindow, on, plainView, setState, setZoom, snappedZoom, state} from "./state.js";
import {knownAxes} from "./axis.js";
import {followTheme, runColour} from "./colours.js";
import {firstTagName, ORDERS, ROW_CHOICES, usualLine} from "./heat_map.js";
import {SMOOTHINGS} from "./chart.js";

/**
 * Shows in the bar what it has room for and folds the rest under one button, so that nothing is cut at any width.
 * @param order what is folded first comes first
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
    // In the order of the bar.
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

/** A drop-down list for a part of the state, which follows changes that others make. */
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

/** The choice of an axis; null where there are only epochs. */
export function axisSelector() {
  return knownAxes.length < 2 ? null : stateSelector("By", knownAxes.map((name) => [name, name]), "axis");
}

/** The choice of a baseline, and whether curves are differences to it; null where there is nothing to compare. */
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

/** The epochs on show as two numbers, for those who do not drag. */
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
  // More are chosen in the table of the comparison.
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
// Files opened from a disk share one store, and so each report has its own key.
const READING_KEY = `loupe-reading:${location.pathname}`;

/** What the reader had chosen when the page reloaded itself; {} otherwise. */
const resumedReading = (() => {
  try {
    const kept = JSON.parse(sessionStorage.getItem(READING_KEY)) || {};
    sessionStorage.removeItem(READING_KEY);
    return kept;
  } catch {
    // Some browsers keep nothing for local files.
    return {};
  }
})();
if (resumedReading.openTags) state.openTags = resumedReading.openTags;

/** For the page that takes this one's place. */
function keepReading() {
  try {
    // The address holds the rest of the view.
    sessionStorage.setItem(READING_KEY, JSON.stringify({openTags: state.openTags, scroll: scrollY, reloads: true}));
  } catch {
    // The page then loads as if for the first time.
  }
}

/** Whether a run may still bring news. */
function goesOn(run) { return !run.ended && run.state === "running"; }

let lastKey = -Infinity;
addEventListener("keydown", () => lastKey = performance.now(), {capture: true});

/** Whether the reader is doing something that reloading would interrupt. */
function isBusy() {
  const types = performance.now() - lastKey < RELOAD_SECONDS * 500;
  return document.hidden || types || document.querySelector(".help-panel, .card-menu") || !getSelection().isCollapsed;
}

/** Reports to the page around this one, for example of `loupe view`, when this one can be replaced. */
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
 * A switch that reloads the page now and then while a run trains, on by default; null once all have ended, and in a
 * page within another, which has its own switch.
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

/** Scrolls to where the reader was, once everything stands. */
export function goOnReading() {
  if (resumedReading.scroll !== undefined) scrollTo(0, resumedReading.scroll);
}

function runLabelled(label) { return runs.find((run) => run.label === label); }

/** A choice that the address holds as the state does, null where it is the usual one. */
function plainChoice(change, key, isChoice = () => true, usual = null) {
  return {change, read: ([text]) => (isChoice(text) ? {[key]: text} : null),
    write: () => (state[key] === usual ? null : state[key])};
}

function isAmong(choices) { return (text) => choices.some(([value]) => value === text); }

/**
 * The choices that make a view, as keys of the address: `change` is announced when it changes, `read` turns what the
 * address says into values of the state, or null for an invalid choice, and `write` does the reverse; it gives null
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
