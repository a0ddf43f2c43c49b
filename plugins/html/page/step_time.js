import {breakable, button, element, fill, formatNumber, plural, section} from "./text.js";
import {helpButton} from "./popup.js";
import {bigTags, kindOf, layerNames, layerTags, median, showsLayer, TICK} from "./data.js";
import {on, visibleRuns} from "./state.js";
import {inkOn, lineColour, withAlpha} from "./colours.js";

const ROWS = 12, MOST_RUNS = 6;
// Narrower boxes would be invisible.
const LEAST_SHARE = 0.002;
// The line of the layers that makes up each part of a step.
const OF_LAYERS = {"forward": "forward", "loss and backward": "backward"};

const stepTag = () => bigTags.find(({name}) => name === "Step Time");
const layerTag = () => layerTags.find(({name}) => name === "Layer Time");

// Single steps vary, for example when they wait for a disk: use the median of this many epochs.
const TYPICAL_OF = 9;

/** The median of a line's last numbers, and the number of epochs in it; null if it has no numbers. */
function typicalOf(run, tagName, layer, line) {
  const series = run.line(tagName, layer, line);
  const last = series === null ? [] : [...series.values].filter(Number.isFinite).slice(-TYPICAL_OF);
  return last.length === 0 ? null : {value: median(last), epochs: last.length};
}

/** The tree of modules, each with the time that it takes without its children. */
function moduleTree(run) {
  const names = new Set([...run.modules.keys(), ...run.layers("Layer Time").keys()]), nodes = new Map();
  for (const name of names) {
    const own = Object.fromEntries(Object.values(OF_LAYERS).map((line) =>
      [line, (typicalOf(run, "Layer Time", name, line) || {value: 0}).value]));
    nodes.set(name, {name, own, children: []});
  }
  const roots = [];
  for (const [name, node] of nodes) {
    let end = name.length - 1;
    while (end > 0 && !(/\W/.test(name[end]) && nodes.has(name.slice(0, end)))) --end;
    (end > 0 ? nodes.get(name.slice(0, end)).children : roots).push(node);
  }
  return roots;
}

function total(node, line) {
  return node.own[line] + node.children.reduce((sum, child) => sum + total(child, line), 0);
}

/** A box whose width is the module's time, above the boxes of its children. */
function moduleBox(node, line, whole, colour, openLayer) {
  const time = total(node, line), {name} = node;
  if (!(time > LEAST_SHARE * whole)) return null;
  const says = `${name}: ${formatNumber(time, 3)} ms, ${formatNumber((100 * time) / whole, 2)} % of the step` +
    (node.children.length > 0 ? `; ${formatNumber(node.own[line], 3)} ms outside of the modules in it` : "");
  const label = name.split(/[./]/).pop(), canOpen = layerTags.some((tag) => showsLayer(tag, name));
  const attributes = {class: `flame-label${label.length <= 2 ? " short" : ""}`, title: says, "aria-label": says, style: `background:${colour}`};
  return element("div", {class: "flame-box", style: `flex:${time} 1 0`},
      canOpen ? button({...attributes, onclick: () => openLayer(name, layerNames("Layer Time"))}, label) :
        element("span", attributes, label),
      boxes(node.children, line, whole, colour, openLayer, node.own[line]));
}

/** @param rest the time beside these modules, which gets no box */
function boxes(nodes, line, whole, colour, openLayer, rest) {
  const made = nodes.map((node) => moduleBox(node, line, whole, colour, openLayer)).filter((box) => box !== null);
  if (made.length === 0) return null;
  const shown = nodes.reduce((sum, node) => sum + (total(node, line) > LEAST_SHARE * whole ? total(node, line) : 0), 0);
  const all = nodes.reduce((sum, node) => sum + total(node, line), 0);
  return element("div", {class: "flame-row"}, made,
      element("div", {style: `flex:${Math.max(0, rest + all - shown)} 1 0`}));
}

