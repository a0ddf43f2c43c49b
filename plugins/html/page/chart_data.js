import {addTo, lineNames, median, NUMERICAL, PROBABILITY, RELATION, runs, Series} from "./data.js";
import {baselineRun, chosenScale, differenceSeries, showsDifferences, state} from "./state.js";
import {placesOf} from "./axis.js";
import {lineColour} from "./colours.js";
import {LINEAR, LOGARITHMIC, scaleOf} from "./value_scale.js";

// The aggregations and bands that lenses name; what stands before them says whose they are: "train_loss mean".
const AGGREGATION = /^(.*?)\s*(mean|median|max|min|Q1|Q3|IQR|std|[-+−]σ)$/;
const DASHES = [null, [6, 3], [2, 2], [8, 3, 2, 3]];
// As many as there are colours, less one for the rest.
const SHOWN_PARTS = 7;
// A run that reaches so many times as high as all others is cut off, for it would flatten them.
const DIVERGED = 20;
const MOST_WITH_BANDS = 4;
// How much of the average so far each further value leaves as it is.
export const SMOOTHINGS = [["0", "none"], ["0.6", "light (0.6)"], ["0.9", "medium (0.9)"], ["0.97", "strong (0.97)"]];

function subjectOf(lineName) {
  const match = AGGREGATION.exec(lineName);
  return match ? match[1] : lineName;
}

/** What a band is called: "±σ", "min–max", after its subject. */
function bandName(lowName, highName) {
  if (!AGGREGATION.test(lowName)) return `${lowName}–${highName}`;
  const subject = subjectOf(lowName);
  const bare = (name) => name.slice(subject.length).trim();
  const kind = /σ$/.test(lowName) ? "±σ" : `${bare(lowName)}–${bare(highName)}`;
  return subject ? `${subject} ${kind}` : kind;
}

/** The lines and bands of one layer, coloured by run where there are several, else by subject; parts always by name. */
export function chartSeries(tag, layerName, shownRuns) {
  const lines = [], bands = [], subjects = [], names = [];
  const several = runs.length > 1 && tag.type !== RELATION, hasDifferences = showsDifferences(tag);
  // Of many runs, bands would hide each other's curves.
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
      lines.push({run, series, drawn: drawnSeries(tag, series), name, label: labelOf(run, name),
        colour: lineColour(several ? run.index : bySubject ? subject : own), dash: DASHES[dash % DASHES.length]});
    }
    for (const [lowName, highName, low, high] of hasDifferences || isCrowded ? [] : layer.bands) {
      const subject = Math.max(0, subjects.indexOf(subjectOf(lowName)));
      const own = all.filter(({name}) => subjectOf(name) === subjectOf(lowName));
      bands.push({run, name: bandName(lowName, highName), lowName, highName,
        low: /^Loss/.test(tag.name) && own.every(isNeverNegative) ? atLeastZero(unpacked(low)) : unpacked(low),
        high: unpacked(high),
        colour: lineColour(several ? run.index : subject), alpha: /σ$|Q1$/.test(lowName) ? 0.24 : 0.11});
    }
  }
  // The widest lies at the back.
  bands.sort((a, b) => a.alpha - b.alpha);
  return {lines, bands};
}

function isNeverNegative({series}) { return series.values.every((value) => !(value < 0)); }

/** A deviation below a loss that cannot be negative ends at 0. */
function atLeastZero(series) {
  series.values.forEach((value, i) => {
    if (value < 0) series.values[i] = 0;
  });
  return series;
}

/** The parts of a relation, few enough for a picture: of 500 layers what their names begin with, else the largest. */
function fewParts(parts, length) {
  return parts.length <= SHOWN_PARTS + 1 ? parts : partsByPrefix(parts, length) || largestParts(parts, length);
}

