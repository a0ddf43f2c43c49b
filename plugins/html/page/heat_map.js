import {button, element, fill, formatEpoch, formatNumber, plural, section, selector} from "./text.js";
import {helpButton, hideTooltip, showTooltip} from "./popup.js";
import {kindOf, lackInWords, lineNames, mappedTags, median, PROBABILITY, runs, Series, silenceInWords,
  TICK} from "./data.js";
import {culpritOf, ERROR, SEVERITIES, severitiesOf, severityName, standingFindings, WARNING,
  worstInHeatMap} from "./findings.js";
import {announce, chosenScale, epochWindow, isFound, on, setState, state} from "./state.js";
import {distinctLabels} from "./axis.js";
import {divergingColours, lineColour, packColour, rgb, scaleEnds, sequentialColours, themeColour, withAlpha} from "./colours.js";

export const ORDERS =
  [["worst", "Worst first"], ["highest", "Highest first"], ["lowest", "Lowest first"], ["model", "As in the model"]];
const HIGH_IS_BAD = /death|dead|condition|non-finite|\bnan\b|\binf\b/i;
const LOW_IS_BAD = /activation_rate|active/i;

/** The bad end of a line's numbers: "highest" or "lowest"; null if there is none, for example for a norm. */
function badEnd(tag, lineName) {
  return HIGH_IS_BAD.test(`${tag.name} ${lineName}`) ? "highest" : LOW_IS_BAD.test(lineName) ? "lowest" : null;
}

/** The line that best shows a layer's health. */
export function tellingLine(names) {
  return names.find((name) => HIGH_IS_BAD.test(name)) || names.find((name) => /\bmean$/.test(name)) || names[0];
}

/** The order of a tag's layers: the model's order if no end is bad, because growth from layer to layer matters then. */
export function orderOf(tag, lineName) { return state.order ?? (badEnd(tag, lineName) === null ? "model" : "worst"); }

/** The name of the worst number of a line, and whether `a` is worse than `b`. */
function worstOf(tag, lineName) {
  const end = badEnd(tag, lineName);
  if (end === null) return ["furthest from 0", (a, b) => Math.abs(a) > Math.abs(b)];
  return [end, end === "highest" ? (a, b) => a > b : (a, b) => a < b];
}

/** Sorts layers. @param rows [{name, series, shownSeverity}]  @param columns the visible epochs */
export function ranked(rows, columns, tag, lineName, order) {
  if (order === "model") return rows;
  const late = columns.slice(-Math.max(1, Math.ceil(columns.length / 10)));
  const means = rows.map(({series}) => {
    const finite = late.map((i) => series.values[i]).filter(Number.isFinite);
    return finite.length > 0 ? finite.reduce((a, b) => a + b, 0) / finite.length : NaN;
  });
  const end = order === "worst" ? badEnd(tag, lineName) : order;
  const score = end === "lowest" ? (mean) => -mean : end === "highest" ? (mean) => mean : distanceFromMedian(means);
  const placed = rows.map((row, i) => {
    const broken = columns.some((column) => row.series.isBroken(column)), own = score(means[i]);
    const urgency = order === "worst" ? (broken ? ERROR + 1 : row.shownSeverity) : 0;
    return {row, urgency, score: Number.isNaN(own) ? -Infinity : own};
  });
  const descending = (a, b) => (a === b ? 0 : b - a);
  return placed.sort((a, b) => descending(a.urgency, b.urgency) || descending(a.score, b.score)).map(({row}) => row);
}

// Uses logarithms if all means are positive, so that vanishing and exploding values are equally far away.
function distanceFromMedian(means) {
  const finite = means.filter(Number.isFinite);
  const scaled = finite.length > 0 && finite.every((value) => value > 0) ? Math.log : (value) => value;
  const middle = median(finite.map(scaled));
  return (mean) => Math.abs(scaled(mean) - middle);
}

