import {asSentence, breakable, button, element, fill, formatNumber, plural, section} from "./text.js";
import {addTo, allEpochs, bigTags, layerTags, lineNames, nearestIndex, runs, Series, showsLayer} from "./data.js";
import {ABOUT_MEASURING, ERROR, findings, gatheredMarks, INFO, isHealthy, markElement, momentOf, notes, placeOf, runLabel, SEVERITIES, severityName,
  TIMED_NOTES, titleOf, WARNING, wasJudged, wordsOfNote} from "./findings.js";
import {announce, epochWindow, on, state, visibleRuns} from "./state.js";
import {axisName, epochAt, placeOfEpoch, placeTicks, resumptionsOf, shownPlaces, smallCurve} from "./axis.js";
import {tellingLine} from "./heat_map.js";
import {Card, goToCard} from "./cards.js";

// Besides the colour of a bar, a sign shows its severity.
const SIGNS = {error: "✕", warning: "!", info: "i"};

/** The time spans in which findings of a rule were open; overlapping ones are merged. Open findings last until the end. */
function stretchesOf(findings) {
  const stretches = [];
  const spans = findings.map((finding) => ({finding, from: finding.firstEpoch ?? -Infinity,
    to: finding.gone ? finding.lastEpoch ?? Infinity : Infinity}));
  for (const {finding, from, to} of spans.sort((a, b) => a.from - b.from)) {
    const last = stretches[stretches.length - 1];
    if (last && from <= last.to) {
      last.to = Math.max(last.to, to);
      last.findings.push(finding);
    } else {
      stretches.push({from, to, findings: [finding]});
    }
  }
  return stretches;
}

/** The worst open finding, else the worst resolved one. */
function worstOf(findings) {
  const standing = findings.filter(({gone}) => !gone), some = standing.length > 0 ? standing : findings;
  return some.reduce((worst, each) => (each.severity > worst.severity ? each : worst));
}

function stretchInWords(worst, {findings}) {
  const layers = new Set(findings.map(({layer}) => layer)), [first] = findings;
  const last = findings.reduce((latest, each) => ((each.lastEpoch ?? 0) > (latest.lastEpoch ?? 0) ? each : latest));
  const where = layers.size > 1 ? `${layers.size} layers` : first.layer;
  const since = momentOf(first.firstEpoch, first.firstStep);
  const when = worst.gone ? `from ${since} to ${momentOf(last.lastEpoch, last.lastStep)}` : `since ${since}`;
  return [`${severityName(worst)}: ${titleOf(first.rule)}`, where, when].filter(Boolean).join(", ");
}

/** Findings over time: one row per rule on the axis of the plots, with marks of notes and the cursor of the plots. */
class Timeline {
  /** @param shown findings, in the order of the rows  @param goTo called with a finding when its bar is clicked */
  constructor(shown, goTo) {
    this.goTo = goTo;
    const rules = new Map();
    for (const finding of shown) addTo(rules, `${finding.run.index} ${finding.rule}`, finding);
    this.rows = [...rules.values()].map((some) => this.row(some));
    this.marks = this.marksOf();
    this.foot = element("div", {class: "timeline-track"});
    this.over = element("div", {class: "timeline-over"});
    this.cursor = element("div", {class: "cursor-line", hidden: true});
    // The overlay covers the rows but is inside the axis element, so that both have the same width, also on paper.
    this.labels = element("div", {"aria-hidden": "true"});
    this.axis = element("div", {class: "timeline-axis"}, this.labels, this.over);
    this.unit = element("span", {class: "timeline-name timeline-unit muted"});
    const noted = this.marks.length > 0 ? [element("span", {class: "timeline-name muted"}, "Notes"), this.foot] : [];
    this.root = element("div", {class: "timeline", role: "group", "aria-label": "Findings over time",
      onpointermove: (event) => this.point(event), onpointerleave: () => announce("cursor", null)},
    this.rows.flatMap(({name, track}) => [name, track]), noted, this.unit, this.axis);
    new ResizeObserver(() => this.draw()).observe(this.axis);
    for (const change of ["zoom", "axis", "runs"]) on(change, () => this.draw());
    on("cursor", (epoch) => this.setCursor(epoch));
  }

