/** What a plot's words mean, on a panel beside its "?". One at a time; Escape or a click elsewhere closes it. */
const helpPanel = {
  root: null,
  button: null,

  open(button, {name, words: [title, unit, description, healthy, advice]}) {
    const part = (label, text) => (text ? [element("dt", {}, label), element("dd", {}, text)] : []);
    this.button = button;
    this.root = element(
        "div", {class: "help-panel", id: "help", role: "dialog", "aria-label": `What ${name} means`, tabindex: "-1"},
        element("strong", {}, title || name, unit ? ` [${unit}]` : ""), element("p", {}, description),
        element("dl", {}, part("Healthy", healthy), part("What to do", advice)));
    document.body.append(this.root);
    const box = button.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left - 8, document.documentElement.clientWidth - this.root.offsetWidth - 8));
    this.root.style.left = `${left + scrollX}px`;
    this.root.style.top = `${box.bottom + 6 + scrollY}px`;
    button.setAttribute("aria-expanded", "true");
    this.root.focus({preventScroll: true});
  },

  /** @param back whether the keyboard goes back to where it was */
  close(back = false) {
    if (this.root === null) return;
    this.root.remove();
    this.root = null;
    this.button.setAttribute("aria-expanded", "false");
    if (back) this.button.focus({preventScroll: true});
  },

  toggle(button, tag) {
    const same = this.root !== null && this.button === button;
    this.close();
    if (!same) this.open(button, tag);
  },
};

addEventListener("keydown", (event) => {
  if (event.key === "Escape") helpPanel.close(true);
});
addEventListener("pointerdown", ({target}) => {
  if (helpPanel.root !== null && !helpPanel.root.contains(target) && !helpPanel.button.contains(target))
    helpPanel.close();
});

/** The "?" of a tag; null where its lens does not explain it. */
function helpButton(tag) {
  if (!tag.words || !tag.words[2]) return null;
  const button = element(
      "button", {
        type: "button",
        class: "help",
        title: `What ${tag.name} means`,
        "aria-label": `What ${tag.name} means`,
        "aria-expanded": "false",
        onclick: (event) => {
          event.preventDefault();  // nor does it unfold what it stands on
          event.stopPropagation();
          helpPanel.toggle(button, tag);
        },
      },
      "?");
  return button;
}
