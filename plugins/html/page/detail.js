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
    addEventListener("hashchange", () => this.follow());
  }

  /** @param order names of the layers on show, to step through  @param tagName of the plot to begin at */
  open(name, order, tagName = null) {
    this.order = order;
    const plot = tagName === null ? "" : `&plot=${encodeURIComponent(tagName)}`;
    const hash = `#layer=${encodeURIComponent(name)}${plot}`;
    if (location.hash === hash)
      this.follow();
    else
      location.hash = hash;
  }

  /** Shows what the address names, so that a layer can be linked to and the browser's "back" works. */
  follow() {
    const match = /^#layer=([^&]+)(?:&plot=(.+))?$/.exec(location.hash);
    let name = null, tagName = null;
    try {
      name = match && decodeURIComponent(match[1]);
      tagName = match && match[2] ? decodeURIComponent(match[2]) : null;
    } catch {
      // An address that was cut off names no layer.
    }
    const shown = name === null ? [] : layerTags.filter((tag) => layerNames(tag.name).includes(name));
    this.cards.forEach((card) => card.remove());
    this.root.hidden = shown.length === 0;
    state.selectedLayer = shown.length === 0 ? null : name;
    this.cards = shown.map((tag) => new Card(tag, name, tag.name, {size: "medium"}));
    announce("selected");
    if (shown.length === 0) return;
    this.title.replaceChildren(...breakable(name));
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

  close() {
    history.pushState(null, "", location.pathname + location.search);
    this.follow();
  }
}
