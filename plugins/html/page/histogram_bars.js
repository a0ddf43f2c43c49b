/** The share of all elements in each bin of one epoch, from its first bin on; together 1. */
function sharesOf([, , , levels]) {
  const shares = [...levels].map((level) => shareOfLevel(BASE64[level.charCodeAt(0)]));
  const sum = shares.reduce((a, b) => a + b, 0);
  return sum > 0 ? shares.map((share) => share / sum) : shares;
}

/** "about 1,230 of 100,000 elements", as far as is known how many there are. */
function elementsInWords(share, total) {
  if (share === 0) return "no element";
  const percent = `${formatNumber(share * 100, 2)} % of the elements`;
  if (!total) return `about ${percent}`;
  const count = Number((share * total).toPrecision(2));
  return `about ${Math.round(count).toLocaleString("en")} of ${total.toLocaleString("en")} elements (${percent})`;
}

// Narrower bins of a linear scale are taken together: a single element in one would tower above all.
const NARROWEST = 1 / 60;

/**
 * Where bins lie from 0 to 1: one beside the other, or on a linear scale of their values, on which those without an end
 * get a little room. [{bin, last, from, to, width}] for bins from `bin` to `last`, which is null for a stretch of empty
 * ones; the width is in values.
 */
function placedBins(bins, edges, linear) {
  if (!linear)
    return bins.map((bin, i) => ({bin, last: bin, from: i / bins.length, to: (i + 1) / bins.length, width: null}));
  const finite = bins.flatMap((bin) => [edges[bin], edges[bin + 1]]).filter((edge) => edge !== null);
  const [lowest, highest] = [Math.min(...finite), Math.max(...finite)];
  const room = (highest - lowest || 1) * 0.03;
  const low = edges[bins[0]] === null ? lowest - room : lowest;
  const high = edges[bins[bins.length - 1] + 1] === null ? highest + room : highest;
  const place = (edge, open) => ((edge === null ? open : edge) - low) / (high - low || 1);
  const placed = [];
  for (const bin of bins) {
    const from = place(edges[bin], low), to = place(edges[bin + 1], high), before = placed[placed.length - 1];
    if (before && (before.to - before.from < NARROWEST || to - from < NARROWEST / 4))
      Object.assign(before, {last: bin, to});
    else
      placed.push({bin, last: bin, from, to});
  }
  return placed.map((each) => ({...each, width: (each.to - each.from) * (high - low)}));
}

/** The share of all elements in the bins that are placed together. */
function shareOfPlace({bin, last}, first, shares) {
  let sum = 0;
  for (let i = bin; i <= last; ++i) sum += shares[i - first] || 0;
  return sum;
}

/**
 * Labels at the lower edges of placed bins, as many as fit. @param pixels how far the bins reach  @param room of one
 */
function edgeLabels(placed, edges, pixels, room) {
  const labels = [];
  let free = -Infinity;
  for (const {bin, from} of placed) {
    if (bin === null || edges[bin] === null || from * pixels - free < room) continue;
    labels.push({place: from, value: edges[bin]});
    free = from * pixels;
  }
  const texts = distinctLabels(labels.map(({value}) => value), 2);
  return labels.map(({place}, i) => ({place, text: texts[i]}));
}

/** Bars of one epoch. @return what to point at: [{bin, from, to, share}] */
function drawBars(context, area, {column, bins, edges, linear, logarithmic}) {
  const [, , first, , total] = column, shares = sharesOf(column);
  const placed = placedBins(bins, edges, linear).filter(({bin}) => bin !== null).map((place) => {
    const share = shareOfPlace(place, first, shares);
    return {...place, share, height: linear ? share / place.width : share * (total || 1)};
  });
  const heights = placed.map(({height}) => height).filter((height) => height > 0);
  const high = Math.max(...heights, Number.MIN_VALUE) * (logarithmic ? 1.3 : 1.06);
  const low = logarithmic ? Math.min(...heights) / 2 : 0;
  const up = (value) => (logarithmic ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : value / high);
  context.textAlign = "right";
  for (const {v, label} of valueTicks(low, high, area.height, logarithmic)) {
    if (v > high) continue;
    const y = area.y + area.height * (1 - up(v));
    context.fillStyle = themeColour("grid");
    context.fillRect(area.x, y, area.width, 1);
    context.fillStyle = themeColour("muted");
    context.fillText(label, area.x - 6, Math.max(y, area.y + 5));
  }
  context.fillStyle = withAlpha(lineColour(0), 0.75);
  for (const {from, to, height} of placed) {
    if (height <= 0) continue;
    const x = area.x + from * area.width, width = (to - from) * area.width;
    const top = area.y + area.height * (1 - up(height));
    context.fillRect(x, top, Math.max(width - (width > 3 ? 1 : 0), 0.5), area.y + area.height - top);
  }
  context.fillStyle = themeColour("axis");
  context.fillRect(area.x, area.y + area.height, area.width, 1);
  context.fillStyle = themeColour("muted");
  context.textAlign = "center";
  for (const {place, text} of edgeLabels(placed, edges, area.width, 56))
    context.fillText(text, area.x + place * area.width, area.y + area.height + 11);
  return placed;
}
