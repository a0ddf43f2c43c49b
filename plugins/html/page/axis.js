/**
 * What plots go by: epochs, steps or time. All else on the page is by epoch: the part on show, the cursor, the marks;
 * so each run's places on the other axes stand beside its epochs.
 */
const AXES = {
  epoch: {label: "epoch", places: (run) => run.epochs},
  step: {label: "step", places: (run) => run.stepsGrown},
  time: {label: "time", places: (run) => run.secondsGrown},
};

/** A clock that begins anew where a run was resumed goes on from where it was; null where nobody told it. */
function grown(numbers) {
  if (!numbers || numbers.length === 0 || !numbers.some((number) => number > 0)) return null;
  let before = 0, offset = 0;
  return numbers.map((number) => {
    if (number < before) offset += before;
    before = number;
    return offset + number;
  });
}

for (const run of runs) {
  run.stepsGrown = grown(run.steps);
  run.secondsGrown = grown(run.seconds);
}

/** The axes that every run with an epoch knows. */
const knownAxes =
    Object.keys(AXES).filter((name) => runs.every((run) => run.epochs.length === 0 || AXES[name].places(run) !== null));

// What the reader had chosen before the page loaded anew.
if (!knownAxes.includes(state.axis)) state.axis = "epoch";

/** Where the tick with this index stands. */
function placesOf(run) { return AXES[state.axis].places(run); }

/** Where an epoch stands that need not have a tick of its own. */
function placeOfEpoch(run, epoch) {
  if (state.axis === "epoch") return epoch;
  const places = placesOf(run), {epochs} = run;
  const next = epochs.findIndex((each) => each >= epoch);
  if (next < 0) return places[places.length - 1];
  if (next === 0 || epochs[next] === epoch) return places[next];
  const share = (epoch - epochs[next - 1]) / (epochs[next] - epochs[next - 1]);
  return places[next - 1] + share * (places[next] - places[next - 1]);
}

/** The epoch at a place: that of the nearest tick of any of the runs. */
function epochAt(shownRuns, place) {
  if (state.axis === "epoch") return place;
  let nearest = null;
  for (const run of shownRuns) {
    const i = nearestIndex(placesOf(run), place);
    if (i < 0) continue;
    const distance = Math.abs(placesOf(run)[i] - place);
    if (nearest === null || distance < nearest.distance) nearest = {distance, epoch: run.epochs[i]};
  }
  return nearest === null ? null : nearest.epoch;
}

/** "1 h 20 min", "3.5 s", "40 ms" */
function formatSeconds(seconds) {
  const whole = (number, unit) => `${Number(number.toPrecision(3))} ${unit}`;
  if (seconds === 0) return "0";
  if (seconds < 1) return whole(seconds * 1000, "ms");
  if (seconds < 120) return whole(seconds, "s");
  if (seconds < 7200) {
    const rest = Math.round(seconds % 60);
    return rest === 0 || rest === 60 ? `${Math.round(seconds / 60)} min` : `${Math.floor(seconds / 60)} min ${rest} s`;
  }
  const minutes = Math.round((seconds % 3600) / 60);
  return minutes === 0 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 3600)} h ${minutes} min`;
}

const TIME_STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,  0.2,  0.5,   1,     2,     5,     10,     20,     30,
  60,    120,   300,   600,  1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 432000, 864000
];

/** Ticks of a time axis, as dygraphs wants them: at round numbers of seconds, minutes or hours. */
function timeTicks(low, high, pixels) {
  const room = Math.max(2, pixels / 80);
  const step = TIME_STEPS.find((each) => (high - low) / each <= room) || (high - low) / room;
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; ++i) ticks.push({v: i * step, label: formatSeconds(i * step)});
  return ticks;
}

/** A place in words for the axis; "" where none belongs. @param whole whether there are whole epochs only */
function formatPlace(place, whole) {
  if (state.axis === "time") return formatSeconds(place);
  if (state.axis === "step") return Number.isInteger(place) ? formatNumber(place, 4) : "";
  return whole && !Number.isInteger(place) ? "" : formatEpoch(place);
}

/** "epoch 3", and on another axis "epoch 3 · 40 s" */
function momentInWords(run, epoch) {
  const words = `epoch ${formatEpoch(epoch)}`;
  if (state.axis === "epoch") return words;
  const place = placeOfEpoch(run, epoch);
  return `${words} · ${
      state.axis === "time" ? formatSeconds(place) : `step ${Math.round(place).toLocaleString("en")}`}`;
}

/** The choice of an axis; null where nothing but epochs was told. */
function axisSelector() {
  if (knownAxes.length < 2) return null;
  return boundSelector(
      "By", knownAxes.map((name) => [name, AXES[name].label]), "axis", () => state.axis,
      (axis) => setState("axis", {axis}));
}