/** Maps numbers to colours: logarithmic if they span orders of magnitude, with a neutral middle if they have both signs. */
class ColourScale {
  /** @param samples finite numbers, unsorted  @param tag its limits and kind are used */
  constructor(samples, tag) {
    const sorted = Float64Array.from(samples).sort();
    const quantile = (share) => sorted[Math.round(share * (sorted.length - 1))];
    let low = quantile(0.005), high = quantile(0.995);
    this.isEmpty = sorted.length === 0;
    if (this.isEmpty) [low, high] = [0, 1];
    const positive = sorted.length > 0 && sorted[0] >= 0;
    const spread = positive && high > 0 && high / Math.max(quantile(0.25), Number.MIN_VALUE) > 300;
    const chosen = chosenScale(tag);
    this.logarithmic = positive && high > 0 && (chosen === "log" || (chosen === "data" && spread));
    if (tag.type === PROBABILITY) [low, high] = [0, 1];
    else if (tag.low !== null && tag.high !== null) [low, high] = [tag.low, tag.high];
    this.diverging = low < 0 && high > 0;
    if (this.diverging) [low, high] = [-Math.max(-low, high), Math.max(-low, high)];
    if (this.logarithmic) low = Math.max(low, sorted.find((value) => value > 0) || high / 10, high * 1e-12);
    if (!(high > low)) high = low + (Math.abs(low) || 1);
    Object.assign(this, {low, high, range: this.logarithmic ? Math.log(high / low) : high - low});
    this.cutsLow = !this.isEmpty && sorted[0] < low;
    this.cutsHigh = !this.isEmpty && sorted[sorted.length - 1] > high;
    this.colours = this.diverging ? divergingColours() : sequentialColours();
  }

  /** The position of a finite number, from 0 to 1. */
  place(value) {
    const {low, range} = this;
    const share = this.logarithmic ? Math.log(Math.max(value, low) / low) / range : (value - low) / range;
    return Math.min(1, Math.max(0, share));
  }

  colour(value) { return this.colours[Math.round(this.place(value) * 255)]; }

  /** The numbers at the bottom, in the middle and at the top of the scale. */
  labels() {
    const texts = distinctLabels([0, 0.5, 1].map((share) => this.valueAt(share)));
    if (this.cutsLow) texts[0] = `≤ ${texts[0]}`;
    if (this.cutsHigh) texts[2] = `≥ ${texts[2]}`;
    return texts;
  }

  /** "0 (purple) to 12 (yellow)" */
  inWords() {
    const [low, , high] = this.labels(), [first, last] = scaleEnds(this.diverging);
    return `${low} (${first}) to ${high} (${last})`;
  }

  valueAt(share) {
    return this.logarithmic ? this.low * (this.high / this.low) ** share : this.low + (this.high - this.low) * share;
  }
}

/** A colour bar with its numbers, and a key of the other colours in a heat map. */
function colourBar(scale, {broken, missing, severities}) {
  const canvas = element("canvas", {width: 256, height: 1, "aria-hidden": "true"});
  paintMatrix(canvas.getContext("2d"), {x: 0, y: 0, width: 256, height: 1}, 256, 1, (i) => scale.colours[i]);
  const key = (kind, text) => element("span", {class: "entry"}, element("i", {class: `swatch ${kind}`}), text);
  const numbers = element("div", {class: "stops"}, scale.labels().map((text) => element("span", {}, text)));
  return element("div", {class: "colour-bar"}, element("div", {class: "ramp"}, canvas, numbers),
    scale.logarithmic ? element("span", {class: "muted"}, "log scale") : null,
    broken ? key("broken", "NaN or ∞") : null, missing ? key("missing", "no value") : null,
    severities.map((severity) => key(SEVERITIES[severity], `${SEVERITIES[severity]} found`)));
}

/** Paints a matrix of colours into a rectangle, unsmoothed. @param colourAt (column, row) → 32 bits of an ImageData */
export function paintMatrix(context, {x, y, width, height}, columns, rows, colourAt) {
  if (columns === 0 || rows === 0) return;
  const image = new ImageData(columns, rows), pixels = new Uint32Array(image.data.buffer);
  for (let row = 0, at = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) pixels[at++] = colourAt(column, row);
  }
  const plain = element("canvas", {width: columns, height: rows});
  plain.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(plain, x, y, width, height);
}

/** A canvas of a given size in CSS pixels, sharp on every screen, ready to be drawn on. */
export function sizedContext(canvas, width, height) {
  const density = devicePixelRatio || 1;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  context.textBaseline = "middle";
  return context;
}