  bar(stretch) {
    const worst = worstOf(stretch.findings), kind = severityName(worst), words = stretchInWords(worst, stretch);
    return {...stretch, root: button({class: `timeline-bar ${kind}${worst.gone ? " gone" : ""}`, title: words,
      "aria-label": words, onclick: () => this.goTo(worst)}, SIGNS[kind])};
  }

  row(some) {
    const [{run, rule}] = some, bars = stretchesOf(some).map((stretch) => this.bar(stretch));
    const name = element("span", {class: "timeline-name"}, titleOf(rule), ...runLabel({run}));
    return {run, bars, name, track: element("div", {class: "timeline-track"}, bars.map(({root}) => root))};
  }

  marksOf() {
    const noted = notes.filter(({kind, epoch}) => TIMED_NOTES.includes(kind) && epoch !== null)
      .map(({run, kind, epoch, text}) => ({run, epoch, severity: 0, text: `${titleOf(kind)}: ${text}`}));
    const resumed = runs.flatMap((run) => resumptionsOf(run).map((epoch) =>
      ({run, epoch, severity: 0, text: "The run was resumed here."})));
    return [...noted, ...resumed];
  }

  /** The horizontal position of an epoch as a share of the width: below 0 or above 1 if it is not visible. */
  shareOf(run, epoch) {
    const [first, last] = [run.epochs[0], run.epochs[run.epochs.length - 1]];
    const place = placeOfEpoch(run, Math.min(Math.max(epoch, first), last));
    return (place - this.low) / (this.high - this.low);
  }

  draw() {
    const shown = visibleRuns().filter(({epochs}) => epochs.length > 0);
    for (const {run, name, track} of this.rows) name.hidden = track.hidden = !shown.includes(run);
    // Read sizes before changing anything; afterwards the browser would have to compute the layout again.
    const width = this.axis.clientWidth, height = this.axis.offsetTop;
    if (width === 0 || shown.length === 0) return;
    [this.low, this.high] = shownPlaces(shown);
    if (!(this.high > this.low)) [this.low, this.high] = [this.low - 0.5, this.low + 0.5];
    for (const {run, bars} of this.rows.filter((row) => shown.includes(row.run))) {
      for (const {root, from, to} of bars) {
        const start = this.shareOf(run, from), end = this.shareOf(run, to);
        root.hidden = end < 0 || start > 1;
        const left = Math.min(Math.max(start, 0), 1), right = Math.min(Math.max(end, 0), 1);
        // A short bar is still visible, and stays within the track.
        root.style.cssText = `left:min(${left * 100}%, 100% - 18px);width:max(${(right - left) * 100}%, 18px)`;
      }
    }
    const whole = shown.every((run) => run.epochs.every(Number.isInteger));
    const ticks = placeTicks(this.low, this.high, width, state.axis === "epoch" && whole);
    const percent = (place) => ((place - this.low) / (this.high - this.low)) * 100;
    fill(this.labels, ticks.map(({v, label}) => element("span", {style: `left:${percent(v)}%`}, label)));
    this.unit.textContent = axisName();
    this.over.style.height = `${height}px`;
    const marks = this.marks.filter(({run, epoch}) => {
      const share = this.shareOf(run, epoch);
      return shown.includes(run) && share >= 0 && share <= 1;
    });
    const gathered = gatheredMarks(marks, ({run, epoch}) => this.shareOf(run, epoch) * width).map((each) => {
      const mark = markElement(each, {y: 0, h: height});
      mark.style.left = `${(each.x / width) * 100}%`;
      return mark;
    });
    fill(this.over, ticks.map(({v}) => element("div", {class: "timeline-grid", style: `left:${percent(v)}%`})),
        gathered, this.cursor);
  }

  setCursor(epoch) {
    const [first, last] = epochWindow();
    this.cursor.hidden = epoch === null || epoch < first || epoch > last || this.low === undefined;
    if (this.cursor.hidden) return;
    const run = visibleRuns().find(({epochs}) => epochs.length > 0);
    this.cursor.style.cssText = `left:${this.shareOf(run, epoch) * 100}%;top:0;bottom:0`;
  }

