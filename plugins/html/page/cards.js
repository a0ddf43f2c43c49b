import {breakable, button, element} from "./text.js";
import {helpButton} from "./popup.js";
import {RELATION} from "./data.js";
import {announce, on, visibleRuns} from "./state.js";
import {epochAt} from "./axis.js";
import {forgetColours} from "./colours.js";
import {LineChart} from "./chart.js";
import {HistogramPlot} from "./histogram.js";
import {menuButton} from "./card_menu.js";

// Plots are drawn when they come near the window and dropped when they leave it, so that thousands cost nothing.
const nearWindow = new IntersectionObserver((entries) => {
  for (const {target, isIntersecting} of entries) {
    if (isIntersecting) target.card.mount();
    else if (!document.documentElement.dataset.paper) target.card.unmount();
  }
}, {rootMargin: "400px 0px"});

const cards = new Set();

/** A titled plot of one tag and layer; histograms get a plot each. */
export class Card {
  /** @param size "small", "medium" or "wide"  @param onTitle makes the title a button */
  constructor(tag, layerName, title, {size = "small", onTitle = null} = {}) {
    Object.assign(this, {tag, layerName, size, mounted: false, plots: []});
    const name = element("span", {}, breakable(title));
    const heading = onTitle === null ? element("span", {class: "card-title"}, name) :
      button({class: "card-title", onclick: onTitle, title: `All plots of ${title}`}, name);
    this.body = element("div", {class: "card-body"});
    this.root = element("article", {
      class: `card ${size}`, tabindex: "0", "aria-label": `${tag.name}: ${layerName}`,
      "data-tag": tag.name, "data-layer": layerName,
      onkeydown: (event) => this.moveCursor(event), onblur: () => announce("cursor", null),
    }, element("h3", {}, heading, helpButton(tag), menuButton(this)), this.body);
    this.root.card = this;
    cards.add(this);
    this.slots();
    nearWindow.observe(this.root);
  }

  /** Makes room of fixed height for each plot, so that nothing moves when it is drawn. */
  slots() {
    const {tag, layerName} = this;
    this.body.replaceChildren();
    this.plots = [];
    const slot = (make) => {
      const legend = element("div", {class: "legend"}), plot = element("div", {class: "plot"});
      this.body.append(element("div", {class: "slot"}, legend, plot));
      this.plots.push({make: () => make(plot, legend), drawn: null});
    };
    const layers = visibleRuns().map((run) => [run, run.layers(tag.name).get(layerName)]).filter(([, layer]) => layer);
    const drawn = layers.filter(([, layer]) => layer.lines.length > 0).map(([run]) => run);
    const labelled = this.size !== "small" && innerWidth > 640;
    // Parts of one run are stacked; those of another belong on a ground of their own.
    for (const shownRuns of tag.type === RELATION ? drawn.map((run) => [run]) : drawn.length > 0 ? [drawn] : [])
      slot((plot, legend) => new LineChart(plot, legend, tag, layerName, shownRuns, labelled));
    for (const [run, {histograms}] of layers) {
      for (const histogram of histograms) slot((plot, legend) => new HistogramPlot(plot, legend, run, histogram));
    }
    this.root.classList.toggle("many", this.plots.length > 1);
    if (this.plots.length === 0) this.body.append(element("p", {class: "muted"}, "Not in the runs on show."));
  }

  mount() {
    if (this.mounted) return;
    this.mounted = true;
    for (const slot of this.plots) slot.drawn = slot.make();
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

  /** The left and right keys move the cursor by one epoch; Escape removes it. */
  moveCursor(event) {
    const chart = this.plots.map((slot) => slot.drawn).find((drawn) => drawn instanceof LineChart && drawn.graph);
    if (event.key === "Escape") announce("cursor", null);
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!chart || by === undefined) return;
    event.preventDefault();
    const last = chart.rows.length - 1;
    const from = chart.cursorLine.hidden ? (by < 0 ? last + 1 : -1) : chart.graph.getSelection();
    announce("cursor", epochAt(chart.shownRuns, chart.rows[Math.min(last, Math.max(0, from + by))][0]));
  }
}

/** Scrolls to a card, focuses it, and highlights it until it loses the focus. */
export function goToCard(root) {
  root.scrollIntoView({block: "start"});
  root.focus({preventScroll: true});
  root.classList.add("sought");
  root.addEventListener("blur", () => root.classList.remove("sought"), {once: true});
}

for (const change of ["scale", "axis", "smoothing", "runs", "baseline", "theme"])
  on(change, () => cards.forEach((card) => card.redraw()));

/** Pictures of what is drawn, in place of canvases, which a page that is laid out anew for paper leaves empty. */
function addPictures(root) {
  for (const canvas of root.querySelectorAll("canvas")) {
    if (canvas.width === 0 || canvas.height === 0) continue;
    const {left, top} = canvas.style, {offsetWidth: width, offsetHeight: height} = canvas;
    const style = `position:absolute;left:${left || 0};top:${top || 0};width:${width}px;height:${height}px`;
    canvas.after(element("img", {class: "printed", alt: "", src: canvas.toDataURL(), style}));
  }
}

/** Everything is drawn anew for paper: as wide as a sheet, on white. */
function drawForPaper() {
  const {dataset} = document.documentElement;
  dataset.screenTheme = dataset.theme;
  dataset.theme = "light";
  dataset.paper = "true";
  forgetColours();
  announce("theme");
  for (const card of cards) {
    card.mount();
    addPictures(card.body);
  }
}

function drawForScreen() {
  const {dataset} = document.documentElement;
  document.querySelectorAll("img.printed").forEach((image) => image.remove());
  dataset.theme = dataset.screenTheme;
  delete dataset.paper;
  forgetColours();
  announce("theme");
  // Those that are not near the window are dropped again.
  for (const {root} of cards) {
    nearWindow.unobserve(root);
    nearWindow.observe(root);
  }
}
addEventListener("beforeprint", drawForPaper);
addEventListener("afterprint", drawForScreen);
