const helpPopup = new Popup();

/** What a plot's words mean. */
function helpPanel({name, words: [title, unit, description, healthy, advice]}) {
  const part = (label, text) => (text ? [element("dt", {}, label), element("dd", {}, text)] : []);
  return element(
      "div", {class: "help-panel", id: "help", role: "dialog", "aria-label": `What ${name} means`, tabindex: "-1"},
      element("strong", {}, title || name, unit ? ` [${unit}]` : ""), element("p", {}, description),
      element("dl", {}, part("Healthy", healthy), part("What to do", advice)));
}

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
          helpPopup.toggle(button, () => helpPanel(tag), (panel) => panel);
        },
      },
      "?");
  return button;
}
