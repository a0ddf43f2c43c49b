import {scaleOf} from "./value_scale.js";

const WIDTH = 160, HEIGHT = 40, MOST_POINTS = 160;

export function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A line of a run's numbers without axes, on the scale of its tag; what is not finite leaves a gap and a cross. */
export function smallCurve(run, series, tag, label) {
  const count = run.epochs.length, step = Math.max(1, Math.ceil(count / MOST_POINTS)), points = [];
  for (let i = 0; i < count; i += step) if (!series.isMissing(i)) points.push([i, series.values[i]]);
  const finite = points.map(([, value]) => value).filter(Number.isFinite);
  if (points.length < 2) return null;
  const {up: height} = scaleOf(tag, [series]);
  const low = Math.min(...finite.map(height)), high = Math.max(...finite.map(height)), range = high - low || 1;
  const x = (i) => 2 + (i / Math.max(1, count - 1)) * (WIDTH - 4);
  const y = (value) => HEIGHT - 4 - ((height(value) - low) / range) * (HEIGHT - 8);
  let path = "", isDown = false;
  const crosses = [];
  for (const [i, value] of points) {
    if (Number.isFinite(value)) path += `${isDown ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    else crosses.push(svg("path", {d: `M${x(i) - 3} 4l6 6m0 -6l-6 6`, class: "broken"}));
    isDown = Number.isFinite(value);
  }
  return svg("svg", {class: "small-curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label},
      svg("path", {d: path}), ...crosses);
}
