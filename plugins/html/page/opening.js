import {lineNames, mappedTags, Series} from "./data.js";
import {culpritOf, worstInHeatMap} from "./findings.js";
import {ColourScale} from "./heat_map.js";
import {tellingLine} from "./ranking.js";

// Some layers always take longer than others, which says nothing of how the model learns.
const IS_TIME = /^Layer (Time|Calls)/;
// So many of a line's numbers tell where its colours end.
const SAMPLES = 12;

const contrasts = new Map();

/** How far apart the layers of a tag stand in their colours, from 0 to 1; 0 where all look alike. */
function contrastOf(run, tag, lineName) {
  const key = `${run.index} ${tag.name}\n${lineName}`;
  if (contrasts.has(key)) return contrasts.get(key);
  const all = [...run.layers(tag.name).values()].map(({lines}) => lines.find(([name]) => name === lineName))
      .filter((line) => line !== undefined)
      .map(([, packed]) => [...new Series(packed, run.epochs.length).values].filter(Number.isFinite))
      .filter((values) => values.length > 0);
  const samples = all.flatMap((values) => values.filter((_, i) => i % Math.ceil(values.length / SAMPLES) === 0));
  const scale = new ColourScale(samples, tag), places = all.map((values) => scale.place(values[values.length - 1]));
  const mean = places.reduce((sum, place) => sum + place, 0) / places.length;
  const spread = places.length < 2 ? 0 :
    2 * Math.sqrt(places.reduce((sum, place) => sum + (place - mean) ** 2, 0) / places.length);
  contrasts.set(key, spread);
  return spread;
}

/**
 * The line that the heat map of a run begins with: of the run's worst finding where that is of this tag, else the one
 * that says most of a layer's health; where all layers look alike in that, the one in which they differ most.
 */
export function usualLine(run, tagName) {
  const worst = worstInHeatMap(run), all = lineNames(tagName), isOfWorst = worst !== undefined && worst.tag === tagName;
  const layer = isOfWorst ? run.layers(tagName).get(worst.layer) : undefined;
  const telling = tellingLine(layer === undefined || layer.lines.length === 0 ? all : layer.lines.map(([name]) => name));
  const tag = mappedTags.find(({name}) => name === tagName);
  if (isOfWorst || run.incident || tag === undefined || all.length < 2 || contrastOf(run, tag, telling) > 0)
    return telling;
  return all.reduce((best, line) => (contrastOf(run, tag, line) > contrastOf(run, tag, best) ? line : best), telling);
}

/** Whether numbers of a layer under a tag were NaN or infinite. */
function isBrokenIn({broken, layers}, layer) {
  const epoch = broken === null ? undefined : broken[layers.indexOf(layer)];
  return epoch !== undefined && epoch !== null;
}

/** Of a run without a finding to show, the tag in which most layers differ most, before others one with NaN or ∞. */
function mostTelling(run) {
  const told = mappedTags.filter(({name}) => run.tagIndex.has(name));
  const most = Math.max(1, ...told.map(({name}) => run.layers(name).size));
  const score = (tag) => contrastOf(run, tag, usualLine(run, tag.name)) * (run.layers(tag.name).size / most);
  const best = (some) => some.map((tag) => ({tag, score: score(tag)}))
      .reduce((first, each) => (each.score > first.score ? each : first), {tag: null, score: 0}).tag;
  const broken = run.tags.filter((tag) => tag.layers.some((layer) => isBrokenIn(tag, layer))).map(({name}) => name);
  return (best(told.filter(({name}) => broken.includes(name))) ??
    best(told.filter(({name}) => !IS_TIME.test(name))) ?? best(told) ?? mappedTags[0]).name;
}

const opened = new Map();

/**
 * What the heat map of a run opens on: the tag of its worst finding, else the one that tells most; in an incident one
 * under which the module blamed was not finite, as how its numbers came to that says more than how many they were.
 */
export function firstTagName(run) {
  if (!opened.has(run)) {
    const broken = run.incident ? run.tags.find((tag) => !tag.big && isBrokenIn(tag, culpritOf(run))) : undefined;
    opened.set(run, broken?.name ?? worstInHeatMap(run)?.tag ?? mostTelling(run));
  }
  return opened.get(run);
}
