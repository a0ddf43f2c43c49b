const ORDERS =
    [["worst", "Worst first"], ["highest", "Highest first"], ["lowest", "Lowest first"], ["model", "As in the model"]];
const HIGH_IS_BAD = /death|dead|condition|non-finite|\bnan\b|\binf\b/i;
const LOW_IS_BAD = /activation_rate|active/i;

/** The line that says most about a layer's health. */
function tellingLine(names) {
  return names.find((name) => HIGH_IS_BAD.test(name)) || names.find((name) => /\bmean$/.test(name)) || names[0];
}

/** In words, for what "worst" stands with a tag's line. */
function worstMeans(tag, lineName) {
  if (HIGH_IS_BAD.test(`${tag.name} ${lineName}`)) return "NaN or ∞ first, then the highest of late";
  if (LOW_IS_BAD.test(lineName)) return "NaN or ∞ first, then the lowest of late";
  return "NaN or ∞ first, then furthest from the median layer of late";
}

function median(values) {
  if (values.length === 0) return NaN;
  const sorted = Float64Array.from(values).sort();
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/**
 * Layers in the order asked for.
 * @param rows [{name, series}]  @param columns the epochs on show
 */
function ranked(rows, columns, tag, lineName, order) {
  if (order === "model") return rows;
  const late = columns.slice(-Math.max(1, Math.ceil(columns.length / 10)));
  const told = rows.map((row) => {
    const finite = late.map((i) => row.series.values[i]).filter(Number.isFinite);
    const mean = finite.length > 0 ? finite.reduce((a, b) => a + b, 0) / finite.length : NaN;
    return {row, mean, broken: columns.some((i) => row.series.isBroken(i))};
  });
  let score;
  if (order === "lowest" || (order === "worst" && LOW_IS_BAD.test(lineName)))
    score = ({mean}) => -mean;
  else if (order === "highest" || HIGH_IS_BAD.test(`${tag.name} ${lineName}`))
    score = ({mean}) => mean;
  else
    score = distanceFromMedian(told.map(({mean}) => mean));
  const rank = new Map(told.map((item) => {
    const own = score(item);
    return [item, (order === "worst" && item.broken ? 1e300 : 0) + (Number.isNaN(own) ? -1e200 : own)];
  }));
  return told.sort((a, b) => rank.get(b) - rank.get(a)).map(({row}) => row);
}

// Vanishing and exploding are equally far away where magnitudes are compared.
function distanceFromMedian(means) {
  const finite = means.filter(Number.isFinite);
  const positive = finite.length > 0 && finite.every((value) => value > 0);
  const scaled = positive ? Math.log : (value) => value;
  const middle = median(finite.map(scaled));
  return ({mean}) => Math.abs(scaled(mean) - middle);
}
