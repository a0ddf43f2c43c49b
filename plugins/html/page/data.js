import {formatEpoch} from "./text.js";

export const NUMERICAL = 0, PROBABILITY = 1, RELATION = 2;

export const BASE64 = new Uint8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((digit, value) => {
  BASE64[digit.charCodeAt(0)] = value;
});

// The NaN that stands for "no value".
const MISSING_BITS = 0x7fffff00;

/** One number an epoch, unpacked from four characters each (packed.h): a float without its lowest eight bits. */
export class Series {
  constructor(packed, length) {
    this.values = new Float32Array(length);
    this.bits = new Uint32Array(this.values.buffer);
    // "N:" stands for N epochs without a value.
    const mark = packed.indexOf(":"), first = Math.min(length, Number(packed.slice(0, Math.max(mark, 0))));
    const told = Math.min(length, first + (packed.length - mark - 1) / 4);
    this.bits.fill(MISSING_BITS, 0, first);
    for (let i = first, at = mark + 1; i < told; ++i, at += 4) {
      this.bits[i] = (BASE64[packed.charCodeAt(at)] << 26) | (BASE64[packed.charCodeAt(at + 1)] << 20) |
        (BASE64[packed.charCodeAt(at + 2)] << 14) | (BASE64[packed.charCodeAt(at + 3)] << 8);
    }
    this.bits.fill(MISSING_BITS, told);
  }

  isMissing(i) { return this.bits[i] === MISSING_BITS; }

  /** null where there is no value; NaN and infinities as they are. */
  at(i) { return this.isMissing(i) ? null : this.values[i]; }

  isBroken(i) { return !this.isMissing(i) && !Number.isFinite(this.values[i]); }

  last() {
    const last = this.bits.findLastIndex((bits) => bits !== MISSING_BITS);
    return last < 0 ? null : this.values[last];
  }
}

function embedded(id) {
  const script = document.getElementById(id);
  if (script === null) return null;
  const value = JSON.parse(script.textContent);
  // What has been parsed need not stay in memory as text.
  script.remove();
  return value;
}

