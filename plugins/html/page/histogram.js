import {element, fill, formatEpoch, formatNumber, selector, textWidth} from "./text.js";
import {hideTooltip, showTooltip} from "./popup.js";
import {BASE64, runs, TICK} from "./data.js";
import {epochWindow, on, state} from "./state.js";
import {distinctLabels, LINEAR, LOGARITHMIC, valueTicks} from "./axis.js";
import {lineColour, SEQUENTIAL, sequentialColours, themeColour, withAlpha} from "./colours.js";
import {drawEpochAxis, paintMatrix, sizedContext} from "./heat_map.js";

const MOST_OUTLINES = 20;
// The share of the plot's height that the highest outline takes; the rest separates the outlines from each other.
const TALLEST = 0.4;

/** Chooses as many columns as the eye can distinguish, evenly spread, including the first and the last. */
function evenlyChosen(columns) {
  const last = columns.length - 1, steps = Math.min(last, MOST_OUTLINES - 1);
  return Array.from({length: steps + 1}, (_, i) => columns[steps === 0 ? last : Math.round((i * last) / steps)]);
}

/**
 * Arranges histograms behind each other at the bottom of `area`, the last one in front.
 * @param heights returns the heights of a column, from 0 to 1, one for each of `placed`
 * @return [{column, foot, points}], the one at the back first
 */
function placedOutlines(area, columns, placed, heights) {
  const last = columns.length - 1, tallest = area.height * (last > 0 ? TALLEST : 1);
  return columns.map((column, i) => {
    const foot = area.y + area.height - ((area.height - tallest) * (last - i)) / (last || 1);
    const tops = heights(column).map((height, at) => {
      const {from, to} = placed[at];
      return [area.x + ((from + to) / 2) * area.width, foot - height * tallest];
    });
    return {column, foot, points: [[area.x, foot], ...tops, [area.x + area.width, foot]]};
  });
}

/** @param pointed the outline to highlight, or null */
function drawOutlines(context, area, outlines, pointed) {
  context.textAlign = "right";
  let free = Infinity;
  const drawLine = ({points}, colour, width) => {
    Object.assign(context, {strokeStyle: colour, lineWidth: width, lineJoin: "round"});
    context.beginPath();
    for (const [x, y] of points) context.lineTo(x, y);
    context.stroke();
  };
  outlines.forEach((outline, i) => {
    // Later outlines have stronger colours.
    const strength = (i + 1) / outlines.length;
    drawLine(outline, withAlpha(lineColour(0), 0.45 + 0.55 * strength), 1);
    context.fillStyle = themeColour("panel");
    context.fill();
    context.fillStyle = outline === pointed ? themeColour("accent") : withAlpha(lineColour(0), 0.08 + 0.3 * strength);
    context.fill();
  });
  if (pointed !== null) drawLine(pointed, themeColour("accent"), 2);
  // Label epochs where there is room, and always the first and the last.
  for (const outline of [...outlines].reverse()) {
    const {foot, column: [epoch]} = outline, isFirst = outline === outlines[0];
    if (free - foot < 13 || (!isFirst && foot - outlines[0].foot < 13)) continue;
    context.fillStyle = themeColour("muted");
    context.fillText(formatEpoch(epoch), area.x - 6, Math.min(foot, area.y + area.height - 2));
    free = foot;
  }
}

/** The outline at a point, or else the one whose line is nearest above or below the point. */
function outlineAt(outlines, x, y) {
  const topAt = ({points}) => {
    const next = Math.max(1, points.findIndex((point) => point[0] >= x));
    const [left, right] = points.slice(next - 1, next + 1);
    return left[1] + ((right[1] - left[1]) * (x - left[0])) / (right[0] - left[0] || 1);
  };
  const seen = outlines.findLast((outline) => y >= topAt(outline) && y <= outline.foot);
  const distance = (outline) => Math.abs(y - topAt(outline));
  return seen || outlines.reduce((best, each) => (distance(each) <= distance(best) ? each : best));
}

/** The share of all elements in each bin of one epoch, beginning with its first bin; the sum is 1. */
export function sharesOf([, , , levels]) {
  const shares = [...levels].map((level) => shareOfLevel(BASE64[level.charCodeAt(0)]));
  const sum = shares.reduce((a, b) => a + b, 0);
  return sum > 0 ? shares.map((share) => share / sum) : shares;
}

