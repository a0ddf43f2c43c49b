import {element, fill, formatEpoch, formatNumber, textWidth} from "./text.js";
import {addTo, firstEpoch, lastEpoch, lineNames, median, nearestIndex, NUMERICAL, PROBABILITY, RELATION, runs, Series,
  silenceInWords, TICK} from "./data.js";
import {gatheredMarks, markElement, marksOf} from "./findings.js";
import {announce, baselineRun, chosenScale, differenceSeries, epochWindow, on, setZoom, showsDifferences,
  state} from "./state.js";
import {asHtml, axisName, epochAt, LINEAR, LOGARITHMIC, momentInWords, momentsAt, placeOfEpoch, placesOf, placeTicks, scaleOf,
  shownPlaces, valueTicks, valueTicksWidth, valueTitle} from "./axis.js";
import {lineColour, runColour, themeColour, withAlpha} from "./colours.js";

// Names of aggregations and band ends; the words before them are the subject: "train_loss mean".
const AGGREGATION = /^(.*?)\s*(mean|median|max|min|Q1|Q3|IQR|std|step|[-+−]σ)$/s;
const DASHES = [null, [6, 3], [2, 2], [8, 3, 2, 3]];
// The number of colours, minus one for the remaining parts.
const SHOWN_PARTS = 7;
// A run that is DIVERGED times as high as all others is cut off, because it would flatten them.
const DIVERGED = 20;
// The best 95 % of many runs determine the axis; the others are cut off if they are this many times as high.
const BEST = 0.95, BEYOND_BEST = 2;
const MOST_WITH_BANDS = 4;
// Single steps are drawn under the lines of epochs, thin and faint.
const STEP_ALPHA = 0.45;
// The weight of the previous average, by name.
export const SMOOTHINGS = [["0", "none"], ["0.6", "light (0.6)"], ["0.9", "medium (0.9)"], ["0.97", "strong (0.97)"]];

function subjectOf(lineName) {
  const match = AGGREGATION.exec(lineName);
  return match ? match[1] : lineName;
}

/** The name of a band: its subject, then "±σ" or "min–max". */
function bandName(lowName, highName) {
  if (!AGGREGATION.test(lowName)) return `${lowName}–${highName}`;
  const subject = subjectOf(lowName);
  const bare = (name) => name.slice(subject.length).trim();
  const kind = /σ$/.test(lowName) ? "±σ" : `${bare(lowName)}–${bare(highName)}`;
  return subject ? `${subject} ${kind}` : kind;
}

/** The lines and bands of one layer, coloured by run if there are several, else by subject; parts always by name. */
function chartSeries(tag, layerName, shownRuns) {
  const lines = [], bands = [], subjects = [], names = [];
  const several = runs.length > 1 && tag.type !== RELATION, hasDifferences = showsDifferences(tag);
  // Leave out the bands of many runs, which would hide each other's curves.
  const isAlone = lineNames(tag.name).length <= 1, isCrowded = shownRuns.length > MOST_WITH_BANDS;
  const labelOf = (run, name) => (!several ? name : isAlone ? run.label : `${run.label} ${name}`);
  const indexIn = (list, item) => {
    if (!list.includes(item)) list.push(item);
    return list.indexOf(item);
  };
  for (const run of shownRuns) {
    const layer = run.layers(tag.name).get(layerName);
    if (!layer) continue;
    const unpacked = (packed) => new Series(packed, run.epochs.length);
    const all = layer.lines.map(([name, packed]) => ({name, series: unpacked(packed)}));
    const told = tag.type === RELATION ? fewParts(all, run.epochs.length) : all;
    const bySubject = new Set(told.map(({name}) => subjectOf(name))).size > 1 || layer.bands.length > 0;
    for (const {name, series: measured} of told) {
      const subject = indexIn(subjects, subjectOf(name)), own = indexIn(names, name);
      const same = told.filter((other) => subjectOf(other.name) === subjectOf(name)).findIndex((l) => l.name === name);
      const series =
        hasDifferences ? differenceSeries(run, measured, baselineRun().line(tag.name, layerName, name)) : measured;
      const dash = several ? own : bySubject && tag.type !== RELATION ? same : 0;
      lines.push({run, at: run, series, drawn: drawnSeries(tag, series, beginnings(tag, run)), name, label: labelOf(run, name),
        colour: several ? runColour(run.index) : lineColour(bySubject ? subject : own), dash: DASHES[dash % DASHES.length]});
    }
    for (const [name, stride, epochs, packed] of hasDifferences || isCrowded ? [] : layer.steps) {
      const series = new Series(packed, epochs.length), subject = indexIn(subjects, subjectOf(name));
      const bound = stride > 1 ? ` (1 of ${stride} points)` : "";
      lines.push({run, at: momentsAt(run, epochs), series, drawn: drawnSeries(tag, series), name,
        label: labelOf(run, name) + bound, dash: null, isOfSteps: true,
        colour: several ? runColour(run.index) : lineColour(subject)});
    }
    for (const [lowName, highName, low, high] of hasDifferences || isCrowded ? [] : layer.bands) {
      const subject = Math.max(0, subjects.indexOf(subjectOf(lowName)));
      const own = all.filter(({name}) => subjectOf(name) === subjectOf(lowName));
      const [least, most] = limitsOf(tag, own);
      bands.push({run, at: run, name: bandName(lowName, highName), lowName, highName,
        low: within(unpacked(low), least, most), high: within(unpacked(high), least, most),
        colour: several ? runColour(run.index) : lineColour(subject), alpha: /σ$|Q1$/.test(lowName) ? 0.24 : 0.11});
    }
  }
  lines.sort((a, b) => (b.isOfSteps ? 1 : 0) - (a.isOfSteps ? 1 : 0));
  // The widest bands are drawn first.
  bands.sort((a, b) => a.alpha - b.alpha);
  return {lines, bands: bands.filter(hasWidth)};
}