/** The axis of epochs under a heat map: as many labels as fit, in the middle of their columns. */
export function drawEpochAxis(context, {x, y, width}, epochs) {
  if (epochs.length === 0) return;
  const column = width / epochs.length;
  const room = context.measureText(formatEpoch(epochs[epochs.length - 1])).width + 28;
  const fits = Math.max(1, Math.floor(width / room));
  const steps = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];
  const step = steps.find((each) => epochs.length / each <= fits) || epochs.length;
  context.fillStyle = themeColour("muted");
  context.textAlign = "center";
  // If epochs are evenly spaced, label round ones: 100, 200 instead of 1, 101.
  const spacing = (epochs[epochs.length - 1] - epochs[0]) / (epochs.length - 1 || 1);
  const counts = epochs.map((epoch) => epoch / spacing);
  const even = epochs.length > 1 && counts.every((count) => Math.abs(count - Math.round(count)) < 1e-6);
  for (let i = 0; i < epochs.length; ++i) {
    if ((even ? Math.round(counts[i]) : i) % step !== 0) continue;
    const middle = x + (i + 0.5) * column;
    context.fillRect(middle - 0.5, y, 1, 4);
    const text = formatEpoch(epochs[i]);
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(middle, x + half), x + width - half), y + 13);
  }
}

/** The indices of the visible epochs. */
export function shownColumns(epochs) {
  const [first, last] = epochWindow();
  return epochs.map((_, i) => i).filter((i) => epochs[i] >= first && epochs[i] <= last);
}

/** The heat map as a table for screen readers: the first, last and worst value of each layer in the visible epochs. */
function heatTable({rows, columns, run, tag, line}) {
  const [worstName, isWorse] = worstOf(tag, line);
  const said = (series, i) =>
    i === null ? "no value" : `${formatNumber(series.values[i])} in ${TICK} ${formatEpoch(run.epochs[i])}`;
  const row = ({name, series, severity}) => {
    let first = null, last = null, worst = null;
    for (const i of columns) {
      if (series.isMissing(i)) continue;
      if (first === null) first = i;
      last = i;
      if (worst === null || (!series.isBroken(worst) &&
          (series.isBroken(i) || isWorse(series.values[i], series.values[worst])))) worst = i;
    }
    return element("tr", {}, element("th", {scope: "row"}, name),
      [first, last, worst].map((i) => element("td", {}, said(series, i))),
      element("td", {}, severity === 0 ? "none" : SEVERITIES[severity]));
  };
  const heads = ["Layer", "First", "Last", `Worst (${worstName})`, "Finding"];
  return element("table", {}, element("caption", {}, `${tag.name}, ${line}, of ${run.label}`),
    element("thead", {}, element("tr", {}, heads.map((head) => element("th", {scope: "col"}, head)))),
    element("tbody", {}, rows.map(row)));
}

// Some layers always take longer than others, which does not show how the model learns.
const IS_TIME = /^Layer (Time|Calls)/;
// The number of samples of each line that determine the range of the colours.
const SAMPLES = 12;

const contrasts = new Map();

/** The contrast between the colours of a tag's layers, from 0 to 1; 0 if all look the same. */
function contrastOf(run, tag, lineName) {
  const key = `${run.index} ${tag.name}\n${lineName}`;
  if (contrasts.has(key)) return contrasts.get(key);
  const all = [...run.layers(tag.name).values()].map(({lines}) => lines.find(([name]) => name === lineName))
      .filter((line) => line !== undefined)
      .map(([, packed]) => [...new Series(packed, run.epochs.length).values].filter(Number.isFinite))
      .filter((values) => values.length > 0);
  const samples = all.flatMap((values) => values.filter((_, i) => i % Math.ceil(values.length / SAMPLES) === 0));
  const scale = new ColourScale(samples, tag), places = all.map((values) => scale.place(values[values.length - 1]));
  const mean = places.reduce((sum, place) => sum + place, 0) / places.length;
  const spread = places.length < 2 ? 0 :
    2 * Math.sqrt(places.reduce((sum, place) => sum + (place - mean) ** 2, 0) / places.length);
  contrasts.set(key, spread);
  return spread;
}

/**
 * The line that the heat map of a run shows first: the telling line, chosen from the lines of the layer with the worst
 * finding if this tag shows that. If all layers look the same in it, the line in which the layers differ most.
 */
