const ROW_CHOICES = [["10", "10"], ["24", "24"], ["50", "50"], ["100", "100"], ["all", "all"]];

/**
 * The heat map of layer by epoch for a chosen tag, and beside it one epoch's values from layer to layer; a click or
 * Enter opens a layer.
 */
class Overview {
  /** @param openLayer called with a layer's name */
  constructor(openLayer) {
    this.openLayer = openLayer;
    this.tag = null;
    this.rowLimit = state.heatRows;
    this.run = runs[state.heatRun];
    this.cell = null;
    this.tagButtons = new Map();
    this.controls = element("div", {class: "controls"});
    this.explained = element("span", {});
    this.caption = element("p", {class: "muted caption"});
    this.bar = element("div", {});
    this.canvas = element("canvas", {
      class: "heat",
      tabindex: "0",
      role: "img",
      id: "heat-map",
      onpointermove: (event) => this.point(event),
      onpointerleave: () => this.leave(),
      onclick: (event) => this.click(event),
      onkeydown: (event) => this.key(event),
      onblur: () => this.leave(),
    });
    this.table = element("div", {class: "visually-hidden"});
    this.box = element("div", {class: "heat-box"}, this.canvas, this.table);
    const buttons = element(
        "div", {class: "chips", role: "group", "aria-label": "Tag"}, this.tags().map((tag) => this.tagButton(tag)));
    this.root = element(
        "section", {id: "overview", "aria-labelledby": "overview-title"},
        element("h2", {id: "overview-title"}, "Overview", this.explained),
        element("div", {class: "panel"}, buttons, this.controls, this.caption, this.box, this.bar));
    if (this.tags().length === 0) return;
    this.follow();
    on("overview", () => this.follow());
    new ResizeObserver(() => this.draw()).observe(this.box);
    for (const change of ["zoom", "scale", "search", "order", "theme"]) on(change, () => this.refresh());
    on("order", () => this.fillControls());
  }

  /** Tags with numbers: histograms have a map of their own. */
  tags() { return mappedTags(); }

  tagButton(tag) {
    const button = element("button", {type: "button", class: "chip", onclick: () => this.chooseTag(tag)}, tag.name);
    this.tagButtons.set(tag, button);
    return button;
  }

  chooseTag(tag) { setState("overview", {tagName: tag.name, lineName: null}); }

  /** Shows what the state says, as the reader or an address chose it. */
  follow() {
    const tag = this.tag = this.tags().find(({name}) => name === state.tagName) || this.tags()[0];
    const lines = lineNames(tag.name);
    this.line = lines.includes(state.lineName) ? state.lineName : tellingLine(lines);
    this.run = runs[state.heatRun];
    this.rowLimit = state.heatRows;
    Object.assign(state, {tagName: tag.name, lineName: this.line});
    for (const [other, button] of this.tagButtons) button.setAttribute("aria-pressed", String(other === tag));
    this.fillControls();
    this.refresh();
  }

  fillControls() {
    const names = lineNames(this.tag.name);
    const focused = [...this.controls.querySelectorAll("select")].indexOf(document.activeElement);
    this.explained.replaceChildren(...[helpButton(this.tag)].filter(Boolean));
    this.controls.replaceChildren(
        ...[names.length > 1 ?
                selector("Value", names.map((name) => [name, name]), this.line, (lineName) => this.choose({lineName})) :
                null,
            runs.length > 1 ? selector(
                                  "Run", runs.map((run) => [String(run.index), run.label]), String(this.run.index),
                                  (index) => this.choose({heatRun: Number(index)})) :
                              null,
            selector("Order", ORDERS, this.order(), (order) => this.reorder(order)),
            selector("Layers", ROW_CHOICES, this.shownRows(), (heatRows) => this.choose({heatRows})),
    ].filter((control) => control !== null));
    if (focused >= 0) this.controls.querySelectorAll("select")[focused].focus();
  }

  order() { return orderOf(this.tag, this.line); }

  /** The worst are few; a model is seen as a whole. */
  shownRows() { return this.rowLimit || (this.order() === "model" ? "all" : "24"); }

  reorder(order) { setState("order", {order}); }

  choose(values) { setState("overview", values); }

  refresh() {
    this.cell = null;
    const layers = [...this.run.layers(this.tag.name).keys()];
    this.columns = shownColumns(this.run.epochs);
    const told = layers
                     .map((name) => ({
                            name,
                            kind: kindOf(this.run, name),
                            series: this.run.line(this.tag.name, name, this.line),
                            ...severitiesOf(this.run, name, this.tag),
                          }))
                     .filter(({series}) => series !== null);
    this.scale = new ColourScale(this.samples(told), this.tag);
    const order = this.order(), limit = this.shownRows();
    const sorted = ranked(told.filter(({name}) => isFound(name)), this.columns, this.tag, this.line, order);
    this.labelWidths = null;
    this.rows = limit === "all" ? sorted : sorted.slice(0, Number(limit));
    const called = ORDERS.find(([each]) => each === order)[1].toLowerCase();
    const which = order === "worst" ? worstMeans(this.tag, this.line) : called;
    this.caption.textContent =
        `${this.rows.length} of ${plural(told.length, "layer")} · ${which} · click a row for the layer's plots`;
    this.canvas.setAttribute(
        "aria-label",
        `Heat map of ${this.tag.name}, ${this.rows.length} layers by ` +
            `${plural(this.columns.length, "epoch")}, ${called}. Arrow keys move, Enter opens the layer.`);
    const broken = told.some(({series}) => this.columns.some((i) => series.isBroken(i)));
    const missing = this.rows.some(({series}) => this.columns.some((i) => series.isMissing(i)));
    const severities = [ERROR, WARNING].filter((severity) => this.rows.some((row) => row.severity === severity));
    this.table.replaceChildren(heatTable(this));
    this.bar.replaceChildren(colourBar(this.scale, {broken, missing, severities}));
    this.draw();
  }

