const CARDS_AT_ONCE = 24;

/** Small plots of every layer, folded by tag; what the search does not find is left out. */
class Layers {
  constructor(openLayer) {
    this.groups = layerTags.map((tag) => new LayerGroup(tag, openLayer));
    const fold = (text, open) =>
        element("button", {type: "button", onclick: () => this.groups.forEach((group) => group.setOpen(open))}, text);
    this.root = element(
        "section", {id: "layers", "aria-labelledby": "layers-title"},
        element(
            "div", {class: "section-head"}, element("h2", {id: "layers-title"}, "Layers"),
            element("div", {class: "buttons"}, fold("Unfold all", true), fold("Fold all", false))),
        this.groups.map((group) => group.root));
    for (const change of ["search", "order"]) on(change, () => this.groups.forEach((group) => group.refresh()));
  }

  /** Unfolds a tag's plots and goes to them. */
  open(tagName) {
    const group = this.groups.find(({tag}) => tag.name === tagName);
    group.setOpen(true);
    group.root.scrollIntoView({block: "start"});
    group.root.querySelector("summary").focus({preventScroll: true});
  }
}

class LayerGroup {
  constructor(tag, openLayer) {
    Object.assign(this, {tag, openLayer});
    this.cards = [];
    this.count = element("span", {class: "muted"});
    this.grid = element("div", {class: "grid small"});
    this.more = element("div", {class: "more"});
    this.root = element(
        "details", {
          class: "group",
          open: state.openTags.includes(tag.name),
          "data-tag": tag.name,
          ontoggle: () => this.toggled(),
        },
        element("summary", {}, element("h3", {}, tag.name, helpButton(tag)), this.count), this.grid, this.more);
    this.refresh();
  }

  setOpen(open) { this.root.open = open; }

  toggled() {
    const others = state.openTags.filter((name) => name !== this.tag.name);
    state.openTags = this.root.open ? [...others, this.tag.name] : others;
    this.refresh();
  }

  refresh() {
    this.cards.forEach((card) => card.remove());
    this.cards = [];
    const all = layerNames(this.tag.name);
    this.names = all.filter(isFound);
    this.count.textContent = this.names.length === all.length ?
        plural(all.length, "layer") :
        `${this.names.length} of ${plural(all.length, "layer")}`;
    this.more.replaceChildren();
    if (!this.root.open) return;
    this.names = this.ordered();
    this.show(CARDS_AT_ONCE);
  }

  ordered() {
    const run = visibleRuns()[0] || runs[0];
    const lines = lineNames(this.tag.name);
    const line = tellingLine(lines);
    const order = orderOf(this.tag, line);
    if (lines.length === 0 || order === "model") return this.names;
    const rows = this.names.map((name) => ({
                                  name,
                                  series: run.line(this.tag.name, name, line) || new Series("", run.epochs.length),
                                  ...severitiesOf(run, name, this.tag),
                                }));
    return ranked(rows, shownColumns(run.epochs), this.tag, line, order).map(({name}) => name);
  }

  show(count) {
    const fresh = this.names.slice(this.cards.length, this.cards.length + count)
                      .map((name) => new Card(this.tag, name, name, {onTitle: () => this.openLayer(name, this.names)}));
    this.cards.push(...fresh);
    this.grid.append(...fresh.map((card) => card.root));
    const left = this.names.length - this.cards.length;
    const button = (text, shown) => element("button", {type: "button", onclick: () => this.show(shown)}, text);
    this.more.replaceChildren();
    if (left > 0) this.more.append(button(`Show ${Math.min(left, CARDS_AT_ONCE)} more`, CARDS_AT_ONCE));
    if (left > CARDS_AT_ONCE) this.more.append(button(`Show all ${this.names.length}`, left));
  }
}
