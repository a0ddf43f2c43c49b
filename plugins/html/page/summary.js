import {element, formatEpoch, formatNumber} from "./text.js";
import {bigTags, layerNames, lineNames, runs, tagNamed, TICK} from "./data.js";
import {durationOf, stateOf} from "./run_table.js";

/** The last and least number of a line, each with its epoch, and how many epochs there were; null without any. */
function lossOf(run, line) {
  const series = run.line("Loss", "Loss", line);
  if (series === null) return null;
  let best = null, last = null;
  const values = [];
  run.epochs.forEach((epoch, i) => {
    if (series.isMissing(i)) return;
    last = {value: series.values[i], epoch};
    values.push(last);
    if (Number.isFinite(last.value) && (best === null || last.value < best.value)) best = last;
  });
  return last === null ? null : {name: line.replace(/ mean$/, ""), last, best, values};
}

/** The losses of a run, of all lines or those with such a name. */
export function lossesOf(run, wanted = /./) {
  if (!bigTags.some(({name}) => name === "Loss")) return [];
  return lineNames("Loss").filter((line) => wanted.test(line)).map((line) => lossOf(run, line))
      .filter((loss) => loss !== null);
}

function item(name, ...what) {
  return element("span", {class: "summary-item"}, element("span", {class: "muted"}, name, " "), ...what);
}

/** "Net Adam 0.001" */
function rates(run) {
  const tag = tagNamed.get("Learning Rate");
  if (!tag) return [];
  return layerNames(tag.name).flatMap((layer) => lineNames(tag.name).map((line) => {
    const series = run.line(tag.name, layer, line), value = series && series.last();
    return value === null ? null : item("rate", element("b", {}, formatNumber(value)), ` ${line}`);
  })).filter((each) => each !== null).slice(0, 2);
}

/** How one run stands, in a line: state, epoch, losses, duration, parameters, rate. */
export function summaryOf(run) {
  const parameters = run.models.reduce((sum, model) => sum + ((model && model.parameters) || 0), 0);
  const last = run.epochs[run.epochs.length - 1];
  const losses = lossesOf(run).slice(0, 3).map(({name, last: now, best}) => item(name,
      element("b", {class: Number.isFinite(now.value) ? null : "alarm"}, formatNumber(now.value)),
      best === null ? "" : `, best ${formatNumber(best.value)} in ${TICK} ${formatEpoch(best.epoch)}`));
  const duration = run.incident ? null : durationOf(run);
  return [
    element("span", {class: "summary-item"},
        run.incident ? "incident" : stateOf({...run, ending: run.ending && {...run.ending, message: null}})),
    last === undefined ? null : item(TICK, element("b", {}, formatEpoch(last))), ...losses,
    duration === null ? null : item("in", duration),
    run.ranks > 1 ? item("of", element("b", {}, `${run.ranks} ranks`)) : null,
    parameters > 0 ? item("parameters", parameters.toLocaleString("en")) : null, ...rates(run),
    run.libtorch ? item("LibTorch", run.libtorch) : null,
  ].filter((part) => part !== null);
}

/** A run whose loss came down and then stayed far above that for most of it; null where none has. */
export function collapseAlert() {
  const FAR = 3, MOST = 0.5, FEWEST = 6;
  for (const run of runs.filter(({incident}) => !incident)) {
    for (const {name, last, best, values} of lossesOf(run)) {
      if (best === null || best.value <= 0 || values.length < FEWEST) continue;
      const isFar = ({value}) => !(value < FAR * best.value);
      const far = values.filter((each) => each.epoch > best.epoch && isFar(each)).length;
      if (!isFar(last) || far < MOST * values.length) continue;
      const began = ` ${name} was lowest with ${formatNumber(best.value)} in epoch ${formatEpoch(best.epoch)}`;
      const text = Number.isFinite(last.value) ?
        `${began}, and is ${formatNumber(last.value)} in the last: for ${far} of ${values.length} epochs it was ` +
          `more than ${FAR} times as high.` :
        `${began}, and became ${formatNumber(last.value)}: for ${far} of ${values.length} epochs it was that, or far ` +
          "higher.";
      return element("div", {class: "alert", id: "collapse"}, element("strong", {},
          runs.length > 1 ? `'${run.label}' collapsed.` : "The run collapsed."), element("span", {}, text));
    }
  }
  return null;
}