  point(event) {
    const box = this.over.getBoundingClientRect(), share = (event.clientX - box.left) / box.width;
    if (this.low === undefined) return;
    if (share < 0 || share > 1) return announce("cursor", null);
    const epoch = epochAt(visibleRuns(), this.low + share * (this.high - this.low));
    announce("cursor", allEpochs[nearestIndex(allEpochs, epoch)]);
  }
}

// With more runs than this, all findings of a rule share one card.
const MOST_APART = 6;
const SHOWN_CARDS = 8, SHOWN_NOTES = 12;

/** Groups findings by rule, severity and run, worst rule first: [[finding, ...], ...]. */
function byRule(some) {
  const groups = new Map();
  for (const finding of some) {
    const key = [runs.length > MOST_APART ? null : finding.run.index, finding.rule, finding.severity, finding.gone].join(" ");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(finding);
  }
  return [...groups.values()];
}

function layerOf({layer, parameter}) {
  return layer === null ? null :
    element("span", {class: "of-layer"}, breakable(layer), parameter ? ` ${parameter}` : "");
}

/** The place of a rule's findings: the layer, or the number of the run's layers and the worst of them. */
function extent(group) {
  const [worst] = group, layers = new Set(group.map(({layer}) => layer)), {modules} = worst.run;
  const many = new Set(group.map(({run}) => run)).size;
  if (many > 1) return element("span", {}, `${many} of ${plural(runs.length, "run")}, worst `, layerOf(worst) ?? "");
  if (layers.size < 2) return layerOf(worst);
  const areModules = [...layers].every((layer) => modules.has(layer));
  const all = [...modules.values()].filter(({leaf}) => leaf).length;
  return element("span", {}, areModules ? `${layers.size} of ${plural(all, "layer")}` : plural(layers.size, "layer"),
      ", worst ", layerOf(worst));
}

/** A curve of the number that a finding is about; null if no plot shows it. */
function curveOf(finding) {
  const place = placeOf(finding), tag = place && place.tag;
  if (!tag || (!tag.big && place.layer === undefined)) return null;
  const lines = lineNames(tag.name), named = lines.filter((each) => finding.message.includes(each.replace(/ mean$/, "")));
  // A finding that compares losses is about the validation loss.
  const sought = /validation/i.test(finding.message) ? lines : named;
  const line = sought.find((each) => / mean$/.test(each) && each.startsWith("val")) ?? tellingLine(lines);
  const series = finding.run.line(tag.name, tag.big ? tag.name : place.layer, line);
  return series && smallCurve(finding.run, series, tag, `${line} over the epochs`);
}

function placeLink(finding, openPlace) {
  const place = placeOf(finding);
  return place === null ? null :
    button({class: "link", onclick: () => openPlace(place)}, place.tag ? `Show ${place.tag.name}` : "Show the layer");
}

/** The first and last moment when it was seen. */
function spanOf(finding) {
  const since = momentOf(finding.firstEpoch, finding.firstStep);
  return [
    finding.gone ? `from ${since} to ${momentOf(finding.lastEpoch, finding.lastStep)}` : `since ${since}`,
    finding.gone && finding.count > 1 ? `seen ${finding.count.toLocaleString("en")} times` : null,
  ].filter(Boolean).join(" · ");
}

/** The message of a finding, with its place in the program's source. */
function messageOf({message, file, line}) {
  return asSentence(file === null ? message : `${message} (${file}${line > 0 ? `:${line}` : ""})`);
}

const toldIncidents = new Set();

/** Notes on the saved steps before these findings, with the command that shows the steps; each note is shown only once. */
function incidentsOf(group) {
  const isAbout = (note) => group.some(({run, id}) => run === note.run && id === note.finding);
  const own = notes.filter((note) => !toldIncidents.has(note) && isAbout(note));
  for (const note of own) toldIncidents.add(note);
  return own.map((note) => element("p", {class: "muted kept"}, wordsOfNote(note)));
}

/** The other layers of a rule, folded. */
function furtherPlaces(group, openPlace) {
  if (group.length < 2) return null;
  const list = element("ul", {class: "places"});
  const unfold = () => {
    if (list.children.length > 0) return;
    list.append(...group.slice(1).map((finding) =>
      element("li", {}, layerOf(finding), " ", messageOf(finding), " ", placeLink(finding, openPlace) || "")));
  };
  return element("details", {class: "further", ontoggle: unfold},
      element("summary", {}, `${group.length - 1} more like this`), list);
}