/** "about 1,230 of 100,000 elements"; only a percentage if the total is unknown. */
function elementsInWords(share, total) {
  if (share === 0) return "no element";
  const percent = `${formatNumber(share * 100, 2)} % of the elements`;
  if (!total) return `about ${percent}`;
  const count = Number((share * total).toPrecision(2));
  return `about ${Math.round(count).toLocaleString("en")} of ${total.toLocaleString("en")} elements (${percent})`;
}

// On a linear scale, narrower bins are merged: a single element in one would tower above all others.
const NARROWEST = 1 / 60;

/**
 * The positions of bins, from 0 to 1: side by side, or on a linear scale of their values, where infinite bins get a
 * little room. Returns [{bin, last, from, to, width}], each for the bins from `bin` to `last` (`bin` is null for a range
 * of empty bins); the width is in values.
 */
function placedBins(bins, edges, linear) {
  if (!linear)
    return bins.map((bin, i) => ({bin, last: bin, from: i / bins.length, to: (i + 1) / bins.length, width: null}));
  const finite = bins.flatMap((bin) => [edges[bin], edges[bin + 1]]).filter((edge) => edge !== null);
  const [lowest, highest] = [Math.min(...finite), Math.max(...finite)];
  const room = (highest - lowest || 1) * 0.03;
  const low = edges[bins[0]] === null ? lowest - room : lowest;
  const high = edges[bins[bins.length - 1] + 1] === null ? highest + room : highest;
  const place = (edge, open) => ((edge === null ? open : edge) - low) / (high - low || 1);
  const placed = [];
  for (const bin of bins) {
    const from = place(edges[bin], low), to = place(edges[bin + 1], high), before = placed[placed.length - 1];
    if (before && (before.to - before.from < NARROWEST || to - from < NARROWEST / 4))
      Object.assign(before, {last: bin, to});
    else placed.push({bin, last: bin, from, to});
  }
  return placed.map((each) => ({...each, width: (each.to - each.from) * (high - low)}));
}

/** The share of all elements in bins that are drawn as one. */
function shareOfPlace({bin, last}, first, shares) {
  if (bin === null) return 0;
  let sum = 0;
  for (let i = bin; i <= last; ++i) sum += shares[i - first] || 0;
  return sum;
}

// Edges with a smaller magnitude belong to the bin that holds 0.
const NEXT_TO_ZERO = 1e-30;

/** Labels at the lower edges of bins, 0 first, then as many as fit. @param room of a text; `pixels` is the room of all */
function edgeLabels(placed, edges, pixels, room) {
  const all = placed.filter(({bin}) => bin !== null && edges[bin] !== null)
    .map(({bin, from}) => ({place: from, value: Math.abs(edges[bin]) < NEXT_TO_ZERO ? 0 : edges[bin]}));
  const texts = distinctLabels(all.map(({value}) => value), 2), labels = all.map((each, i) => ({...each, text: texts[i]}));
  const chosen = [];
  const fits = ({place, text}) => chosen.every((other) =>
    Math.abs(other.place - place) * pixels >= (room(other.text) + room(text)) / 2 && other.text !== text);
  for (const label of [...labels.filter(({value}) => value === 0), ...labels]) if (fits(label)) chosen.push(label);
  return chosen;
}

/** Labels the values at the bottom of a plot, and names them. */
function drawValues(context, area, placed, edges, name) {
  context.fillStyle = themeColour("axis");
  context.fillRect(area.x, area.y + area.height, area.width, 1);
  context.fillStyle = themeColour("muted");
  context.textAlign = "center";
  for (const {place, text} of edgeLabels(placed, edges, area.width, (words) => textWidth(words) + 10))
    context.fillText(text, area.x + place * area.width, area.y + area.height + 11);
  context.fillText(`value of ${name}`, area.x + area.width / 2, area.y + area.height + 25);
}

