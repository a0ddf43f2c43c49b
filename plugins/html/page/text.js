/** Makes an element. Strings become text nodes, so that names from a model are never read as HTML; null is left out. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  return fill(made, ...children);
}

/** Replaces the children of an element. */
export function fill(root, ...children) {
  root.replaceChildren(...children.flat().filter((child) => child !== null));
  return root;
}

export function button(attributes, ...children) {
  return element("button", {type: "button", ...attributes}, ...children);
}

/** Fades the right edge of a box while there is more to scroll to. */
export function showsScrolling(box) {
  const show = () => {
    box.classList.toggle("goes-on", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    box.classList.toggle("goes-down", box.scrollTop + box.clientHeight < box.scrollHeight - 1);
  };
  box.addEventListener("scroll", show, {passive: true});
  // Folded elements trigger no observer.
  addEventListener("resize", show);
  addEventListener("toggle", show, {capture: true});
  const resized = new ResizeObserver(show);
  const observe = () => [box, ...box.children].forEach((each) => resized.observe(each));
  new MutationObserver(observe).observe(box, {childList: true});
  observe();
  show();
}

/** A section with a heading. @param title the heading's content  @param beside an element at the right of the heading, or null */
export function section(id, title, beside, ...children) {
  const heading = element("h2", {id: `${id}-title`}, title);
  return element("section", {id, "aria-labelledby": `${id}-title`},
      beside === null ? heading : element("div", {class: "section-head"}, heading, beside), ...children);
}

/** A labelled <select>; `choices` are [value, text] pairs. */
export function selector(label, choices, chosen, onChange) {
  const select = element("select", {onchange: () => onChange(select.value)},
      choices.map(([value, text]) => element("option", {value, selected: value === chosen}, text)));
  return element("label", {class: "field"}, element("span", {}, label), select);
}

/** Words that begin with a capital, unless they begin with a name such as mse_loss. */
export function capitalized(words) {
  return /^[a-z]+(?![\w.:=(/])/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
}

/** Words of a plugin as a sentence, with a capital and a full stop. */
export function asSentence(words) { return /[.!?…]$/.test(words) ? capitalized(words) : `${capitalized(words)}.`; }

/** A dotted name that may break after its dots. */
export function breakable(name) {
  return name.split(/(?<=[._:/])/).flatMap((part, i) => (i === 0 ? [part] : [element("wbr"), part]));
}

/** The value that this browser stores under a key for all pages of this origin; null if there is none. */
export function kept(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param text null removes the key */
export function keep(key, text) {
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    // Storage is not available: the choice lasts as long as the page.
  }
}

export function isNumber(text) { return text.trim() !== "" && Number.isFinite(Number(text)); }

/** Whether a number is readable without powers of ten. A packed 0.001 is slightly less. */
export function isPlain(value) {
  const magnitude = Number(Math.abs(value).toPrecision(4));
  return magnitude === 0 || (magnitude < 1e5 && magnitude >= 1e-3);
}

/**
 * A number with at most `digits` significant digits, in powers of ten if it is very large or small.
 * @param inPowers overrides that, so that a group of numbers has one notation
 */
export function formatNumber(value, digits = 4, inPowers = !isPlain(value)) {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  if (!inPowers) return String(Number(value.toPrecision(digits))).replace("-", "−");
  const [mantissa, exponent] = value.toExponential((digits > 4 ? digits : Math.min(digits, 3)) - 1).split("e");
  const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  if (Number(exponent) === 0) return short.replace("-", "−");
  const digitsOfPower = [...String(Number(exponent))].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");
  const power = digitsOfPower === "¹" ? "10" : `10${digitsOfPower}`;
  return (short === "1" ? power : short === "-1" ? `-${power}` : `${short}·${power}`).replace("-", "−");
}

/** An epoch, without decimals if it is whole. */
export function formatEpoch(epoch) { return String(Number(epoch.toPrecision(7))); }

export function plural(count, noun) { return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`; }

/** The width of small text in pixels. Reads the page's font only once, because that makes the browser compute all styles. */
export const textWidth = (() => {
  const context = document.createElement("canvas").getContext("2d"), known = new Map();
  return (text) => {
    if (known.size === 0) context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    if (!known.has(text)) known.set(text, Math.ceil(context.measureText(text).width));
    return known.get(text);
  };
})();
