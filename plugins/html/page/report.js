import {breakable, button, element, formatEpoch, section, showsScrolling} from "./text.js";
import {bigTags, layerNames, layerTags, runs, showsLayer, TICK} from "./data.js";
import {brokenLayers, findings, runLabel, worstInHeatMap} from "./findings.js";
import {on} from "./state.js";
import {Overview} from "./heat_map.js";
import {Card, goToCard} from "./cards.js";
import {collapseAlert, comparisonSection, runTable, summaryOf} from "./runs.js";
import {findingsSection, incidentSection, timelineSection} from "./diagnosis.js";
import {Detail, Layers, pictureSection} from "./layers.js";
import {stepTimeSection} from "./step_time.js";
import {axisSelector, baselineSelector, epochFields, foldedBar, goOnReading, linkViewAndAddress, readView, reloadSwitch, runChips,
  scaleSelector, searchField, smoothingSelector, themeButton} from "./view.js";

function modelSection() {
  const cards = bigTags.flatMap((tag) => layerNames(tag.name).map((layer) =>
    new Card(tag, layer, layer === tag.name ? tag.name : `${tag.name}: ${layer}`, {size: "wide"})));
  return cards.length === 0 ? null :
    section("model", "Whole model", null, element("div", {class: "grid wide"}, cards.map(({root}) => root)));
}

/** A small plot of the losses for the first screen; null if there are no losses. */
function lossSection() {
  const tag = bigTags.find(({name}) => name === "Loss");
  if (tag === undefined) return null;
  const cards = layerNames(tag.name).map((layer) => new Card(tag, layer, layer));
  return element("section", {id: "loss", "aria-label": "Loss"}, cards.map(({root}) => root));
}

/** The findings, and beside them the loss; null if there is neither. */
function leadOf(parts, loss) {
  const words = parts.filter((part) => part !== null);
  if (words.length === 0 && loss === null) return null;
  return element("div", {class: "lead"},
      words.length === 0 ? null : element("div", {class: "lead-words"}, words), loss);
}

function alertOf(broken, openLayer) {
  if (broken.length === 0) return null;
  const names = [...new Set(broken.map(([layer]) => layer))];
  const shown = broken.slice(0, 6).map(([layer, epoch, title, run, last]) => {
    const first = formatEpoch(epoch);
    const when = last === undefined ? `since ${TICK} ${first}` :
      last === epoch ? `in ${TICK} ${first}` : `in ${TICK}s ${first} to ${formatEpoch(last)}`;
    const text = [...runLabel({run}), ...breakable(layer), ` ${when}`];
    const hasPlots = layerTags.some((tag) => showsLayer(tag, layer));
    return hasPlots ? button({title, onclick: () => openLayer(layer, names)}, text) : element("span", {title}, text);
  });
  const more = broken.length - shown.length;
  return element("div", {class: "alert", id: "alert"}, element("strong", {}, "NaN or ∞ in"), shown,
      more > 0 ? element("span", {}, `and ${more} more`) : null);
}

/** Scrolls to the plot of a finding: the layer's, the whole model's, or that of all layers. */
function openPlace({tag, layer}, detail, layers) {
  if (layer !== undefined) return detail.open(layer, [], tag ? tag.name : null);
  const card = [...document.querySelectorAll("#model .card")].find((each) => each.dataset.tag === tag.name);
  if (card) return goToCard(card);
  layers.open(tag.name);
}

// If there are more runs than this, the comparison comes first and all else is folded.
const MOST_UNFOLDED = 6, MOST_IN_TITLE = 3;

function folded(root) {
  if (runs.length <= MOST_UNFOLDED) return root;
  const heading = root.querySelector("h2");
  const name = heading === null ? root.firstChild.textContent : heading.firstChild.textContent;
  return element("details", {class: "group fold"}, element("summary", {}, element("h3", {}, name)), root);
}

/** A link to a section by its heading; it does not change the view in the address. */
function sectionLink(root) {
  root.tabIndex = -1;
  const go = (event) => {
    event.preventDefault();
    const fold = root.closest("details.fold");
    if (fold !== null) fold.open = true;
    root.scrollIntoView({block: "start"});
    root.focus({preventScroll: true});
  };
  return element("a", {href: `#${root.id}`, onclick: go}, root.querySelector("h2").firstChild.textContent);
}

function append(id, ...parts) { document.getElementById(id).append(...parts.filter((part) => part !== null)); }

function build() {
  const names = runs.map((run) => run.label).join(" · ");
  if (names !== "") {
    document.title = `${runs.length > MOST_IN_TITLE ? `${runs.length} runs compared` : names} – Loupe`;
    document.getElementById("title").textContent = runs.length > 1 ? `${runs.length} runs compared` : names;
  }
  const theme = themeButton();
  if (runs.length === 1) append("summary", ...summaryOf(runs[0]));
  readView();
  if (!runs.some((run) => run.epochs.length > 0)) {
    append("tools", reloadSwitch(), theme);
    append("main", findingsSection(() => {}),
        element("p", {class: "note"}, "No epoch has ended yet; load this page again later."),
        runs.length > 0 ? runTable() : null);
    return;
  }
  const [search, epochs, axis, scale, smoothing, chips, baseline, reload] = [searchField(), epochFields(),
    axisSelector(), scaleSelector(), smoothingSelector(), runChips(), baselineSelector(), reloadSwitch()];
  append("tools", search, epochs, axis, scale, smoothing, chips, baseline, reload, theme);
  foldedBar(document.getElementById("tools"),
      [smoothing, scale, axis, baseline, epochs, reload, chips].filter((each) => each !== null));
  const detail = new Detail(), broken = brokenLayers();
  const openLayer = (name, order) => detail.open(name, order);
  const overview = new Overview(openLayer);
  // The picture of one run is small enough to come first; those of several would hide the comparison.
  const atAGlance = [pictureSection(broken, openLayer, overview), modelSection()];
  if (runs.length > 1) atAGlance.reverse();
  const layers = layerTags.length > 0 ? new Layers(openLayer) : null;
  const heatMap = overview.tag && overview.root;
  const found = findingsSection((place) => openPlace(place, detail, layers)), timeline = timelineSection();
  const incident = incidentSection(openLayer), loss = lossSection(), isAlone = runs.length === 1;
  const comparison = comparisonSection(loss);
  // The events of an incident include the layers that were not finite.
  const words = [collapseAlert(), incident, found, TICK === "step" ? null : alertOf(broken, openLayer)];
  const lead = leadOf(words.map((root) => root && folded(root)), isAlone ? loss : null);
  // If there is a finding to show, the heat map follows the findings directly.
  const showsWorst = runs.some((run) => worstInHeatMap(run) !== undefined);
  const below = [
    ...(showsWorst ? [heatMap, timeline, ...atAGlance] : [timeline, ...atAGlance, heatMap]),
    stepTimeSection(openLayer), detail.root, layers && layers.root, TICK === "step" ? null : runTable(),
  ];
  append("main", comparison, lead, ...below.map((root) => root && (root === detail.root ? root : folded(root))));
  append("sections", ...[comparison, incident, findings.length > 0 ? found : null, ...below]
      .filter((root) => root !== null && root !== detail.root).map(sectionLink));
  if (overview.tag !== null) on("selected", () => overview.draw());
  detail.follow();
  for (const box of document.querySelectorAll(".scrolled, .compared .legend, pre")) showsScrolling(box);
  goOnReading();
  linkViewAndAddress();
}

build();
document.documentElement.dataset.ready = "true";
