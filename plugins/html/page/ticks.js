/** Numbers as labels, in as many digits as it takes that no two different numbers read the same. */
function distinctLabels(values, digits = 3) {
  const different = new Set(values).size;
  for (;; ++digits) {
    const labels = values.map((value) => formatNumber(value, digits));
    if (digits >= 16 || new Set(labels).size >= different) return labels;
  }
}

/** Round numbers between two, as dygraphs places them. */
function roundNumbers(low, high, pixels, pixelsPerLabel) {
  const options = {pixelsPerLabel, axisLabelFormatter: String};
  return Dygraph.numericTicks(low, high, pixels, (name) => (name in options ? options[name] : null)).map(({v}) => v);
}

/** Powers of ten, with 2 and 5 between them where few powers are on show. */
function roundPowers(low, high, pixels) {
  const decades = Math.log10(high / low);
  const room = Math.max(2, pixels / 26);
  const factors = decades * 3 <= room ? [1, 2, 5] : decades * 2 <= room ? [1, 3] : [1];
  const every = Math.max(1, Math.ceil(decades / room));
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    if (power % every !== 0) continue;
    for (const factor of factors) {
      const value = Number(`${factor}e${power}`);
      if (value >= low && value <= high) values.push(value);
    }
  }
  return values.length > 1 ? values : roundNumbers(low, high, pixels, 28).filter((value) => value > 0);
}

/** Ticks of the axis of values, as dygraphs wants them: [{v, label}]. */
function valueTicks(low, high, pixels, logarithmic) {
  const values = logarithmic ? roundPowers(low, high, pixels) : roundNumbers(low, high, pixels, 28);
  const labels = distinctLabels(values);
  return values.map((v, i) => ({v, label: labels[i]}));
}

/** The pixels that the labels of such ticks need. */
function valueTicksWidth([low, high], pixels, logarithmic) {
  return Math.max(46, ...valueTicks(low, high, pixels, logarithmic).map(({label}) => textWidth(label) + 8));
}

/** Ticks of an axis of steps. */
function stepTicks(low, high, pixels) {
  const values = roundNumbers(low, high, pixels, 70).filter(Number.isInteger);
  const labels = distinctLabels(values, 4);
  return values.map((v, i) => ({v, label: labels[i]}));
}

/** What stands beside the axis of values: the unit where the tag has one. */
function valueTitle(tag) {
  const [title, unit] = tag.words || [];
  return `${showsDifferences(tag) ? "Δ " : ""}${unit || title || tag.name}`;
}

/** Text for those places where dygraphs takes HTML. */
function asHtml(text) { return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`); }
