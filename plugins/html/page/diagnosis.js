import {breakable, button, element, plural, section} from "./text.js";
import {allEpochs, lineNames, runs} from "./data.js";
import {goToCard} from "./cards.js";
import {ERROR, findings, INFO, momentOf, notes, placeOf, runLabel, severityName, SEVERITIES, titleOf,
  wasJudged, WARNING} from "./findings.js";
import {tellingLine} from "./ranking.js";
import {smallCurve} from "./small_curve.js";
import {Timeline} from "./timeline.js";

// Of more runs than this, what one rule says of all of them stands in one card.
const MOST_APART = 6;
const SHOWN_CARDS = 8, SHOWN_NOTES = 12;

/** The findings of one rule, severity and run together, the worst rule first: [[finding, ...], ...]. */
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

/** Where a rule's findings are: the layer, or how many of the run's layers and the worst of them. */
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

/** The number that a finding is about, over the epochs; null where no plot shows it. */
function curveOf(finding) {
  const place = placeOf(finding), tag = place && place.tag;
  if (!tag || (!tag.big && place.layer === undefined)) return null;
  const line = tellingLine(lineNames(tag.name));
  const series = finding.run.line(tag.name, tag.big ? tag.name : place.layer, line);
  return series && smallCurve(finding.run, series, tag, `${line} over the epochs`);
}

function placeLink(finding, openPlace) {
  const place = placeOf(finding);
  return place === null ? null :
    button({class: "link", onclick: () => openPlace(place)}, place.tag ? `Show ${place.tag.name}` : "Show the layer");
}

/** When it was first and last seen, and by whom. */
function spanOf(finding) {
  const since = momentOf(finding.firstEpoch, finding.firstStep);
  return [
    finding.gone ? `from ${since} to ${momentOf(finding.lastEpoch, finding.lastStep)}` : `since ${since}`,
    finding.gone && finding.count > 1 ? `seen ${finding.count.toLocaleString("en")} times` : null,
    finding.source ? `told by ${finding.source}` : null,
  ].filter(Boolean).join(" · ");
}

/** What is wrong, with where in the program to look. */
function messageOf({message, file, line}) {
  return file === null ? message : `${message} (${file}${line > 0 ? `:${line}` : ""})`;
}

const toldIncidents = new Set();

/** Where the last steps before one of these findings are kept, and the command that shows them; told once. */
function incidentsOf(group) {
  const isAbout = (note) => group.some(({run, id}) => run === note.run && id === note.finding);
  const own = notes.filter((note) => !toldIncidents.has(note) && isAbout(note));
  for (const note of own) toldIncidents.add(note);
  return own.map(({text}) => element("p", {class: "muted kept"}, text));
}

/** The further layers of a rule, unfolded on demand. */
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

/** What one rule found: what it is and where, what to do, since when, and the number itself. */
function ruleCard(group, openPlace) {
  const [worst] = group, name = severityName(worst);
  return element("li", {class: `finding ${name}${worst.gone ? " gone" : ""}`, tabindex: "-1"},
      element("div", {class: "finding-head"}, element("span", {class: "severity"}, name), ...runLabel(worst),
          element("h3", {}, titleOf(worst.rule)), extent(group)),
      element("div", {class: "finding-body"},
          element("div", {}, element("p", {class: "message"}, messageOf(worst)),
              worst.advice ? element("p", {class: "advice"}, "→ ", worst.advice) : null), curveOf(worst)),
      element("div", {class: "finding-foot"}, element("span", {class: "muted"}, spanOf(worst)),
          placeLink(worst, openPlace)),
      ...incidentsOf(group), furtherPlaces(group, openPlace));
}

/** A list of which the first few are shown, and the others unfold. */
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
      ...runLabel(note), element("span", {}, note.text));
}

/** What happened, folded where there is something worse to read. */
function notesPart(isFolded) {
  if (notes.length === 0) return [];
  const lost = runs.reduce((sum, run) => sum + run.lostNotes, 0);
  const parts = [...longList(notes.map(noteItem), SHOWN_NOTES, "notes"),
    lost > 0 ? element("p", {class: "muted"}, `${plural(lost, "earlier note")} left out.`) : null];
  return isFolded ?
    [element("details", {class: "notes"}, element("summary", {}, plural(notes.length, "note")), ...parts)] : parts;
}

/** "1 error, 2 warnings": how many rules found something of each. */
function countsOf(groups) {
  return [ERROR, WARNING, INFO]
      .map((severity) => [groups.filter(([worst]) => worst.severity === severity).length, SEVERITIES[severity]])
      .filter(([count]) => count > 0)
      .map(([count, name]) => (name === "info" ? `${count} info` : plural(count, name)))
      .join(", ");
}

const cardOf = new Map();

/** What stood when; a bar leads to its card, which may be folded away. Behind findingsSection(); null without any. */
export function timelineSection() {
  if (cardOf.size === 0 || allEpochs.length === 0 || runs.length > MOST_APART) return null;
  const goTo = (finding) => {
    const card = cardOf.get(finding);
    for (let outer = card.closest("details"); outer !== null; outer = outer.parentElement.closest("details"))
      outer.open = true;
    goToCard(card);
  };
  return section("timeline", ["Timeline"], null,
      element("div", {class: "panel"}, new Timeline([...cardOf.keys()], goTo).root));
}

/** Of a rule that follows from another: it is not to hide what it follows. */
function isConsequence([{severity, causedBy}]) { return severity === INFO && causedBy !== null; }

/** What is wrong, a card a rule, the worst first, and what happened; null where nothing looked and nothing was noted. */
export function findingsSection(openPlace) {
  const standing = findings.filter(({gone}) => !gone), over = findings.filter(({gone}) => gone);
  const looked = runs.some(wasJudged);
  if (!looked && notes.length === 0) return null;
  const parts = [];
  const cardsOf = (groups) => groups.map((group) => {
    const card = ruleCard(group, openPlace);
    for (const finding of group) cardOf.set(finding, card);
    return card;
  });
  const groups = byRule(standing), following = groups.filter(isConsequence);
  if (standing.length > 0)
    parts.push(...longList(cardsOf(groups.filter((group) => !isConsequence(group))), SHOWN_CARDS, "rules"));
  else if (looked) parts.push(element("p", {class: "calm"}, over.length > 0 ? "No findings now." : "No findings."));
  if (following.length > 0) {
    const names = [...new Set(following.map(([{rule}]) => titleOf(rule)))].join(", ");
    parts.push(element("details", {class: "following"}, element("summary", {}, `What may follow from these: ${names}`),
        element("ul", {class: "told"}, cardsOf(following))));
  }
  if (over.length > 0) {
    parts.push(element("details", {class: "over"}, element("summary", {}, `${plural(over.length, "finding")} gone`),
        element("ul", {class: "told"}, cardsOf(byRule(over)))));
  }
  parts.push(...notesPart(looked));
  const counts = standing.length > 0 ? [" ", element("span", {class: "muted"}, countsOf(groups))] : [""];
  return section("findings", [looked ? "Findings" : "Notes", ...counts], null, element("div", {class: "panel"}, parts));
}