export function usualLine(run, tagName) {
  const worst = worstInHeatMap(run), all = lineNames(tagName), isOfWorst = worst !== undefined && worst.tag === tagName;
  const layer = isOfWorst ? run.layers(tagName).get(worst.layer) : undefined;
  const telling = tellingLine(layer === undefined || layer.lines.length === 0 ? all : layer.lines.map(([name]) => name));
  const tag = mappedTags.find(({name}) => name === tagName);
  if (isOfWorst || run.incident || tag === undefined || all.length < 2 || contrastOf(run, tag, telling) > 0)
    return telling;
  return all.reduce((best, line) => (contrastOf(run, tag, line) > contrastOf(run, tag, best) ? line : best), telling);
}

/** Whether a layer's numbers under a tag were ever NaN or infinite. */
function isBrokenIn({broken, layers}, layer) {
  const epoch = broken === null ? undefined : broken[layers.indexOf(layer)];
  return epoch !== undefined && epoch !== null;
}

/** For a run without a finding to show: the tag whose layers differ most, preferably one with NaN or ∞. */
function mostTelling(run) {
  const told = mappedTags.filter(({name}) => run.tagIndex.has(name));
  const most = Math.max(1, ...told.map(({name}) => run.layers(name).size));
  const score = (tag) => contrastOf(run, tag, usualLine(run, tag.name)) * (run.layers(tag.name).size / most);
  const best = (some) => some.map((tag) => ({tag, score: score(tag)}))
      .reduce((first, each) => (each.score > first.score ? each : first), {tag: null, score: 0}).tag;
  const broken = run.tags.filter((tag) => tag.layers.some((layer) => isBrokenIn(tag, layer))).map(({name}) => name);
  return (best(told.filter(({name}) => broken.includes(name))) ??
    best(told.filter(({name}) => !IS_TIME.test(name))) ?? best(told) ?? mappedTags[0]).name;
}

const opened = new Map();

/**
 * The tag that the heat map of a run shows first: the tag of its worst finding, else the most telling one. For an
 * incident it is a tag in which the blamed module was not finite: how its numbers became NaN matters most.
 */
export function firstTagName(run) {
  if (!opened.has(run)) {
    const broken = run.incident ? run.tags.find((tag) => !tag.big && isBrokenIn(tag, culpritOf(run))) : undefined;
    opened.set(run, broken?.name ?? worstInHeatMap(run)?.tag ?? mostTelling(run));
  }
  return opened.get(run);
}

export const ROW_CHOICES = [["10", "10"], ["24", "24"], ["50", "50"], ["100", "100"], ["all", "all"]];

// The most samples that determine the range of the colours; sorting more would take longer than drawing.
const MOST_SAMPLES = 12000;

/** The heat map of layers by epochs for a chosen tag; beside it the values of one epoch as bars. */
export class Overview {
  /** @param openLayer called with the name of the layer that a click or Enter opens, and the names of all rows */
  constructor(openLayer) {
    Object.assign(this, {openLayer, tag: null, cell: null});
    this.controls = element("div", {class: "controls"});
    this.explained = element("span", {});
    this.caption = element("p", {class: "muted caption"});
    this.bar = element("div", {});
    this.canvas = element("canvas", {
      class: "heat", tabindex: "0", role: "img", id: "heat-map",
      onpointermove: (event) => this.point(event), onpointerleave: () => this.leave(),
      onclick: (event) => this.click(event), onkeydown: (event) => this.key(event), onblur: () => this.leave(),
    });
    this.table = element("div", {class: "visually-hidden"});
    this.box = element("div", {class: "heat-box"}, this.canvas, this.table);
    const choose = ({name}) => setState("overview", {tagName: name, lineName: null});
    this.tagButtons =
      new Map(mappedTags.map((tag) => [tag, button({class: "chip", onclick: () => choose(tag)}, tag.name)]));
    const chips = element("div", {class: "chips", role: "group", "aria-label": "Tag"}, [...this.tagButtons.values()]);
    this.root = section("overview", ["Overview", this.explained], null,
        element("div", {class: "panel"}, chips, this.controls, this.caption, this.box, this.bar));
    if (mappedTags.length === 0) return;
    this.follow();
    on("overview", () => this.follow());
    new ResizeObserver(() => this.draw()).observe(this.box);
    for (const change of ["zoom", "scale", "search", "order", "theme"]) on(change, () => this.refresh());
    on("order", () => this.fillControls());
  }

