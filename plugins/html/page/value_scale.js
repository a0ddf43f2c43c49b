import {formatNumber, isPlain, textWidth} from "./text.js";
import {chosenScale} from "./state.js";

// Numbers whose largest is so many times the least are drawn by their logarithm.
const SPREAD = 1000;

/** Numbers as labels, in one notation and in as many digits as it takes that no two different ones read the same. */
export function distinctLabels(values, digits = 3) {
  const different = new Set(values).size, inPowers = values.some((value) => !isPlain(value));
  for (;; ++digits) {
    const labels = values.map((value) => formatNumber(value, digits, inPowers));
    if (digits >= 16 || new Set(labels).size >= different) return labels;
  }
}

/** Round numbers between two, as dygraphs places them. */
export function roundNumbers(low, high, pixels, pixelsPerLabel) {
  const options = {pixelsPerLabel, axisLabelFormatter: String};
  return Dygraph.numericTicks(low, high, pixels, (name) => (name in options ? options[name] : null)).map(({v}) => v);
}

function roundLinear(low, high, pixels) { return roundNumbers(low, high, pixels, 28); }

/** Powers of ten, with 2 and 5 between them where few powers are on show. */
function roundPowers(low, high, pixels) {
  const decades = Math.log10(high / low);
  const room = Math.max(2, pixels / 26);
  const factors = decades * 3 <= room ? [1, 2, 5] : decades * 2 <= room ? [1, 3] : [1];
  const every = Math.max(1, Math.ceil(decades / room));
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    if (power % every !== 0) continue;
    for (const factor of factors) {
      const value = Number(`${factor}e${power}`);
      if (value >= low && value <= high) values.push(value);
    }
  }
  return values.length > 1 ? values : roundLinear(low, high, pixels).filter((value) => value > 0);
}

/**
 * How numbers lie along an axis. `up` gives a number's height, `down` the reverse, `round` the numbers to label between
 * two; `words` says on the axis what is not plain.
 */
export const LINEAR = {words: "", up: (value) => value, down: (height) => height, round: roundLinear};
export const LOGARITHMIC =
  {words: "log", up: (value) => Math.log10(value), down: (height) => 10 ** height, round: roundPowers};

/** Powers of ten on both sides of zero, and between 10^power and its negative as far as a decade is wide. */
function symmetric(power) {
  const threshold = Number(`1e${power}`);
  const up = (value) => {
    const magnitude = Math.abs(value) / threshold;
    return Math.sign(value) * (magnitude <= 1 ? magnitude : 1 + Math.log10(magnitude));
  };
  const down = (height) => {
    const magnitude = Math.abs(height);
    return Math.sign(height) * threshold * (magnitude <= 1 ? magnitude : 10 ** (magnitude - 1));
  };
  const round = (low, high, pixels) => {
    const every = Math.max(1, Math.ceil((up(high) - up(low)) / Math.max(2, pixels / 26)));
    const values = [0];
    for (let k = 0; Number(`1e${power + k}`) <= Math.max(-low, high); k += every)
      values.push(Number(`1e${power + k}`), -Number(`1e${power + k}`));
    const shown = values.filter((value) => value >= low && value <= high).sort((a, b) => a - b);
    return shown.length > 1 ? shown : roundLinear(low, high, pixels);
  };
  return {words: `log, linear below ${formatNumber(threshold, 1, true)}`, up, down, round};
}

/**
 * The scale for the numbers of some series: as the reader or the tag wants it, else by their logarithm where they are
 * positive and spread over three decades. What is zero or less has its place on a logarithmic axis, too.
 */
export function scaleOf(tag, allSeries) {
  const chosen = chosenScale(tag);
  if (chosen === "linear") return LINEAR;
  let least = Infinity, most = 0, hasZero = false, isNegative = false;
  for (const {values} of allSeries) {
    for (const value of values) {
      if (value === 0) hasZero = true;
      if (value < 0) isNegative = true;
      const magnitude = Math.abs(value);
      if (!(magnitude > 0) || magnitude === Infinity) continue;
      least = Math.min(least, magnitude);
      most = Math.max(most, magnitude);
    }
  }
  if (most === 0) return LINEAR;
  const isBounded = tag.low !== null && tag.high !== null;
  // The report's numbers have five digits.
  if (chosen === "data" && (isNegative || isBounded || most < 0.9999 * SPREAD * least)) return LINEAR;
  if (!hasZero && !isNegative) return LOGARITHMIC;
  // What lies on both sides of zero comes near it by chance.
  return symmetric(Math.floor(Math.log10(Math.max(least, most * (isNegative ? 1e-4 : 1e-12)))));
}

/** Ticks of the axis of values, as dygraphs wants them: [{v, label}]. @param low, high heights */
export function valueTicks(scale, low, high, pixels) {
  const values = scale.round(scale.down(low), scale.down(high), pixels), labels = distinctLabels(values);
  return values.map((value, i) => ({v: scale.up(value), label: labels[i]}));
}

/** The pixels that the labels of such ticks need. */
export function valueTicksWidth(scale, [low, high], pixels) {
  return Math.max(46, ...valueTicks(scale, low, high, pixels).map(({label}) => textWidth(label) + 13));
}