/** Whether a band is wider than a line in any epoch: that of a single step or batch is not. */
function hasWidth({low, high}) { return low.values.some((value, i) => value < high.values[i]); }

/** Cuts bands off at the smallest step, because a mean minus σ may be at zero, where a logarithmic scale has no place. */
function cutAtSteps({lines, bands}) {
  for (const {run, lowName, low} of bands) {
    const steps = lines.filter((line) => line.isOfSteps && line.run === run && subjectOf(line.name) === subjectOf(lowName));
    const positive = steps.flatMap(({series}) => [...series.values].filter((value) => value > 0));
    if (positive.length > 0) within(low, Math.min(...positive), Infinity);
  }
}

function isNeverNegative({series}) { return series.values.every((value) => !(value < 0)); }

/** The limits of a tag's values, if it has any; 0 is the lower limit of losses and norms without negative values. */
function limitsOf(tag, lines) {
  const least = /^Loss|Norm\b/.test(tag.name) && lines.every(isNeverNegative) ? 0 : -Infinity;
  return [tag.low ?? least, tag.high ?? Infinity];
}

/** Cuts a series off at the limits of the values: a mean minus σ may be below them. */
function within(series, least, most) {
  series.values.forEach((value, i) => {
    if (value < least) series.values[i] = least;
    else if (value > most) series.values[i] = most;
  });
  return series;
}

/** Reduces the parts of a whole to a few: joins layers by the beginning of their names, or else keeps the largest. */
function fewParts(parts, length) {
  return parts.length <= SHOWN_PARTS + 1 ? parts : partsByPrefix(parts, length) || largestParts(parts, length);
}

/** The deepest level of names that gives at most SHOWN_PARTS + 1 groups; null if no level gives at least two. */
function partsByPrefix(parts, length) {
  let best = null;
  for (let depth = 1; depth <= 8; ++depth) {
    const groups = new Map();
    for (const part of parts) addTo(groups, part.name.split(".").slice(0, depth).join("."), part);
    if (groups.size > SHOWN_PARTS + 1) break;
    if (groups.size > 1) best = groups;
  }
  return best && [...best].map(([prefix, members]) =>
    (members.length === 1 ? members[0] : {name: `${prefix} (${members.length})`, series: sumOf(members, length)}));
}

function largestParts(parts, length) {
  const size = ({series}) => series.values.reduce((sum, value) => sum + (Number.isFinite(value) ? value : 0), 0);
  const descending = parts.map((part) => [size(part), part]).sort((a, b) => b[0] - a[0]).map(([, part]) => part);
  const rest = descending.slice(SHOWN_PARTS);
  return [...descending.slice(0, SHOWN_PARTS), {name: `${rest.length} others`, series: sumOf(rest, length)}];
}