  /** Shows what the state contains; the reader or an address may have changed it. */
  follow() {
    const wanted = state.tagName ?? firstTagName(runs[state.heatRun]);
    const tag = this.tag = mappedTags.find(({name}) => name === wanted) || mappedTags[0];
    const lines = lineNames(tag.name);
    this.run = runs[state.heatRun];
    this.line = lines.includes(state.lineName) ? state.lineName : usualLine(this.run, tag.name);
    Object.assign(state, {tagName: tag.name, lineName: this.line});
    for (const [other, chip] of this.tagButtons) chip.setAttribute("aria-pressed", String(other === tag));
    this.fillControls();
    this.refresh();
  }

  fillControls() {
    const names = lineNames(this.tag.name), choose = (values) => setState("overview", values);
    const focused = [...this.controls.querySelectorAll("select")].indexOf(document.activeElement);
    fill(this.explained, helpButton(this.tag));
    fill(this.controls,
        names.length < 2 ? null :
          selector("Value", names.map((name) => [name, name]), this.line, (lineName) => choose({lineName})),
        runs.length < 2 ? null : selector("Run", runs.map((run) => [String(run.index), run.label]),
            String(this.run.index), (index) => choose({heatRun: Number(index)})),
        selector("Order", ORDERS, this.order(), (order) => setState("order", {order})),
        selector("Layers", ROW_CHOICES, this.shownRows(), (heatRows) => choose({heatRows})));
    if (focused >= 0) this.controls.querySelectorAll("select")[focused].focus();
  }

  /** The order of the rows; by default the model's order if the tag shows the run's worst finding. */
  order() {
    const worst = worstInHeatMap(this.run);
    return state.order === null && worst !== undefined && worst.tag === this.tag.name ? "model" :
      orderOf(this.tag, this.line);
  }

  /** The default number of rows: all in the model's order, otherwise only the first few. */
  shownRows() { return state.heatRows || (this.order() === "model" ? "all" : "24"); }

  refresh() {
    const {run, tag, line} = this, order = this.order(), limit = this.shownRows();
    this.cell = this.labelWidths = null;
    this.columns = shownColumns(run.epochs);
    const told = [...run.layers(tag.name).keys()].map((name) => (
      {name, kind: kindOf(run, name), series: run.line(tag.name, name, line), ...severitiesOf(run, name, tag)}
    )).filter(({series}) => series !== null);
    this.seriesOf = new Map(told.map(({name, series}) => [name, series]));
    this.scale = new ColourScale(this.samples(told), tag);
    const sorted = ranked(told.filter(({name}) => isFound(name)), this.columns, tag, line, order);
    this.rows = limit === "all" ? sorted : sorted.slice(0, Number(limit));
    const called = ORDERS.find(([each]) => each === order)[1].toLowerCase();
    const count = this.rows.length;
    const silence = silenceInWords(run, tag, told.map(({series}) => series));
    this.caption.textContent = [`${count} of ${plural(told.length, "layer")}`, called, ...(silence ? [silence] : []),
      "click a row for the layer's plots"].join(" · ");
    this.canvas.setAttribute("aria-label", `Heat map of ${tag.name}, ${count} layers by ` +
      `${plural(this.columns.length, TICK)}, ${called}. Arrow keys move, Enter opens the layer.`);
    const broken = told.some(({series}) => this.columns.some((i) => series.isBroken(i)));
    const missing = this.rows.some(({series}) => this.columns.some((i) => series.isMissing(i)));
    const severities = [ERROR, WARNING].filter((severity) => this.rows.some((row) => row.severity === severity));
    fill(this.table, heatTable(this));
    fill(this.bar, colourBar(this.scale, {broken, missing, severities}));
    this.draw();
    announce("heat", this);
  }

  /** Some finite numbers of all layers, to determine the range of the colours; rare extremes do not matter. */
  samples(told) {
    const count = this.columns.length, step = Math.max(1, Math.floor((told.length * count) / MOST_SAMPLES)), found = [];
    for (let at = 0; at < told.length * count; at += step) {
      const value = told[Math.floor(at / count)].series.values[this.columns[at % count]];
      if (Number.isFinite(value)) found.push(value);
    }
    return found;
  }

