const HISTOGRAM_LEVELS = 63, SMALLEST_SHARE_EXPONENT = -6;

/** The share of all elements that a level of HistogramHistory::json stands for. */
function shareOfLevel(level) {
  return level === 0 ? 0 : 10 ** (SMALLEST_SHARE_EXPONENT * (1 - (level - 1) / (HISTOGRAM_LEVELS - 1)));
}

/** Columns of one edge list at a time: bins that were never filled are left out at both ends. */
class HistogramPlot {
  constructor(plot, legend, run, histogram) {
    Object.assign(this, {plot, run, histogram});
    this.canvas = element("canvas", {
      class: "heat", role: "img",
      "aria-label": `Histogram of ${histogram.line} over epochs`,
      onpointermove: (event) => this.point(event), onpointerleave: hideTooltip,
    });
    plot.replaceChildren(this.canvas);
    const several = runs.length > 1;
    legend.replaceChildren(
      element("span", {class: "entry"}, several ? `${run.label} ${histogram.line}` : histogram.line),
      element("span", {class: "entry muted"}, "share of elements, log scale"));
    this.draw();
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(plot);
    liveHistograms.add(this);
  }

  destroy() {
    this.resizing.disconnect();
    liveHistograms.delete(this);
    this.plot.replaceChildren();
  }

  /** The columns on show that share the edges of the last one. */
  shown() {
    const [first, last] = epochWindow();
    const columns = this.histogram.columns.filter(([epoch]) => epoch >= first && epoch <= last);
    const edges = columns.length > 0 ? columns[columns.length - 1][1] : 0;
    return columns.filter((column) => column[1] === edges);
  }

  draw() {
    const columns = this.columns = this.shown();
    const width = this.plot.clientWidth, height = this.plot.clientHeight;
    if (width === 0 || columns.length === 0) return;
    const edges = this.edges = this.histogram.edges[columns[0][1]];
    const filled = columns.filter(([, , , levels]) => levels !== "");
    this.firstBin = Math.min(...filled.map(([, , first]) => first), edges.length - 2);
    this.endBin = Math.max(...filled.map(([, , first, levels]) => first + levels.length), this.firstBin + 1);
    const bins = this.endBin - this.firstBin;
    const area = this.area = {x: 54, y: 4, width: width - 54 - 10, height: height - 26};
    const context = sizedContext(this.canvas, width, height);
    const colours = sequentialColours();
    paintMatrix(context, area, columns.length, bins, (column, row) => {
      const level = this.level(columns[column], this.endBin - 1 - row);
      return level === 0 ? 0 : colours[Math.round(((level - 1) / (HISTOGRAM_LEVELS - 1)) * 255)];
    });
    context.strokeStyle = themeColour("axis");
    context.strokeRect(area.x - 0.5, area.y - 0.5, area.width + 1, area.height + 1);
    context.fillStyle = themeColour("muted");
    context.textAlign = "right";
    const rowHeight = area.height / bins;
    let free = Infinity;
    for (let edge = this.firstBin; edge <= this.endBin; ++edge) {
      const y = area.y + area.height - (edge - this.firstBin) * rowHeight;
      if (free - y < 20 || edges[edge] === null) continue;
      context.fillText(formatNumber(edges[edge], 2), area.x - 6, Math.min(Math.max(y, area.y + 5), area.y + area.height - 3));
      free = Math.min(free, y);
      if (free === Infinity) free = y;
    }
    drawEpochAxis(context, {x: area.x, y: area.y + area.height, width: area.width}, columns.map(([epoch]) => epoch));
  }

  level([, , first, levels], bin) {
    return bin < first || bin >= first + levels.length ? 0 : BASE64[levels.charCodeAt(bin - first)];
  }

  point(event) {
    if (!this.area) return;
    const {x, y, width, height} = this.area;
    const column = Math.floor(((event.offsetX - x) / width) * this.columns.length);
    const bin = this.firstBin + Math.floor((1 - (event.offsetY - y) / height) * (this.endBin - this.firstBin));
    if (column < 0 || column >= this.columns.length || bin < this.firstBin || bin >= this.endBin) return hideTooltip();
    const level = this.level(this.columns[column], bin);
    const edge = (i, open) => (this.edges[i] === null ? open : formatNumber(this.edges[i], 3));
    showTooltip(event.clientX, event.clientY, [
      `${edge(bin, "−∞")} to ${edge(bin + 1, "∞")}`,
      `epoch ${formatEpoch(this.columns[column][0])}`,
      level === 0 ? "no element" : `about ${formatNumber(shareOfLevel(level) * 100, 2)} % of the elements`,
    ]);
  }
}

const liveHistograms = new Set();
on("zoom", () => liveHistograms.forEach((histogram) => histogram.draw()));
