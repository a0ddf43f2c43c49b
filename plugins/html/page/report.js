import {breakable, button, element, formatEpoch, section} from "./text.js";
import {bigTags, layerNames, layerTags, runs, showsLayer, TICK} from "./data.js";
import {on} from "./state.js";
import {findingsSection, timelineSection} from "./diagnosis.js";
import {brokenLayers, findings, runLabel, worstInHeatMap} from "./findings.js";
import {Card, goToCard} from "./cards.js";
import {comparisonSection} from "./comparison.js";
import {Overview} from "./overview.js";
import {incidentSection} from "./incident.js";
import {Detail, Layers} from "./layers.js";
import {pictureSection} from "./model_picture.js";
import {runTable} from "./run_table.js";
import {stepTimeSection} from "./step_time.js";
import {collapseAlert, summaryOf} from "./summary.js";
import {axisSelector, baselineSelector, epochFields, goOnReading, reloadSwitch, runChips, scaleSelector, searchField,
  smoothingSelector, themeButton} from "./toolbar.js";
import {linkViewAndAddress, readView} from "./view.js";

function modelSection() {
  const cards = bigTags.flatMap((tag) => layerNames(tag.name).map((layer) =>
    new Card(tag, layer, layer === tag.name ? tag.name : `${tag.name}: ${layer}`, {size: "wide"})));
  return cards.length === 0 ? null :
    section("model", "Whole model", null, element("div", {class: "grid wide"}, cards.map(({root}) => root)));
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

/** Goes to the plot that shows a finding: of the layer, of the whole model, or of all layers. */
function openPlace({tag, layer}, detail, layers) {
  if (layer !== undefined) return detail.open(layer, [], tag ? tag.name : null);
  const card = [...document.querySelectorAll("#model .card")].find((each) => each.dataset.tag === tag.name);
  if (card) return goToCard(card);
  layers.open(tag.name);
}

/** Goes to a section, and leaves what the address says of the view. */
function sectionLink(root, name) {
  root.tabIndex = -1;
  const go = (event) => {
    event.preventDefault();
    root.scrollIntoView({block: "start"});
    root.focus({preventScroll: true});
  };
  return element("a", {href: `#${root.id}`, onclick: go}, name);
}

function append(id, ...parts) { document.getElementById(id).append(...parts.filter((part) => part !== null)); }

function build() {
  const names = runs.map((run) => run.label).join(" · ");
  if (names !== "") {
    document.title = `${names} – Loupe`;
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
  append("tools", searchField(), epochFields(), axisSelector(), scaleSelector(), smoothingSelector(), runChips(),
      baselineSelector(), reloadSwitch(), theme);
  const detail = new Detail(), broken = brokenLayers();
  const openLayer = (name, order) => detail.open(name, order);
  const overview = new Overview(openLayer);
  // One picture is small enough to come first; those of several runs would hide what is compared.
  const atAGlance = [["Picture", pictureSection(broken, openLayer, overview)], ["Model", modelSection()]];
  if (runs.length > 1) atAGlance.reverse();
  const layers = layerTags.length > 0 ? new Layers(openLayer) : null;
  // The picture of what is wrong comes right behind the words.
  const heatMap = [["Overview", overview.tag && overview.root]];
  const showsWorst = runs.some((run) => worstInHeatMap(run) !== undefined);
  const found = findingsSection((place) => openPlace(place, detail, layers)), timeline = ["Timeline", timelineSection()];
  const sections = [
    ["Comparison", comparisonSection()],
    [null, collapseAlert()], ["Incident", incidentSection(openLayer)],
    [findings.length > 0 ? "Findings" : null, found],
    // An incident says so in its order of events.
    [null, TICK === "step" ? null : alertOf(broken, openLayer)],
    ...(showsWorst ? [...heatMap, timeline, ...atAGlance] : [timeline, ...atAGlance, ...heatMap]),
    ["Time", stepTimeSection(openLayer)], [null, detail.root], ["Layers", layers && layers.root], ["Run", TICK === "step" ? null : runTable()],
  ].filter(([, root]) => root !== null);
  append("main", ...sections.map(([, root]) => root));
  append("sections", ...sections.filter(([name]) => name !== null).map(([name, root]) => sectionLink(root, name)));
  if (overview.tag !== null) on("selected", () => overview.draw());
  detail.follow();
  goOnReading();
  linkViewAndAddress();
}

build();
document.documentElement.dataset.ready = "true";
