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
      class: "heat",
      role: "img",
      "aria-label": `Histogram of ${histogram.line} over epochs`,
      onpointermove: (event) => this.point(event),
      onpointerleave: hideTooltip,
    });
    plot.replaceChildren(this.canvas);
    const several = runs.length > 1;
    legend.replaceChildren(
        element("span", {class: "entry"}, several ? `${run.label} ${histogram.line}` : histogram.line),
        element(
            "span", {class: "entry muted"}, `share of elements ${formatNumber(shareOfLevel(1))}`,
            element(
                "i", {class: "swatch ramp-swatch", style: `background:linear-gradient(90deg,${SEQUENTIAL.join(",")})`}),
            "1"));
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
    this.bins = this.shownBins(columns, edges.length - 1);
    const rows = this.bins.length;
    const area = this.area = {x: 62, y: 4, width: width - 62 - 10, height: height - 26};
    const context = sizedContext(this.canvas, width, height);
    const colours = sequentialColours();
    paintMatrix(context, area, columns.length, rows, (column, row) => {
      const bin = this.bins[rows - 1 - row];
      const level = bin === null ? 0 : this.level(columns[column], bin);
      return level === 0 ? 0 : colours[Math.round(((level - 1) / (HISTOGRAM_LEVELS - 1)) * 255)];
    });
    context.strokeStyle = themeColour("axis");
    context.strokeRect(area.x - 0.5, area.y - 0.5, area.width + 1, area.height + 1);
    this.drawEdges(context);
    drawEpochAxis(context, {x: area.x, y: area.y + area.height, width: area.width}, columns.map(([epoch]) => epoch));
  }

  /** The bins that hold something, lowest first; null stands for a longer stretch of empty ones, as around zero. */
  shownBins(columns, count) {
    const filled = new Uint8Array(count);
    for (const [, , first, levels] of columns) {
      for (let i = 0; i < levels.length; ++i)
        if (levels[i] !== "A") filled[first + i] = 1;
    }
    const bins = [];
    for (let bin = filled.indexOf(1), last = filled.lastIndexOf(1); bin >= 0 && bin <= last;) {
      const next = filled.indexOf(1, bin);
      if (next - bin > 3) {
        bins.push(null);
        bin = next;
      }
      bins.push(bin++);
    }
    return bins.length > 0 ? bins : [0];
  }

  /** The numbers at the bins' lower edges, as many as fit. */
  drawEdges(context) {
    const {x, y, height} = this.area;
    const rowHeight = height / this.bins.length;
    context.fillStyle = themeColour("muted");
    context.textAlign = "right";
    let free = Infinity;
    this.bins.forEach((bin, row) => {
      const bottom = y + height - row * rowHeight;
      const edge = bin === null ? null : this.edges[bin];
      if (edge === null || free - bottom < 18) return;
      context.fillText(formatNumber(edge, 2), x - 6, Math.min(bottom, y + height - 4));
      free = bottom;
    });
    this.bins.forEach((bin, row) => {
      if (bin === null) context.fillText("⋯", x + this.area.width / 2 + 6, y + height - (row + 0.5) * rowHeight);
    });
  }

  level([, , first, levels], bin) {
    return bin < first || bin >= first + levels.length ? 0 : BASE64[levels.charCodeAt(bin - first)];
  }

  point(event) {
    if (!this.area) return;
    const {x, y, width, height} = this.area;
    const column = Math.floor(((event.offsetX - x) / width) * this.columns.length);
    const bin = this.bins[Math.floor((1 - (event.offsetY - y) / height) * this.bins.length)];
    if (column < 0 || column >= this.columns.length || bin === undefined || bin === null) return hideTooltip();
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
