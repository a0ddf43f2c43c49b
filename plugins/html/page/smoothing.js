// How much of the average so far each further value leaves as it is.
const SMOOTHINGS = [["0", "none"], ["0.6", "light (0.6)"], ["0.9", "medium (0.9)"], ["0.97", "strong (0.97)"]];

/**
 * The exponential moving average of what was told, corrected for its beginning at zero. It begins anew after NaN or
 * infinity, and after a gap longer than is usual between two values of this line: nothing is smoothed over.
 */
function smoothed(series, weight) {
  const told = [...series.values.keys()].filter((i) => !series.isMissing(i));
  const gaps = told.slice(1).map((i, at) => i - told[at]);
  const usual = median(gaps);
  const made = new Series("", series.values.length);
  let average = 0, count = 0;
  told.forEach((i, at) => {
    if (at > 0 && gaps[at - 1] > 1.5 * usual) average = count = 0;
    const value = series.values[i];
    if (!Number.isFinite(value)) {
      average = count = 0;
      made.values[i] = value;
      return;
    }
    average = weight * average + (1 - weight) * value;
    made.values[i] = average / (1 - weight ** ++count);
  });
  return made;
}

/** What is drawn of a line: its values, or their average. Shares of a whole stay what they are. */
function drawnSeries(tag, series) {
  return state.smoothing > 0 && tag.type !== RELATION ? smoothed(series, state.smoothing) : series;
}

function smoothingSelector() {
  return boundSelector(
      "Smoothing", SMOOTHINGS, "smoothing", () => String(state.smoothing),
      (weight) => setState("smoothing", {smoothing: Number(weight)}));
}
