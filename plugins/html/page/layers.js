import {breakable, button, element, fill, formatEpoch, formatNumber, plural, section} from "./text.js";
import {helpButton} from "./popup.js";
import {addTo, kindOf, layerNames, layerTags, lineNames, runs, Series, shapeOf, showsLayer, silenceInWords,
  TICK} from "./data.js";
import {culpritOf, ERROR, severitiesOf, severityName, standingFindings, wasJudged} from "./findings.js";
import {announce, isFound, on, setState, state, visibleRuns} from "./state.js";
import {cssColour, packColour, rgb, themeColour} from "./colours.js";
import {orderOf, ranked, shownColumns, tellingLine} from "./heat_map.js";
import {Card, goToCard} from "./cards.js";

const CARDS_AT_ONCE = 24;

/** Small plots of all layers, folded by tag; layers that do not match the search are left out. */
export class Layers {
  constructor(openLayer) {
    this.groups = layerTags.map((tag) => new LayerGroup(tag, openLayer));
    const fold = (text, open) => button({onclick: () => this.groups.forEach(({root}) => root.open = open)}, text);
    const buttons = element("div", {class: "buttons"}, fold("Unfold all", true), fold("Fold all", false));
    this.root = section("layers", "Layers", buttons, this.groups.map(({box}) => box));
    for (const change of ["search", "order"]) on(change, () => this.groups.forEach((group) => group.refresh()));
  }

  /** Unfolds the plots of a tag and scrolls to them. */
  open(tagName) {
    const {root} = this.groups.find(({tag}) => tag.name === tagName);
    root.open = true;
    root.scrollIntoView({block: "start"});
    root.querySelector("summary").focus({preventScroll: true});
  }
}

class LayerGroup {
  constructor(tag, openLayer) {
    Object.assign(this, {tag, openLayer, cards: []});
    this.count = element("span", {class: "muted"});
    this.grid = element("div", {class: "grid small"});
    this.more = element("div", {class: "more"});
    const open = state.openTags.includes(tag.name);
    this.root = element("details", {class: "group", open, "data-tag": tag.name, ontoggle: () => this.toggled()},
        element("summary", {}, element("h3", {}, tag.name), this.count), this.grid, this.more);
    // The help button stands beside the heading: screen readers do not find a button within a button.
    this.box = element("div", {class: "group-box"}, this.root, helpButton(tag));
    this.refresh();
  }

  toggled() {
    const others = state.openTags.filter((name) => name !== this.tag.name);
    state.openTags = this.root.open ? [...others, this.tag.name] : others;
    this.refresh();
  }

  refresh() {
    this.cards.forEach((card) => card.remove());
    this.cards = [];
    const all = layerNames(this.tag.name), found = all.filter(isFound), total = plural(all.length, "layer");
    this.count.textContent = found.length === all.length ? total : `${found.length} of ${total}`;
    this.more.replaceChildren();
    if (!this.root.open) return;
    this.names = this.ordered(found);
    this.show(CARDS_AT_ONCE);
    if (found.length === 0) this.more.append(element("p", {class: "muted"}, "No layer matches the search."));
  }

  ordered(names) {
    const run = visibleRuns()[0] || runs[0], lines = lineNames(this.tag.name), line = tellingLine(lines);
    const order = orderOf(this.tag, line);
    if (lines.length === 0 || order === "model") return names;
    const seriesOf = (name) => run.line(this.tag.name, name, line) || new Series("", run.epochs.length);
    const rows = names.map((name) => ({name, series: seriesOf(name), ...severitiesOf(run, name, this.tag)}));
    return ranked(rows, shownColumns(run.epochs), this.tag, line, order).map(({name}) => name);
  }

