import {breakable, button, element, formatNumber, plural, section} from "./text.js";
import {addTo, bigTags, layerTags, runs, Series, showsLayer} from "./data.js";
import {Card} from "./cards.js";
import {findings, INFO, severityName, titleOf} from "./findings.js";

const SHOWN_IN_A_STEP = 8;

/** What the folder says of why it was written, by name. */
function saidOf(run) {
  return new Map(run.hyperparameters.filter(([name]) => name.startsWith("incident."))
      .map(([name, text]) => [name.slice("incident.".length), text]));
}

// A step's outputs come first, then its loss, gradients, and what the optimizer makes of them.
const LOSS = 1, GRADIENTS = 2, PARAMETERS = 3, TOLD = 4;

function stageOf(line) { return /Gradient/.test(line) ? GRADIENTS : /^Output/.test(line) ? 0 : PARAMETERS; }

/**
 * What happened in which step, in its order: [{step, stage, words, layer, isKnown}]; `isKnown` is false where it may have
 * begun before.
 */
function eventsOf(run) {
  const events = [];
  const add = (i, stage, words, layer) => events.push({step: run.epochs[i], stage, words, layer, isKnown: i > 0});
  for (const [layer, {lines}] of run.layers("Non-Finite Values")) {
    const told = new Map();
    for (const [line, packed] of lines) {
      const {values} = new Series(packed, run.epochs.length), first = values.findIndex((value) => value > 0);
      if (first >= 0) addTo(told, `${first} ${stageOf(line)}`, `${line} (${values[first].toLocaleString("en")})`);
    }
    for (const [moment, counts] of told) add(...moment.split(" ").map(Number), `${layer}: ${counts.join(", ")}`, layer);
  }
  for (const {name} of bigTags) {
    for (const [, {lines}] of run.layers(name)) {
      for (const [line, packed] of lines) {
        const series = new Series(packed, run.epochs.length);
        const first = run.epochs.findIndex((_, i) => series.isBroken(i));
        if (first >= 0) add(first, LOSS, `${line} is ${formatNumber(series.values[first])}`, null);
      }
    }
  }
  // What is no more than a hint was not what happened first.
  for (const finding of findings.filter(({severity}) => severity > INFO)) {
    const words = `${severityName(finding)}: ${titleOf(finding.rule)}${finding.layer ? ` at ${finding.layer}` : ""}`;
    events.push({step: finding.firstStep, stage: TOLD, words, layer: finding.layer, isKnown: true});
  }
  return events.sort((a, b) => a.step - b.step || a.stage - b.stage);
}

function eventsList(run, openLayer) {
  const steps = new Map(), events = eventsOf(run);
  for (const event of events) {
    if (!steps.has(event.step)) steps.set(event.step, []);
    steps.get(event.step).push(event);
  }
  const item = ({words, layer}) => (layer !== null && layerTags.some((tag) => showsLayer(tag, layer)) ?
    button({class: "link", onclick: () => openLayer(layer, [])}, breakable(words)) :
    element("span", {}, breakable(words)));
  const rows = [...steps].map(([step, all]) => {
    const items = (some) => element("ul", {}, some.map((event) => element("li", {}, item(event))));
    const rest = all.length - SHOWN_IN_A_STEP;
    return element("li", {}, element("strong", {}, `Step ${step.toLocaleString("en")}`),
        all.every(({isKnown}) => isKnown) ? null : element("span", {class: "muted"}, " or before: the first one kept"),
        items(all.slice(0, SHOWN_IN_A_STEP)),
        rest > 0 ? element("details", {}, element("summary", {}, `${rest} more`), items(all.slice(SHOWN_IN_A_STEP))) :
          null);
  });
  const wasBroken = run.layers("Non-Finite Values").size > 0;
  return [element("ol", {class: "events"}, rows), element("p", {class: "muted"}, wasBroken ?
    "Within a step: outputs, then losses, gradients, parameters. Of several layers the folder does not say which was first." :
    "No tensor that was looked at in these steps held NaN or ∞.")];
}