  /** Enough finite numbers of all layers to place the colours by; the rarest extremes do not matter. */
  samples(told) {
    const step = Math.max(1, Math.floor((told.length * this.columns.length) / 60000));
    const found = [];
    let at = 0;
    for (const {series} of told) {
      for (; at < this.columns.length; at += step) {
        const value = series.values[this.columns[at]];
        if (Number.isFinite(value)) found.push(value);
      }
      at -= this.columns.length;
    }
    return found;
  }

  draw() {
    const width = this.box.clientWidth;
    if (width === 0) return;
    const count = this.rows.length;
    const rowHeight = this.rowHeight =
        Math.min(count > 12 ? 18 : 26, Math.max(2, Math.floor(620 / Math.max(count, 1))));
    const context = sizedContext(this.canvas, width, Math.max(count * rowHeight, 24) + 26);
    const {names, kinds} = this.labelWidths = this.labelWidths || this.measuredLabels(context);
    // A name that is cut off says less than a type beside it tells.
    this.kinds = names + kinds <= width * 0.36 ? Math.ceil(kinds) : 0;
    const labels = Math.ceil(Math.min(names, Math.max(100, width * 0.32))) + this.kinds;
    const profile = width < 560 ? 0 : Math.min(140, Math.round(width * 0.14));
    this.area = {x: labels, y: 2, width: width - labels - profile - 2, height: count * rowHeight};
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
    drawEpochAxis(
        context, {...this.area, y: this.area.y + this.area.height}, this.columns.map((i) => this.run.epochs[i]));
    if (this.cell !== null) this.mark(context);
  }

  /** Measured once for the rows on show, as pointing at them draws them again and again. */
  measuredLabels(context) {
    const widest = (texts) => Math.max(0, ...texts.map((text) => context.measureText(text).width));
    return {
      names: Math.max(40, widest(this.rows.map(({name}) => name))) + 14,
      kinds: widest(this.rows.map(({kind}) => kind)) + 12
    };
  }

  paint(context) {
    const {scale, columns} = this;
    const broken = packColour(rgb(themeColour("alarm")));
    const missing = packColour(rgb(themeColour("missing")));
    // With more epochs than pixels, a pixel shows the one of its epochs that stands out.
    const pixels = Math.min(columns.length, Math.round(this.area.width * (devicePixelRatio || 1)));
    const standsOut = scale.diverging ? Math.abs : (value) => value;
    paintMatrix(context, this.area, pixels, this.rows.length, (pixel, row) => {
      const {series} = this.rows[row];
      const end = Math.floor(((pixel + 1) * columns.length) / pixels);
      let shown = null;
      for (let at = Math.floor((pixel * columns.length) / pixels); at < end; ++at) {
        const value = series.at(columns[at]);
        if (value === null) continue;
        if (!Number.isFinite(value)) return broken;
        if (shown === null || standsOut(value) > standsOut(shown)) shown = value;
      }
      return shown === null ? missing : scale.colour(shown);
    });
  }

  label(context, width) {
    context.textAlign = "right";
    const every = Math.ceil(12 / this.rowHeight);
    this.rows.forEach(({name, kind}, row) => {
      if (row % every !== 0) return;
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
      const finite = Number.isFinite(value);
      const end = finite ? x + scale.place(value) * width : x + width;
      context.fillStyle = finite ? withAlpha(lineColour(0), 0.75) : themeColour("alarm");
      const left = Math.min(zero, end);
      context.fillRect(
          left, y + row * this.rowHeight, Math.max(Math.abs(end - zero), 1), Math.max(this.rowHeight - 1, 1));
    });
    context.fillStyle = themeColour("muted");
    context.textAlign = "center";
    context.fillText(`epoch ${formatEpoch(this.run.epochs[column])}`, x + width / 2, y + height + 13);
  }

  /** Two strokes of different lightness, so that the mark is seen on every colour. */
  mark(context) {
    const {x, y, width} = this.area;
    const column = width / this.columns.length;
    const top = y + this.cell.row * this.rowHeight;
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
    const {name, kind, series} = this.rows[this.cell.row];
    const column = this.columns[this.cell.column];
    const value = series.at(column);
    const standing = standingFindings(this.run, name);
    showTooltip(x, y, [
      kind === "" ? name : `${name} · ${kind}`, `epoch ${formatEpoch(this.run.epochs[column])}`,
      `${this.line}: ${value === null ? "no value" : formatNumber(value)}`,
      ...standing.slice(0, 2).map((finding) => `${severityName(finding)}: ${finding.message}`)
    ]);
    announce("cursor", this.run.epochs[column]);
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
    this.cell = this.cell ? {
      row: within(this.cell.row + down, this.rows.length),
      column: within(this.cell.column + right, this.columns.length)
    } :
                            {row: 0, column: this.columns.length - 1};
    this.draw();
    const box = this.canvas.getBoundingClientRect();
    const column = this.area.width / this.columns.length;
    this.tell(
        box.left + this.area.x + (this.cell.column + 0.5) * column,
        box.top + this.area.y + (this.cell.row + 1) * this.rowHeight);
  }
}
