import {button, element, fill} from "./text.js";

/** A panel beside a button; only one of its kind is open. Escape or a click elsewhere closes it. */
export class Popup {
  constructor() {
    this.root = this.button = null;
    addEventListener("keydown", ({key}) => {
      if (key === "Escape") this.close(true);
    });
    addEventListener("pointerdown", ({target}) => {
      if (this.root !== null && !this.root.contains(target) && !this.button.contains(target)) this.close();
    });
  }

  /** @param make returns the content  @param focused finds the part of it that gets the keyboard focus */
  toggle(button, make, focused) {
    const same = this.root !== null && this.button === button;
    this.close();
    if (same) return;
    this.button = button;
    this.root = make();
    document.body.append(this.root);
    const box = button.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left - 8, document.documentElement.clientWidth - this.root.offsetWidth - 8));
    this.root.style.left = `${left + scrollX}px`;
    this.root.style.top = `${box.bottom + 5 + scrollY}px`;
    button.setAttribute("aria-expanded", "true");
    focused(this.root).focus({preventScroll: true});
  }

  /** @param back whether the button gets the focus back */
  close(back = false) {
    if (this.root === null) return;
    this.root.remove();
    this.root = null;
    this.button.setAttribute("aria-expanded", "false");
    if (back) this.button.focus({preventScroll: true});
  }
}

const helpPopup = new Popup();

/** The explanation of a plot. */
function helpPanel({name, words: [title, unit, description, healthy, advice]}) {
  const part = (label, text) => (text ? [element("dt", {}, label), element("dd", {}, text)] : []);
  const label = `What ${name} means`;
  return element("div", {class: "help-panel", id: "help", role: "dialog", "aria-label": label, tabindex: "-1"},
      element("strong", {}, title || name, unit ? ` [${unit}]` : ""),
      element("p", {}, description), element("dl", {}, part("Healthy", healthy), part("What to do", advice)));
}

/** The "?" of a tag; null if its lens has no explanation. */
export function helpButton(tag) {
  if (!tag.words || !tag.words[2]) return null;
  const title = `What ${tag.name} means`;
  const opener = button({class: "help", title, "aria-label": title, "aria-expanded": "false", onclick: (event) => {
    event.stopPropagation();
    helpPopup.toggle(opener, () => helpPanel(tag), (panel) => panel);
  }}, "?");
  return opener;
}

const tooltip = document.getElementById("tooltip");

/** Shows lines of text near a point of the window. */
export function showTooltip(x, y, lines) {
  fill(tooltip, lines.map((line, i) => element(i === 0 ? "strong" : "div", {}, line)));
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth ? Math.max(4, x - box.width - 14) : x + 14;
  const top = y + 14 + box.height > innerHeight ? y - box.height - 10 : y + 14;
  tooltip.style.left = `${left}px`;
  tooltip.style.top = `${top}px`;
}

export function hideTooltip() { tooltip.hidden = true; }