  draw() {
    const width = this.box.clientWidth;
    if (width === 0) return;
    const count = this.rows.length;
    this.rowHeight = Math.min(count > 12 ? 18 : 26, Math.max(2, Math.floor(620 / Math.max(count, 1))));
    const context = sizedContext(this.canvas, width, Math.max(count * this.rowHeight, 24) + 26);
    const {names, kinds} = this.labelWidths ||= this.measuredLabels(context);
    // Show types only if no name has to be cut off, since names are more important.
    this.kinds = names + kinds <= width * 0.36 ? Math.ceil(kinds) : 0;
    const labels = Math.ceil(Math.min(names, Math.max(100, width * 0.32))) + this.kinds;
    const profile = width < 560 ? 0 : Math.min(140, Math.round(width * 0.14));
    this.area = {x: labels, y: 2, width: width - labels - profile - 2, height: count * this.rowHeight};
    this.profile = {x: width - profile + 10, width: profile - 12};
    if (count === 0) {
      context.fillStyle = themeColour("muted");
      context.fillText("No layer matches the search.", 4, 14);
      return;
    }
    this.paint(context);
    this.label(context, labels);
    this.markFindings(context);
    if (profile > 0) this.drawProfile(context);
    const below = {...this.area, y: this.area.y + this.area.height};
    drawEpochAxis(context, below, this.columns.map((i) => this.run.epochs[i]));
    if (this.cell !== null) this.mark(context);
  }

  /** Cached for the current rows, because moving the pointer draws them again and again. */
  measuredLabels(context) {
    const widest = (texts) => Math.max(0, ...texts.map((text) => context.measureText(text).width));
    const names = Math.max(40, widest(this.rows.map(({name}) => name))) + 14;
    return {names, kinds: widest(this.rows.map(({kind}) => kind)) + 12};
  }

  paint(context) {
    const {scale, columns} = this;
    const [broken, missing] = ["alarm", "missing"].map((name) => packColour(rgb(themeColour(name))));
    // If there are more epochs than pixels, a pixel shows the most extreme of its epochs.
    const pixels = Math.min(columns.length, Math.round(this.area.width * (devicePixelRatio || 1)));
    const standsOut = scale.diverging ? Math.abs : (value) => value;
    const ends = Uint32Array.from({length: pixels + 1}, (_, pixel) => Math.floor((pixel * columns.length) / pixels));
    paintMatrix(context, this.area, pixels, this.rows.length, (pixel, row) => {
      const {series} = this.rows[row], {values} = series;
      let shown = NaN;
      for (let at = ends[pixel]; at < ends[pixel + 1]; ++at) {
        const value = values[columns[at]];
        if (!Number.isFinite(value)) {
          if (!series.isMissing(columns[at])) return broken;
        } else if (!(standsOut(value) <= standsOut(shown))) {
          shown = value;
        }
      }
      return Number.isNaN(shown) ? missing : scale.colour(shown);
    });
  }

  label(context, width) {
    context.textAlign = "right";
    const every = Math.ceil(12 / this.rowHeight);
    this.rows.forEach(({name, kind}, row) => {
      // A label at the end would have too little room.
      if (row % every !== 0 || (row > 0 && this.rows.length - row < every)) return;
      const middle = this.area.y + (row + 0.5 * Math.min(every, this.rows.length - row)) * this.rowHeight;
      context.fillStyle = themeColour(name === state.selectedLayer ? "accent" : "text");
      context.fillText(fitText(context, name, width - this.kinds - 10), width - this.kinds - 7, middle);
      if (this.kinds === 0) return;
      context.fillStyle = themeColour("muted");
      context.fillText(kind, width - 7, middle);
    });
  }

  /** Draws a strip beside layers with open findings, in the colour of the worst one. */
  markFindings(context) {
    this.rows.forEach(({severity}, row) => {
      if (severity === 0) return;
      context.fillStyle = themeColour(SEVERITIES[severity]);
      context.fillRect(this.area.x - 5, this.area.y + row * this.rowHeight, 4, Math.max(this.rowHeight - 1, 2));
    });
  }

