/** Makes an element. Children that are strings become text, so that no name from a model is ever read as HTML. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) {
      made.addEventListener(key.slice(2), value);
    } else if (value === true) {
      made.setAttribute(key, "");
    } else if (value !== false && value !== null && value !== undefined) {
      made.setAttribute(key, value);
    }
  }
  made.append(...children.flat().filter((child) => child !== null));
  return made;
}

/** A labelled <select>; `choices` are [value, text] pairs. */
function selector(label, choices, chosen, onChange) {
  const select = element(
      "select", {onchange: () => onChange(select.value)},
      choices.map(([value, text]) => element("option", {value, selected: value === chosen}, text)));
  return element("label", {class: "field"}, element("span", {}, label), select);
}

/** A dotted name that may break after its dots. */
function breakable(name) {
  return name.split(/(?<=[._:/])/).flatMap((part, i) => (i === 0 ? [part] : [element("wbr"), part]));
}

const SUPERSCRIPTS = {
  "-": "⁻",
  0: "⁰",
  1: "¹",
  2: "²",
  3: "³",
  4: "⁴",
  5: "⁵",
  6: "⁶",
  7: "⁷",
  8: "⁸",
  9: "⁹"
};

/** A number in at most `digits` significant digits, in powers of ten when it is very large or small. */
function formatNumber(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const magnitude = Math.abs(value);
  if (magnitude === 0) return "0";
  let text;
  if (magnitude >= 1e5 || magnitude < 1e-3) {
    const [mantissa, exponent] = value.toExponential((digits > 4 ? digits : Math.min(digits, 3)) - 1).split("e");
    const power = [...String(Number(exponent))].map((c) => SUPERSCRIPTS[c]).join("");
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    text = short === "1" ? `10${power}` : short === "-1" ? `-10${power}` : `${short}·10${power}`;
  } else {
    text = String(Number(value.toPrecision(digits)));
  }
  return text.replace("-", "−");
}

/** An epoch as people say it: whole where it is whole. */
function formatEpoch(epoch) { return String(Number(epoch.toPrecision(7))); }

function plural(count, noun) { return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`; }

/** `text` cut at its front to fit `width` pixels: the end of a layer's name tells more than its beginning. */
function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText("…" + text.slice(text.length - middle)).width <= width)
      low = middle;
    else
      high = middle - 1;
  }
  return "…" + text.slice(text.length - low);
}

/** The width of small text in pixels. */
const textWidth = (() => {
  const context = document.createElement("canvas").getContext("2d");
  return (text) => {
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    return Math.ceil(context.measureText(text).width);
  };
})();
