const HISTOGRAM_LEVELS = 63, SMALLEST_SHARE_EXPONENT = -6;

/** The share of all elements that a level of HistogramHistory::json stands for. */
function shareOfLevel(level) {
  return level === 0 ? 0 : 10 ** (SMALLEST_SHARE_EXPONENT * (1 - (level - 1) / (HISTOGRAM_LEVELS - 1)));
}

/**
 * Histograms over epochs, a column each, or the bars of one epoch that the reader chooses. Columns of one edge list at
 * a time: bins that were never filled are left out at both ends.
 */
class HistogramPlot {
  constructor(plot, legend, run, histogram) {
    Object.assign(this, {plot, legend, run, histogram});
    this.linear = state.scale === "linear";
    this.canvas = element("canvas", {
      class: "heat",
      role: "img",
      onpointermove: (event) => this.point(event),
      onpointerleave: hideTooltip,
    });
    plot.replaceChildren(this.canvas);
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

  fillLegend() {
    const name = runs.length > 1 ? `${this.run.label} ${this.histogram.line}` : this.histogram.line;
    const epochs = this.columns.map(([epoch]) => [String(epoch), formatEpoch(epoch)]);
    const chosen = this.chosen === null ? "all" : String(this.chosen[0]);
    const choice = selector("Epoch", [["all", "all"], ...epochs], chosen, (epoch) => this.choose(epoch));
    const heights = this.linear                ? "share of elements per 1" :
        this.chosen !== null && this.chosen[4] ? "elements" :
                                                 "share of elements";
    const key = this.chosen !== null ? [`height: ${heights}${state.scale === "log" ? ", log scale" : ""}`] : [
      `${heights} ${formatNumber(this.linear ? 0 : shareOfLevel(1), 3)}`,
      element("i", {class: "swatch ramp-swatch", style: `background:linear-gradient(90deg,${SEQUENTIAL.join(",")})`}),
      this.linear ? formatNumber(this.densest, 3) : "1"
    ];
    this.legend.replaceChildren(
        element("span", {class: "entry"}, name), element("span", {class: "entry muted"}, key), choice);
  }

  /** @param epoch as its text; "all" for the map of all */
  choose(epoch) {
    // Kept beside the numbers, because a plot out of the window is dropped.
    this.histogram.chosenEpoch = epoch === "all" ? null : Number(epoch);
    this.draw();
    this.legend.querySelector("select").focus({preventScroll: true});
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
    this.chosen = columns.find(([epoch]) => epoch === this.histogram.chosenEpoch) || null;
    this.bins = this.shownBins(this.chosen === null ? columns : [this.chosen], edges.length - 1);
    const area = this.area = {x: 62, y: 4, width: width - 62 - 10, height: height - 26};
    const context = sizedContext(this.canvas, width, height);
    this.placed = placedBins(this.bins, edges, this.linear);
    if (this.chosen === null)
      this.drawMap(context, area);
    else
      this.placed = drawBars(
          context, area,
          {column: this.chosen, bins: this.bins, edges, linear: this.linear, logarithmic: state.scale === "log"});
    this.canvas.setAttribute("aria-label", this.inWords());
    this.fillLegend();
  }

  drawMap(context, area) {
    const {columns, placed} = this, colours = sequentialColours(), tall = Math.max(1, Math.round(area.height));
    const densities = !this.linear ? [] : columns.map((column) => {
      const shares = sharesOf(column);
      return placed.map((each) => shareOfPlace(each, column[2], shares) / each.width);
    });
    this.densest = Math.max(...densities.flat(), Number.MIN_VALUE);
    const binOf = Array.from({length: this.linear ? tall : placed.length}, (_, row) => {
      if (!this.linear) return placed.length - 1 - row;
      const place = 1 - (row + 0.5) / tall;
      return placed.findIndex(({from, to}) => place >= from && place < to);
    });
    paintMatrix(context, area, columns.length, binOf.length, (column, row) => {
      const at = binOf[row];
      if (at < 0 || this.placed[at].bin === null) return 0;
      if (this.linear)
        return densities[column][at] === 0 ? 0 : colours[Math.round((densities[column][at] / this.densest) * 255)];
      const level = this.level(columns[column], this.placed[at].bin);
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
      if (next - bin > 3 && !this.linear) {
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
    context.fillStyle = themeColour("muted");
    context.textAlign = "right";
    for (const {place, text} of edgeLabels(this.placed, this.edges, height, 18))
      context.fillText(text, x - 6, Math.min(y + height * (1 - place), y + height - 4));
    for (const {bin, from, to} of this.placed)
      if (bin === null) context.fillText("⋯", x + this.area.width / 2 + 6, y + height * (1 - (from + to) / 2));
  }

  level([, , first, levels], bin) {
    return bin < first || bin >= first + levels.length ? 0 : BASE64[levels.charCodeAt(bin - first)];
  }

  boundsInWords({bin, last}) {
    const edge = (i, open) => (this.edges[i] === null ? open : formatNumber(this.edges[i], 3));
    return `${edge(bin, "−∞")} to ${edge(last + 1, "∞")}`;
  }

  inWords() {
    const what = `Histogram of ${this.histogram.line}`;
    if (this.chosen === null) return `${what} over epochs`;
    const fullest = this.placed.reduce((best, each) => (each.share > best.share ? each : best));
    return `${what} in epoch ${formatEpoch(this.chosen[0])}; the fullest bin, ${this.boundsInWords(fullest)}, holds ` +
        elementsInWords(fullest.share, this.chosen[4]);
  }

  point(event) {
    if (!this.area) return;
    const {x, y, width, height} = this.area;
    const across = (event.offsetX - x) / width, up = 1 - (event.offsetY - y) / height;
    const column = this.chosen || this.columns[Math.floor(across * this.columns.length)];
    const place = this.chosen === null ? up : across;
    const found = this.placed.find(({from, to}) => place >= from && place < to);
    if (column === undefined || !found || found.bin === null) return hideTooltip();
    showTooltip(event.clientX, event.clientY, [
      this.boundsInWords(found),
      `epoch ${formatEpoch(column[0])}`,
      elementsInWords(shareOfPlace(found, column[2], sharesOf(column)), column[4]),
    ]);
  }
}

const liveHistograms = new Set();
on("zoom", () => liveHistograms.forEach((histogram) => histogram.draw()));
