// Plots are drawn when they come near the window and dropped when they leave it, so that thousands cost nothing.
const nearWindow = new IntersectionObserver((entries) => {
  for (const {target, isIntersecting} of entries) {
    if (isIntersecting)
      target.card.mount();
    else
      target.card.unmount();
  }
}, {rootMargin: "400px 0px"});

const cards = new Set();

/** A titled plot of one tag and layer; histograms get a plot each. */
class Card {
  /** @param size "small", "medium" or "wide"  @param onTitle makes the title a button */
  constructor(tag, layerName, title, {size = "small", onTitle = null} = {}) {
    Object.assign(this, {tag, layerName, size});
    this.mounted = false;
    this.plots = [];
    const name = element("span", {}, breakable(title));
    const heading = onTitle ?
        element(
            "button", {type: "button", class: "card-title", onclick: onTitle, title: `All plots of ${title}`}, name) :
        element("span", {class: "card-title"}, name);
    this.body = element("div", {class: "card-body"});
    this.root = element(
        "article", {
          class: `card ${size}`,
          tabindex: "0",
          "aria-label": `${tag.name}: ${layerName}`,
          "data-tag": tag.name,
          "data-layer": layerName,
          onkeydown: (event) => this.moveCursor(event),
          onblur: () => announce("cursor", null),
        },
        element("h3", {}, heading, helpButton(tag), menuButton(this)), this.body);
    this.root.card = this;
    cards.add(this);
    this.slots();
    nearWindow.observe(this.root);
  }

  /** Rooms of fixed height for what there is to draw, so that nothing moves when it is drawn. */
  slots() {
    const shown = visibleRuns();
    const layers =
        shown.map((run) => [run, run.layers(this.tag.name).get(this.layerName)]).filter(([, layer]) => layer);
    const slot = (make) => {
      const legend = element("div", {class: "legend"}), plot = element("div", {class: "plot"});
      this.body.append(element("div", {class: "slot"}, legend, plot));
      this.plots.push({legend, plot, make, drawn: null});
    };
    this.body.replaceChildren();
    this.plots = [];
    const histograms = layers.flatMap(([run, layer]) => layer.histograms.map((histogram) => [run, histogram]));
    const drawn = layers.filter(([, layer]) => layer.lines.length > 0).map(([run]) => run);
    // Parts of one run are stacked; those of another belong on a ground of their own.
    const charts = this.tag.type === RELATION ? drawn.map((run) => [run]) : drawn.length > 0 ? [drawn] : [];
    for (const shownRuns of charts) {
      slot((plot, legend) => new LineChart(plot, legend, this.tag, this.layerName, shownRuns, {
             labelled: this.size !== "small" && innerWidth > 640
           }));
    }
    for (const [run, histogram] of histograms) slot((plot, legend) => new HistogramPlot(plot, legend, run, histogram));
    this.root.classList.toggle("many", this.plots.length > 1);
    if (this.plots.length === 0) this.body.append(element("p", {class: "muted"}, "Not in the runs on show."));
  }

  mount() {
    if (this.mounted) return;
    this.mounted = true;
    for (const slot of this.plots) slot.drawn = slot.make(slot.plot, slot.legend);
  }

  unmount() {
    if (!this.mounted) return;
    this.mounted = false;
    for (const slot of this.plots) slot.drawn.destroy();
  }

  redraw() {
    const wasMounted = this.mounted;
    this.unmount();
    this.slots();
    if (wasMounted) this.mount();
  }

  remove() {
    nearWindow.unobserve(this.root);
    this.unmount();
    cards.delete(this);
    this.root.remove();
  }

  /** Left and right read the values of the epoch before and after; Escape lets go. */
  moveCursor(event) {
    const chart = this.plots.map((slot) => slot.drawn).find((drawn) => drawn instanceof LineChart && drawn.graph);
    if (event.key === "Escape") announce("cursor", null);
    if (!chart || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    event.preventDefault();
    const epochs = chart.rows.map((row) => epochAt(chart.shownRuns, row[0]));
    const last = epochs.length - 1;
    const from = chart.cursorLine.hidden ? (event.key === "ArrowLeft" ? last + 1 : -1) : chart.graph.getSelection();
    const to = Math.min(last, Math.max(0, from + (event.key === "ArrowLeft" ? -1 : 1)));
    announce("cursor", epochs[to]);
  }
}

/** Brings a card into view and the keyboard to it, and makes it stand out until the reader turns elsewhere. */
function goToCard(root) {
  root.scrollIntoView({block: "start"});
  root.focus({preventScroll: true});
  root.classList.add("sought");
  root.addEventListener("blur", () => root.classList.remove("sought"), {once: true});
}

for (const change of ["scale", "axis", "smoothing", "runs", "baseline", "theme"]) on(change, () => cards.forEach((card) => card.redraw()));

addEventListener("beforeprint", () => cards.forEach((card) => card.mount()));