/** One step from beginning to end, and below it the modules that ran. */
function flameGraph(run, parts, openLayer) {
  const whole = parts.reduce((sum, {value}) => sum + value, 0), roots = moduleTree(run);
  return element("div", {class: "flame", role: "group", "aria-label": "One step, part by part"},
      parts.map(({name, value}, i) => {
        const says = `${name}: ${formatNumber(value, 3)} ms, ${formatNumber((100 * value) / whole, 2)} %`;
        const line = OF_LAYERS[name], isShown = line !== undefined;
        const inside = isShown ? roots.reduce((sum, each) => sum + total(each, line), 0) : 0;
        const own = lineColour(i), colour = withAlpha(own, 0.35), rest = Math.max(0, value - inside);
        return element("div", {class: "flame-box", style: `flex:${value} 1 0`},
            element("span", {class: "flame-label part", title: says, style: `background:${own};color:${inkOn(own)}`}, name),
            inside > 0 ? boxes(roots, line, whole, colour, openLayer, rest) : null);
      }));
}

/** A table of the layers that take the most time. */
function layerTable(run, openLayer) {
  const rows = [...run.layers("Layer Time").keys()].map((name) => {
    const [forward, backward] = ["forward", "backward"].map((line) =>
      (typicalOf(run, "Layer Time", name, line) || {value: 0}).value);
    const calls = typicalOf(run, "Layer Calls", name, "calls");
    return {name, forward, backward, sum: forward + backward, calls: calls === null ? 1 : calls.value};
  }).filter(({sum}) => sum > 0).sort((a, b) => b.sum - a.sum);
  const all = rows.reduce((sum, row) => sum + row.sum, 0), order = rows.map(({name}) => name);
  const number = (value) => element("td", {class: "number"}, value);
  const body = element("tbody", {}), more = element("div", {class: "more"});
  const show = (count) => {
    fill(body, rows.slice(0, count).map(({name, forward, backward, sum, calls}) => element("tr", {},
        element("th", {scope: "row"}, button({class: "link", onclick: () => openLayer(name, order)}, breakable(name)),
            " ", element("span", {class: "muted kind"}, kindOf(run, name))),
        number(formatNumber(forward, 3)), number(formatNumber(backward, 3)), number(formatNumber(calls, 3)),
        number(`${formatNumber((100 * sum) / all, 2)} %`),
        element("td", {class: "bar-cell"},
            element("div", {class: "time-bar", style: `width:${(100 * sum) / rows[0].sum}%`})))));
    fill(more, count >= rows.length ? null :
      button({onclick: () => show(rows.length)}, `Show all ${rows.length}`));
  };
  show(ROWS);
  const heads = ["Layer", "Forward, ms", "Backward, ms", "Calls", "Of all layers",
    element("span", {class: "visually-hidden"}, "As a bar")];
  const head = element("thead", {}, element("tr", {},
      heads.map((text, i) => element("th", {scope: "col", class: i === 0 ? null : "number"}, text))));
  return rows.length === 0 ? null : element("div", {},
      element("div", {class: "scrolled"}, element("table", {class: "run-table time-table"}, head, body)), more);
}

function ofRun(run, several, openLayer) {
  const told = run.layers("Step Time").get("Step Time");
  const lasts = (told ? told.lines : []).map(([name]) => ({name, ...typicalOf(run, "Step Time", "Step Time", name)}));
  const parts = lasts.filter(({value}) => value > 0);
  if (parts.length === 0) return null;
  const whole = parts.reduce((sum, {value}) => sum + value, 0), {epochs} = parts[0];
  return element("div", {class: "panel"}, several ? element("h3", {}, run.label) : null,
      element("p", {class: "caption muted"}, `Median step: ${formatNumber(whole, 3)} ms (${plural(epochs, TICK)}): ` +
          `${parts.map(({name, value}) => `${name} ${formatNumber((100 * value) / whole, 2)} %`).join(", ")}.`),
      flameGraph(run, parts, openLayer), layerTable(run, openLayer));
}

/** The section on the time of a step and its modules; null if no run has such data. */
export function stepTimeSection(openLayer) {
  if (stepTag() === undefined || layerTag() === undefined) return null;
  const box = element("div", {class: "time-panels"});
  const draw = () => {
    const shown = visibleRuns(), more = shown.length - MOST_RUNS;
    fill(box, shown.slice(0, MOST_RUNS).map((run) => ofRun(run, shown.length > 1, openLayer)),
        more > 0 ? element("p", {class: "muted"}, `${plural(more, "more run")}: choose fewer to see them.`) : null);
  };
  draw();
  for (const change of ["runs", "theme"]) on(change, draw);
  return section("time", ["Time of a step", helpButton(stepTag())], null, box);
}
