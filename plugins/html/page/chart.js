const liveCharts = new Set();

// Dragging along the epochs zooms all plots. A finger scrolls the page, as everywhere else, and a tap reads values.
const CHART_INTERACTION = {
  ...Dygraph.defaultInteractionModel,
  touchstart: undefined,
  touchmove: undefined,
  touchend: undefined,
  dblclick: () => setZoom(firstEpoch, lastEpoch),
};
for (const gesture of ["touchstart", "touchmove", "touchend"]) delete CHART_INTERACTION[gesture];

/** A plot of one tag and layer: lines with bands, or stacked areas, and a legend that shows the values at the cursor. */
class LineChart {
  /** @param plot an element of fixed height  @param legend an element for the legend, which is filled anew */
  constructor(plot, legend, tag, layerName, {labelled = false} = {}) {
    Object.assign(this, {plot, legend, tag});
    this.series = chartSeries(tag, layerName);
    this.stacked = tag.type === RELATION;
    const shown = {lines: this.series.lines, bands: this.series.bands};
    this.logarithmic = isLogarithmic(tag) && valueLimits(tag, shown, epochWindow(), true) !== null;
    this.labelled = labelled && tag.annotate && !this.stacked && this.series.lines.length > 1;
    if (this.series.lines.length === 0) {
      legend.replaceChildren(element("span", {class: "muted"}, "No values yet"));
      return;
    }
    this.fillLegend();
    this.draw();
    this.cursorLine = element("div", {class: "cursor-line", hidden: true});
    plot.append(this.cursorLine);
    this.resizing = new ResizeObserver(() => {
      this.graph.resize();
      this.placeLabels();
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
    this.rows = chartRows(lines, this.logarithmic);
    const whole = this.rows.every(([epoch]) => Number.isInteger(epoch));
    const box = element("div", {class: "graph"});
    this.plot.replaceChildren(box);
    this.graph = new Dygraph(box, this.rows, {
      labels: ["epoch", ...lines.map((_, i) => String(i))],
      colors: lines.map((line) => line.colour),
      series: Object.fromEntries(lines.map((line, i) => [String(i), {strokePattern: line.dash}])),
      strokeWidth: this.stacked ? 1 : 1.7,
      fillGraph: this.stacked,
      stackedGraph: this.stacked,
      fillAlpha: 0.55,
      connectSeparatedPoints: true,
      drawPoints: this.rows.length < 3,
      pointSize: 2.5,
      highlightCircleSize: 3.5,
      legend: "never",
      logscale: this.logarithmic,
      gridLineColor: themeColour("grid"),
      axisLineColor: themeColour("axis"),
      gridLineWidth: 1,
      axisLabelFontSize: 11,
      rightGap: this.labelled ? 96 : 10,
      xRangePad: 0,
      axes: {
        x: {
          drawGrid: false, pixelsPerLabel: 64,
          axisLabelFormatter: (epoch) => (whole && !Number.isInteger(epoch) ? "" : formatEpoch(epoch)),
        },
        y: {axisLabelWidth: 46, pixelsPerLabel: 28, axisLabelFormatter: (value) => formatNumber(value, 3)},
      },
      ...this.limits(),
      interactionModel: CHART_INTERACTION,
      underlayCallback: (context, area, graph) => this.drawBands(context, area, graph),
      highlightCallback: (event, epoch) => announce("cursor", epoch),
      unhighlightCallback: () => announce("cursor", null),
      zoomCallback: (low, high) => {
        const [first, last] = this.dateWindow();
        if (low !== first || high !== last) setZoom(low, high);
      },
    });
    this.placeLabels();
  }

  dateWindow() {
    const [first, last] = epochWindow();
    const room = last > first ? (last - first) * 0.012 : 0.5;
    return [first - room, last + room];
  }

  limits() {
    const limits = valueLimits(this.tag, this.series, epochWindow(), this.logarithmic);
    return {dateWindow: this.dateWindow(), valueRange: limits || [0, 1]};
  }

  rezoom() {
    this.graph.updateOptions(this.limits());
    this.placeLabels();
  }

  drawBands(context, area, graph) {
    context.save();
    context.beginPath();
    context.rect(area.x, area.y, area.w, area.h);
    context.clip();
    const floor = graph.yAxisRange(0)[0];
    const yOf = (value) => graph.toDomYCoord(this.logarithmic ? Math.max(value, floor) : value);
    for (const {run, low, high, colour, alpha} of this.series.bands) {
      context.fillStyle = withAlpha(colour, alpha);
      let upper = [], lower = [];
      const fill = () => {
        if (upper.length > 0) {
          context.beginPath();
          for (const [x, y] of upper) context.lineTo(x, y);
          for (const [x, y] of lower.reverse()) context.lineTo(x, y);
          context.closePath();
          context.fill();
        }
        upper = [];
        lower = [];
      };
      for (let i = 0; i < run.epochs.length; ++i) {
        if (low.isMissing(i)) continue;
        if (!Number.isFinite(low.values[i]) || !Number.isFinite(high.values[i])) {
          fill();
          continue;
        }
        const x = graph.toDomXCoord(run.epochs[i]);
        upper.push([x, yOf(high.values[i])]);
        lower.push([x, yOf(low.values[i])]);
      }
      fill();
    }
    this.markBroken(context, area, graph);
    context.restore();
  }

  /** A stroke at the foot of the plot wherever a line was NaN or infinite. */
  markBroken(context, area, graph) {
    context.fillStyle = themeColour("alarm");
    for (const {run, series} of this.series.lines) {
      for (let i = 0; i < run.epochs.length; ++i) {
        if (series.isBroken(i)) context.fillRect(graph.toDomXCoord(run.epochs[i]) - 1, area.y + area.h - 7, 2, 7);
      }
    }
  }

  /** The lines' names at their ends, moved apart where they would overlap. */
  placeLabels() {
    for (const old of this.plot.querySelectorAll(".end-label")) old.remove();
    if (!this.labelled) return;
    const area = this.graph.getArea();
    const [first, last] = this.graph.xAxisRange();
    const labels = this.series.lines.map((line) => {
      let end = -1;
      line.run.epochs.forEach((epoch, i) => {
        if (epoch >= first && epoch <= last && Number.isFinite(line.series.values[i])) end = i;
      });
      return {line, y: end < 0 ? null : this.graph.toDomYCoord(line.series.values[end])};
    }).filter(({y}) => y !== null).sort((a, b) => a.y - b.y);
    const height = 14;
    if (labels.length * height > area.h) return;
    labels.forEach((label, i) => {
      label.top = Math.max(label.y, i > 0 ? labels[i - 1].top + height : area.y + height / 2);
    });
    for (let i = labels.length - 1, floor = area.y + area.h - height / 2; i >= 0; --i) {
      labels[i].top = Math.min(labels[i].top, floor);
      floor = labels[i].top - height;
    }
    for (const {line, top} of labels) {
      this.plot.append(element("div", {
        class: "end-label", title: line.label,
        style: `top:${top - height / 2}px;left:${area.x + area.w + 6}px;color:${line.colour}`,
      }, line.label));
    }
  }

  fillLegend() {
    const swatch = (kind, style) => element("i", {class: `swatch ${kind}`, style, "aria-hidden": "true"});
    const entry = (mark, label) => {
      const value = element("b", {});
      return [element("span", {class: "entry"}, mark, element("span", {}, label), value), value];
    };
    const entries = [];
    this.epochText = element("span", {class: "epoch"});
    for (const line of this.series.lines) {
      const kind = this.stacked ? "area" : line.dash ? "dashed" : "line";
      const [item, value] = entry(swatch(kind, `color:${line.colour}`), line.label);
      entries.push({item, show: (row) => {
        const number = row < 0 ? line.series.last() : line.series.at(row);
        value.textContent = formatNumber(number);
        value.classList.toggle("alarm", number !== null && !Number.isFinite(number));
      }, run: line.run});
    }
    for (const band of this.series.bands) {
      const [item, value] = entry(
        swatch("area", `color:${withAlpha(band.colour, Math.min(1, band.alpha * 2.4))}`), band.label);
      entries.push({item, show: (row) => {
        const [low, high] = row < 0 ? [band.low.last(), band.high.last()] : [band.low.at(row), band.high.at(row)];
        value.textContent = `${formatNumber(low, 3)} … ${formatNumber(high, 3)}`;
      }, run: band.run});
    }
    this.entries = entries;
    this.legend.replaceChildren(this.epochText, ...entries.map(({item}) => item));
    this.showValues(null);
  }

  showValues(epoch) {
    this.epochText.textContent = epoch === null ? "last" : `epoch ${formatEpoch(epoch)}`;
    for (const {show, run} of this.entries) show(epoch === null ? -1 : nearestIndex(run.epochs, epoch));
  }

  /** @param epoch null to show the last values again */
  setCursor(epoch) {
    if (epoch === null) {
      this.graph.clearSelection();
    } else {
      this.graph.setSelection(nearestIndex(this.rows.map((row) => row[0]), epoch));
      const area = this.graph.getArea();
      this.cursorLine.style.cssText =
        `left:${this.graph.toDomXCoord(epoch)}px;top:${area.y}px;height:${area.h}px`;
    }
    this.cursorLine.hidden = epoch === null;
    this.showValues(epoch);
  }
}

on("zoom", () => liveCharts.forEach((chart) => chart.rezoom()));
on("cursor", (epoch) => liveCharts.forEach((chart) => chart.setCursor(epoch)));
