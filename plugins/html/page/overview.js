import {button, element, fill, formatEpoch, formatNumber, plural, section, selector} from "./text.js";
import {helpButton, hideTooltip, showTooltip} from "./popup.js";
import {kindOf, lineNames, mappedTags, runs, TICK} from "./data.js";
import {announce, isFound, on, setState, state} from "./state.js";
import {ERROR, SEVERITIES, severitiesOf, severityName, standingFindings, WARNING, worstInHeatMap} from "./findings.js";
import {firstTagName, usualLine} from "./opening.js";
import {lineColour, packColour, rgb, themeColour, withAlpha} from "./colours.js";
import {orderOf, ORDERS, ranked, worstMeans} from "./ranking.js";
import {colourBar, ColourScale, drawEpochAxis, heatTable, paintMatrix, shownColumns, sizedContext} from "./heat_map.js";

export const ROW_CHOICES = [["10", "10"], ["24", "24"], ["50", "50"], ["100", "100"], ["all", "all"]];

// As many numbers tell where the colours end; to sort more takes longer than to draw them.
const SAMPLES = 12000;

/** The heat map of layer by epoch for a chosen tag, and beside it one epoch's values from layer to layer. */
export class Overview {
  /** @param openLayer called with the name of the layer that a click or Enter opens, and the names on show */
  constructor(openLayer) {
    Object.assign(this, {openLayer, tag: null, cell: null});
    this.controls = element("div", {class: "controls"});
    this.explained = element("span", {});
    this.caption = element("p", {class: "muted caption"});
    this.bar = element("div", {});
    this.canvas = element("canvas", {
      class: "heat", tabindex: "0", role: "img", id: "heat-map",
      onpointermove: (event) => this.point(event), onpointerleave: () => this.leave(),
      onclick: (event) => this.click(event), onkeydown: (event) => this.key(event), onblur: () => this.leave(),
    });
    this.table = element("div", {class: "visually-hidden"});
    this.box = element("div", {class: "heat-box"}, this.canvas, this.table);
    const choose = ({name}) => setState("overview", {tagName: name, lineName: null});
    this.tagButtons =
      new Map(mappedTags.map((tag) => [tag, button({class: "chip", onclick: () => choose(tag)}, tag.name)]));
    const chips = element("div", {class: "chips", role: "group", "aria-label": "Tag"}, [...this.tagButtons.values()]);
    this.root = section("overview", ["Overview", this.explained], null,
        element("div", {class: "panel"}, chips, this.controls, this.caption, this.box, this.bar));
    if (mappedTags.length === 0) return;
    this.follow();
    on("overview", () => this.follow());
    new ResizeObserver(() => this.draw()).observe(this.box);
    for (const change of ["zoom", "scale", "search", "order", "theme"]) on(change, () => this.refresh());
    on("order", () => this.fillControls());
  }

  /** Shows what the state says, as the reader or an address chose it. */
  follow() {
    const wanted = state.tagName ?? firstTagName(runs[state.heatRun]);
    const tag = this.tag = mappedTags.find(({name}) => name === wanted) || mappedTags[0];
    const lines = lineNames(tag.name);
    this.run = runs[state.heatRun];
    this.line = lines.includes(state.lineName) ? state.lineName : usualLine(this.run, tag.name);
    Object.assign(state, {tagName: tag.name, lineName: this.line});
    for (const [other, chip] of this.tagButtons) chip.setAttribute("aria-pressed", String(other === tag));
    this.fillControls();
    this.refresh();
  }

