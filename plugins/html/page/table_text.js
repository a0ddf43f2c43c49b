/** One field of a CSV. A text that a spreadsheet would take for a formula becomes a text for it by an apostrophe. */
function csvField(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(Number.isFinite(value) ? Number(value.toPrecision(6)) : value);
  const text = /^[\s]*[=+\-@|%]|^[\t\r\n]/.test(value) ? `'${value}` : value;
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvText(rows) { return rows.map((row) => `${row.map(csvField).join(",")}\r\n`).join(""); }

/** Numbers of a column by the place of their run's tick on the axis of the plots. */
function columnOf(run, name, series, difference) {
  const own = runs.length > 1 ? `${run.label}: ${name}` : name;
  return {name: difference ? `${own} minus ${baselineRun().label}` : own, run, series};
}

/** What a plot's lines and bands are on show, a column each; where they are smoothed, also so. */
function linesTable({tag, series: {lines, bands}}) {
  const difference = showsDifferences(tag);
  const columns = lines.flatMap(
      (line) =>
          [columnOf(line.run, line.name, line.series, difference),
           ...(line.drawn === line.series ?
                   [] :
                   [columnOf(line.run, `${line.name} smoothed ${state.smoothing}`, line.drawn, difference)]),
  ]);
  for (const band of bands)
    columns.push(columnOf(band.run, band.lowName, band.low), columnOf(band.run, band.highName, band.high));
  const [first, last] = epochWindow();
  const rows = new Map();
  columns.forEach(({run, series}, at) => {
    const places = placesOf(run);
    run.epochs.forEach((epoch, i) => {
      if (epoch < first || epoch > last) return;
      if (!rows.has(places[i])) rows.set(places[i], [places[i], ...columns.map(() => null)]);
      rows.get(places[i])[at + 1] = series.at(i);
    });
  });
  const title = state.axis === "time" ? "seconds" : state.axis;
  return [[title, ...columns.map(({name}) => name)], ...[...rows.values()].sort((a, b) => a[0] - b[0])];
}

/** The bins of a histogram on show that hold something: where they are, and about which share of all is in them. */
function histogramRows({run, histogram}) {
  const [first, last] = epochWindow();
  return histogram.columns.filter(([epoch]) => epoch >= first && epoch <= last)
      .flatMap((column) => sharesOf(column).flatMap((share, i) => {
        const [epoch, edges, firstBin, , total] = column, bounds = histogram.edges[edges];
        if (share === 0) return [];
        const low = bounds[firstBin + i] ?? -Infinity, high = bounds[firstBin + i + 1] ?? Infinity;
        return [[run.label, histogram.line, epoch, low, high, share, total ? Math.round(share * total) : null]];
      }));
}

/** What a card shows in numbers: a table of its lines, and one of its histograms. */
function cardTables(plots) {
  const lines = plots.filter((plot) => plot instanceof LineChart && plot.graph);
  const histograms = plots.filter((plot) => plot instanceof HistogramPlot);
  const tables = lines.map((plot) => linesTable(plot));
  if (histograms.length > 0)
    tables.push(
        [["run", "histogram", "epoch", "from", "to", "share", "about elements"], ...histograms.flatMap(histogramRows)]);
  return tables;
}
