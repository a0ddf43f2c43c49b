import {median} from "./data.js";
import {state} from "./state.js";
import {ERROR} from "./findings.js";

export const ORDERS =
  [["worst", "Worst first"], ["highest", "Highest first"], ["lowest", "Lowest first"], ["model", "As in the model"]];
const HIGH_IS_BAD = /death|dead|condition|non-finite|\bnan\b|\binf\b/i;
const LOW_IS_BAD = /activation_rate|active/i;

/** Which end of a line's numbers is bad: "highest", "lowest", or null where neither is by itself, as of a norm. */
function badEnd(tag, lineName) {
  return HIGH_IS_BAD.test(`${tag.name} ${lineName}`) ? "highest" : LOW_IS_BAD.test(lineName) ? "lowest" : null;
}

/** The line that says most about a layer's health. */
export function tellingLine(names) {
  return names.find((name) => HIGH_IS_BAD.test(name)) || names.find((name) => /\bmean$/.test(name)) || names[0];
}

/** The order of a tag's layers. Where no end is bad, what tells is how a number fades or grows from layer to layer. */
export function orderOf(tag, lineName) { return state.order ?? (badEnd(tag, lineName) === null ? "model" : "worst"); }

/** What "worst first" means for a tag's line, in words. */
export function worstMeans(tag, lineName) {
  const last = badEnd(tag, lineName) || "furthest from the median layer";
  return `NaN or ∞ first, then layers with a finding of this tag, then the ${last} of late`;
}

/** What the worst of a line's numbers is called, and whether `a` is worse than `b`. */
export function worstOf(tag, lineName) {
  const end = badEnd(tag, lineName);
  if (end === null) return ["furthest from 0", (a, b) => Math.abs(a) > Math.abs(b)];
  return [end, end === "highest" ? (a, b) => a > b : (a, b) => a < b];
}

/** Layers in the order asked for. @param rows [{name, series, shownSeverity}]  @param columns the epochs on show */
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

// Vanishing and exploding are equally far away where magnitudes are compared.
function distanceFromMedian(means) {
  const finite = means.filter(Number.isFinite);
  const scaled = finite.length > 0 && finite.every((value) => value > 0) ? Math.log : (value) => value;
  const middle = median(finite.map(scaled));
  return (mean) => Math.abs(scaled(mean) - middle);
}