  show(count) {
    const fresh = this.names.slice(this.cards.length, this.cards.length + count)
        .map((name) => new Card(this.tag, name, name, {onTitle: () => this.openLayer(name, this.names)}));
    this.cards.push(...fresh);
    this.grid.append(...fresh.map(({root}) => root));
    const left = this.names.length - this.cards.length;
    const shows = (text, shown) => button({onclick: () => this.show(shown)}, text);
    fill(this.more, left > 0 ? shows(`Show ${Math.min(left, CARDS_AT_ONCE)} more`, CARDS_AT_ONCE) : null,
        left > CARDS_AT_ONCE ? shows(`Show all ${this.names.length}`, left) : null);
  }
}

/** All plots of one layer, with buttons for its neighbours in the order of the overview. */
export class Detail {
  constructor() {
    Object.assign(this, {cards: [], order: []});
    this.grid = element("div", {class: "grid medium"});
    const step = (text, label, by) =>
      button({title: label, "aria-label": label, onclick: () => this.step(by)}, text);
    this.root = section("layer", "", element("div", {class: "buttons"}, step("↑", "Layer above in the overview", -1),
        step("↓", "Layer below in the overview", 1), button({onclick: () => this.open(null, this.order)}, "Close")),
    this.grid);
    this.root.hidden = true;
    this.title = this.root.querySelector("h2");
    this.title.tabIndex = -1;
    on("layer", () => this.follow());
  }

  /** @param order names of the visible layers, to step through  @param tagName of the plot to scroll to */
  open(name, order, tagName = null) {
    this.order = order;
    setState("layer", {selectedLayer: name, plotName: tagName});
  }

  /** Shows the layer that the reader or an address has chosen. */
  follow() {
    const {selectedLayer: name, plotName: tagName} = state;
    const shown = name === null ? [] : layerTags.filter((tag) => showsLayer(tag, name));
    this.cards.forEach((card) => card.remove());
    this.root.hidden = shown.length === 0;
    if (shown.length === 0) Object.assign(state, {selectedLayer: null, plotName: null});
    this.cards = shown.map((tag) => new Card(tag, name, tag.name, {size: "medium"}));
    announce("selected");
    if (shown.length === 0) return;
    const kinds = [...new Set(visibleRuns().map((run) => kindOf(run, name)).filter(Boolean))];
    const kind = kinds.length > 0 ? [" ", element("span", {class: "muted kind"}, kinds.join(" / "))] : [];
    fill(this.title, breakable(name), kind);
    fill(this.grid, this.cards.map(({root}) => root));
    const card = this.cards.find(({tag}) => tag.name === tagName);
    if (card) return goToCard(card.root);
    this.title.focus({preventScroll: true});
    this.root.scrollIntoView({block: "start"});
  }

  step(by) {
    if (this.order.length === 0) this.order = [...new Set(layerTags.flatMap((tag) => layerNames(tag.name)))];
    const at = this.order.indexOf(state.selectedLayer);
    this.open(this.order[(at + by + this.order.length) % this.order.length], this.order);
  }
}

// If there are more layers than this, they are small squares without words.
const LAYERS_WITH_NAMES = 64;
const MOST_PICTURES = 12;

/**
 * The known health of a layer: {level, words}; "unknown" if nothing searched for findings.
 * @param since the epoch since which one of its numbers is not finite, if any
 */
function healthOf(run, name, since) {
  const standing = standingFindings(run, name);
  const words = standing.map((finding) => `${severityName(finding)}: ${finding.message}`);
  if (since !== undefined) words.push(`NaN or ∞ since ${TICK} ${formatEpoch(since)}`);
  if (since !== undefined || (standing.length > 0 && standing[0].severity === ERROR)) return {level: "error", words};
  if (standing.length > 0) return {level: "warning", words};
  return wasJudged(run) ? {level: "calm", words: ["no warnings"]} : {level: "unknown", words};
}

/** The layers of a run that have their own plots. */
function plottedLayers(run) { return new Set(run.tags.filter(({big}) => !big).flatMap(({layers}) => layers)); }

