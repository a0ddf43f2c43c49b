import {breakable, button, element} from "./text.js";
import {helpButton, Popup} from "./popup.js";
import {NUMERICAL, RELATION, runs} from "./data.js";
import {announce, baselineRun, epochWindow, on, setTagScale, showsDifferences, state, visibleRuns} from "./state.js";
import {axisName, epochAt, LINEAR, placesOf} from "./axis.js";
import {forgetColours, SEQUENTIAL, themeColour} from "./colours.js";
import {LineChart} from "./chart.js";
import {HistogramPlot, sharesOf} from "./histogram.js";

/** One field of a CSV. An apostrophe keeps a spreadsheet from taking a text for a formula. */
function csvField(value) {
  if (value === null) return "";
  if (typeof value === "number") return String(Number.isFinite(value) ? Number(value.toPrecision(6)) : value);
  const text = /^[\s]*[=+\-@|%]|^[\t\r\n]/.test(value) ? `'${value}` : value;
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvText(rows) { return rows.map((row) => `${row.map(csvField).join(",")}\r\n`).join(""); }

/** The visible lines and bands of a plot as a table, one column each, and one row per tick; smoothed lines are added. */
function linesTable({tag, series: {lines, bands}}) {
  const columns = [];
  const add = (run, name, series) => {
    const own = runs.length > 1 ? `${run.label}: ${name}` : name;
    columns.push({name: showsDifferences(tag) ? `${own} minus ${baselineRun().label}` : own, run, series});
  };
  for (const {run, name, series, drawn} of lines) {
    add(run, name, series);
    if (drawn !== series) add(run, `${name} smoothed ${state.smoothing}`, drawn);
  }
  for (const {run, lowName, low, highName, high} of bands) {
    add(run, lowName, low);
    add(run, highName, high);
  }
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
  const title = state.axis === "time" ? "seconds" : axisName();
  return [[title, ...columns.map(({name}) => name)], ...[...rows.values()].sort((a, b) => a[0] - b[0])];
}

/** The non-empty bins of a histogram in the visible epochs: their edges, and about which share of all elements they have. */
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

/** The tables of a card: one of its lines, and one of its histograms. */
function cardTables(plots) {
  const tables = plots.filter((plot) => plot instanceof LineChart && plot.graph).map(linesTable);
  const rows = plots.filter((plot) => plot instanceof HistogramPlot).flatMap(histogramRows);
  const heads = ["run", "histogram", "epoch", "from", "to", "share", "about elements"];
  return plots.some((plot) => plot instanceof HistogramPlot) ? [...tables, [heads, ...rows]] : tables;
}

/** Draws the words under `root` at their positions, one by one, so that lines break as on the page. */
function drawWords(context, root, origin) {
  const words = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const node = words.currentNode, parent = node.parentElement;
    if (parent.closest("button:not(.card-title), select, .visually-hidden, [hidden]") !== null) continue;
    const style = getComputedStyle(parent);
    context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    context.fillStyle = style.color;
    const rotated = parent.closest(".dygraph-label-rotate-right");
    for (const {index, 0: word} of node.data.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const box = range.getBoundingClientRect();
      if (box.width === 0) continue;
      context.save();
      context.translate(box.left - origin.left + box.width / 2, box.top - origin.top + box.height / 2);
      if (rotated) context.rotate(-Math.PI / 2);
      context.fillText(word, 0, 0);
      context.restore();
    }
  }
}

/** Draws the coloured signs of a legend. */
function drawSwatches(context, root, origin) {
  for (const swatch of root.querySelectorAll(".swatch")) {
    const box = swatch.getBoundingClientRect(), style = getComputedStyle(swatch);
    const [left, top] = [box.left - origin.left, box.top - origin.top];
    if (swatch.classList.contains("ramp-swatch")) {
      const ramp = context.createLinearGradient(left, 0, left + box.width, 0);
      SEQUENTIAL.forEach((colour, i) => ramp.addColorStop(i / (SEQUENTIAL.length - 1), colour));
      context.fillStyle = ramp;
    } else {
      context.fillStyle = style.color;
    }
    if (swatch.classList.contains("dashed"))
      for (let x = 0; x < box.width; x += 6) context.fillRect(left + x, top, Math.min(4, box.width - x), box.height);
    else context.fillRect(left, top, box.width, box.height);
  }
}

/** A picture of a card: its canvases, words and legend, without its buttons and the cursor. */
function pictureOf(card) {
  const origin = card.getBoundingClientRect(), density = Math.max(2, devicePixelRatio || 1);
  const canvas = element("canvas", {width: Math.round(origin.width * density), height: origin.height * density});
  const context = canvas.getContext("2d");
  context.scale(density, density);
  context.fillStyle = themeColour("panel");
  context.fillRect(0, 0, origin.width, origin.height);
  for (const painted of card.querySelectorAll("canvas")) {
    const box = painted.getBoundingClientRect();
    if (painted.width > 0 && painted.height > 0)
      context.drawImage(painted, box.left - origin.left, box.top - origin.top, box.width, box.height);
  }
  context.textAlign = "center";
  context.textBaseline = "middle";
  drawSwatches(context, card, origin);
  drawWords(context, card, origin);
  return new Promise((made, failed) => canvas.toBlob((blob) => (blob ? made(blob) : failed()), "image/png"));
}

