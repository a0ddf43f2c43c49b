// Marks that are nearer than this many pixels become one.
const MARK_ROOM = 9;

/** What is to be marked on the time axis of a plot: findings of its layer, or all on a plot of the whole model, and notes. */
function marksOf(tag, layerName, shownRuns) {
  const concerns = (finding) => tag.big || finding.layer === null ||
      plottedLayer(finding, [layerName]) !== null;
  const found = findings.filter((finding) => shownRuns.includes(finding.run) && concerns(finding))
                    .map(({firstEpoch, severity, run, layer, message}) => ({
                           epoch: firstEpoch,
                           severity,
                           text: `${layer && tag.big ? `${layer}: ` : ""}${message}`,
                           run
                         }));
  const noted = notes.filter(({run}) => shownRuns.includes(run))
                    .map(({epoch, kind, text, run}) => ({
                           epoch,
                           severity: 0,
                           text: `${NOTE_KINDS[kind] || "Note"}: ${text}`,
                           run
                         }));
  return [...found, ...noted].filter(({epoch}) => epoch !== null).sort((a, b) => a.epoch - b.epoch);
}

/** Marks by their place: [{x, marks}], those too near to each other together. @param xOf mark → pixels */
function gatheredMarks(marks, xOf) {
  const gathered = [];
  const placed = marks.map((mark) => ({mark, x: xOf(mark)})).sort((a, b) => a.x - b.x);
  for (const {mark, x} of placed) {
    const last = gathered[gathered.length - 1];
    if (last && x - last.x < MARK_ROOM)
      last.marks.push(mark);
    else
      gathered.push({x, marks: [mark]});
  }
  return gathered;
}

const MOST_TOLD = 8;

/** A mark at the foot of a plot: its worst finding's colour, and all words under the pointer. The list has them too. */
function markElement({x, marks}, area) {
  const worst = Math.max(...marks.map(({severity}) => severity));
  const lines = marks.slice(0, MOST_TOLD).map(
      ({severity, text, run}) =>
          [runs.length > 1 ? `${run.label}: ` : "", severity > 0 ? `${SEVERITIES[severity]}: ` : "", text].join(""));
  if (marks.length > MOST_TOLD) lines.push(`and ${marks.length - MOST_TOLD} more`);
  const first = formatEpoch(marks[0].epoch), last = formatEpoch(marks[marks.length - 1].epoch);
  const told = [first === last ? `epoch ${first}` : `epochs ${first} to ${last}`, ...lines];
  return element(
      "div", {
        class: `mark ${SEVERITIES[worst] || "noted"}`,
        style: `left:${x}px;top:${area.y}px;height:${area.h}px`,
        "aria-hidden": "true",
      },
      element("span", {
        onpointerenter: (event) => showTooltip(event.clientX, event.clientY, told),
        onpointerleave: hideTooltip,
      }));
}