  /** The values of the epoch under the pointer, or of the last epoch with values, as bars on the scale of the colours. */
  drawProfile(context) {
    const {x, width} = this.profile, {y, height} = this.area, {scale} = this;
    const has = (each) => this.rows.some(({series}) => !series.isMissing(each));
    const column = this.cell ? this.columns[this.cell.column] : this.columns.findLast(has);
    if (column === undefined) return;
    const zero = scale.diverging ? x + width / 2 : x;
    context.fillStyle = themeColour("missing");
    context.fillRect(zero, y, 1, height);
    this.rows.forEach(({series}, row) => {
      const value = series.at(column);
      if (value === null) return;
      const finite = Number.isFinite(value), end = finite ? x + scale.place(value) * width : x + width;
      context.fillStyle = finite ? withAlpha(lineColour(0), 0.75) : themeColour("alarm");
      context.fillRect(Math.min(zero, end), y + row * this.rowHeight, Math.max(Math.abs(end - zero), 1),
          Math.max(this.rowHeight - 1, 1));
    });
    context.fillStyle = themeColour("muted");
    context.textAlign = "center";
    context.fillText(`${TICK} ${formatEpoch(this.run.epochs[column])}`, x + width / 2, y + height + 13);
  }

  /** Draws two strokes, one light and one dark, so that the mark is visible on every colour. */
  mark(context) {
    const {x, y, width} = this.area, column = width / this.columns.length, top = y + this.cell.row * this.rowHeight;
    for (const [name, thickness] of [["panel", 4], ["text", 1.5]]) {
      context.lineWidth = thickness;
      context.strokeStyle = themeColour(name);
      context.strokeRect(x, top, width, this.rowHeight);
      context.strokeRect(x + this.cell.column * column - 1, top, Math.max(column, 2) + 2, this.rowHeight);
    }
  }

  cellAt(event) {
    if (!this.area || this.rows.length === 0) return null;
    const row = Math.floor((event.offsetY - this.area.y) / this.rowHeight);
    const share = (event.offsetX - this.area.x) / this.area.width;
    if (row < 0 || row >= this.rows.length) return null;
    return {row, column: Math.min(this.columns.length - 1, Math.max(0, Math.floor(share * this.columns.length)))};
  }

  point(event) {
    this.cell = this.cellAt(event);
    this.canvas.style.cursor = this.cell ? "pointer" : "default";
    this.draw();
    if (this.cell === null) return this.leave();
    this.tell(event.clientX, event.clientY);
  }

  tell(x, y) {
    const {name, kind, series} = this.rows[this.cell.row], column = this.columns[this.cell.column];
    const value = series.at(column), epoch = this.run.epochs[column];
    showTooltip(x, y, [
      kind === "" ? name : `${name} · ${kind}`, `${TICK} ${formatEpoch(epoch)}`,
      `${this.line}: ${value === null ? lackInWords(this.run, this.tag) : formatNumber(value)}`,
      ...standingFindings(this.run, name).slice(0, 2).map((finding) => `${severityName(finding)}: ${finding.message}`),
    ]);
    announce("cursor", epoch);
  }

  leave() {
    if (this.cell !== null) {
      this.cell = null;
      this.draw();
    }
    hideTooltip();
    announce("cursor", null);
  }

  click(event) {
    const cell = this.cellAt(event);
    if (cell !== null) this.open(cell.row);
  }

  open(row) {
    hideTooltip();
    this.openLayer(this.rows[row].name, this.rows.map(({name}) => name));
    this.draw();
  }

  key(event) {
    const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    if (this.rows.length === 0) return;
    if (event.key === "Enter" && this.cell) return this.open(this.cell.row);
    if (event.key === "Escape") return this.leave();
    if (!(event.key in moves)) return;
    event.preventDefault();
    const [down, right] = moves[event.key];
    const within = (value, end) => Math.min(end - 1, Math.max(0, value));
    const {row, column} = this.cell || {row: -down, column: this.columns.length - 1 - right};
    this.cell = {row: within(row + down, this.rows.length), column: within(column + right, this.columns.length)};
    this.draw();
    const box = this.canvas.getBoundingClientRect();
    this.tell(box.left + this.area.x + ((this.cell.column + 0.5) * this.area.width) / this.columns.length,
        box.top + this.area.y + (this.cell.row + 1) * this.rowHeight);
  }
}

/** Cuts `text` at its front to fit `width` pixels, since the end of a layer's name is more informative. */
function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText("…" + text.slice(text.length - middle)).width <= width) low = middle;
    else high = middle - 1;
  }
  return "…" + text.slice(text.length - low);
}
