/**
 * The entries of a plot's legend: {item, show, run}; `show` is called with a row of `run`, or -1 for the last values.
 */
function legendEntries({tag, series, stacked, logarithmic}) {
  const entries = [];
  const plain = (run, kind, text) =>
      entries.push({item: element(kind === "strong" ? kind : "span", {class: kind}, text), show: () => {}, run});
  const first = series.lines[0].run;
  if (stacked && runs.length > 1) plain(first, "strong", first.label);
  for (const line of series.lines) entries.push(lineEntry(line, stacked));
  entries.push(...(runs.length > 1 ? bandKinds(series.bands) : series.bands.map(bandEntry)));
  const diverged = divergedRun(tag, series, epochWindow(), logarithmic);
  if (diverged !== null)
    plain(
        diverged.run, "entry alarm", `${diverged.run.label} reaches ${formatNumber(diverged.high, 3)} and is cut off`);
  if (showsDifferences(tag)) plain(first, "entry", `difference to ${baselineRun().label}, without bands`);
  if (state.smoothing > 0 && !stacked)
    plain(first, "entry", `smoothed (exponential, ${state.smoothing}); faint and in numbers: as measured`);
  return entries;
}

function legendSwatch(kind, style) { return element("i", {class: `swatch ${kind}`, style, "aria-hidden": "true"}); }

function valueEntry(mark, label) {
  const value = element("b", {});
  return [element("span", {class: "entry"}, mark, element("span", {}, label), value), value];
}

function lineEntry(line, stacked) {
  const kind = stacked ? "area" : line.dash ? "dashed" : "line";
  const [item, value] = valueEntry(legendSwatch(kind, `color:${line.colour}`), line.label);
  return {
    item,
    show: (row) => {
      const number = row < 0 ? line.series.last() : line.series.at(row);
      value.textContent = formatNumber(number);
      value.classList.toggle("alarm", number !== null && !Number.isFinite(number));
    },
    run: line.run
  };
}

function bandShade(colour, alpha) { return `color:${withAlpha(colour, Math.min(1, alpha * 2.4))}`; }

function bandEntry(band) {
  const [item, value] = valueEntry(legendSwatch("area", bandShade(band.colour, band.alpha)), band.label);
  return {
    item,
    show: (row) => {
      const [low, high] = row < 0 ? [band.low.last(), band.high.last()] : [band.low.at(row), band.high.at(row)];
      value.textContent = `${formatNumber(low, 3)} … ${formatNumber(high, 3)}`;
    },
    run: band.run
  };
}

/** With several runs, what the shades stand for, once each. */
function bandKinds(bands) {
  const kinds = new Map(bands.map((band) => [band.name, band]));
  return [...kinds].map(
      ([name, {alpha, run}]) => ({
        item: element("span", {class: "entry"}, legendSwatch("area", bandShade(themeColour("muted"), alpha)), name),
        show: () => {},
        run,
      }));
}
