import {formatEpoch, formatNumber, isNumber} from "./text.js";

export const NUMERICAL = 0, PROBABILITY = 1, RELATION = 2;

export const BASE64 = new Uint8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((digit, value) => {
  BASE64[digit.charCodeAt(0)] = value;
});

// The NaN that means "no value".
const MISSING_BITS = 0x7fffff00;

/**
 * One number per epoch, unpacked from four characters each (packed.h): a float without its lowest eight bits.
 * @param packed the text, or a series to copy
 */
export class Series {
  constructor(packed, length) {
    this.values = new Float32Array(length);
    this.bits = new Uint32Array(this.values.buffer);
    if (packed instanceof Series) {
      this.bits.set(packed.bits);
      return;
    }
    // "N:" means N epochs without a value.
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

  /** null if there is no value; NaN and infinities are returned as they are. */
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
  // Free the text, which is not needed after parsing.
  script.remove();
  return value;
}

/** Groups models by kind, "Net" and "Net#2" together: [{kind, models, epochs}], with the last epoch before each model began. */
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

// If more models of a kind were made one after the other, they are shown as one.
const MOST_APART = 3;

function unique(items) { return [...new Set(items)]; }

/** Joins several series into one: in each epoch the value of the last series that has one, or the sum of shares. */
function joined(all, length, isShare) {
  const made = new Series("", length);
  for (const series of all.map((packed) => new Series(packed, length))) {
    for (let i = 0; i < length; ++i) {
      if (series.isMissing(i)) continue;
      made.values[i] = series.values[i] + (isShare && !made.isMissing(i) ? made.values[i] : 0);
    }
  }
  return made;
}

/** Groups items by key, in the order of their first. */
function gathered(items, keyOf) {
  const lists = new Map();
  for (const item of items) addTo(lists, keyOf(item), item);
  return [...lists.values()];
}

/** Joins a layer of several models that were made one after the other. */
function joinedLayer(name, layers, {shownAs, epochs: {length}}, {type}) {
  const all = (key) => layers.flatMap((layer) => layer[key] || []);
  const series = (some, at) => joined(some.map((each) => each[at]), length, type === RELATION);
  const lines = gathered(all("lines"), ([line]) => shownAs(line))
    .map((some) => [shownAs(some[0][0]), some.length === 1 ? some[0][1] : series(some, 1)]);
  const steps = gathered(all("steps"), ([line]) => shownAs(line)).map((some) => {
    const bits = some.flatMap(([, , epochs, packed]) => [...new Series(packed, epochs.length).bits]);
    const made = new Series("", bits.length);
    made.bits.set(bits);
    return [shownAs(some[0][0]), Math.max(...some.map(([, stride]) => stride)), some.flatMap(([, , epochs]) => epochs), made];
  });
  const bands = gathered(all("bands"), ([low, high]) => `${low}\n${high}`)
    .map((some) => [some[0][0], some[0][1], series(some, 2), series(some, 3)]);
  const histograms = gathered(all("histograms"), ({line}) => line).map((some) => some.reduce((one, next) => ({
    ...one, edges: [...one.edges, ...next.edges],
    columns: [...one.columns, ...next.columns.map(([epoch, edges, ...rest]) => [epoch, edges + one.edges.length, ...rest])],
  })));
  return {...layers[0], name, lines, steps, bands, histograms};
}

// A run that trains writes its report at every tick, or now and then if the report is large.
const FEWEST_SILENT_SECONDS = 120, SILENT_TICKS = 20;

/** Whether the process of a running run may be dead, because its last tick is old. Nobody updates such a report. */
function isSilent({state, lastTick, seconds}) {
  // The server of `loupe view` sees whether the process lives.
  const isKnown = new URLSearchParams(location.search).has("run");
  if (state !== "running" || isKnown || !lastTick || !seconds?.length) return false;
  const pace = seconds.at(-1) / seconds.length || 0;
  return Date.now() - new Date(lastTick) > 1000 * Math.max(FEWEST_SILENT_SECONDS, SILENT_TICKS * pace);
}

class Run {
  constructor(index, told) {
    Object.assign(this, told);
    this.index = index;
    this.label = this.name || "run";
    // A record of an incident gets no more steps.
    this.ended = told.ended || told.incident;
    this.isOld = Date.now() - new Date(this.lastTick || this.begun) > 24 * 3600 * 1000;
    this.isSilent = isSilent(told);
    if (this.state === "running" && (this.isOld || this.isSilent)) this.state = "running or crashed";
    this.tagIndex = new Map(told.tags.map((tag, i) => [tag.name, i]));
    [this.layersTold, this.layersRead] = [new Map(), new Map()];
    this.kinds = kindsOf(this.models, this.modelEpochs);
    this.kindsInTurn = new Set(this.kinds.filter((kind) => this.areInTurn(kind)).map(({kind}) => kind));
    this.shownAs = (name) => {
      const [, kind, rest] = /^(.*?)#\d+(.*)$/s.exec(name) || [];
      return this.kindsInTurn.has(kind) ? kind + rest : name;
    };
    this.tags = told.tags.map((tag) => this.tagInTurn(tag));
    this.hyperparameters = this.settingsInTurn();
    const modules = this.models.flatMap((model) => (model && Array.isArray(model.modules) ? model.modules : []))
      .map((module) => ({...module, name: this.shownAs(module.name)}));
    this.modules = new Map(modules.map((module) => [module.name, module]));
    this.moduleOrder = new Map([...this.modules.keys()].map((name, i) => [name, i]));
  }

