const NUMERICAL = 1, PROBABILITY = 2, RELATION = 3;

const BASE64 = new Uint8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((digit, value) => {
  BASE64[digit.charCodeAt(0)] = value;
});

// The NaN that packing.cpp writes where nothing was told.
const MISSING_BITS = 0x7fffff00;

/** One number an epoch, unpacked from four characters each: a float without its lowest eight bits. */
class Series {
  constructor(packed, length) {
    this.values = new Float32Array(length);
    this.bits = new Uint32Array(this.values.buffer);
    const told = Math.min(length, packed.length / 4);
    for (let i = 0, at = 0; i < told; ++i, at += 4) {
      this.bits[i] = (BASE64[packed.charCodeAt(at)] << 26) | (BASE64[packed.charCodeAt(at + 1)] << 20) |
          (BASE64[packed.charCodeAt(at + 2)] << 14) | (BASE64[packed.charCodeAt(at + 3)] << 8);
    }
    this.bits.fill(MISSING_BITS, told);
  }

  isMissing(i) { return this.bits[i] === MISSING_BITS; }

  /** null where nothing was told; NaN and infinities as they are. */
  at(i) { return this.isMissing(i) ? null : this.values[i]; }

  isBroken(i) { return !this.isMissing(i) && !Number.isFinite(this.values[i]); }

  last() {
    for (let i = this.values.length - 1; i >= 0; --i) {
      if (!this.isMissing(i)) return this.values[i];
    }
    return null;
  }
}

function embedded(id) {
  const script = document.getElementById(id);
  if (script === null) return null;
  const value = JSON.parse(script.textContent);
  // What has been read need not stay in memory twice.
  script.remove();
  return value;
}

class Run {
  constructor(index, told) {
    Object.assign(this, told);
    this.index = index;
    this.label = this.name || "run";
    this.tagIndex = new Map(told.tags.map((tag, i) => [tag.name, i]));
    this.layersRead = new Map();
  }

  /** The layers of a tag by name; a tag's numbers are parsed when first asked for. */
  layers(tagName) {
    if (!this.layersRead.has(tagName)) {
      const index = this.tagIndex.get(tagName);
      const told = index === undefined ? [] : embedded(`run-${this.index}-tag-${index}`);
      this.layersRead.set(tagName, new Map(told.map((layer) => [layer.name, layer])));
    }
    return this.layersRead.get(tagName);
  }

  line(tagName, layerName, lineName) {
    const layer = this.layers(tagName).get(layerName);
    const line = layer && layer.lines.find(([name]) => name === lineName);
    return line ? new Series(line[1], this.epochs.length) : null;
  }
}

// What was asked for when the report was made.
const reportSettings = embedded("report") || {};

const runs = [];
for (let told; (told = embedded(`run-${runs.length}`)) !== null;) runs.push(new Run(runs.length, told));
for (const run of runs) {
  const namesakes = runs.filter((other) => other.name === run.name);
  if (namesakes.length > 1) run.label = `${run.label} (${namesakes.indexOf(run) + 1})`;
}

/** What each run told of a tag: its layers, its lines. */
function toldOf(tagName) { return runs.flatMap((run) => run.tags.filter((tag) => tag.name === tagName)); }

/** The layers of a tag in any run, in model order. */
function layerNames(tagName) { return [...new Set(toldOf(tagName).flatMap((tag) => tag.layers))]; }

/** The lines of a tag in any run; none where it holds histograms only. */
function lineNames(tagName) { return [...new Set(toldOf(tagName).flatMap((tag) => tag.lines))]; }

/** Every tag of any run that has something to show, in the order in which they were first told. */
const tags = [
  ...runs.flatMap((run) => run.tags)
      .reduce((known, tag) => (known.has(tag.name) ? known : known.set(tag.name, tag)), new Map())
      .values()
].filter((tag) => layerNames(tag.name).length > 0);
const bigTags = tags.filter((tag) => tag.big);
const layerTags = tags.filter((tag) => !tag.big);

/** Tags with a number a layer, as a heat map shows them. */
function mappedTags() { return layerTags.filter((tag) => lineNames(tag.name).length > 0); }

/** Every epoch of the given runs, ascending. */
function unitedEpochs(shownRuns) {
  if (shownRuns.length === 1) return shownRuns[0].epochs;
  return [...new Set(shownRuns.flatMap((run) => run.epochs))].sort((a, b) => a - b);
}

const allEpochs = unitedEpochs(runs);
const firstEpoch = allEpochs[0], lastEpoch = allEpochs[allEpochs.length - 1];

/** The index of the number nearest to `wanted` in an ascending array; -1 in an empty one. */
function nearestIndex(ascending, wanted) {
  let low = 0, high = ascending.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (ascending[middle] <= wanted)
      low = middle;
    else
      high = middle;
  }
  if (high < 0) return -1;
  return wanted - ascending[low] <= ascending[high] - wanted ? low : high;
}