/** Models by kind, "Net" and "Net#2" together: [{kind, models, epochs: the last one before each began}]. */
function kindsOf(models, epochs) {
  const kinds = new Map();
  models.forEach((model, i) => {
    const kind = String(model?.name || model?.type || "model").replace(/#\d+$/, "");
    if (!kinds.has(kind)) kinds.set(kind, {kind, models: [], epochs: []});
    kinds.get(kind).models.push(model);
    kinds.get(kind).epochs.push(epochs[i]);
  });
  return [...kinds.values()];
}

class Run {
  constructor(index, told) {
    Object.assign(this, told);
    this.index = index;
    this.label = this.name || "run";
    // The last steps before an incident are all that there will be.
    this.ended = told.ended || told.incident;
    // A report that its own run wrote says "running" for ever if the process was killed.
    this.isOld = Date.now() - new Date(this.lastTick || this.begun) > 24 * 3600 * 1000;
    if (this.state === "running" && this.isOld) this.state = "running or crashed";
    this.tagIndex = new Map(told.tags.map((tag, i) => [tag.name, i]));
    this.layersRead = new Map();
    const modules = this.models.flatMap((model) => (model && Array.isArray(model.modules) ? model.modules : []));
    this.modules = new Map(modules.map((module) => [module.name, module]));
    this.moduleOrder = new Map(modules.map(({name}, i) => [name, i]));
    this.kinds = kindsOf(this.models, this.modelEpochs);
  }

  /** The epochs after which a further model of a kind began, as a program makes them in turn. */
  modelStarts() {
    return [...new Set(this.kinds.flatMap(({epochs}) => epochs.slice(1)).filter((epoch) => epoch !== null))];
  }

  /** The place of a module in the model; a function such as "fc1:relu" comes right behind its module, other names last. */
  placeInModel(name) {
    for (let end = name.length; end > 0; --end) {
      const place = end === name.length || /\W/.test(name[end]) ? this.moduleOrder.get(name.slice(0, end)) : undefined;
      if (place !== undefined) return place + (end < name.length ? 0.5 : 0);
    }
    return this.moduleOrder.size;
  }

  /** In the order of the modules. Lenses report them in another order. */
  inOrder(items, nameOf) {
    const places = new Map(items.map((item) => [item, this.placeInModel(nameOf(item))]));
    return [...items].sort((a, b) => places.get(a) - places.get(b));
  }

  /** The layers of a tag by name; a tag's numbers are parsed when they are first needed. */
  layers(tagName) {
    if (!this.layersRead.has(tagName)) {
      const index = this.tagIndex.get(tagName);
      const told = index === undefined ? [] : embedded(`run-${this.index}-tag-${index}`);
      const layers = this.inOrder(told, ({name}) => name);
      this.layersRead.set(tagName, new Map(layers.map((layer) => [layer.name, layer])));
    }
    return this.layersRead.get(tagName);
  }

  line(tagName, layerName, lineName) {
    const layer = this.layers(tagName).get(layerName);
    const line = layer && layer.lines.find(([name]) => name === lineName);
    return line ? new Series(line[1], this.epochs.length) : null;
  }
}

// What the configuration of the report asks for.
export const reportSettings = embedded("report") || {};

export const runs = [];
for (let told; (told = embedded(`run-${runs.length}`)) !== null;) runs.push(new Run(runs.length, told));
for (const run of runs) {
  const namesakes = runs.filter((other) => other.name === run.name);
  if (namesakes.length > 1) run.label = `${run.label} (${namesakes.indexOf(run) + 1})`;
}

/** What a tick is called: those of an incident are steps, and its report shows nothing else. */
export const TICK = runs.some((run) => run.incident) ? "step" : "epoch";

/** Whether a budget left out steps of a run. Losses and metrics are measured in all. */
function leavesOutSteps(run, {name}) {
  return run.notes.some(({kind}) => kind === "cost") && !/^(Loss|Metric)/.test(name);
}

/** What is said where the last numbers of a tag are older than the run: " (not measured since epoch 6, budget 3%)". */
export function silenceInWords(run, tag, allSeries) {
  const last = allSeries.reduce((latest, {bits}) =>
    Math.max(latest, bits.findLastIndex((each) => each !== MISSING_BITS)), -1);
  if (last < 0 || last >= run.epochs.length - 1) return "";
  const budget = run.settings.find(([name]) => name === "attach.budget")?.[1];
  const isLeftOut = leavesOutSteps(run, tag), since = `${TICK} ${formatEpoch(run.epochs[last])}`;
  return isLeftOut && budget ? `not measured since ${since} (budget ${budget})` : `no value since ${since}`;
}

/** What is said in the place of a number that an epoch lacks. */
export function lackInWords(run, tag) { return leavesOutSteps(run, tag) ? "not measured" : "no value"; }

/** Adds to the list that a map has under a key. */
export function addTo(lists, key, item) {
  if (!lists.has(key)) lists.set(key, []);
  lists.get(key).push(item);
}

// By tag name: the tag in each run; its layers in model order, and its lines, in all runs together.
const tagsByName = new Map();
for (const run of runs) {
  for (const tag of run.tags) addTo(tagsByName, tag.name, {...tag, layers: run.inOrder(tag.layers, (name) => name)});
}
const united = (tags, key) => new Set(tags.flatMap((tag) => tag[key]));
const layersOf = new Map([...tagsByName].map(([name, told]) => [name, united(told, "layers")]));
const linesOf = new Map([...tagsByName].map(([name, told]) => [name, united(told, "lines")]));

/** The layers of a tag in any run, in model order. */
export function layerNames(tagName) { return [...(layersOf.get(tagName) || [])]; }

/** The lines of a tag in any run; none where it holds histograms only. */
export function lineNames(tagName) { return [...(linesOf.get(tagName) || [])]; }

/** Whether a tag shows something of a layer in any run. */
export function showsLayer(tag, layerName) { return layersOf.get(tag.name).has(layerName); }

/** Losses come first, then metrics, wherever the configuration has them. */
function importance({name}) { return /^Loss/.test(name) ? 0 : /^Metric/.test(name) ? 1 : 2; }

/** Every tag of any run that has something to show, the others in the order of their first values. */
const tags = [...tagsByName.values()].map(([first]) => first).filter(({name}) => layersOf.get(name).size > 0)
    .sort((a, b) => importance(a) - importance(b));
export const tagNamed = new Map(tags.map((tag) => [tag.name, tag]));
export const bigTags = tags.filter((tag) => tag.big);
export const layerTags = tags.filter((tag) => !tag.big);

/** Tags with a number a layer, as a heat map shows them. */
export const mappedTags = layerTags.filter((tag) => lineNames(tag.name).length > 0);

/** Every epoch of any run, ascending. */
export const allEpochs = [...new Set(runs.flatMap((run) => run.epochs))].sort((a, b) => a - b);
export const firstEpoch = allEpochs[0], lastEpoch = allEpochs[allEpochs.length - 1];

/** "64 → 10" of a Linear, the weight's "32 × 1 × 3 × 3" of other types, "" where a module holds no such tensor. */
export function shapeOf({type, shapes}) {
  const weight = (shapes || []).find((shape) => shape.length > 1);
  if (!weight) return "";
  return type === "Linear" && weight.length === 2 ? `${weight[1]} → ${weight[0]}` : weight.join(" × ");
}

/** "Linear 64 → 10"; "" where no module is called so, as with a function or the output of one of several. */
export function kindOf(run, layerName) {
  const module = run.modules.get(layerName);
  return module ? [module.type, shapeOf(module)].filter(Boolean).join(" ") : "";
}

export function median(values) {
  if (values.length === 0) return NaN;
  const sorted = Float64Array.from(values).sort();
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** The index of the number nearest to `wanted` in an ascending array; -1 in an empty one. */
export function nearestIndex(ascending, wanted) {
  let low = 0, high = ascending.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (ascending[middle] <= wanted) low = middle;
    else high = middle;
  }
  if (high < 0) return -1;
  return wanted - ascending[low] <= ascending[high] - wanted ? low : high;
}