/** What was measured of the blamed module: the first and the last number of each line. */
function measuredTable(run, layer) {
  const rows = layerTags.flatMap(({name}) => {
    const told = run.layers(name).get(layer);
    if (!told) return [];
    const bands = told.bands.flatMap(([lowName, highName, low, high]) => [[lowName, low], [highName, high]]);
    return [...told.lines, ...bands].map(([line, packed]) => {
      const series = new Series(packed, run.epochs.length);
      const known = [...run.epochs.keys()].filter((i) => !series.isMissing(i));
      const cell = (i) => element("td", {class: series.isBroken(i) ? "alarm" : null},
          `${formatNumber(series.values[i])} in step ${run.epochs[i].toLocaleString("en")}`);
      return element("tr", {}, element("th", {scope: "row"}, `${name}, ${line}`), cell(known[0]),
          cell(known[known.length - 1]));
    });
  });
  return rows.length === 0 ? element("p", {class: "muted"}, "The folder has no measurements of it.") :
    element("div", {class: "scrolled"}, element("table", {class: "run-table"},
        element("thead", {}, element("tr", {}, ["Measured", "First", "Last"].map((head) =>
          element("th", {scope: "col"}, head)))), element("tbody", {}, rows)));
}

function filesList(said) {
  const part = (name, words) => (said.has(name) ? element("p", {}, `${words}: ${said.get(name)}`) : null);
  return [part("tensors", "Its parameters and gradients, for torch.load, in the folder"),
    part("tensors_left_out", "Not kept"), said.has("streams_left_out") && said.get("streams_left_out") !== "0" ?
      element("p", {}, `${plural(Number(said.get("streams_left_out")), "more stream")} left out.`) : null];
}

/** Why the last steps were kept, what happened in which order, and the module blamed; null where it is no incident. */
export function incidentSection(openLayer) {
  const run = runs.find(({incident}) => incident);
  if (run === undefined) return null;
  const said = saidOf(run), layer = said.get("layer");
  const settings = run.hyperparameters.filter(([name]) => !name.startsWith("incident."));
  const cards = layer === undefined ? [] : layerTags.filter((tag) => showsLayer(tag, layer))
      .map((tag) => new Card(tag, layer, tag.name));
  const kept = run.epochs.length === 0 ? "No step was looked at." :
    `${plural(run.epochs.length, "step")} that were looked at, from ${run.epochs[0].toLocaleString("en")} to ` +
      `${run.epochs[run.epochs.length - 1].toLocaleString("en")}.`;
  return section("incident", ["Incident", ` at step ${Number(said.get("step")).toLocaleString("en")}` +
      (said.has("epoch") ? ` in epoch ${said.get("epoch")}` : "")], null, element("div", {class: "panel"},
      element("h3", {}, "What happened first"), eventsList(run, openLayer),
      element("p", {}, element("strong", {}, `Kept ${said.get("cause")}.`)),
      said.has("why") ? element("p", {}, said.get("why")) : null,
      element("p", {class: "muted"}, `${kept} ${said.get("time") || ""}`),
      layer === undefined ? null : element("h3", {}, "The module blamed: ", breakable(layer),
          said.has("parameter") ? ` ${said.get("parameter")}` : ""),
      filesList(said), layer === undefined ? null : element("div", {class: "grid small"}, cards.map(({root}) => root)),
      layer === undefined ? null :
        element("details", {}, element("summary", {}, "Its numbers"), measuredTable(run, layer)),
      settings.length === 0 ? null :
        element("details", {}, element("summary", {}, "Optimizers"), element("dl", {class: "settings"},
            settings.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]))),
      run.config === "" ? null :
        element("details", {}, element("summary", {}, "Config"), element("pre", {tabindex: "0"}, run.config))));
}
