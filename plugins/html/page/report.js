function modelSection() {
  const made = bigTags.flatMap(
      (tag) => layerNames(tag.name).map(
          (layer) => new Card(tag, layer, layer === tag.name ? tag.name : `${tag.name}: ${layer}`, {size: "wide"})));
  if (made.length === 0) return null;
  return element(
      "section", {id: "model", "aria-labelledby": "model-title"}, element("h2", {id: "model-title"}, "Whole model"),
      element("div", {class: "grid wide"}, made.map((card) => card.root)));
}

/**
 * Whether a number that was counted as "Output Activations NaN" or "train_loss Inf" was told of a layer after the epoch
 * at a place. Not every lens tells one in each epoch.
 */
function isToldAfter(run, layerName, counted, place) {
  const what = counted.replace(/ (NaN|Inf)$/, "");
  const isToldIn = (packed) => new Series(packed, run.epochs.length).values.findLastIndex(Number.isFinite) > place;
  return run.tags.some(({name: tag}) => {
    const layer = tag === "Non-Finite Values" ? undefined : run.layers(tag).get(layerName);
    if (layer === undefined) return false;
    return [...layer.lines].some(
        ([line, packed]) => (tag === what || line === what || line.startsWith(`${what} `)) && isToldIn(packed));
  });
}

/**
 * The layers in which a number was NaN or infinite, and when: [layer, epoch, tag, run, last], earliest first; `last` is
 * undefined where that is not over.
 */
function brokenLayers() {
  const found = new Map();
  const add = (run, layer, epoch, tagName, last) => {
    const key = `${run.index} ${layer}`;
    const before = found.get(key);
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
      // Averages leave such numbers out, so that lenses count them under a tag of its own.
      if (tag.name !== "Non-Finite Values") continue;
      for (const [name, layer] of run.layers(tag.name)) {
        for (const [line, packed] of layer.lines) {
          const series = new Series(packed, run.epochs.length);
          const first = series.values.findIndex((value) => value > 0);
          if (first < 0) continue;
          const last = series.values.findLastIndex((value) => value > 0);
          add(run, name, run.epochs[first], line, isToldAfter(run, name, line, last) ? run.epochs[last] : undefined);
        }
      }
    }
  }
  return [...found.values()].sort((a, b) => a[1] - b[1]);
}

function alertOf(broken, openLayer) {
  if (broken.length === 0) return null;
  const names = [...new Set(broken.map(([layer]) => layer))];
  const shown = broken.slice(0, 6).map(([layer, epoch, tagName, run, last]) => {
    const when = last === undefined ? `since epoch ${formatEpoch(epoch)}` :
        last === epoch              ? `in epoch ${formatEpoch(epoch)}` :
                                      `in epochs ${formatEpoch(epoch)} to ${formatEpoch(last)}`;
    const text = [...runLabel({run}), ...breakable(layer), ` ${when}`];
    const hasPlots = layerTags.some((tag) => layerNames(tag.name).includes(layer));
    return hasPlots ?
        element("button", {type: "button", title: tagName, onclick: () => openLayer(layer, names)}, text) :
        element("span", {title: tagName}, text);
  });
  const more = broken.length - shown.length;
  return element(
      "div", {class: "alert", id: "alert"}, element("strong", {}, "NaN or ∞ in"), shown,
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
function sectionLink(section, name) {
  section.tabIndex = -1;
  const go = (event) => {
    event.preventDefault();
    section.scrollIntoView({block: "start"});
    section.focus({preventScroll: true});
  };
  return element("a", {href: `#${section.id}`, onclick: go}, name);
}

function build() {
  const main = document.getElementById("main");
  const names = runs.map((run) => run.label).join(" · ");
  if (names !== "") {
    document.title = `${names} – Loupe`;
    document.getElementById("title").textContent = names;
  }
  const theme = themeButton();
  Object.assign(state, startingView);
  readView();
  if (!runs.some((run) => run.epochs.length > 0)) {
    document.getElementById("tools").append(...[reloadSwitch(), theme].filter(Boolean));
    const early = findingsSection(() => {});
    main.append(...[early].filter(Boolean));
    main.append(element("p", {class: "note"}, "No epoch has ended yet; load this page again later."));
    if (runs.length > 0) main.append(runTable());
    return;
  }
  document.getElementById("tools").append(
      ...[searchField(), epochFields(), axisSelector(), scaleSelector(), smoothingSelector(), runChips(),
          baselineSelector(), reloadSwitch(), theme]
          .filter(Boolean));

  const detail = new Detail();
  const openLayer = (name, order) => detail.open(name, order);
  const broken = brokenLayers();
  // One picture is small enough to come first; those of several runs would hide what is compared.
  const atAGlance = [["Picture", pictureSection(broken, openLayer)], ["Model", modelSection()]];
  if (runs.length > 1) atAGlance.reverse();
  const sections = [[null, null], [null, alertOf(broken, openLayer)], ...atAGlance];
  const overview = new Overview(openLayer);
  if (overview.tags().length > 0) sections.push(["Overview", overview.root]);
  sections.push([null, detail.root]);
  const layers = layerTags.length > 0 ? new Layers(openLayer) : null;
  if (layers) sections.push(["Layers", layers.root]);
  sections.push(["Run", runTable()]);
  const found = findingsSection((place) => openPlace(place, detail, layers));
  sections[0] = [found && findings.length > 0 ? "Findings" : null, found];
  const links = [];
  for (const [name, section] of sections) {
    if (section === null) continue;
    main.append(section);
    if (name !== null) links.push(sectionLink(section, name));
  }
  document.getElementById("sections").append(...links);
  if (overview.tag !== null) on("selected", () => overview.draw());
  detail.follow();
  goOnReading();
  linkViewAndAddress();
}

build();
document.documentElement.dataset.ready = "true";