function sumOf(parts, length) {
  const sum = new Series("", length);
  for (const {series} of parts) {
    for (let i = 0; i < length; ++i) {
      if (!series.isMissing(i)) sum.values[i] = (sum.isMissing(i) ? 0 : sum.values[i]) + series.values[i];
    }
  }
  return sum;
}

/**
 * The exponential moving average of a line, corrected for its start at zero. It restarts after NaN or infinity, and after
 * a gap longer than the line's usual gaps, so that it does not smooth across them.
 * @param firsts more indices at which it restarts
 */
function smoothed(series, weight, firsts) {
  const told = [...series.values.keys()].filter((i) => !series.isMissing(i));
  const gaps = told.slice(1).map((i, at) => i - told[at]);
  const usual = median(gaps), made = new Series("", series.values.length);
  let average = 0, count = 0;
  told.forEach((i, at) => {
    const value = series.values[i], isFinite = Number.isFinite(value);
    if (!isFinite || firsts.has(i) || (at > 0 && gaps[at - 1] > 1.5 * usual)) average = count = 0;
    if (isFinite) average = weight * average + (1 - weight) * value;
    made.values[i] = isFinite ? average / (1 - weight ** ++count) : value;
  });
  return made;
}

/** The series to draw for a line: its values, or their average. Shares are not averaged. */
function drawnSeries(tag, series, firsts = new Set()) {
  return state.smoothing > 0 && tag.type !== RELATION ? smoothed(series, state.smoothing, firsts) : series;
}

/** The indices of the epochs in which a further model begins; there the curve is interrupted. */
function beginnings(tag, run) {
  if (run.kindsInTurn.size === 0 && !/^(Loss|Metrics)/.test(tag.name)) return new Set();
  const firsts = run.modelStarts().map((epoch) => 1 + run.epochs.findLastIndex((each) => each <= epoch));
  return new Set(firsts.filter((i) => i > 0 && i < run.epochs.length));
}

/** The places where curves are interrupted: [place, run]. */
function breaksOf(tag, lines) {
  return [...new Set(lines.map(({run}) => run))].flatMap((run) => [...beginnings(tag, run)].map((i) => {
    const [before, place] = placesOf(run).slice(i - 1, i + 1);
    return [before + 1e-6 * (place - before), run];
  }));
}

/** The rows for dygraphs: a place and the height of each line; null without a value, NaN at an interruption. */
function chartRows(lines, {up}, breaks) {
  const allMoments = [...new Set(lines.map((line) => line.at))];
  const places = [...new Set(allMoments.flatMap(placesOf))].sort((a, b) => a - b);
  const rows = places.map((place) => [place, ...lines.map(() => null)]);
  const rowOf = new Map(places.map((place, row) => [place, row]));
  lines.forEach(({at, drawn: series}, column) => placesOf(at).forEach((place, i) => {
    const value = series.at(i);
    if (value === null) return;
    rows[rowOf.get(place)][column + 1] = Number.isFinite(up(value)) ? up(value) : NaN;
  }));
  const broken = new Map(breaks.map(([place, run]) => [place, [place, ...lines.map((line) => (line.run === run ? NaN : null))]]));
  return broken.size === 0 ? rows : [...rows, ...broken.values()].sort(([a], [b]) => a - b);
}

/** The runs that a plot cuts off, at most half of them, highest first: [{run, high}]. */
function divergedRuns(tag, {lines}, [first, last], scale) {
  const shownRuns = [...new Set(lines.map(({run}) => run))];
  if (scale !== LINEAR || tag.type !== NUMERICAL || shownRuns.length < 2) return [];
  const highs = shownRuns.map((run) => {
    let high = 0;
    for (const {series, at} of lines.filter((line) => line.run === run)) {
      at.epochs.forEach((epoch, i) => {
        const value = Math.abs(series.values[i]);
        if (epoch >= first && epoch <= last && Number.isFinite(value)) high = Math.max(high, value);
      });
    }
    return {run, high};
  }).sort((a, b) => b.high - a.high);
  for (let count = Math.floor(highs.length / 2); count > 0; --count) {
    const others = highs[count].high;
    const times = count <= (1 - BEST) * highs.length ? BEYOND_BEST : DIVERGED;
    if (others > 0 && highs[count - 1].high > times * others) return highs.slice(0, count);
  }
  return [];
}