/** The card of a rule: the problem and its place, the advice, the time, and a curve of the number. */
function ruleCard(group, openPlace) {
  const [worst] = group, name = severityName(worst);
  return element("li", {class: `finding ${name}${worst.gone ? " gone" : ""}`, tabindex: "-1"},
      element("div", {class: "finding-head"}, element("span", {class: "severity"}, name), ...runLabel(worst),
          element("h3", {}, titleOf(worst.rule)), extent(group)),
      element("div", {class: "finding-body"},
          element("div", {}, element("p", {class: "message"}, messageOf(worst)),
              worst.advice ? element("p", {class: "advice"}, "→ ", asSentence(worst.advice)) : null), curveOf(worst)),
      element("div", {class: "finding-foot"}, element("span", {class: "muted"}, spanOf(worst)),
          placeLink(worst, openPlace)),
      ...incidentsOf(group), furtherPlaces(group, openPlace));
}

/** A list that shows its first few items and folds the others. */
function longList(items, shown, what) {
  const list = (some) => element("ul", {class: "told"}, some);
  if (items.length <= shown) return [list(items)];
  const more = `${(items.length - shown).toLocaleString("en")} more ${what}`;
  return [list(items.slice(0, shown)),
    element("details", {class: "rest"}, element("summary", {}, more), list(items.slice(shown)))];
}

function noteItem(note) {
  return element("li", {class: "note-item"},
      element("span", {class: "muted"}, momentOf(note.epoch, note.step), " · ", titleOf(note.kind)),
      ...runLabel(note), element("span", {}, wordsOfNote(note)));
}

// The table of the run shows notes on how Loupe measured it.
const shownNotes = notes.filter(({kind}) => !ABOUT_MEASURING.includes(kind));

/** The list of notes, folded if there are findings to read. */
function notesPart(isFolded) {
  if (shownNotes.length === 0) return [];
  const lost = runs.reduce((sum, run) => sum + run.lostNotes, 0);
  const parts = [...longList(shownNotes.map(noteItem), SHOWN_NOTES, "notes"),
    lost > 0 ? element("p", {class: "muted"}, `${plural(lost, "earlier note")} left out.`) : null];
  return isFolded ?
    [element("details", {class: "notes"}, element("summary", {}, plural(shownNotes.length, "note")), ...parts)] : parts;
}

/** "1 error, 2 warnings": the number of rules with open findings of each severity. */
function countsOf(groups) {
  return [ERROR, WARNING]
      .map((severity) => [groups.filter(([worst]) => worst.severity === severity).length, SEVERITIES[severity]])
      .filter(([count]) => count > 0)
      .map(([count, name]) => plural(count, name))
      .join(", ");
}

const cardOf = new Map();

/** Findings over time; a bar leads to its card, which may be folded. Call findingsSection() first. */
export function timelineSection() {
  const areHints = [...cardOf.keys()].every(({severity}) => severity === INFO);
  if (areHints || allEpochs.length === 0 || runs.length > MOST_APART) return null;
  const goTo = (finding) => {
    const card = cardOf.get(finding);
    for (let outer = card.closest("details"); outer !== null; outer = outer.parentElement.closest("details"))
      outer.open = true;
    goToCard(card);
  };
  return section("timeline", ["Timeline"], null,
      element("div", {class: "panel"}, new Timeline([...cardOf.keys()], goTo).root));
}

/** Whether a rule is only a consequence of another one, and so is listed after it. */
function isConsequence([{severity, causedBy}]) { return severity === INFO && causedBy !== null; }

/** A sentence about runs without errors and warnings. @param resolved the number of resolved findings */
function healthInWords(resolved) {
  // The number of ticks is not enough: a tick may cover several epochs, and a long report leaves some out.
  const epochs = Math.max(...runs.map(({epochs: all}) =>
    (all.length === 0 ? 0 : Math.round(all[all.length - 1] - Math.min(all[0], 1) + 1))));
  const whole = plural(epochs, "epoch");
  const ended = runs.every((run) => run.ended) ? "" : " so far";
  const found = resolved > 0 ? `All ${resolved > 1 ? `${resolved} problems` : "problems"} were resolved.` :
    epochs > 0 ? `No problems found in ${whole}.` : "No problems found yet.";
  return `${runs.every(isHealthy) ? `Training looks healthy${ended}. ` : ""}${found}`;
}

