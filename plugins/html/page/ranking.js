const ORDERS =
    [["worst", "Worst first"], ["highest", "Highest first"], ["lowest", "Lowest first"], ["model", "As in the model"]];
const HIGH_IS_BAD = /death|dead|condition|non-finite|\bnan\b|\binf\b/i;
const LOW_IS_BAD = /activation_rate|active/i;

/** The line that says most about a layer's health. */
function tellingLine(names) {
  return names.find((name) => HIGH_IS_BAD.test(name)) || names.find((name) => /\bmean$/.test(name)) || names[0];
}

/**
 * The order in which a tag's layers are shown: where neither end of a number is bad by itself, as of a norm, what tells
 * is how it fades or grows from layer to layer.
 */
function orderOf(tag, lineName) {
  if (state.order !== null) return state.order;
  return HIGH_IS_BAD.test(`${tag.name} ${lineName}`) || LOW_IS_BAD.test(lineName) ? "worst" : "model";
}

/** In words, for what "worst" stands with a tag's line. */
function worstMeans(tag, lineName) {
  const first = "NaN or ∞ first, then layers with a finding of this tag, then ";
  if (HIGH_IS_BAD.test(`${tag.name} ${lineName}`)) return `${first}the highest of late`;
  if (LOW_IS_BAD.test(lineName)) return `${first}the lowest of late`;
  return `${first}the furthest from the median layer of late`;
}

function median(values) {
  if (values.length === 0) return NaN;
  const sorted = Float64Array.from(values).sort();
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/**
 * Layers in the order asked for.
 * @param rows [{name, series, shownSeverity}]  @param columns the epochs on show
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
    const urgency = order === "worst" ? (item.broken ? ERROR + 1 : item.row.shownSeverity) : 0;
    return [item, [urgency, Number.isNaN(own) ? -Infinity : own]];
  }));
  const compared = (a, b) => (a === b ? 0 : b - a);
  return told
      .sort((a, b) => {
        const [urgency, score] = rank.get(a), [otherUrgency, otherScore] = rank.get(b);
        return compared(urgency, otherUrgency) || compared(score, otherScore);
      })
      .map(({row}) => row);
}

// Vanishing and exploding are equally far away where magnitudes are compared.
function distanceFromMedian(means) {
  const finite = means.filter(Number.isFinite);
  const positive = finite.length > 0 && finite.every((value) => value > 0);
  const scaled = positive ? Math.log : (value) => value;
  const middle = median(finite.map(scaled));
  return ({mean}) => Math.abs(scaled(mean) - middle);
}