/** Draws the bars of one epoch. @return the positions for the pointer: [{bin, from, to, share}] */
function drawBars(context, area, column, bins, edges, {linear, histogram: {line: name}}) {
  const logarithmic = state.scale === "log";
  const [, , first, , total] = column, shares = sharesOf(column);
  const placed = placedBins(bins, edges, linear).filter(({bin}) => bin !== null).map((place) => {
    const share = shareOfPlace(place, first, shares);
    return {...place, share, height: linear ? share / place.width : share * (total || 1)};
  });
  const heights = placed.map(({height}) => height).filter((height) => height > 0);
  const high = Math.max(...heights, Number.MIN_VALUE) * (logarithmic ? 1.3 : 1.06);
  const low = logarithmic ? Math.min(...heights) / 2 : 0;
  const scale = logarithmic ? LOGARITHMIC : LINEAR, bottom = scale.up(low), range = scale.up(high) - bottom;
  const up = (value) => (scale.up(Math.max(value, low)) - bottom) / range;
  context.textAlign = "right";
  for (const {v, label} of valueTicks(scale, bottom, bottom + range, area.height)) {
    if (v > bottom + range) continue;
    const y = area.y + area.height * (1 - (v - bottom) / range);
    context.fillStyle = themeColour("grid");
    context.fillRect(area.x, y, area.width, 1);
    context.fillStyle = themeColour("muted");
    context.fillText(label, area.x - 6, Math.max(y, area.y + 5));
  }
  context.fillStyle = withAlpha(lineColour(0), 0.75);
  for (const {from, to, height} of placed) {
    if (height <= 0) continue;
    const x = area.x + from * area.width, width = (to - from) * area.width;
    const top = area.y + area.height * (1 - up(height));
    context.fillRect(x, top, Math.max(width - (width > 3 ? 1 : 0), 0.5), area.y + area.height - top);
  }
  drawValues(context, area, placed, edges, name);
  return placed;
}

const HISTOGRAM_LEVELS = 63, SMALLEST_SHARE_EXPONENT = -6;

/** The share of all elements that a level means; see HistogramHistory::json. */
function shareOfLevel(level) {
  return level === 0 ? 0 : 10 ** (SMALLEST_SHARE_EXPONENT * (1 - (level - 1) / (HISTOGRAM_LEVELS - 1)));
}

// The views other than the bars of one epoch.
const RIDGELINES = "all", MAP = "map";

/**
 * Histograms over epochs, as outlines behind each other, or, as the reader chooses, a heat map with a column for each or
 * the bars of one. Shows those that have the last one's edges, and leaves out bins at both ends that are always empty.
 */
export class HistogramPlot {
  constructor(plot, legend, run, histogram) {
    Object.assign(this, {plot, legend, run, histogram});
    this.linear = state.scale === "linear";
    this.canvas = element("canvas",
      {class: "heat", role: "img", onpointermove: (event) => this.point(event), onpointerleave: () => this.leave()});
    plot.replaceChildren(this.canvas);
    this.draw();
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(plot);
    liveHistograms.add(this);
  }

  destroy() {
    this.resizing.disconnect();
    liveHistograms.delete(this);
    this.plot.replaceChildren();
  }

  fillLegend() {
    const name = runs.length > 1 ? `${this.run.label} ${this.histogram.line}` : this.histogram.line;
    const epochs = this.columns.map(([epoch]) => [String(epoch), formatEpoch(epoch)]);
    const views = [[RIDGELINES, "all"], [MAP, "all, as a map"], ...epochs];
    const choice = selector("Epoch", views, this.view, (view) => this.choose(view));
    const counts = this.chosen !== null && this.chosen[4];
    const heights = this.linear ? "share of elements per 1" : counts ? "elements" : "share of elements";
    const ramp = `background:linear-gradient(90deg,${SEQUENTIAL.join(",")})`;
    const logarithmic = state.scale === "log" ? ", log scale" : "";
    const key = this.chosen !== null ? [`height: ${heights}${logarithmic}`] :
      this.view === RIDGELINES ? [`${heights} up to ${formatNumber(this.densest, 3)}${logarithmic}`] :
      [`${heights} ${formatNumber(this.linear ? 0 : shareOfLevel(1), 3)}`,
        element("i", {class: "swatch ramp-swatch", style: ramp}), this.linear ? formatNumber(this.densest, 3) : "1"];
    fill(this.legend, element("span", {class: "entry"}, name), element("span", {class: "entry muted"}, key), choice);
  }

