// The run that the others are compared with, where one was named when the report was made.
const namedBaseline = runs.find((run) => run.name === reportSettings.baseline || run.label === reportSettings.baseline);
if (namedBaseline) startingView.baseline = namedBaseline.index;

function baselineRun() { return state.baseline === null ? null : runs[state.baseline]; }

/** Whether the curves of a tag are shown as differences to the baseline; shares of a whole and histograms never are. */
function showsDifferences(tag) {
  return state.differences && state.baseline !== null && runs.length > 1 && tag.type !== RELATION;
}

/** What a line is more than the baseline's at the same epochs; nothing where either has no value. */
function differenceSeries(run, series, base) {
  const made = new Series("", series.values.length), other = baselineRun();
  const indexOf = new Map(base === null ? [] : other.epochs.map((epoch, i) => [epoch, i]));
  run.epochs.forEach((epoch, i) => {
    const j = indexOf.get(epoch);
    if (j !== undefined && !series.isMissing(i) && !base.isMissing(j))
      made.values[i] = series.values[i] - base.values[j];
  });
  return made;
}

/** "+0.02 (+10 %)" */
function differenceInWords(value, base) {
  const signed = (number, digits) => (number > 0 ? "+" : number === 0 ? "±" : "") + formatNumber(number, digits);
  // The report holds numbers of five digits; what is less than that is no difference.
  const difference = Math.abs(value - base) < 1e-5 * Math.abs(base) ? 0 : value - base;
  const share = base === 0 ? "" : ` (${signed((difference / Math.abs(base)) * 100, 3)} %)`;
  return `${signed(difference, 3)}${share}`;
}

/** The choice of a baseline, and whether curves are differences to it; null where there is nothing to compare. */
function baselineSelector() {
  if (runs.length < 2) return null;
  const choice = boundSelector(
      "Baseline", [["", "none"], ...runs.map((run) => [String(run.index), run.label])], "baseline",
      () => (state.baseline === null ? "" : String(state.baseline)),
      (index) => setState("baseline", {baseline: index === "" ? null : Number(index)}));
  const box = element("input", {
    type: "checkbox",
    id: "differences",
    onchange: () => setState("baseline", {differences: box.checked}),
  });
  const differences = element("label", {class: "field"}, box, element("span", {}, "Curves as differences"));
  const show = () => {
    differences.hidden = state.baseline === null;
    box.checked = state.differences;
  };
  on("baseline", show);
  show();
  return element("div", {class: "field"}, choice, differences);
}