/** The modules of a run, each followed by its functions ("fc1:relu") that have plots or findings. */
function modulesAndFunctions(run) {
  const functions = new Map();
  for (const name of new Set([...plottedLayers(run), ...run.findings.map(({layer}) => run.shownAs(layer || ""))])) {
    if (!name.includes(":") || run.modules.has(name)) continue;
    addTo(functions, name.slice(0, name.lastIndexOf(":")), {name, type: "function", leaf: true, parameters: 0});
  }
  return [...run.modules.values()].flatMap((module) => [module, ...(functions.get(module.name) || [])]);
}

/** The path of the containers around a layer, and the layer's name in the innermost one. */
function partsOf(name) {
  const dot = name.lastIndexOf(".");
  return [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
}

/**
 * The layers of a run in the model's order, in the colours of their health; a click opens a layer's plots. The arrow keys
 * move between layers, so that the Tab key leaves the whole picture.
 */
class ModelPicture {
  constructor(run, broken, openLayer) {
    Object.assign(this, {run, openLayer});
    const standing = broken.filter(([, , , of, last]) => of === run && last === undefined);
    const since = new Map(standing), plotted = plottedLayers(run);
    // A container counts as a layer only if it has its own parameters or something is wrong with it.
    this.layers = modulesAndFunctions(run).map((module) => {
      const {name} = module;
      return {...module, health: healthOf(run, name, since.get(name)), hasPlots: plotted.has(name)};
    }).filter(({leaf, parameters, health}) => leaf || parameters > 0 || ["error", "warning"].includes(health.level));
    this.isSmall = this.layers.length > LAYERS_WITH_NAMES;
    this.culprit = this.layers.map(({name}) => name).find((name) => name === culpritOf(run));
    this.blame = run.incident ? "the module blamed" : "the layer of the worst finding";
    this.filling = element("p", {class: "muted"});
    this.buttons = this.layers.map((layer, i) => this.button(layer, i));
    const group = {class: "groups", role: "group", "aria-label": "Layers in the order of the model"};
    this.root = element("div", {class: `picture${this.isSmall ? " small" : ""}`, onkeydown: (event) => this.key(event)},
        runs.length > 1 ? element("h3", {}, run.label) : null, element("p", {class: "muted"}, this.summary()),
        element("div", group, this.groups()), this.filling);
    this.makeReachable(0);
    for (const change of ["search", "selected"]) on(change, () => this.mark());
    on("heat", (heatMap) => this.fill(heatMap));
    this.mark();
  }

  button({name, type, health, hasPlots}, i) {
    const kind = kindOf(this.run, name);
    const isCulprit = name === this.culprit;
    const told = [name, kind, isCulprit ? this.blame : null, ...health.words, hasPlots ? null : "no plots of this layer"]
        .filter(Boolean);
    this.layers[i].told = told;
    const words = this.isSmall ? [] : [
      element("span", {class: "layer-name"}, breakable(partsOf(name)[1] || name)),
      element("span", {class: "layer-type"}, type),
      element("span", {class: "layer-shape"}, shapeOf(this.layers[i]) || " "),
    ];
    return button({
      class: `layer${isCulprit ? " culprit" : ""}`, tabindex: "-1",
      title: told.join("\n"), "aria-label": told.join(", "),
      "aria-disabled": hasPlots ? null : "true", "data-health": health.level, "data-layer": name,
      onclick: () => this.open(i), onfocus: () => this.makeReachable(i),
    }, ...words);
  }

  /** Fills each layer with the heat map's colour of its last visible value. */
  fill({tag, line, scale, run: mapped, seriesOf}) {
    const {run} = this, own = (name) => (run === mapped ? seriesOf.get(name) ?? null : run.line(tag.name, name, line));
    const columns = shownColumns(run.epochs), broken = packColour(rgb(themeColour("alarm")));
    this.layers.forEach(({name, told}, i) => {
      const tile = this.buttons[i], series = own(name);
      const column = series === null ? undefined : columns.findLast((each) => !series.isMissing(each));
      const value = column === undefined ? null : series.at(column);
      const [colour, ink] = value === null ? [] : cssColour(Number.isFinite(value) ? scale.colour(value) : broken);
      tile.classList.add("heated");
      tile.style.background = colour ?? "";
      if (value === null) delete tile.dataset.ink;
      else tile.dataset.ink = ink;
      const shown = value === null ? [] :
        [`${tag.name}, ${line}: ${formatNumber(value)} in ${TICK} ${formatEpoch(run.epochs[column])}`];
      tile.title = [...told, ...shown].join("\n");
      tile.setAttribute("aria-label", [...told, ...shown].join(", "));
    });
    const silence = silenceInWords(run, tag, this.layers.map(({name}) => own(name)).filter((series) => series !== null));
    const last = silence !== "" ? ` ${silence}` :
      columns.length === 0 ? "" : ` ${TICK} ${formatEpoch(run.epochs[columns[columns.length - 1]])}`;
    const ring = this.culprit === undefined ? "" : ` Outlined: ${this.culprit}, ${this.blame}.`;
    const range = scale.isEmpty ? "" : `, ${scale.inWords()}`;
    this.filling.textContent = `Color: ${tag.name}, ${line},${last}${range}.${ring}`;
  }

  /** Adjacent layers of one container share a frame with its name; in large models, those of an outermost container. */
  groups() {
    const made = [];
    this.layers.forEach(({name}, i) => {
      const inside = this.isSmall ? partsOf(name)[0].split(".")[0] : partsOf(name)[0];
      const model = name.split(".")[0], last = made[made.length - 1];
      const group = last?.inside === inside && last.model === model ? last :
        {inside, model, buttons: []};
      if (group !== last) made.push(group);
      group.buttons.push(this.buttons[i]);
    });
    return made.map(({inside, buttons}) => element("div", {class: `layer-group${inside === "" ? "" : " framed"}`},
        inside === "" ? null : element("span", {class: "layer-group-name"}, breakable(inside)),
        element("div", {class: "layer-row"}, buttons)));
  }

  summary() {
    const count = (level) => this.layers.filter(({health}) => health.level === level).length;
    const told = [["error", "with an error"], ["warning", "with a warning"]]
        .filter(([level]) => count(level) > 0).map(([level, words]) => `${count(level).toLocaleString("en")} ${words}`);
    if (count("calm") > 0 && told.length === 0) told.push("all healthy");
    const judged = told.length > 0 ? told.join(", ") : "not judged (add the lens `health`)";
    const inTurn = this.run.kinds.filter(({kind}) => this.run.kindsInTurn.has(kind))
      .map(({kind, models}) => ` · ${models.length} models ${kind}, made in turn, are shown as one`).join("");
    return `${plural(this.layers.length, "layer")} · ${judged} · click one for its plots${inTurn}`;
  }

  open(i) {
    if (this.layers[i].hasPlots)
      this.openLayer(this.layers[i].name, this.layers.filter(({hasPlots}) => hasPlots).map(({name}) => name));
  }

  makeReachable(i) {
    this.buttons.forEach((button, at) => button.setAttribute("tabindex", at === i ? "0" : "-1"));
    this.at = i;
  }

  mark() {
    this.buttons.forEach((button, i) => {
      const {name} = this.layers[i];
      button.classList.toggle("dimmed", !isFound(name));
      if (name === state.selectedLayer) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
  }

  key(event) {
    const {at} = this, last = this.buttons.length - 1;
    const moves = {ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: last};
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.buttons[Math.min(last, Math.max(0, moves[event.key]))].focus();
  }
}

/** The pictures of all runs, filled by the heat map; null if no run has more than one layer. */
export function pictureSection(broken, openLayer, heatMap) {
  if (runs.length > MOST_PICTURES) return null;
  const pictures = runs.map((run) => new ModelPicture(run, broken, openLayer)).filter(({layers}) => layers.length > 1);
  if (pictures.length === 0) return null;
  if (heatMap.tag !== null) pictures.forEach((picture) => picture.fill(heatMap));
  const show = () => pictures.forEach(({root, run}) => root.hidden = state.hiddenRuns.has(run.index));
  on("runs", show);
  show();
  return section("picture", "Layers in order", null,
      element("div", {class: "panel"}, pictures.map(({root}) => root)));
}
