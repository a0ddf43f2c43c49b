import {formatEpoch} from "./text.js";
import {lineColour, themeColour, withAlpha} from "./colours.js";

const MOST_OUTLINES = 20;
// The share of the plot's height that the highest outline takes; the rest is for setting them off from each other.
const TALLEST = 0.4;

/** At most as many as are told apart, evenly spread, with the first and the last. */
export function evenlyChosen(columns) {
  const last = columns.length - 1, steps = Math.min(last, MOST_OUTLINES - 1);
  return Array.from({length: steps + 1}, (_, i) => columns[steps === 0 ? last : Math.round((i * last) / steps)]);
}

/**
 * Lays out histograms behind each other, the last in front, at the foot of `area`.
 * @param heights returns those of a column, from 0 to 1, for each of `placed`
 * @return [{column, foot, points}], the one at the back first
 */
export function placedOutlines(area, columns, placed, heights) {
  const last = columns.length - 1, tallest = area.height * (last > 0 ? TALLEST : 1);
  return columns.map((column, i) => {
    const foot = area.y + area.height - ((area.height - tallest) * (last - i)) / (last || 1);
    const tops = heights(column).map((height, at) => {
      const {from, to} = placed[at];
      return [area.x + ((from + to) / 2) * area.width, foot - height * tallest];
    });
    return {column, foot, points: [[area.x, foot], ...tops, [area.x + area.width, foot]]};
  });
}

/** @param pointed the outline to bring out, or null */
export function drawOutlines(context, area, outlines, pointed) {
  context.textAlign = "right";
  let free = Infinity;
  const drawLine = ({points}, colour, width) => {
    Object.assign(context, {strokeStyle: colour, lineWidth: width, lineJoin: "round"});
    context.beginPath();
    for (const [x, y] of points) context.lineTo(x, y);
    context.stroke();
  };
  outlines.forEach((outline, i) => {
    // The later, the stronger.
    const strength = (i + 1) / outlines.length;
    drawLine(outline, withAlpha(lineColour(0), 0.45 + 0.55 * strength), 1);
    context.fillStyle = themeColour("panel");
    context.fill();
    context.fillStyle = outline === pointed ? themeColour("accent") : withAlpha(lineColour(0), 0.08 + 0.3 * strength);
    context.fill();
  });
  if (pointed !== null) drawLine(pointed, themeColour("accent"), 2);
  // Epochs stand where there is room, the first and the last always.
  for (const outline of [...outlines].reverse()) {
    const {foot, column: [epoch]} = outline, isFirst = outline === outlines[0];
    if (free - foot < 13 || (!isFirst && foot - outlines[0].foot < 13)) continue;
    context.fillStyle = themeColour("muted");
    context.fillText(formatEpoch(epoch), area.x - 6, Math.min(foot, area.y + area.height - 2));
    free = foot;
  }
}

/** The outline that is seen at a point; where there is none, the one whose line is nearest above or below. */
export function outlineAt(outlines, x, y) {
  const topAt = ({points}) => {
    const next = Math.max(1, points.findIndex((point) => point[0] >= x));
    const [left, right] = points.slice(next - 1, next + 1);
    return left[1] + ((right[1] - left[1]) * (x - left[0])) / (right[0] - left[0] || 1);
  };
  const seen = outlines.findLast((outline) => y >= topAt(outline) && y <= outline.foot);
  const distance = (outline) => Math.abs(y - topAt(outline));
  return seen || outlines.reduce((best, each) => (distance(each) <= distance(best) ? each : best));
}