  fillControls() {
    const names = lineNames(this.tag.name), choose = (values) => setState("overview", values);
    const focused = [...this.controls.querySelectorAll("select")].indexOf(document.activeElement);
    fill(this.explained, helpButton(this.tag));
    fill(this.controls,
        names.length < 2 ? null :
          selector("Value", names.map((name) => [name, name]), this.line, (lineName) => choose({lineName})),
        runs.length < 2 ? null : selector("Run", runs.map((run) => [String(run.index), run.label]),
            String(this.run.index), (index) => choose({heatRun: Number(index)})),
        selector("Order", ORDERS, this.order(), (order) => setState("order", {order})),
        selector("Layers", ROW_CHOICES, this.shownRows(), (heatRows) => choose({heatRows})));
    if (focused >= 0) this.controls.querySelectorAll("select")[focused].focus();
  }

  /** What shows a finding is seen in the order of the layers. */
  order() {
    const worst = worstInHeatMap(this.run);
    return state.order === null && worst !== undefined && worst.tag === this.tag.name ? "model" :
      orderOf(this.tag, this.line);
  }

  /** The worst are few; a model is seen as a whole. */
  shownRows() { return state.heatRows || (this.order() === "model" ? "all" : "24"); }

  refresh() {
    const {run, tag, line} = this, order = this.order(), limit = this.shownRows();
    this.cell = this.labelWidths = null;
    this.columns = shownColumns(run.epochs);
    const told = [...run.layers(tag.name).keys()].map((name) => (
      {name, kind: kindOf(run, name), series: run.line(tag.name, name, line), ...severitiesOf(run, name, tag)}
    )).filter(({series}) => series !== null);
    this.seriesOf = new Map(told.map(({name, series}) => [name, series]));
    this.scale = new ColourScale(this.samples(told), tag);
    const sorted = ranked(told.filter(({name}) => isFound(name)), this.columns, tag, line, order);
    this.rows = limit === "all" ? sorted : sorted.slice(0, Number(limit));
    const called = ORDERS.find(([each]) => each === order)[1].toLowerCase();
    const which = order === "worst" ? worstMeans(tag, line) : called, count = this.rows.length;
    this.caption.textContent =
      `${count} of ${plural(told.length, "layer")} · ${which} · click a row for the layer's plots`;
    this.canvas.setAttribute("aria-label", `Heat map of ${tag.name}, ${count} layers by ` +
      `${plural(this.columns.length, TICK)}, ${called}. Arrow keys move, Enter opens the layer.`);
    const broken = told.some(({series}) => this.columns.some((i) => series.isBroken(i)));
    const missing = this.rows.some(({series}) => this.columns.some((i) => series.isMissing(i)));
    const severities = [ERROR, WARNING].filter((severity) => this.rows.some((row) => row.severity === severity));
    fill(this.table, heatTable(this));
    fill(this.bar, colourBar(this.scale, {broken, missing, severities}));
    this.draw();
    announce("heat", this);
  }

  /** Enough finite numbers of all layers to place the colours by; the rarest extremes do not matter. */
  samples(told) {
    const count = this.columns.length, step = Math.max(1, Math.floor((told.length * count) / SAMPLES)), found = [];
    for (let at = 0; at < told.length * count; at += step) {
      const value = told[Math.floor(at / count)].series.values[this.columns[at % count]];
      if (Number.isFinite(value)) found.push(value);
    }
    return found;
  }

  draw() {
    const width = this.box.clientWidth;
    if (width === 0) return;
    const count = this.rows.length;
    this.rowHeight = Math.min(count > 12 ? 18 : 26, Math.max(2, Math.floor(620 / Math.max(count, 1))));
    const context = sizedContext(this.canvas, width, Math.max(count * this.rowHeight, 24) + 26);
    const {names, kinds} = this.labelWidths ||= this.measuredLabels(context);
    // A name that is cut off says less than a type beside it tells.
    this.kinds = names + kinds <= width * 0.36 ? Math.ceil(kinds) : 0;
    const labels = Math.ceil(Math.min(names, Math.max(100, width * 0.32))) + this.kinds;
    const profile = width < 560 ? 0 : Math.min(140, Math.round(width * 0.14));
    this.area = {x: labels, y: 2, width: width - labels - profile - 2, height: count * this.rowHeight};
    this.profile = {x: width - profile + 10, width: profile - 12};
    if (count === 0) {
      context.fillStyle = themeColour("muted");
      context.fillText("No layer is called so.", 4, 14);
      return;
    }
    this.paint(context);
    this.label(context, labels);
    this.markFindings(context);
    if (profile > 0) this.drawProfile(context);
    const below = {...this.area, y: this.area.y + this.area.height};
    drawEpochAxis(context, below, this.columns.map((i) => this.run.epochs[i]));
    if (this.cell !== null) this.mark(context);
  }