/** The scale of a plot's values, independent of the zoom; ignores runs that are cut off. */
function chartScale(tag, {lines}) {
  if (showsDifferences(tag)) return LINEAR;
  const diverged = chosenScale(tag) === "data" ? divergedRuns(tag, {lines}, [-Infinity, Infinity], LINEAR) : [];
  return scaleOf(tag, lines.filter(({run}) => diverged.every((each) => run !== each.run)).map(({series}) => series));
}

/** The lowest and highest visible place between two epochs, unless the tag has limits; null if there are no values. */
function valueLimits(tag, {lines, bands}, [first, last], scale) {
  const diverged = divergedRuns(tag, {lines}, [first, last], scale), isLogarithmic = scale === LOGARITHMIC;
  const isShown = ({run}) => diverged.every((each) => run !== each.run);
  const forEachShown = (items, visit) => {
    for (const item of items.filter(isShown)) {
      item.at.epochs.forEach((epoch, i) => {
        if (epoch >= first && epoch <= last) visit(item, i, epoch);
      });
    }
  };
  let low = Infinity, high = -Infinity, lowestLine = Infinity;
  const take = (value) => {
    if (!Number.isFinite(value) || (isLogarithmic && value <= 0)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  if (tag.type === RELATION) {
    const totals = new Map();
    forEachShown(lines, ({series}, i, epoch) => {
      if (Number.isFinite(series.values[i])) totals.set(epoch, (totals.get(epoch) || 0) + series.values[i]);
    });
    low = 0;
    high = Math.max(...totals.values(), 0);
    if (Math.abs(high - 1) < 1e-3) return [0, 1.015];
  } else {
    forEachShown(lines, ({series}, i) => take(series.values[i]));
    lowestLine = low;
    // Ignore bands if there are several runs: a wide band would flatten the curves to compare.
    const isAlone = new Set(lines.map(({run}) => run)).size < 2;
    if (isAlone) forEachShown(bands, (band, i) => [band.low, band.high].forEach(({values}) => take(values[i])));
  }
  if (!(high >= low)) return null;
  const isDifference = showsDifferences(tag);
  if (tag.type === PROBABILITY && !isDifference) return [-0.02, 1.02];
  // A band that nearly reaches zero would squeeze the lines into the top of the plot.
  if (isLogarithmic && Number.isFinite(lowestLine)) low = Math.max(low, lowestLine / 1000);
  [low, high] = [scale.up(low), scale.up(high)];
  if (isLogarithmic) {
    const room = Math.max((high - low) * 0.06, Math.log10(1.1));
    return [low - room, high + room];
  }
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  const given = (limit, own) => (limit === null || isDifference ? own : scale.up(limit));
  const margin = !isDifference && tag.low !== null && tag.high !== null ? (tag.high - tag.low) * 0.02 : 0;
  const bottom = tag.type === RELATION ? 0 : low >= 0 && low < room ? 0 : low - room;
  return [given(tag.low, bottom) - margin, given(tag.high, high + room) + margin];
}

const liveCharts = new Set();
let hovered = null;
// The most entries of a legend; the table of the runs has all.
const MOST_ENTRIES = 40;
// The width of the rotated title beside the numbers.
const TITLE_WIDTH = 15;

// Dragging along the epochs zooms all plots. A finger scrolls the page as usual, and a tap shows values.
const {touchstart, touchmove, touchend, ...withoutTouch} = Dygraph.defaultInteractionModel;
const CHART_INTERACTION = {...withoutTouch, dblclick: () => setZoom(firstEpoch, lastEpoch)};

/**
 * An entry of a legend, and a function that shows its value at a moment, by index; -1 shows the last value.
 * @param at the run or the steps that have the moments  @param name a text, or an element
 */
function entryOf(run, at, kind, style, name, text) {
  const value = element("b", {}), swatch = element("i", {class: `swatch ${kind}`, style, "aria-hidden": "true"});
  const show = (row) => {
    const [words, isBroken] = text(row);
    value.textContent = words;
    value.classList.toggle("alarm", isBroken);
  };
  return {item: element("span", {class: "entry"}, swatch, element("span", {}, name), value), show, run, at,
    isCurve: true};
}

function bandShade(colour, alpha) { return `color:${withAlpha(colour, Math.min(1, alpha * 2.4))}`; }

/** The entries of a plot's legend: [{item, show, run, at}]. */
function legendEntries({tag, series: {lines: drawn, bands}, stacked, scale}) {
  const lines = [...drawn.filter((line) => !line.isOfSteps), ...drawn.filter((line) => line.isOfSteps)];
  const entries = [], first = lines[0].run;
  const plain = (run, kind, ...text) =>
    entries.push({item: element("span", {class: kind}, ...text), show() {}, run, at: run});
  if (stacked && runs.length > 1) plain(first, "", element("strong", {}, first.label));
  const several = runs.length > 1 && !stacked, names = [...new Set(lines.map(({name}) => name))];
  const ofLines = (some) => some.forEach(({run, at, series, colour, dash, label}) => {
    // The runs' colours are explained above all plots.
    const name = several ? element("span", {class: "run-name"}, run.label) : label;
    const made = entryOf(run, at, stacked ? "area" : dash ? "dashed" : "line", `color:${colour}`, name, (row) => {
      const number = row < 0 ? series.last() : series.at(row);
      return [formatNumber(number, stacked ? 2 : 4), number !== null && !Number.isFinite(number)];
    });
    made.item.title = several ? label : "";
    entries.push(made);
  });
  if (several && names.length > 1) {
    for (const name of names) {
      plain(first, "entry", name);
      ofLines(lines.filter((line) => line.name === name));
    }
  } else {
    ofLines(lines);
  }
  if (runs.length > 1) {
    // Explain each kind of band once.
    for (const {name, alpha, run} of new Map(bands.map((band) => [band.name, band])).values()) {
      const style = bandShade(themeColour("muted"), alpha);
      plain(run, "entry", element("i", {class: "swatch area", style, "aria-hidden": "true"}), name);
    }
  } else {
    for (const {run, name, low, high, colour, alpha} of bands) {
      entries.push(entryOf(run, run, "area", bandShade(colour, alpha), name, (row) => {
        const numbers = [low, high].map((series) => (row < 0 ? series.last() : series.at(row)));
        return [numbers.map((number) => formatNumber(number, 3)).join(" … "), false];
      }));
    }
  }
  const diverged = divergedRuns(tag, {lines}, epochWindow(), scale);
  for (const {run, high} of diverged.slice(0, 3))
    plain(run, "entry alarm", `${run.label} reaches ${formatNumber(high, 3)} and is cut off`);
  if (diverged.length > 3) plain(first, "entry alarm", `and ${diverged.length - 3} more are cut off`);
  const silence = runs.length > 1 ? "" : silenceInWords(first, tag, lines.filter((line) => !line.isOfSteps)
    .map(({series}) => series));
  if (silence !== "") plain(first, "entry", silence);
  const starts = runs.length > 1 || !/^(Loss|Metrics)/.test(tag.name) ? [] : first.modelStarts();
  if (starts.length > 0) plain(first, "entry", "a gap: the next model begins");
  if (showsDifferences(tag)) plain(first, "entry", `difference to ${baselineRun().label}, without bands`);
  if (state.smoothing > 0 && !stacked)
    plain(first, "entry", `smoothed (exponential, ${state.smoothing}); faint and in numbers: as measured`);
  return entries;
}

/** A plot of one tag and layer: lines with bands, or stacked areas; the legend shows the values at the cursor. */
export class LineChart {
  /** @param plot an element of fixed height  @param legend an element, which is filled with the legend */
  constructor(plot, legend, tag, layerName, shownRuns, labelled) {
    Object.assign(this, {plot, legend, tag, shownRuns, cursor: null, pointed: null});
    this.series = chartSeries(tag, layerName, shownRuns);
    this.marks = marksOf(tag, layerName, shownRuns);
    this.stacked = tag.type === RELATION;
    this.scale = chartScale(tag, this.series);
    if (this.scale === LOGARITHMIC) cutAtSteps(this.series);
    this.labelled = labelled && tag.annotate && !this.stacked && this.series.lines.length > 1;
    if (this.series.lines.length === 0) {
      legend.replaceChildren(element("span", {class: "muted"}, "No values yet"));
      return;
    }
    this.fillLegend();
    this.draw();
    this.cursorLine = element("div", {class: "cursor-line", hidden: true});
    this.cursorEpoch = element("div", {class: "cursor-epoch", hidden: true});
    plot.append(this.cursorLine, this.cursorEpoch);
    this.resizing = new ResizeObserver(() => {
      this.graph.resize();
      this.place();
      this.setCursor(this.cursor);
    });
    this.resizing.observe(plot);
    liveCharts.add(this);
  }

  destroy() {
    liveCharts.delete(this);
    if (!this.graph) return;
    this.resizing.disconnect();
    this.graph.destroy();
    this.graph = null;
    this.plot.replaceChildren();
  }

  draw() {
    const {lines} = this.series;
    this.rows = chartRows(lines, this.scale, breaksOf(this.tag, lines));
    const ticks = this.shownRuns.flatMap(placesOf);
    this.whole = ticks.every(Number.isInteger);
    // Use thin lines if epochs are closer than pixels: thick ones would hide their bands.
    const thick = this.stacked || (ticks.length > this.plot.clientWidth && state.smoothing === 0) ? 1 : 1.7;
    const box = element("div", {class: "graph"});
    this.plot.replaceChildren(box);
    this.graph = new Dygraph(box, this.rows, {
      labels: [state.axis, ...lines.map((_, i) => String(i))],
      colors: lines.map(({colour, run, isOfSteps}) =>
        (isOfSteps && run.epochs.length > 2 ? withAlpha(colour, STEP_ALPHA) : colour)),
      series: Object.fromEntries(lines.map(({dash, isOfSteps}, i) =>
        [String(i), {strokePattern: dash, ...(isOfSteps ? {strokeWidth: 1} : {})}])),
      strokeWidth: thick, fillGraph: this.stacked, stackedGraph: this.stacked, fillAlpha: 0.55,
      connectSeparatedPoints: true, drawPoints: this.rows.length < 3, pointSize: 2.5, highlightCircleSize: 3.5,
      legend: "never", xRangePad: 0,
      gridLineColor: themeColour("grid"), axisLineColor: themeColour("axis"), gridLineWidth: 1, axisLabelFontSize: 11,
      xlabel: axisName(), ylabel: asHtml(valueTitle(this.tag, this.scale)), xLabelHeight: 14, yLabelWidth: TITLE_WIDTH,
      ...this.layout({
        x: {drawGrid: false, axisTickSize: 5, ticker: (low, high, pixels) => placeTicks(low, high, pixels, this.whole)},
        y: {ticker: (low, high, pixels) => (this.hasNumbers ? valueTicks(this.scale, low, high, pixels) : [])},
      }),
      ...(this.shownRuns.length > 1 && !this.stacked ? {highlightSeriesOpts: {strokeWidth: 3},
        animateBackgroundFade: false, highlightSeriesBackgroundAlpha: 0.35, highlightSeriesBackgroundColor: themeColour("panel")} : {}),
      interactionModel: CHART_INTERACTION,
      plotter: [
        ({seriesIndex, drawingContext, plotArea, dygraph}) => {
          if (seriesIndex === 0) this.drawBands(drawingContext, plotArea, dygraph);
        },
        Dygraph.Plotters.fillPlotter,
        Dygraph.Plotters.linePlotter,
      ],
      highlightCallback: (event, place, points, row, name) => {
        this.pointAt(lines[name]?.run ?? null);
        announce("cursor", epochAt(this.moments(), place));
      },
      unhighlightCallback: () => {
        this.pointAt(null);
        announce("cursor", null);
      },
      zoomCallback: (low, high) => {
        const [first, last] = this.dateWindow();
        if (low !== first || high !== last) setZoom(epochAt(this.moments(), low), epochAt(this.moments(), high));
      },
    });
    this.place();
  }

  /** Announces whose curve is nearest to the pointer. */
  pointAt(run) {
    if (this.shownRuns.length < 2 || this.stacked || this.pointed === run) return;
    const before = this.pointed;
    this.pointed = run;
    // If the pointer has moved to a row of a table, the row's run is highlighted already.
    if (run !== null || hovered === before) announce("hover", run);
  }

  /** The moments of its runs, and of the single steps that it shows. */
  moments() { return [...new Set([...this.shownRuns, ...this.series.lines.map(({at}) => at)])]; }

  /** The visible epochs, from the first step on. */
  window() {
    const steps = this.series.lines.filter(({isOfSteps}) => isOfSteps).map(({at}) => at.epochs[0] ?? Infinity);
    return state.zoom ?? [Math.min(firstEpoch, ...steps), lastEpoch];
  }

  dateWindow() {
    let [first, last] = shownPlaces(this.shownRuns);
    if (state.zoom === null) first = Math.min(first, ...this.moments().map((at) => placesOf(at)[0] ?? Infinity));
    const room = last > first ? (last - first) * 0.012 : 0.5;
    return [first - room, last + room];
  }

  /** Sets the visible part, with room for the labels of both axes; the last label is centred at its place and needs room at the right. */
  layout({x, y}) {
    const dateWindow = this.dateWindow(), [low, high] = dateWindow, {clientWidth, clientHeight} = this.plot;
    const limits = valueLimits(this.tag, this.series, this.window(), this.scale), valueRange = limits || [0, 1];
    // Show no numbers if all values are NaN; shares always have an axis.
    this.hasNumbers = limits !== null || this.tag.type === PROBABILITY;
    const beside = valueTicksWidth(this.scale, valueRange, clientHeight - 40);
    const ticks = placeTicks(low, high, clientWidth - beside - TITLE_WIDTH - 20, this.whole);
    const below = Math.max(20, ...ticks.map(({label}) => textWidth(label) + 4));
    const rightGap = Math.max(20, this.labelled ? this.labelWidth() + 14 : 0, below / 2 + 1);
    return {dateWindow, valueRange, rightGap,
      axes: {x: {...x, axisLabelWidth: below}, y: {...y, axisLabelWidth: beside}}};
  }

  rezoom() {
    this.graph.updateOptions(this.layout({x: {}, y: {}}));
    this.place();
    this.setCursor(this.cursor);
  }

  /** The pixel of a number; numbers without a place, for example 0 on a logarithmic axis, are at the bottom. */
  yOf(value, graph = this.graph) { return graph.toDomYCoord(Math.max(this.scale.up(value), graph.yAxisRange(0)[0])); }

  drawBands(context, area, graph) {
    for (const {run, low, high, colour, alpha} of this.series.bands) {
      context.fillStyle = withAlpha(colour, alpha);
      let upper = [], lower = [];
      const paint = () => {
        if (upper.length === 1) {
          const [[x, top]] = upper;
          context.fillRect(x - 5, top, 10, lower[0][1] - top);
        } else if (upper.length > 1) {
          context.beginPath();
          for (const [x, y] of [...upper, ...lower.reverse()]) context.lineTo(x, y);
          context.closePath();
          context.fill();
        }
        [upper, lower] = [[], []];
      };
      const firsts = beginnings(this.tag, run);
      placesOf(run).forEach((place, i) => {
        if (firsts.has(i)) paint();
        if (low.isMissing(i)) return;
        if (!Number.isFinite(low.values[i]) || !Number.isFinite(high.values[i])) return paint();
        const x = graph.toDomXCoord(place);
        upper.push([x, this.yOf(high.values[i], graph)]);
        lower.push([x, this.yOf(low.values[i], graph)]);
      });
      paint();
    }
    if (state.smoothing > 0 && !this.stacked) this.drawMeasured(context, graph);
    this.markBroken(context, area, graph);
  }

  /** Draws the measured values faintly behind smoothed lines. */
  drawMeasured(context, graph) {
    context.lineWidth = 1;
    for (const {at, series, colour} of this.series.lines) {
      context.strokeStyle = withAlpha(colour, 0.35);
      context.beginPath();
      let isBroken = true;
      placesOf(at).forEach((place, i) => {
        const value = series.at(i);
        if (value === null) return;
        const isDrawn = Number.isFinite(this.scale.up(value));
        if (isDrawn) context[isBroken ? "moveTo" : "lineTo"](graph.toDomXCoord(place), this.yOf(value, graph));
        isBroken = !isDrawn;
      });
      context.stroke();
    }
  }

  /** A stroke at the foot of the plot wherever a line was NaN or infinite. */
  markBroken(context, area, graph) {
    context.fillStyle = themeColour("alarm");
    for (const {at, series} of this.series.lines) {
      placesOf(at).forEach((place, i) => {
        if (series.isBroken(i)) context.fillRect(graph.toDomXCoord(place) - 1, area.y + area.h - 7, 2, 7);
      });
    }
  }

  /** Positions the elements that are above the graph. */
  place() {
    this.placeMarks();
    this.placeLabels();
  }

  /** Positions findings and notes at their epochs; those of the current epoch are at the end. */
  placeMarks() {
    for (const old of this.plot.querySelectorAll(".mark")) old.remove();
    const [first, last] = epochWindow();
    const shown = this.marks.filter(({epoch}) => epoch >= first && (epoch <= last || last === lastEpoch));
    const xOf = ({run, epoch}) => this.graph.toDomXCoord(placeOfEpoch(run, Math.min(epoch, last)));
    this.plot.append(...gatheredMarks(shown, xOf).map((gathered) => markElement(gathered, this.graph.getArea())));
  }

  labelWidth() {
    return Math.min(this.plot.clientWidth * 0.25, Math.max(
      ...this.series.lines.filter(({isOfSteps}) => !isOfSteps).map((line) => textWidth(line.label))));
  }

  /** Positions the lines' names at their ends, moved apart if they would overlap. */
  placeLabels() {
    for (const old of this.plot.querySelectorAll(".end-label")) old.remove();
    if (!this.labelled) return;
    const area = this.graph.getArea(), height = 14;
    const [first, last] = this.graph.xAxisRange();
    const labels = this.series.lines.filter(({isOfSteps}) => !isOfSteps).map((line) => {
      const values = line.drawn.values, places = placesOf(line.run);
      const end = places.findLastIndex((place, i) => place >= first && place <= last && Number.isFinite(values[i]));
      return {line, y: end < 0 ? null : this.yOf(values[end])};
    }).filter(({y}) => y !== null).sort((a, b) => a.y - b.y);
    if (labels.length * height > area.h) return;
    labels.forEach((label, i) => {
      label.top = Math.max(label.y, i > 0 ? labels[i - 1].top + height : area.y + height / 2);
    });
    for (let i = labels.length - 1, floor = area.y + area.h - height / 2; i >= 0; --i) {
      labels[i].top = Math.min(labels[i].top, floor);
      floor = labels[i].top - height;
    }
    this.plot.append(...labels.map(({line: {label, colour}, top}) => {
      const place = `top:${top - height / 2}px;left:${area.x + area.w + 6}px;max-width:${this.labelWidth() + 6}px`;
      return element("div", {class: "end-label", title: label, style: `${place};color:${colour}`}, label);
    }));
  }

  fillLegend() {
    this.entries = legendEntries(this);
    const more = this.entries.length - MOST_ENTRIES;
    fill(this.legend, this.entries.slice(0, MOST_ENTRIES).map(({item}) => item),
        more > 0 ? element("span", {}, `and ${more} more`) : null);
    this.showValues(null);
  }

  showValues(epoch) {
    for (const {show, at} of this.entries) show(epoch === null ? -1 : nearestIndex(at.epochs, epoch));
    this.legend.title = epoch === null ? "last values" : `values at ${TICK} ${formatEpoch(epoch)}`;
  }

  /** @param epoch null or an epoch outside the visible part shows the last values */
  setCursor(epoch) {
    this.cursor = epoch;
    const place = epoch === null ? NaN : placeOfEpoch(this.shownRuns[0], epoch), [low, high] = this.graph.xAxisRange();
    const isShown = place >= low && place <= high;
    if (!isShown) {
      this.graph.clearSelection();
    } else {
      this.graph.setSelection(nearestIndex(this.rows.map((row) => row[0]), place));
      const area = this.graph.getArea(), x = this.graph.toDomXCoord(place);
      this.cursorLine.style.cssText = `left:${x}px;top:${area.y}px;height:${area.h}px`;
      this.cursorEpoch.textContent =
        momentInWords(this.shownRuns[0], epoch) + (this.pointed === null ? "" : ` · ${this.pointed.label}`);
      const half = textWidth(this.cursorEpoch.textContent) / 2 + 5;
      this.cursorEpoch.style.left = `${Math.min(Math.max(x, area.x + half), area.x + area.w - half)}px`;
    }
    this.cursorLine.hidden = this.cursorEpoch.hidden = !isShown;
    this.showValues(isShown ? epoch : null);
  }
}

/** Highlights the curves of a run; null removes the highlight. */
function bringForward(run) {
  hovered = run;
  for (const {graph, series: {lines}, rows, shownRuns, entries, pointed} of liveCharts) {
    for (const {item, run: own, isCurve} of entries) item.classList.toggle("pointed", isCurve === true && own === run);
    // The plot under the pointer has highlighted the run already.
    if (run !== null && pointed === run) continue;
    const at = lines.findIndex((line) => line.run === run), row = graph.getSelection();
    if (at < 0 || shownRuns.length < 2) graph.clearSelection();
    else graph.setSelection(row < 0 ? rows.length - 1 : row, String(at), true);
  }
}

on("hover", bringForward);
on("zoom", () => liveCharts.forEach((chart) => chart.rezoom()));
on("cursor", (epoch) => liveCharts.forEach((chart) => chart.setCursor(epoch)));
