import {button, element, fill} from "./text.js";
import {allEpochs, nearestIndex, runs} from "./data.js";
import {announce, epochWindow, on, state, visibleRuns} from "./state.js";
import {axisName, epochAt, placeOfEpoch, placeTicks, resumptionsOf, shownPlaces} from "./axis.js";
import {gatheredMarks, markElement, momentOf, notes, NOTE_KINDS, runLabel, severityName, titleOf} from "./findings.js";

// Not by colour alone.
const SIGNS = {error: "✕", warning: "!", info: "i"};
// Of notes, those that happened at a time: the trainer's, a lens that was put aside, a rate, an incident.
const TIMED_NOTES = [1, 2, 3, 7];

/** Where the findings of a group stood, from and to an epoch; what touches is one stretch. Those that stand go on. */
function stretchesOf(group) {
  const stretches = [];
  const spans = group.map((finding) => ({finding, from: finding.firstEpoch ?? -Infinity,
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

function stretchInWords({findings}) {
  const [first] = findings, layers = new Set(findings.map(({layer}) => layer));
  const last = findings.reduce((latest, each) => ((each.lastEpoch ?? 0) > (latest.lastEpoch ?? 0) ? each : latest));
  const where = layers.size > 1 ? `${layers.size} layers` : first.layer;
  const since = momentOf(first.firstEpoch, first.firstStep);
  const when = first.gone ? `from ${since} to ${momentOf(last.lastEpoch, last.lastStep)}` : `since ${since}`;
  return [`${severityName(first)}: ${titleOf(first.rule)}`, where, when].filter(Boolean).join(", ");
}

/** What started when, a row a rule over the axis that plots go by, with the marks of notes and the plots' cursor. */
export class Timeline {
  /** @param groups of findings, a card each  @param goTo called with the group whose card a bar leads to */
  constructor(groups, goTo) {
    this.goTo = goTo;
    const rows = new Map();
    for (const group of groups) {
      const [{run, rule}] = group, key = `${run.index} ${rule}`;
      if (!rows.has(key)) rows.set(key, {run, rule, bars: []});
      rows.get(key).bars.push(...stretchesOf(group).map((stretch) => ({...stretch, ...this.bar(group, stretch)})));
    }
    this.rows = [...rows.values()].map((row) => ({...row, ...this.row(row)}));
    this.marks = this.marksOf();
    this.foot = element("div", {class: "timeline-track"});
    this.over = element("div", {class: "timeline-over"});
    this.cursor = element("div", {class: "cursor-line", hidden: true});
    this.axis = element("div", {class: "timeline-axis", "aria-hidden": "true"});
    this.unit = element("span", {class: "timeline-name muted"});
    const noted = this.marks.length > 0 ? [element("span", {class: "timeline-name muted"}, "Notes"), this.foot] : [];
    this.root = element("div", {class: "timeline", role: "group", "aria-label": "What stood when",
      onpointermove: (event) => this.point(event), onpointerleave: () => announce("cursor", null)},
    this.rows.flatMap(({name, track}) => [name, track]), noted, this.unit, this.axis, this.over);
    new ResizeObserver(() => this.draw()).observe(this.axis);
    for (const change of ["zoom", "axis", "runs"]) on(change, () => this.draw());
    on("cursor", (epoch) => this.setCursor(epoch));
  }

  bar(group, stretch) {
    const kind = severityName(group[0]), words = stretchInWords(stretch);
    const root = button({class: `timeline-bar ${kind}${group[0].gone ? " gone" : ""}`, title: words, "aria-label": words,
      onclick: () => this.goTo(group)}, SIGNS[kind]);
    return {root};
  }

  row({run, rule, bars}) {
    const name = element("span", {class: "timeline-name"}, titleOf(rule), ...runLabel({run}));
    return {name, track: element("div", {class: "timeline-track"}, bars.map(({root}) => root))};
  }

  marksOf() {
    const noted = notes.filter(({kind, epoch}) => TIMED_NOTES.includes(kind) && epoch !== null)
      .map(({run, kind, epoch, text}) => ({run, epoch, severity: 0, text: `${NOTE_KINDS[kind] || "Note"}: ${text}`}));
    const resumed = runs.flatMap((run) => resumptionsOf(run).map((epoch) =>
      ({run, epoch, severity: 0, text: "The run went on here after a stop."})));
    return [...noted, ...resumed];
  }

  /** The share of the width at which an epoch stands, beyond 0 and 1 where it is not on show. */
  shareOf(run, epoch) {
    const [first, last] = [run.epochs[0], run.epochs[run.epochs.length - 1]];
    const place = placeOfEpoch(run, Math.min(Math.max(epoch, first), last));
    return (place - this.low) / (this.high - this.low);
  }

  draw() {
    const width = this.axis.clientWidth, shown = visibleRuns().filter(({epochs}) => epochs.length > 0);
    if (width === 0 || shown.length === 0) return;
    [this.low, this.high] = shownPlaces(shown);
    if (!(this.high > this.low)) [this.low, this.high] = [this.low - 0.5, this.low + 0.5];
    for (const {run, name, track, bars} of this.rows) {
      name.hidden = track.hidden = !shown.includes(run);
      if (name.hidden) continue;
      for (const {root, from, to} of bars) {
        const start = this.shareOf(run, from), end = this.shareOf(run, to);
        root.hidden = end < 0 || start > 1;
        const left = Math.min(Math.max(start, 0), 1), right = Math.min(Math.max(end, 0), 1);
        // However short it was, it is seen, and stays within the track.
        root.style.cssText = `left:min(${left * 100}%, 100% - 18px);width:max(${(right - left) * 100}%, 18px)`;
      }
    }
    const whole = shown.every((run) => run.epochs.every(Number.isInteger));
    const ticks = placeTicks(this.low, this.high, width, state.axis === "epoch" && whole);
    const percent = (place) => ((place - this.low) / (this.high - this.low)) * 100;
    fill(this.axis, ticks.map(({v, label}) => element("span", {style: `left:${percent(v)}%`}, label)));
    this.unit.textContent = axisName();
    const area = {y: 0, h: this.over.clientHeight};
    const marks = this.marks.filter(({run, epoch}) => {
      const share = this.shareOf(run, epoch);
      return shown.includes(run) && share >= 0 && share <= 1;
    });
    const gathered = gatheredMarks(marks, ({run, epoch}) => this.shareOf(run, epoch) * width);
    fill(this.over, ticks.map(({v}) => element("div", {class: "timeline-grid", style: `left:${percent(v)}%`})),
        gathered.map((each) => markElement(each, area)), this.cursor);
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
