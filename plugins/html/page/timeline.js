import {button, element, fill} from "./text.js";
import {addTo, allEpochs, nearestIndex, runs} from "./data.js";
import {announce, epochWindow, on, state, visibleRuns} from "./state.js";
import {axisName, epochAt, placeOfEpoch, placeTicks, resumptionsOf, shownPlaces} from "./axis.js";
import {gatheredMarks, markElement, momentOf, notes, runLabel, severityName, TIMED_NOTES, titleOf} from "./findings.js";

// Not by colour alone.
const SIGNS = {error: "✕", warning: "!", info: "i"};

/** Where findings of a rule stood, from and to an epoch; what touches is one stretch. Those that stand go on. */
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

/** Of findings, the worst that stands, else the worst that is over. */
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

/** What started when, a row a rule over the axis that plots go by, with the marks of notes and the plots' cursor. */
export class Timeline {
  /** @param shown findings, in the order of their rules' rows  @param goTo called with the finding of a bar */
  constructor(shown, goTo) {
    this.goTo = goTo;
    const rules = new Map();
    for (const finding of shown) addTo(rules, `${finding.run.index} ${finding.rule}`, finding);
    this.rows = [...rules.values()].map((some) => this.row(some));
    this.marks = this.marksOf();
    this.foot = element("div", {class: "timeline-track"});
    this.over = element("div", {class: "timeline-over"});
    this.cursor = element("div", {class: "cursor-line", hidden: true});
    // Over the rows, but within the axis: so both are as wide, on paper, too.
    this.labels = element("div", {"aria-hidden": "true"});
    this.axis = element("div", {class: "timeline-axis"}, this.labels, this.over);
    this.unit = element("span", {class: "timeline-name timeline-unit muted"});
    const noted = this.marks.length > 0 ? [element("span", {class: "timeline-name muted"}, "Notes"), this.foot] : [];
    this.root = element("div", {class: "timeline", role: "group", "aria-label": "What stood when",
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
    const shown = visibleRuns().filter(({epochs}) => epochs.length > 0);
    for (const {run, name, track} of this.rows) name.hidden = track.hidden = !shown.includes(run);
    // Read before anything is moved, as the browser would lay out the page anew for it.
    const width = this.axis.clientWidth, height = this.axis.offsetTop;
    if (width === 0 || shown.length === 0) return;
    [this.low, this.high] = shownPlaces(shown);
    if (!(this.high > this.low)) [this.low, this.high] = [this.low - 0.5, this.low + 0.5];
    for (const {run, bars} of this.rows.filter((row) => shown.includes(row.run))) {
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