/** The deepest level of names that gives at most SHOWN_PARTS + 1 groups; null where none gives two. */
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
 * The exponential moving average of a line, corrected for its beginning at zero. It begins anew after NaN or infinity,
 * and after a gap longer than is usual between two values of this line: nothing is smoothed over.
 */
function smoothed(series, weight) {
  const told = [...series.values.keys()].filter((i) => !series.isMissing(i));
  const gaps = told.slice(1).map((i, at) => i - told[at]);
  const usual = median(gaps), made = new Series("", series.values.length);
  let average = 0, count = 0;
  told.forEach((i, at) => {
    const value = series.values[i], isFinite = Number.isFinite(value);
    if (!isFinite || (at > 0 && gaps[at - 1] > 1.5 * usual)) average = count = 0;
    if (isFinite) average = weight * average + (1 - weight) * value;
    made.values[i] = isFinite ? average / (1 - weight ** ++count) : value;
  });
  return made;
}

/** What is drawn of a line: its values, or their average. Shares of a whole stay what they are. */
function drawnSeries(tag, series) {
  return state.smoothing > 0 && tag.type !== RELATION ? smoothed(series, state.smoothing) : series;
}

/** What dygraphs takes: rows of a place and each line's height; null where there is none, NaN where it broke. */
export function chartRows(lines, {up}) {
  const shownRuns = [...new Set(lines.map((line) => line.run))];
  const places = [...new Set(shownRuns.flatMap((run) => placesOf(run)))].sort((a, b) => a - b);
  const rows = places.map((place) => [place, ...lines.map(() => null)]);
  const rowOf = new Map(places.map((place, row) => [place, row]));
  lines.forEach(({run, drawn: series}, column) => placesOf(run).forEach((place, i) => {
    const value = series.at(i);
    if (value === null) return;
    rows[rowOf.get(place)][column + 1] = Number.isFinite(up(value)) ? up(value) : NaN;
  }));
  return rows;
}

/** Of several runs in one plot, those that are cut off, at most half, the highest first: [{run, high}]. */
export function divergedRuns(tag, {lines}, [first, last], scale) {
  const shownRuns = [...new Set(lines.map(({run}) => run))];
  if (scale !== LINEAR || tag.type !== NUMERICAL || shownRuns.length < 2) return [];
  const highs = shownRuns.map((run) => {
    let high = 0;
    for (const {series} of lines.filter((line) => line.run === run)) {
      run.epochs.forEach((epoch, i) => {
        const value = Math.abs(series.values[i]);
        if (epoch >= first && epoch <= last && Number.isFinite(value)) high = Math.max(high, value);
      });
    }
    return {run, high};
  }).sort((a, b) => b.high - a.high);
  for (let count = Math.floor(highs.length / 2); count > 0; --count) {
    const others = highs[count].high;
    if (others > 0 && highs[count - 1].high > DIVERGED * others) return highs.slice(0, count);
  }
  return [];
}

/** The scale of a plot's values, whatever part of it is on show; a run that is cut off does not count. */
export function chartScale(tag, {lines}) {
  if (showsDifferences(tag)) return LINEAR;
  const diverged = chosenScale(tag) === "data" ? divergedRuns(tag, {lines}, [-Infinity, Infinity], LINEAR) : [];
  return scaleOf(tag, lines.filter(({run}) => diverged.every((each) => run !== each.run)).map(({series}) => series));
}

/** The lowest and highest place on show between two epochs, as far as the tag does not say; null without any. */
export function valueLimits(tag, {lines, bands}, [first, last], scale) {
  const diverged = divergedRuns(tag, {lines}, [first, last], scale), isLogarithmic = scale === LOGARITHMIC;
  const isShown = ({run}) => diverged.every((each) => run !== each.run);
  const forEachShown = (items, visit) => {
    for (const item of items.filter(isShown)) {
      item.run.epochs.forEach((epoch, i) => {
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
    // Of several runs the curves are compared, and a wide band of one would flatten them.
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
