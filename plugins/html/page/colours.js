import {keep, kept} from "./text.js";

function isDark() { return document.documentElement.dataset.theme === "dark"; }

// Cached, because reading a style makes the browser compute all styles, and drawing needs thousands of colours.
const themeColours = new Map();

/** Must be called after the theme has changed. */
export function forgetColours() { themeColours.clear(); }

/** A colour of the style sheet, in the current theme. */
export function themeColour(name) {
  if (!themeColours.has(name))
    themeColours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return themeColours.get(name);
}

// The colours of Okabe and Ito, which can be distinguished with every kind of colour blindness; lighter on dark ground.
// After them come the colours that are farthest from all earlier ones and still stand out from the ground.
const LINES_ON_LIGHT = [
  "#0072b2", "#d55e00", "#009e73", "#b4478a", "#b07d00", "#3a9ad9", "#6a51c7", "#5d6470", "#f906f9", "#950404",
  "#0606f9", "#036d03", "#810381", "#b26afb", "#fb56a8", "#a805d1", "#e50649", "#c07c8a", "#6d4d03", "#0446a9",
];
const LINES_ON_DARK = [
  "#5cb3f0", "#ff9657", "#2fcf9f", "#f0a3d2", "#f0c04a", "#a3d8ff", "#b9a6ff", "#b6bdc9", "#bd05bd", "#7e741b",
  "#e50632", "#5656fb", "#80f906", "#fb56fb", "#b96e9b", "#2287a0", "#04a904", "#c0fdb9", "#f90698", "#d16b05",
];

/** Beyond the palette, uses hues that are far from the previous ones, alternately lighter and darker. */
export function lineColour(index) {
  const palette = isDark() ? LINES_ON_DARK : LINES_ON_LIGHT, further = index - palette.length;
  if (further < 0) return palette[index];
  const hue = (further * 137.508 + 15) % 360, lightness = (isDark() ? 66 : 38) + (further % 3 - 1) * 11;
  const reach = 0.65 * Math.min(lightness, 100 - lightness) / 100;
  const channel = (shift) => {
    const k = (shift + hue / 30) % 12, value = lightness / 100 - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(value * 255).toString(16).padStart(2, "0");
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}

export function withAlpha(colour, alpha) {
  const [red, green, blue] = rgb(colour);
  return `rgba(${red},${green},${blue},${alpha})`;
}

export function rgb(colour) { return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)); }

export const SEQUENTIAL =
  ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
// From green to purple, which can be distinguished with colour blindness; red and amber would look like a finding.
const DIVERGING_ON_LIGHT = ["#1b7837", "#7fbf7b", "#d9f0d3", "#f5f5f5", "#e7d4e8", "#af8dc3", "#762a83"];
const DIVERGING_ON_DARK = ["#a9e8ac", "#4f9e5c", "#1f4a2c", "#20242b", "#4e2f5c", "#a06fb8", "#dcb3ee"];

let runPlaces = null;

/** Colours runs by numbers from 0 to 1, undefined for runs without one; null gives each run its own colour. */
export function colourRunsBy(places) { runPlaces = places; }

/** The colour of a run, which stands out from the ground. */
export function runColour(index) {
  if (runPlaces === null) return lineColour(index);
  if (runPlaces[index] === undefined) return themeColour("axis");
  const stops = SEQUENTIAL.map(rgb), share = isDark() ? 0.3 + 0.7 * runPlaces[index] : 0.8 * runPlaces[index];
  const place = share * (stops.length - 1), left = Math.min(Math.floor(place), stops.length - 2);
  const mixed = stops[left].map((from, i) => Math.round(from + (stops[left + 1][i] - from) * (place - left)));
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
}

/** 256 colours between the stops, each as the 32 bits that an ImageData holds. */
function colourTable(stops) {
  const parts = stops.map(rgb);
  return Uint32Array.from({length: 256}, (_, i) => {
    const place = (i / 255) * (parts.length - 1);
    const left = Math.min(Math.floor(place), parts.length - 2);
    const mix = (channel) =>
      Math.round(parts[left][channel] + (parts[left + 1][channel] - parts[left][channel]) * (place - left));
    return packColour([mix(0), mix(1), mix(2)]);
  });
}

export function packColour([red, green, blue]) { return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0; }

/** Such a colour as CSS, and whether dark or light words are readable on it. */
export function cssColour(packed) {
  const channels = [packed & 255, (packed >> 8) & 255, (packed >> 16) & 255];
  const lightness = (channels[0] * 0.299 + channels[1] * 0.587 + channels[2] * 0.114) / 255;
  return [`rgb(${channels.join(" ")})`, lightness > 0.5 ? "dark" : "light"];
}

/** Black or white, whichever is more readable on a colour. */
export function inkOn(colour) {
  const [red, green, blue] = rgb(colour).map((each) => ((each / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000000" : "#ffffff";
}

export function sequentialColours() { return colourTable(SEQUENTIAL); }

/** The names of the first and the last colour of a scale. */
export function scaleEnds(isDiverging) { return isDiverging ? ["green", "purple"] : ["purple", "yellow"]; }

export function divergingColours() { return colourTable(isDark() ? DIVERGING_ON_DARK : DIVERGING_ON_LIGHT); }

const THEME_KEY = "loupe-theme";

/**
 * Uses the light or dark theme of the system until the reader chooses one, on this page or on another with the same store.
 * @param button switches the theme; may be null  @param changed is called after each change
 */
export function followTheme(button, changed = () => {}) {
  const darkPreferred = matchMedia("(prefers-color-scheme: dark)");
  let chosen = kept(THEME_KEY);
  const show = () => {
    document.documentElement.dataset.theme = chosen || (darkPreferred.matches ? "dark" : "light");
    forgetColours();
    if (button !== null) button.textContent = isDark() ? "☀ Light" : "☾ Dark";
    changed();
  };
  const choose = (theme) => {
    chosen = theme;
    show();
  };
  button?.addEventListener("click", () => {
    choose(isDark() ? "light" : "dark");
    keep(THEME_KEY, chosen);
  });
  addEventListener("storage", ({key, newValue}) => {
    if (key === THEME_KEY) choose(newValue);
  });
  darkPreferred.addEventListener("change", show);
  show();
}