/** A card for each rule, worst first, and the notes; null if nothing searched for findings and there are no notes. */
export function findingsSection(openPlace) {
  const standing = findings.filter(({gone}) => !gone), over = findings.filter(({gone}) => gone);
  const looked = runs.some(wasJudged);
  if (!looked && shownNotes.length === 0) return null;
  const parts = [];
  const cardsOf = (groups) => groups.map((group) => {
    const card = ruleCard(group, openPlace);
    for (const finding of group) cardOf.set(finding, card);
    return card;
  });
  const groups = byRule(standing), following = groups.filter(isConsequence);
  const isHint = ([{severity}]) => severity === INFO;
  const hints = groups.filter((group) => isHint(group) && !isConsequence(group));
  if (standing.some(({severity}) => severity > INFO))
    parts.push(...longList(cardsOf(groups.filter((group) => !isHint(group))), SHOWN_CARDS, "rules"));
  else if (looked) parts.push(element("p", {class: "calm"}, healthInWords(over.filter(({severity}) => severity > INFO).length)));
  if (following.length > 0) {
    const names = [...new Set(following.map(([{rule}]) => titleOf(rule)))].join(", ");
    parts.push(element("details", {class: "following"}, element("summary", {}, `Probably consequences: ${names}`),
        element("ul", {class: "told"}, cardsOf(following))));
  }
  if (hints.length > 0) {
    const names = [...new Set(hints.map(([{rule}]) => titleOf(rule)))].join(", ");
    parts.push(element("details", {class: "hints"}, element("summary", {}, `${plural(hints.length, "hint")}: ${names}`),
        element("ul", {class: "told"}, cardsOf(hints))));
  }
  if (over.length > 0) {
    parts.push(element("details", {class: "over"}, element("summary", {}, `${over.length} resolved`),
        element("ul", {class: "told"}, cardsOf(byRule(over)))));
  }
  parts.push(...notesPart(looked));
  const counts = standing.length > 0 ? [" ", element("span", {class: "muted"}, countsOf(groups))] : [""];
  return section("findings", [looked ? "Findings" : "Notes", ...counts], null, element("div", {class: "panel"}, parts));
}

const SHOWN_IN_A_STEP = 8;

/** The reasons for an incident that its folder names: a map of names and texts. */
function saidOf(run) {
  return new Map(run.hyperparameters.filter(([name]) => name.startsWith("incident."))
      .map(([name, text]) => [name.slice("incident.".length), text]));
}

// The order within a step: outputs, the loss, gradients, parameters, then findings.
const LOSS = 1, GRADIENTS = 2, PARAMETERS = 3, TOLD = 4;

function stageOf(line) { return /Gradient/.test(line) ? GRADIENTS : /^Output/.test(line) ? 0 : PARAMETERS; }

/**
 * The events of a run in order: [{step, stage, words, layer, isKnown}]; `isKnown` is false if the event may have begun
 * before the first kept step.
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
  // Leave out hints, which are consequences.
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
    "Within a step: outputs, then losses, gradients, parameters. The order of several layers is not known." :
    "No tensor measured in these steps held NaN or ∞.")];
}

/** The measurements of the blamed module: the first and the last number of each line. */
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

/** The reason for an incident, its events in order, and the blamed module; null without an incident. */
export function incidentSection(openLayer) {
  const run = runs.find(({incident}) => incident);
  if (run === undefined) return null;
  const said = saidOf(run), layer = said.get("layer");
  const settings = run.hyperparameters.filter(([name]) => !name.startsWith("incident."));
  const cards = layer === undefined ? [] : layerTags.filter((tag) => showsLayer(tag, layer))
      .map((tag) => new Card(tag, layer, tag.name));
  const kept = run.epochs.length === 0 ? "No step was measured." :
    `${plural(run.epochs.length, "measured step")}, from ${run.epochs[0].toLocaleString("en")} to ` +
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