/** Saves a file on the reader's disk; this needs no server. */
function saveFile(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", {href: address, download: name.replace(/[^\p{L}\p{N}._-]+/gu, "_")});
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** Copies to the clipboard. Returns false if the browser refuses that, as some do for pages opened from a disk. */
async function copied(write) {
  try {
    await write();
    return true;
  } catch {
    return false;
  }
}

async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = element("textarea", {});
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("refused");
}

const menuPopup = new Popup();

/** The menu of a card: a different axis, and what can be copied or saved. */
function cardMenu(card) {
  const layer = card.layerName === card.tag.name ? null : card.layerName;
  const name = [runs.map((run) => run.label).join("-"), card.tag.name, layer].filter(Boolean).join(" ");
  card.mount();
  const said = element("span", {role: "status", class: "muted"});
  const item = (text, act) => button({class: "menu-item", onclick: async () => {
    said.textContent = await act() === false ? "The browser does not allow it; save it instead." : "Done.";
  }}, text);
  const csv = () => cardTables(card.plots.map((slot) => slot.drawn)).map(csvText).join("\r\n");
  const copyPicture = () => navigator.clipboard.write([new ClipboardItem({"image/png": pictureOf(card.root)})]);
  const chart = card.plots.map((slot) => slot.drawn).find((plot) => plot instanceof LineChart && plot.graph);
  const other = chart && chart.scale === LINEAR ? "log" : "linear";
  const rescale = () => {
    menuPopup.close(true);
    setTagScale(card.tag, other);
  };
  const canRescale = chart && card.tag.type === NUMERICAL && !showsDifferences(card.tag);
  const axis = canRescale && button({class: "menu-item", onclick: rescale},
      other === "log" ? "Use a logarithmic axis" : "Use a linear axis");
  return element("div", {class: "card-menu", role: "group", "aria-label": `What to do with ${name}`}, axis || null,
      item("Save as PNG", async () => saveFile(`${name}.png`, await pictureOf(card.root))),
      item("Copy as PNG", () => copied(copyPicture)),
      item("Save the numbers as CSV", () => saveFile(`${name}.csv`, new Blob([csv()], {type: "text/csv"}))),
      item("Copy the numbers as CSV", () => copied(() => copyText(csv()))), said);
}

/** The button in a card's head that opens its menu. */
function menuButton(card) {
  const opener = button({
    class: "help take", title: "Its axis; save or copy this plot or its numbers", "aria-expanded": "false",
    "aria-label": `Axis of ${card.tag.name}: ${card.layerName}; save or copy it`,
    onclick: () => menuPopup.toggle(opener, () => cardMenu(card), (menu) => menu.querySelector("button")),
  }, "⤓");
  return opener;
}

// Plots are drawn when they come near the visible part and dropped when they leave it, so that thousands cost nothing.
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

  /** Reserves room of fixed height for each plot, so that nothing moves when it is drawn. */
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
    // Parts of a whole are stacked, so each run gets a separate plot.
    for (const shownRuns of tag.type === RELATION ? drawn.map((run) => [run]) : drawn.length > 0 ? [drawn] : [])
      slot((plot, legend) => new LineChart(plot, legend, tag, layerName, shownRuns, labelled));
    for (const [run, {histograms}] of layers) {
      for (const histogram of histograms) slot((plot, legend) => new HistogramPlot(plot, legend, run, histogram));
    }
    this.root.classList.toggle("many", this.plots.length > 1);
    if (this.plots.length === 0) this.body.append(element("p", {class: "muted"}, "Not in the shown runs."));
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

/** Replaces canvases by pictures, because canvases are empty when the page is laid out again for printing. */
function addPictures(root) {
  for (const canvas of root.querySelectorAll("canvas")) {
    if (canvas.width === 0 || canvas.height === 0) continue;
    const {left, top} = canvas.style, {offsetWidth: width, offsetHeight: height} = canvas;
    const style = `position:absolute;left:${left || 0};top:${top || 0};width:${width}px;height:${height}px`;
    canvas.after(element("img", {class: "printed", alt: "", src: canvas.toDataURL(), style}));
  }
}

/** Draws everything again for paper: as wide as a sheet, on white. */
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
  // Plots outside the visible part are dropped again.
  for (const {root} of cards) {
    nearWindow.unobserve(root);
    nearWindow.observe(root);
  }
}
addEventListener("beforeprint", drawForPaper);
addEventListener("afterprint", drawForScreen);
