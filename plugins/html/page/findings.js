import {asSentence, capitalized, element, formatEpoch} from "./text.js";
import {hideTooltip, showTooltip} from "./popup.js";
import {addTo, layerTags, mappedTags, runs, Series, showsLayer, tagNamed, TICK} from "./data.js";

export const INFO = 1, WARNING = 2, ERROR = 3;
export const SEVERITIES = [null, "info", "warning", "error"];
// Notes that mark a moment: messages of the trainer, a disabled lens, an incident.
export const TIMED_NOTES = ["trainer", "quarantine", "incident"];
// Matches the lenses that report findings, by their names in a configuration.
const TELLS_FINDINGS = /^\s*(-|lenses:\s*\[.*?)\s*["']?(health|findings)\b/m;

/** "Vanishing gradient" for "vanishing_gradient" */
export function titleOf(rule) {
  const words = rule.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function severityName({severity}) { return SEVERITIES[severity] || "info"; }

/** Whether the run had a lens that searches for findings: only then does a run without findings count as healthy. */
export function wasJudged(run) { return run.findings.length > 0 || TELLS_FINDINGS.test(run.config); }

/** Whether the run was judged and has no open error or warning. */
export function isHealthy(run) {
  return !run.incident && wasJudged(run) && !run.findings.some(({gone, severity}) => !gone && severity >= WARNING);
}

/** Sorts by severity, then by the first finding of each rule, then by distance from the threshold, the farthest first. */
function worstFirst(all) {
  const began = new Map(), keyOf = ({run, rule, severity}) => `${run.index} ${rule} ${severity}`;
  for (const each of all) began.set(keyOf(each), Math.min(began.get(keyOf(each)) ?? Infinity, each.firstEpoch));
  const byRule = (a, b) => began.get(keyOf(a)) - began.get(keyOf(b)) || (keyOf(a) < keyOf(b) ? -1 : 1);
  // Older reports have no distances.
  const byDistance = (a, b) => (b.distance ?? 0) - (a.distance ?? 0) || a.firstEpoch - b.firstEpoch;
  return all.sort((a, b) => b.severity - a.severity || (keyOf(a) === keyOf(b) ? byDistance(a, b) : byRule(a, b)));
}

/** All findings with their runs, worst first. */
export const findings = worstFirst(runs.flatMap((run) => run.findings.map((finding) => ({...finding, run}))));
export const notes = runs.flatMap((run) => run.notes.map((note) => ({...note, run})));

/** The names that plots use for the place of a finding: its layer, and its parameter; empty for a finding without a layer. */
function plottedNames({layer, parameter, run}) {
  return layer === null ? [] : [layer, `${layer}.${parameter}`].map(run.shownAs);
}

// The findings of each run by these names, worst first; findings without a layer are under null.
const findingsByName = new Map(runs.map((run) => [run, new Map()]));
for (const finding of findings) {
  const names = finding.layer === null ? [null] : plottedNames(finding);
  for (const name of names) addTo(findingsByName.get(finding.run), name, finding);
}

/** The findings of a layer or of a parameter, worst first. */
function findingsAbout(run, layerName) { return findingsByName.get(run).get(layerName) || []; }

/** Open findings, without hints. */
export function standingFindings(run, layerName) {
  return findingsAbout(run, layerName).filter(({gone, severity}) => !gone && severity >= WARNING);
}

/** The worst severity of a layer's open findings, and of those that this tag shows; 0 if there are none. */
export function severitiesOf(run, layerName, tag) {
  const standing = standingFindings(run, layerName), shown = standing.find((finding) => finding.tag === tag.name);
  return {severity: standing.length > 0 ? standing[0].severity : 0, shownSeverity: shown ? shown.severity : 0};
}

/** The plot that shows a finding: its tag, and the layer if each layer has a plot; null if there is no plot. */
export function placeOf(finding) {
  const tag = tagNamed.get(finding.tag);
  if (tag && tag.big) return {tag};
  const layerIn = (each) => plottedNames(finding).find((name) => showsLayer(each, name));
  const layer = tag ? layerIn(tag) : undefined;
  if (layer !== undefined) return {tag, layer};
  const other = layerTags.find((each) => layerIn(each) !== undefined);
  if (other) return {layer: layerIn(other)};
  return tag ? {tag} : null;
}

/** The worst open finding of a run that the heat map can show; undefined if there is none. */
export function worstInHeatMap(run) {
  return findings.find((finding) => finding.run === run && !finding.gone && finding.severity >= WARNING &&
    mappedTags.some((tag) => tag.name === finding.tag));
}

/** The layer that an incident blames, or the layer of a run's worst open finding; undefined if there is none. */
export function culpritOf(run) {
  if (run.incident) return new Map(run.hyperparameters).get("incident.layer");
  const worst = findings.find((finding) => finding.run === run && !finding.gone && finding.severity >= WARNING &&
    finding.layer !== null);
  return worst && run.shownAs(worst.layer);
}

/** "epoch 3, step 120" */
export function momentOf(epoch, step) {
  const isOfStep = TICK === "step";
  return [epoch === null || isOfStep ? null : `epoch ${formatEpoch(epoch)}`,
    step > 0 || isOfStep ? `step ${step.toLocaleString("en")}` : null].filter(Boolean).join(", ");
}

export function runLabel({run}) { return runs.length > 1 ? [element("span", {class: "of-run"}, run.label)] : []; }

// Notes on how Loupe measured a run; all other notes are about the run itself.
export const ABOUT_MEASURING = ["guess", "cost", "unobserved"];

// Marks closer together than this many pixels are merged into one, which shows at most MARK_LINES lines.
const MARK_ROOM = 9, MARK_LINES = 8, MOST_MARKED = 6;

/** The marks on the time axis of a plot: its layer's findings, or all findings for the whole model, and notes. */
export function marksOf(tag, layerName, shownRuns) {
  // Marks of many runs would cover the plot.
  if (shownRuns.length > MOST_MARKED) return [];
  const concerned = tag.big ? findings.filter(({run, severity}) => severity > INFO && shownRuns.includes(run)) :
    shownRuns.flatMap((run) => [...findingsAbout(run, null), ...findingsAbout(run, layerName)]);
  const found = concerned.map(({firstEpoch, severity, run, layer, message}) =>
    ({epoch: firstEpoch, severity, text: `${layer && tag.big ? `${layer}: ` : ""}${message}`, run}));
  const noted = notes.filter(({run, kind}) => TIMED_NOTES.includes(kind) && shownRuns.includes(run)).map(({epoch, kind, text, run}) =>
    ({epoch, severity: 0, text: `${titleOf(kind)}: ${text}`, run}));
  return [...found, ...noted].filter(({epoch}) => epoch !== null)
      .sort((a, b) => a.epoch - b.epoch || b.severity - a.severity);
}

/** Merges marks that are too close to each other: [{x, marks}]. @param xOf mark → pixels */
export function gatheredMarks(marks, xOf) {
  const gathered = [];
  for (const {mark, x} of marks.map((each) => ({mark: each, x: xOf(each)})).sort((a, b) => a.x - b.x)) {
    const last = gathered[gathered.length - 1];
    if (last && x - last.x < MARK_ROOM) last.marks.push(mark);
    else gathered.push({x, marks: [mark]});
  }
  return gathered;
}

// "… were saved: loupe replay runs/digits/incident-12 (as a page with …)"
const SAVED = /^(.*loupe replay )(.*\/)?(incident-\d+(?:-\d+)?)(?= |$)(.*)$/s;

/**
 * The address of an incident. Under `loupe view` it is a page made from the incident's folder; otherwise the file that
 * describes it, relative to the report, so that both can be moved. Null if the folder is not in the run's folder.
 */
function addressOfIncident(run, path, name) {
  const parts = (folder) => folder.replace(/\/+$/, "").split("/");
  if (location.protocol === "file:") {
    if (!run.folder || String(parts(path)) !== String(parts(run.directory))) return null;
    return `${run.folder.split("/").map(encodeURIComponent).join("/")}/${name}/about.json`;
  }
  // The address of a page of `loupe view` lists the folders of its runs in the page's order.
  const folder = new URLSearchParams(location.search).getAll("run")[run.index];
  if (folder === undefined || parts(folder).at(-1) !== parts(path).at(-1)) return null;
  return `?run=${encodeURIComponent(folder)}&incident=${name}`;
}

/** The text of a note, with a link to its incident if that can be opened. */
export function wordsOfNote({kind, text, run}) {
  const found = kind === "incident" ? SAVED.exec(text) : null;
  const [, before, path = "", name, after] = found ?? [], href = found && addressOfIncident(run, path, name);
  if (!href) return [asSentence(text)];
  const link = element("a", {href, target: "_blank", rel: "noopener"}, name);
  // Under `loupe view` the link is a page, for which nobody needs the command.
  return location.protocol === "file:" ? [capitalized(before) + path, link, asSentence(after)] :
    [capitalized(before).replace("loupe replay ", ""), link, "."];
}

/** A mark at the bottom of a plot, in the colour of its worst finding; its tooltip has all texts. */
export function markElement({x, marks}, area) {
  const worst = Math.max(...marks.map(({severity}) => severity));
  const lines = marks.slice(0, MARK_LINES).map(({severity, text, run}) =>
    `${runs.length > 1 ? `${run.label}: ` : ""}${severity > 0 ? `${SEVERITIES[severity]}: ` : ""}${text}`);
  if (marks.length > MARK_LINES) lines.push(`and ${marks.length - MARK_LINES} more`);
  const first = formatEpoch(marks[0].epoch), last = formatEpoch(marks[marks.length - 1].epoch);
  const told = [first === last ? `${TICK} ${first}` : `${TICK}s ${first} to ${last}`, ...lines];
  const style = `left:${x}px;top:${area.y}px;height:${area.h}px`;
  return element("div", {class: `mark ${SEVERITIES[worst] || "noted"}`, style, "aria-hidden": "true"}, element("span",
      {onpointerenter: (event) => showTooltip(event.clientX, event.clientY, told), onpointerleave: hideTooltip}));
}

/**
 * Whether a layer has a finite value after the epoch at `place` in the line that `counted` is about ("Output Activations
 * NaN" or "train_loss Inf"). Some lenses do not report a value in each epoch.
 */
function isFiniteAfter(run, layerName, counted, place) {
  const what = counted.replace(/ (NaN|Inf)$/, "");
  const isFiniteIn = (packed) => new Series(packed, run.epochs.length).values.findLastIndex(Number.isFinite) > place;
  return run.tags.some(({name: tag}) => {
    const layer = tag === "Non-Finite Values" ? undefined : run.layers(tag).get(layerName);
    return layer !== undefined && layer.lines.some(([line, packed]) =>
      (tag === what || line === what || line.startsWith(`${what} `)) && isFiniteIn(packed));
  });
}

/**
 * The layers in which a number was NaN or infinite, and when: [layer, epoch, tag, run, last], earliest first; `last` is
 * undefined if the layer still has such numbers.
 */
export function brokenLayers() {
  const found = new Map();
  const add = (run, layer, epoch, tagName, last) => {
    const key = `${run.index} ${layer}`, before = found.get(key);
    const isOver = last !== undefined && (before === undefined || before[4] !== undefined);
    const until = isOver ? Math.max(last, before === undefined ? last : before[4]) : undefined;
    const first = before === undefined || before[1] > epoch ? [layer, epoch, tagName, run] : before.slice(0, 4);
    found.set(key, [...first, until]);
  };
  for (const run of runs) {
    for (const tag of run.tags) {
      (tag.broken || []).forEach((epoch, i) => {
        if (epoch !== null) add(run, tag.layers[i], epoch, tag.name);
      });
      // Averages leave out these numbers, so lenses count them under a separate tag.
      if (tag.name !== "Non-Finite Values") continue;
      for (const [name, layer] of run.layers(tag.name)) {
        for (const [line, packed] of layer.lines) {
          const {values} = new Series(packed, run.epochs.length), first = values.findIndex((value) => value > 0);
          if (first < 0) continue;
          const last = values.findLastIndex((value) => value > 0);
          add(run, name, run.epochs[first], line, isFiniteAfter(run, name, line, last) ? run.epochs[last] : undefined);
        }
      }
    }
  }
  return [...found.values()].sort((a, b) => a[1] - b[1]);
}