  /** @param view an epoch as its text, RIDGELINES or MAP */
  choose(view) {
    // Stored with the data, because a plot outside the visible part is dropped.
    this.histogram.view = view;
    this.draw();
    this.legend.querySelector("select").focus({preventScroll: true});
  }

  /** The visible columns that have the edges of the last one. */
  shown() {
    const [first, last] = epochWindow();
    const columns = this.histogram.columns.filter(([epoch]) => epoch >= first && epoch <= last);
    const edges = columns.length > 0 ? columns[columns.length - 1][1] : 0;
    return columns.filter((column) => column[1] === edges);
  }

  draw() {
    const columns = this.columns = this.shown();
    const width = this.plot.clientWidth, height = this.plot.clientHeight;
    if (width === 0 || columns.length === 0) return;
    const edges = this.edges = this.histogram.edges[columns[0][1]];
    this.chosen = columns.find(([epoch]) => String(epoch) === this.histogram.view) || null;
    this.view = this.chosen !== null || this.histogram.view === MAP ? this.histogram.view : RIDGELINES;
    this.outlines = this.pointed = null;
    this.bins = this.shownBins(this.chosen === null ? columns : [this.chosen], edges.length - 1);
    const area = this.area = {x: 62, y: 4, width: width - 62 - 10, height: height - 40};
    const context = sizedContext(this.canvas, width, height);
    this.placed = placedBins(this.bins, edges, this.linear);
    if (this.chosen !== null) this.placed = drawBars(context, area, this.chosen, this.bins, edges, this);
    else if (this.view === MAP) this.drawMap(context, area);
    else this.drawRidgelines(context, area);
    this.canvas.setAttribute("aria-label", this.inWords());
    this.fillLegend();
  }

  /** The densities of a column: shares of bins that are equally wide on the axis, else shares per unit of value. */
  densities(column) {
    const shares = sharesOf(column);
    return this.placed.map((each) => shareOfPlace(each, column[2], shares) / (each.width || 1));
  }

  drawRidgelines(context, area) {
    const columns = evenlyChosen(this.columns);
    const densities = new Map(columns.map((column) => [column, this.densities(column)]));
    const all = [...densities.values()].flat().filter((density) => density > 0);
    this.densest = Math.max(...all, 0);
    const least = Math.min(...all) / 2, range = Math.log(this.densest / least);
    const place = (density) => (state.scale === "log" ? Math.log(density / least) / range : density / this.densest);
    const up = (density) => (density > 0 ? place(density) : 0);
    this.outlines = placedOutlines(area, columns, this.placed, (column) => densities.get(column).map(up));
    this.drawOutlines(context);
  }

  drawOutlines(context) {
    drawOutlines(context, this.area, this.outlines, this.pointed);
    context.textAlign = "right";
    context.fillStyle = themeColour("muted");
    context.fillText(TICK, this.area.x - 6, this.area.y + this.area.height + 25);
    drawValues(context, this.area, this.placed, this.edges, this.histogram.line);
  }

  /** @param outline to highlight; null for none */
  pointAt(outline) {
    if (this.outlines === null || outline === this.pointed) return;
    this.pointed = outline;
    this.drawOutlines(sizedContext(this.canvas, this.plot.clientWidth, this.plot.clientHeight));
  }

  leave() {
    hideTooltip();
    this.pointAt(null);
  }

  drawMap(context, area) {
    const {columns, placed} = this, colours = sequentialColours(), tall = Math.max(1, Math.round(area.height));
    const densities = !this.linear ? [] : columns.map((column) => this.densities(column));
    this.densest = Math.max(...densities.flat(), Number.MIN_VALUE);
    const binOf = Array.from({length: this.linear ? tall : placed.length}, (_, row) => {
      if (!this.linear) return placed.length - 1 - row;
      const place = 1 - (row + 0.5) / tall;
      return placed.findIndex(({from, to}) => place >= from && place < to);
    });
    paintMatrix(context, area, columns.length, binOf.length, (column, row) => {
      const at = binOf[row];
      if (at < 0 || this.placed[at].bin === null) return 0;
      if (this.linear)
        return densities[column][at] === 0 ? 0 : colours[Math.round((densities[column][at] / this.densest) * 255)];
      const level = this.level(columns[column], this.placed[at].bin);
      return level === 0 ? 0 : colours[Math.round(((level - 1) / (HISTOGRAM_LEVELS - 1)) * 255)];
    });
    context.strokeStyle = themeColour("axis");
    context.strokeRect(area.x - 0.5, area.y - 0.5, area.width + 1, area.height + 1);
    this.drawEdges(context);
    drawEpochAxis(context, {x: area.x, y: area.y + area.height, width: area.width}, columns.map(([epoch]) => epoch));
  }

