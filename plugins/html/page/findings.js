const INFO = 1, WARNING = 2, ERROR = 3;
const SEVERITIES = {[INFO]: "info", [WARNING]: "warning", [ERROR]: "error"};
const NOTE_KINDS = {1: "Note", 2: "Put aside", 3: "Learning rate", 4: "Not seen", 5: "Cost"};
const SHOWN_FINDINGS = 8, SHOWN_NOTES = 6;
// Lenses that tell findings, as a configuration names them: a run under one of these that told none is healthy.
const TELLS_FINDINGS = /^\s*(-|lenses:\s*\[.*?)\s*["']?(health|findings)\b/m;

function severityName({severity}) { return SEVERITIES[severity] || "info"; }

/** Every finding of the runs with the run it is of, worst first, then those that came first. */
const findings = runs.flatMap((run) => run.findings.map((finding) => ({...finding, run})))
                     .sort((a, b) => b.severity - a.severity || a.firstEpoch - b.firstEpoch);
const notes = runs.flatMap((run) => run.notes.map((note) => ({...note, run})));

/** The layer under which a plot shows what a finding is about: the module, or its parameter; null without any. */
function plottedLayer({layer, parameter}, names) {
  return [layer, `${layer}.${parameter}`].find((name) => name !== null && names.includes(name)) || null;
}

/** The findings that stand for a layer or one of its parameters, worst first. */
function standingFindings(run, layerName) {
  return findings.filter(
      (finding) =>
          !finding.gone && finding.run === run && finding.severity >= WARNING && plottedLayer(finding, [layerName]));
}

/** Of the findings that stand for a layer, and of those that this tag shows; 0 without any. */
function severitiesOf(run, layerName, tag) {
  const standing = standingFindings(run, layerName), shown = standing.find((finding) => finding.tag === tag.name);
  return {severity: standing.length > 0 ? standing[0].severity : 0, shownSeverity: shown ? shown.severity : 0};
}

/** Where a finding is seen: its plot's tag, and the layer where there is a plot a layer; null where nowhere. */
function placeOf(finding) {
  const tag = tags.find(({name}) => name === finding.tag);
  if (tag && tag.big) return {tag};
  const layer = tag ? plottedLayer(finding, layerNames(tag.name)) : null;
  if (layer !== null) return {tag, layer};
  const other = layerTags.map((each) => plottedLayer(finding, layerNames(each.name))).find((name) => name !== null);
  if (other) return {layer: other};
  return tag ? {tag} : null;
}

/** "epoch 3, step 120" */
function momentOf(epoch, step) {
  return [epoch === null ? null : `epoch ${formatEpoch(epoch)}`, step > 0 ? `step ${step.toLocaleString("en")}` : null]
      .filter(Boolean)
      .join(", ");
}

function runLabel({run}) { return runs.length > 1 ? [element("span", {class: "of-run"}, run.label)] : []; }

function findingItem(finding, openPlace) {
  const since = momentOf(finding.firstEpoch, finding.firstStep);
  const until = momentOf(finding.lastEpoch, finding.lastStep);
  const place = placeOf(finding);
  const words = [
    finding.gone ? `from ${since} to ${until}` : `since ${since}`,
    finding.count > 1 ? `seen ${finding.count.toLocaleString("en")} times` : null,
    finding.source ? `told by ${finding.source}` : null,
  ];
  const layer = finding.layer === null ?
      null :
      element("span", {class: "of-layer"}, breakable(finding.layer), finding.parameter ? ` ${finding.parameter}` : "");
  const link = place === null ?
      null :
      element(
          "button", {type: "button", class: "link", onclick: () => openPlace(place)},
          place.tag ? `Show ${place.tag.name}` : "Show the layer");
  const name = severityName(finding);
  return element(
      "li", {class: `finding ${name}${finding.gone ? " gone" : ""}`},
      element("div", {class: "finding-head"}, element("span", {class: "severity"}, name), ...runLabel(finding), layer),
      element("p", {class: "message"}, finding.message),
      finding.advice ? element("p", {class: "advice"}, finding.advice) : null,
      element(
          "div", {class: "finding-foot"}, element("span", {class: "muted"}, words.filter(Boolean).join(" · ")), link));
}

/** A list of which the first few are shown, and the others unfold. */
function longList(items, shown, what) {
  const list = (some) => element("ul", {class: "told"}, some);
  if (items.length <= shown) return [list(items)];
  return [
    list(items.slice(0, shown)),
    element(
        "details", {class: "rest"},
        element("summary", {}, `${(items.length - shown).toLocaleString("en")} more ${what}`),
        list(items.slice(shown)))
  ];
}

function noteItem(note) {
  return element(
      "li", {class: "note-item"},
      element("span", {class: "muted"}, momentOf(note.epoch, note.step), " · ", NOTE_KINDS[note.kind] || "Note"),
      ...runLabel(note), element("span", {}, note.text));
}

/** "1 error, 2 warnings" */
function countsOf(some) {
  return [ERROR, WARNING, INFO]
      .map((severity) => [some.filter((each) => each.severity === severity).length, SEVERITIES[severity]])
      .filter(([count]) => count > 0)
      .map(([count, name]) => (name === "info" ? `${count} info` : plural(count, name)))
      .join(", ");
}

/** What is wrong, worst first, and what happened; null where nothing of it was told and nobody looked. */
function findingsSection(openPlace) {
  const standing = findings.filter(({gone}) => !gone), over = findings.filter(({gone}) => gone);
  const looked = findings.length > 0 || runs.some((run) => TELLS_FINDINGS.test(run.config));
  if (!looked && notes.length === 0) return null;
  const item = (finding) => findingItem(finding, openPlace);
  const lost = runs.reduce((sum, run) => sum + run.lostNotes, 0);
  const parts = [];
  if (standing.length > 0)
    parts.push(...longList(standing.map(item), SHOWN_FINDINGS, "findings"));
  else if (looked)
    parts.push(element("p", {class: "calm"}, over.length > 0 ? "No findings now." : "No findings."));
  if (over.length > 0)
    parts.push(element(
        "details", {class: "over"}, element("summary", {}, `${plural(over.length, "finding")} over`),
        element("ul", {class: "told"}, over.map(item))));
  if (notes.length > 0) {
    if (looked) parts.push(element("h3", {}, "Notes"));
    parts.push(...longList(notes.map(noteItem), SHOWN_NOTES, "notes"));
    if (lost > 0) parts.push(element("p", {class: "muted"}, `${plural(lost, "earlier note")} left out.`));
  }
  const counts = standing.length > 0 ? element("span", {class: "muted"}, countsOf(standing)) : null;
  return element(
      "section", {id: "findings", "aria-labelledby": "findings-title"},
      element(
          "div", {class: "section-head"},
          element("h2", {id: "findings-title"}, looked ? "Findings" : "Notes", counts ? " " : "", counts)),
      element("div", {class: "panel"}, parts));
}