  /** Measured once for the rows on show, as pointing at them draws them again and again. */
  measuredLabels(context) {
    const widest = (texts) => Math.max(0, ...texts.map((text) => context.measureText(text).width));
    const names = Math.max(40, widest(this.rows.map(({name}) => name))) + 14;
    return {names, kinds: widest(this.rows.map(({kind}) => kind)) + 12};
  }

  paint(context) {
    const {scale, columns} = this;
    const [broken, missing] = ["alarm", "missing"].map((name) => packColour(rgb(themeColour(name))));
    // With more epochs than pixels, a pixel shows the one of its epochs that stands out.
    const pixels = Math.min(columns.length, Math.round(this.area.width * (devicePixelRatio || 1)));
    const standsOut = scale.diverging ? Math.abs : (value) => value;
    const ends = Uint32Array.from({length: pixels + 1}, (_, pixel) => Math.floor((pixel * columns.length) / pixels));
    paintMatrix(context, this.area, pixels, this.rows.length, (pixel, row) => {
      const {series} = this.rows[row], {values} = series;
      let shown = NaN;
      for (let at = ends[pixel]; at < ends[pixel + 1]; ++at) {
        const value = values[columns[at]];
        if (!Number.isFinite(value)) {
          if (!series.isMissing(columns[at])) return broken;
        } else if (!(standsOut(value) <= standsOut(shown))) {
          shown = value;
        }
      }
      return Number.isNaN(shown) ? missing : scale.colour(shown);
    });
  }

  label(context, width) {
    context.textAlign = "right";
    const every = Math.ceil(12 / this.rowHeight);
    this.rows.forEach(({name, kind}, row) => {
      // Those left at the end have no room of their own.
      if (row % every !== 0 || (row > 0 && this.rows.length - row < every)) return;
      const middle = this.area.y + (row + 0.5 * Math.min(every, this.rows.length - row)) * this.rowHeight;
      context.fillStyle = themeColour(name === state.selectedLayer ? "accent" : "text");
      context.fillText(fitText(context, name, width - this.kinds - 10), width - this.kinds - 7, middle);
      if (this.kinds === 0) return;
      context.fillStyle = themeColour("muted");
      context.fillText(kind, width - 7, middle);
    });
  }

  /** A strip beside the layers of which a finding stands, in the colour of the worst. */
  markFindings(context) {
    this.rows.forEach(({severity}, row) => {
      if (severity === 0) return;
      context.fillStyle = themeColour(SEVERITIES[severity]);
      context.fillRect(this.area.x - 5, this.area.y + row * this.rowHeight, 4, Math.max(this.rowHeight - 1, 2));
    });
  }

  /** The values of the epoch pointed at, else of the last one, as bars on the scale of the colours. */
  drawProfile(context) {
    const {x, width} = this.profile, {y, height} = this.area, {scale} = this;
    const column = this.columns[this.cell ? this.cell.column : this.columns.length - 1];
    if (column === undefined) return;
    const zero = scale.diverging ? x + width / 2 : x;
    context.fillStyle = themeColour("missing");
    context.fillRect(zero, y, 1, height);
    this.rows.forEach(({series}, row) => {
      const value = series.at(column);
      if (value === null) return;
      const finite = Number.isFinite(value), end = finite ? x + scale.place(value) * width : x + width;
      context.fillStyle = finite ? withAlpha(lineColour(0), 0.75) : themeColour("alarm");
      context.fillRect(Math.min(zero, end), y + row * this.rowHeight, Math.max(Math.abs(end - zero), 1),
          Math.max(this.rowHeight - 1, 1));
    });
    context.fillStyle = themeColour("muted");
    context.textAlign = "center";
    context.fillText(`${TICK} ${formatEpoch(this.run.epochs[column])}`, x + width / 2, y + height + 13);
  }

