import {element, formatEpoch, formatNumber} from "./text.js";
import {PROBABILITY, TICK} from "./data.js";
import {chosenScale, epochWindow} from "./state.js";
import {SEVERITIES} from "./findings.js";
import {divergingColours, sequentialColours, themeColour} from "./colours.js";
import {worstOf} from "./ranking.js";
import {distinctLabels} from "./value_scale.js";

/** How numbers become colours: with limits, a logarithm where numbers spread, a middle where signs differ. */
export class ColourScale {
  /** @param samples finite numbers, unsorted  @param tag whose limits and kind count */
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

  /** Where a finite number lies, from 0 to 1. */
  place(value) {
    const {low, range} = this;
    const share = this.logarithmic ? Math.log(Math.max(value, low) / low) / range : (value - low) / range;
    return Math.min(1, Math.max(0, share));
  }

  colour(value) { return this.colours[Math.round(this.place(value) * 255)]; }

  valueAt(share) {
    return this.logarithmic ? this.low * (this.high / this.low) ** share : this.low + (this.high - this.low) * share;
  }
}

/** A colour bar with its numbers, and what the other colours of a heat map mean. */
export function colourBar(scale, {broken, missing, severities}) {
  const canvas = element("canvas", {width: 256, height: 1, "aria-hidden": "true"});
  paintMatrix(canvas.getContext("2d"), {x: 0, y: 0, width: 256, height: 1}, 256, 1, (i) => scale.colours[i]);
  const stops = [0, 0.5, 1];
  const texts = distinctLabels(stops.map((stop) => scale.valueAt(stop)));
  if (scale.cutsLow) texts[0] = `≤ ${texts[0]}`;
  if (scale.cutsHigh) texts[texts.length - 1] = `≥ ${texts[texts.length - 1]}`;
  const key = (kind, text) => element("span", {class: "entry"}, element("i", {class: `swatch ${kind}`}), text);
  const numbers = element("div", {class: "stops"}, texts.map((text) => element("span", {}, text)));
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

/** Epochs under a heat map: as many as fit, at the middle of their columns. */
export function drawEpochAxis(context, {x, y, width}, epochs) {
  if (epochs.length === 0) return;
  const column = width / epochs.length;
  const room = context.measureText(formatEpoch(epochs[epochs.length - 1])).width + 28;
  const fits = Math.max(1, Math.floor(width / room));
  const steps = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];
  const step = steps.find((each) => epochs.length / each <= fits) || epochs.length;
  context.fillStyle = themeColour("muted");
  context.textAlign = "center";
  // Round epochs where they are evenly spaced: 100, 200 rather than 1, 101.
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

/** The indices of the epochs on show. */
export function shownColumns(epochs) {
  const [first, last] = epochWindow();
  return epochs.map((_, i) => i).filter((i) => epochs[i] >= first && epochs[i] <= last);
}

/** A heat map's rows for those who do not see it: each layer's first, last and worst value of the epochs on show. */
export function heatTable({rows, columns, run, tag, line}) {
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