  /** The bins that are not empty, lowest first; null stands for a longer range of empty ones, for example around zero. */
  shownBins(columns, count) {
    const filled = new Uint8Array(count);
    for (const [, , first, levels] of columns) {
      for (let i = 0; i < levels.length; ++i)
        if (levels[i] !== "A") filled[first + i] = 1;
    }
    const bins = [];
    for (let bin = filled.indexOf(1), last = filled.lastIndexOf(1); bin >= 0 && bin <= last;) {
      const next = filled.indexOf(1, bin);
      if (next - bin > 3 && !this.linear) {
        bins.push(null);
        bin = next;
      }
      bins.push(bin++);
    }
    return bins.length > 0 ? bins : [0];
  }

  /** Labels the lower edges of the bins, as many as fit. */
  drawEdges(context) {
    const {x, y, height} = this.area;
    context.fillStyle = themeColour("muted");
    context.textAlign = "right";
    for (const {place, text} of edgeLabels(this.placed, this.edges, height, () => 18))
      context.fillText(text, x - 6, Math.min(y + height * (1 - place), y + height - 4));
    for (const {bin, from, to} of this.placed)
      if (bin === null) context.fillText("⋯", x + this.area.width / 2 + 6, y + height * (1 - (from + to) / 2));
  }

  level([, , first, levels], bin) {
    return bin < first || bin >= first + levels.length ? 0 : BASE64[levels.charCodeAt(bin - first)];
  }

  boundsInWords({bin, last}) {
    const edge = (i, open) => (this.edges[i] === null ? open : formatNumber(this.edges[i], 3));
    return `${edge(bin, "−∞")} to ${edge(last + 1, "∞")}`;
  }

  inWords() {
    const what = `Histogram of ${this.histogram.line}`;
    if (this.view === MAP) return `${what} over epochs`;
    const fullest = (column) => {
      const shares = sharesOf(column), share = (each) => shareOfPlace(each, column[2], shares);
      const found = this.placed.reduce((best, each) => (share(each) > share(best) ? each : best));
      return `the fullest bin, ${this.boundsInWords(found)}, holds ${elementsInWords(share(found), column[4])}`;
    };
    const when = (column) => `in ${TICK} ${formatEpoch(column[0])}`;
    if (this.chosen !== null) return `${what} ${when(this.chosen)}; ${fullest(this.chosen)}`;
    const ends = new Set([this.columns[0], this.columns.at(-1)]);
    return [`${what} over epochs`, ...[...ends].map((column) => `${when(column)} ${fullest(column)}`)].join("; ");
  }

  /** The range of empty bins at an index. */
  gap(at) { return {bin: this.placed[at - 1].last + 1, last: this.placed[at + 1].bin - 1}; }

  point(event) {
    if (!this.area) return;
    const {x, y, width, height} = this.area;
    const across = (event.offsetX - x) / width, up = 1 - (event.offsetY - y) / height;
    const place = this.view === MAP ? up : across;
    const at = this.placed.findIndex(({from, to}) => place >= from && place < to);
    if (this.outlines !== null) this.pointAt(at < 0 ? null : outlineAt(this.outlines, event.offsetX, event.offsetY));
    const column = this.chosen || this.pointed?.column || this.columns[Math.floor(across * this.columns.length)];
    if (column === undefined || at < 0) return hideTooltip();
    const found = this.placed[at].bin === null ? this.gap(at) : this.placed[at];
    showTooltip(event.clientX, event.clientY, [
      this.boundsInWords(found),
      `${TICK} ${formatEpoch(column[0])}`,
      elementsInWords(shareOfPlace(found, column[2], sharesOf(column)), column[4]),
    ]);
  }
}

const liveHistograms = new Set();
on("zoom", () => liveHistograms.forEach((histogram) => histogram.draw()));