  /** Whether there are many models of a kind and each began after the previous one had ended; they are then shown as one. */
  areInTurn({kind, models, epochs}) {
    if (models.length <= MOST_APART || epochs.slice(1).some((epoch) => epoch === null)) return false;
    const isOfKind = (name) => name === kind || (name.startsWith(kind) && /[.#]/.test(name[kind.length]));
    const tag = this.tags.find(({big, layers}) => !big && layers.some(isOfKind));
    if (tag === undefined) return true;
    // The first and last epoch of each model, in the order in which the models began.
    const spans = new Map(models.map((model) => [model?.name, [Infinity, -Infinity]]));
    for (const {name, lines: [line]} of this.toldLayers(tag.name)) {
      const span = spans.get(name.split(".")[0]);
      if (span === undefined || line === undefined) continue;
      const {bits} = new Series(line[1], this.epochs.length), has = (each) => each !== MISSING_BITS;
      const first = bits.findIndex(has);
      if (first < 0) continue;
      span[0] = Math.min(span[0], first);
      span[1] = Math.max(span[1], bits.findLastIndex(has));
    }
    const known = [...spans.values()].filter(([first]) => first < Infinity);
    return known.every(([first], i) => i === 0 || first >= known[i - 1][1]);
  }

  /** A tag in which models that were made in turn are joined. */
  tagInTurn(tag) {
    if (this.kindsInTurn.size === 0) return tag;
    const layers = unique(tag.layers.map(this.shownAs)), broken = layers.map(() => null);
    (tag.broken || []).forEach((epoch, i) => {
      const at = layers.indexOf(this.shownAs(tag.layers[i]));
      if (epoch !== null) broken[at] = Math.min(broken[at] ?? Infinity, epoch);
    });
    return {...tag, layers, lines: unique(tag.lines.map(this.shownAs)), broken: tag.broken && broken};
  }

  /** The hyperparameters, joined for optimizers of models that were made in turn: the least and the largest number. */
  settingsInTurn() {
    // An optimizer that was the only one at its time is recorded without the name of its model.
    const isFirst = (name) => /^optimizer\b/.test(name);
    const inTurn = [...this.kindsInTurn];
    const first = inTurn.length === 0 ? this.modelOfFirstOptimizer() : inTurn.length === 1 ? inTurn[0] : undefined;
    const shownAs = (name) => (isFirst(name) && first !== undefined ? `${first} ${name}` : this.shownAs(name));
    return gathered(this.hyperparameters, ([name]) => shownAs(name)).map((some) => {
      if (some.length === 1) return inTurn.length === 0 ? [shownAs(some[0][0]), some[0][1]] : some[0];
      const values = unique(some.map(([, text]) => text)).sort((a, b) => a - b);
      const range = values.every(isNumber) ? [values[0], values.at(-1)].map((value) => formatNumber(Number(value))) : values;
      return [`${shownAs(some[0][0])} (each model)`, unique(range).join(values.every(isNumber) ? " … " : ", ")];
    });
  }

  /** The only one of several models without a named optimizer; undefined if there are more, or if no optimizer has a name. */
  modelOfFirstOptimizer() {
    const hasOptimizer = ({name}) => this.hyperparameters.some(([setting]) => setting.startsWith(`${name} optimizer`));
    const models = this.models.filter((model) => model?.name), unnamed = models.filter((model) => !hasOptimizer(model));
    return unnamed.length === 1 && models.length > 1 ? unnamed[0].name : undefined;
  }

  /** The epochs after which a program that makes models in turn made the next one. */
  modelStarts() {
    return [...new Set(this.kinds.flatMap(({epochs}) => epochs.slice(1)).filter((epoch) => epoch !== null))];
  }

  /** The position of a module in the model; a function, "fc1:relu", comes right after its module, other names come last. */
  placeInModel(name) {
    for (let end = name.length; end > 0; --end) {
      const place = end === name.length || /\W/.test(name[end]) ? this.moduleOrder.get(name.slice(0, end)) : undefined;
      if (place !== undefined) return place + (end < name.length ? 0.5 : 0);
    }
    return this.moduleOrder.size;
  }

  /** Sorts items by the order of the modules: lenses report in a different order. */
  inOrder(items, nameOf) {
    const places = new Map(items.map((item) => [item, this.placeInModel(nameOf(item))]));
    return [...items].sort((a, b) => places.get(a) - places.get(b));
  }

  /** The layers of a tag as the lens reported them; the numbers of a tag are parsed when they are first needed. */
  toldLayers(tagName) {
    if (!this.layersTold.has(tagName)) {
      const index = this.tagIndex.get(tagName);
      this.layersTold.set(tagName, index === undefined ? [] : embedded(`run-${this.index}-tag-${index}`));
    }
    return this.layersTold.get(tagName);
  }

  /** The layers of a tag by name. */
  layers(tagName) {
    if (!this.layersRead.has(tagName)) {
      const told = this.toldLayers(tagName), models = new Map(this.models.map((model, i) => [model?.name, i]));
      // Join layers in the order in which the models were made.
      const inTurn = this.kindsInTurn.size === 0 ? told.map((layer) => [layer]) : gathered([...told].sort((a, b) =>
        (models.get(a.name.split(".")[0]) ?? 0) - (models.get(b.name.split(".")[0]) ?? 0)), ({name}) => this.shownAs(name));
      const shown = inTurn.map((some) => (this.kindsInTurn.size === 0 ? some[0] :
        joinedLayer(this.shownAs(some[0].name), some, this, this.tags[this.tagIndex.get(tagName)])));
      const layers = this.inOrder(shown, ({name}) => name);
      this.layersRead.set(tagName, new Map(layers.map((layer) => [layer.name, layer])));
      this.layersTold.delete(tagName);
    }
    return this.layersRead.get(tagName);
  }

  line(tagName, layerName, lineName) {
    const layer = this.layers(tagName).get(layerName);
    const line = layer && layer.lines.find(([name]) => name === lineName);
    return line ? new Series(line[1], this.epochs.length) : null;
  }
}

// Settings of the report from its configuration.
export const reportSettings = embedded("report") || {};

export const runs = [];
for (let told; (told = embedded(`run-${runs.length}`)) !== null;) runs.push(new Run(runs.length, told));
for (const run of runs) {
  const namesakes = runs.filter((other) => other.name === run.name);
  if (namesakes.length > 1) run.label = `${run.label} (${namesakes.indexOf(run) + 1})`;
}

/** The word for a tick: the report of an incident shows single steps. */
export const TICK = runs.some((run) => run.incident) ? "step" : "epoch";

/** Whether the budget of a run left out steps of a tag. Losses and metrics are always measured. */
function leavesOutSteps(run, {name}) {
  return run.notes.some(({kind}) => kind === "cost") && !/^(Loss|Metric)/.test(name);
}

/** A remark if the last numbers of a tag are older than the run: " (not measured since epoch 6, budget 3%)". */
export function silenceInWords(run, tag, allSeries) {
  const last = allSeries.reduce((latest, {bits}) =>
    Math.max(latest, bits.findLastIndex((each) => each !== MISSING_BITS)), -1);
  if (last < 0 || last >= run.epochs.length - 1) return "";
  const budget = run.settings.find(([name]) => name === "attach.budget")?.[1];
  const isLeftOut = leavesOutSteps(run, tag), since = `${TICK} ${formatEpoch(run.epochs[last])}`;
  return isLeftOut && budget ? `not measured since ${since} (budget ${budget})` : `no value since ${since}`;
}

/** The words that replace a missing number of an epoch. */
export function lackInWords(run, tag) { return leavesOutSteps(run, tag) ? "not measured" : "no value"; }

/** Appends to the list under a key of a map. */
export function addTo(lists, key, item) {
  if (!lists.has(key)) lists.set(key, []);
  lists.get(key).push(item);
}

// By tag name: the tag in each run, and its layers in model order and its lines over all runs.
const tagsByName = new Map();
for (const run of runs) {
  for (const tag of run.tags) addTo(tagsByName, tag.name, {...tag, layers: run.inOrder(tag.layers, (name) => name)});
}
const united = (tags, key) => new Set(tags.flatMap((tag) => tag[key]));
const layersOf = new Map([...tagsByName].map(([name, told]) => [name, united(told, "layers")]));
const linesOf = new Map([...tagsByName].map(([name, told]) => [name, united(told, "lines")]));

/** The layers of a tag in any run, in model order. */
export function layerNames(tagName) { return [...(layersOf.get(tagName) || [])]; }

/** The lines of a tag in any run; empty if it holds only histograms. */
export function lineNames(tagName) { return [...(linesOf.get(tagName) || [])]; }

/** Whether a tag shows a layer in any run. */
export function showsLayer(tag, layerName) { return layersOf.get(tag.name).has(layerName); }

/** Losses come first, then metrics, in any order of the configuration. */
function importance({name}) { return /^Loss/.test(name) ? 0 : /^Metric/.test(name) ? 1 : 2; }

/** All tags of any run that have data; beyond losses and metrics, in the order of their first values. */
const tags = [...tagsByName.values()].map(([first]) => first).filter(({name}) => layersOf.get(name).size > 0)
    .sort((a, b) => importance(a) - importance(b));
export const tagNamed = new Map(tags.map((tag) => [tag.name, tag]));
export const bigTags = tags.filter((tag) => tag.big);
export const layerTags = tags.filter((tag) => !tag.big);

/** Tags with one number per layer, which a heat map can show. */
export const mappedTags = layerTags.filter((tag) => lineNames(tag.name).length > 0);

/** Every epoch of any run, ascending. */
export const allEpochs = [...new Set(runs.flatMap((run) => run.epochs))].sort((a, b) => a - b);
export const firstEpoch = allEpochs[0], lastEpoch = allEpochs[allEpochs.length - 1];

/** "64 → 10" for a Linear, the weight's "32 × 1 × 3 × 3" for other types, "" for a module without such a tensor. */
export function shapeOf({type, shapes}) {
  const weight = (shapes || []).find((shape) => shape.length > 1);
  if (!weight) return "";
  return type === "Linear" && weight.length === 2 ? `${weight[1]} → ${weight[0]}` : weight.join(" × ");
}

/** "Linear 64 → 10"; "" if there is no module of this name, for example for a function or one of several outputs. */
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
