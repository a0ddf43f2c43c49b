/** All plots of one layer, with a way to its neighbours in the order of the overview. */
class Detail {
  constructor() {
    this.cards = [];
    this.order = [];
    this.title = element("h2", {id: "layer-title", tabindex: "-1"});
    this.grid = element("div", {class: "grid medium"});
    const step = (text, label, by) =>
        element("button", {type: "button", title: label, "aria-label": label, onclick: () => this.step(by)}, text);
    this.root = element(
        "section", {id: "layer", "aria-labelledby": "layer-title", hidden: true},
        element(
            "div", {class: "section-head"}, this.title,
            element(
                "div", {class: "buttons"}, step("↑", "Layer above in the overview", -1),
                step("↓", "Layer below in the overview", 1),
                element("button", {type: "button", onclick: () => this.close()}, "Close"))),
        this.grid);
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
    const shown = name === null ? [] : layerTags.filter((tag) => layerNames(tag.name).includes(name));
    this.cards.forEach((card) => card.remove());
    this.root.hidden = shown.length === 0;
    if (shown.length === 0) Object.assign(state, {selectedLayer: null, plotName: null});
    this.cards = shown.map((tag) => new Card(tag, name, tag.name, {size: "medium"}));
    announce("selected");
    if (shown.length === 0) return;
    const kinds = [...new Set(visibleRuns().map((run) => kindOf(run, name)).filter(Boolean))];
    const kind = kinds.length > 0 ? [" ", element("span", {class: "muted kind"}, kinds.join(" / "))] : [];
    this.title.replaceChildren(...breakable(name), ...kind);
    this.grid.replaceChildren(...this.cards.map((card) => card.root));
    const card = this.cards.find(({tag}) => tag.name === tagName);
    if (card) return goToCard(card.root);
    this.title.focus({preventScroll: true});
    this.root.scrollIntoView({block: "start"});
  }

  step(by) {
    if (this.order.length === 0) this.order = [...new Set(layerTags.flatMap((tag) => layerNames(tag.name)))];
    const at = this.order.indexOf(state.selectedLayer);
    const next = this.order[(at + by + this.order.length) % this.order.length];
    this.open(next, this.order);
  }

  close() { setState("layer", {selectedLayer: null, plotName: null}); }
}
