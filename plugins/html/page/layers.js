import {breakable, button, element, fill, plural, section} from "./text.js";
import {helpButton} from "./popup.js";
import {kindOf, layerNames, layerTags, lineNames, runs, Series, showsLayer} from "./data.js";
import {announce, isFound, on, setState, state, visibleRuns} from "./state.js";
import {severitiesOf} from "./findings.js";
import {orderOf, ranked, tellingLine} from "./ranking.js";
import {shownColumns} from "./heat_map.js";
import {Card, goToCard} from "./cards.js";

const CARDS_AT_ONCE = 24;

/** Small plots of every layer, folded by tag; what the search does not find is left out. */
export class Layers {
  constructor(openLayer) {
    this.groups = layerTags.map((tag) => new LayerGroup(tag, openLayer));
    const fold = (text, open) => button({onclick: () => this.groups.forEach(({root}) => root.open = open)}, text);
    const buttons = element("div", {class: "buttons"}, fold("Unfold all", true), fold("Fold all", false));
    this.root = section("layers", "Layers", buttons, this.groups.map(({root}) => root));
    for (const change of ["search", "order"]) on(change, () => this.groups.forEach((group) => group.refresh()));
  }

  /** Unfolds a tag's plots and goes to them. */
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
        element("summary", {}, element("h3", {}, tag.name, helpButton(tag)), this.count), this.grid, this.more);
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

/** All plots of one layer, with a way to its neighbours in the order of the overview. */
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

  /** @param order names of the layers on show, to step through  @param tagName of the plot to begin at */
  open(name, order, tagName = null) {
    this.order = order;
    setState("layer", {selectedLayer: name, plotName: tagName});
  }

  /** Shows the layer that is chosen, by the reader or by an address. */
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