  /** Two strokes of different lightness, so that the mark is seen on every colour. */
  mark(context) {
    const {x, y, width} = this.area, column = width / this.columns.length, top = y + this.cell.row * this.rowHeight;
    for (const [name, thickness] of [["panel", 4], ["text", 1.5]]) {
      context.lineWidth = thickness;
      context.strokeStyle = themeColour(name);
      context.strokeRect(x, top, width, this.rowHeight);
      context.strokeRect(x + this.cell.column * column - 1, top, Math.max(column, 2) + 2, this.rowHeight);
    }
  }

  cellAt(event) {
    if (!this.area || this.rows.length === 0) return null;
    const row = Math.floor((event.offsetY - this.area.y) / this.rowHeight);
    const share = (event.offsetX - this.area.x) / this.area.width;
    if (row < 0 || row >= this.rows.length) return null;
    return {row, column: Math.min(this.columns.length - 1, Math.max(0, Math.floor(share * this.columns.length)))};
  }

  point(event) {
    this.cell = this.cellAt(event);
    this.canvas.style.cursor = this.cell ? "pointer" : "default";
    this.draw();
    if (this.cell === null) return this.leave();
    this.tell(event.clientX, event.clientY);
  }

  tell(x, y) {
    const {name, kind, series} = this.rows[this.cell.row], column = this.columns[this.cell.column];
    const value = series.at(column), epoch = this.run.epochs[column];
    showTooltip(x, y, [
      kind === "" ? name : `${name} · ${kind}`, `${TICK} ${formatEpoch(epoch)}`,
      `${this.line}: ${value === null ? "no value" : formatNumber(value)}`,
      ...standingFindings(this.run, name).slice(0, 2).map((finding) => `${severityName(finding)}: ${finding.message}`),
    ]);
    announce("cursor", epoch);
  }

  leave() {
    if (this.cell !== null) {
      this.cell = null;
      this.draw();
    }
    hideTooltip();
    announce("cursor", null);
  }

  click(event) {
    const cell = this.cellAt(event);
    if (cell !== null) this.open(cell.row);
  }

  open(row) {
    hideTooltip();
    this.openLayer(this.rows[row].name, this.rows.map(({name}) => name));
    this.draw();
  }

  key(event) {
    const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    if (this.rows.length === 0) return;
    if (event.key === "Enter" && this.cell) return this.open(this.cell.row);
    if (event.key === "Escape") return this.leave();
    if (!(event.key in moves)) return;
    event.preventDefault();
    const [down, right] = moves[event.key];
    const within = (value, end) => Math.min(end - 1, Math.max(0, value));
    const {row, column} = this.cell || {row: -down, column: this.columns.length - 1 - right};
    this.cell = {row: within(row + down, this.rows.length), column: within(column + right, this.columns.length)};
    this.draw();
    const box = this.canvas.getBoundingClientRect();
    this.tell(box.left + this.area.x + ((this.cell.column + 0.5) * this.area.width) / this.columns.length,
        box.top + this.area.y + (this.cell.row + 1) * this.rowHeight);
  }
}

/** `text` cut at its front to fit `width` pixels: the end of a layer's name tells more than its beginning. */
function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText("…" + text.slice(text.length - middle)).width <= width) low = middle;
    else high = middle - 1;
  }
  return "…" + text.slice(text.length - low);
}
