/** The last, lowest and highest number of a line, each with its epoch; null where there is none. */
function extremesOf(run, tagName, layerName, lineName) {
  const series = run.line(tagName, layerName, lineName);
  let last = null, lowest = null, highest = null, broken = null;
  run.epochs.forEach((epoch, i) => {
    const value = series === null ? null : series.at(i);
    if (value === null) return;
    if (!Number.isFinite(value)) {
      broken = broken === null ? epoch : broken;
      return;
    }
    last = [value, epoch];
    if (lowest === null || value < lowest[0]) lowest = last;
    if (highest === null || value > highest[0]) highest = last;
  });
  return last === null && broken === null ? null : {last, lowest, highest, broken};
}

/** A line of the table's cell: what is called so, its number, and how far that is from the baseline's. */
function resultLine(name, found, base, isMain) {
  const [value, epoch] = found;
  const difference =
      base === null ? null : element("span", {class: "difference"}, ` ${differenceInWords(value, base[0])}`);
  if (isMain) return element("div", {}, `${name} `, element("b", {}, formatNumber(value)), difference);
  return element("div", {class: "muted"}, `${name} ${formatNumber(value)} in epoch ${formatEpoch(epoch)}`, difference);
}

/** Losses and metrics as they ended and were at their best: a loss where it is lowest, a metric at both ends. */
function resultRows() {
  const shown = bigTags.filter(({name}) => /^(Loss|Metrics)/.test(name));
  const cell = (tag, layer, line) => (run) => {
    const found = extremesOf(run, tag.name, layer, line);
    if (found === null) return "–";
    const compared =
        baselineRun() === null || baselineRun() === run ? null : extremesOf(baselineRun(), tag.name, layer, line);
    const base = (which) => (compared === null ? null : compared[which]);
    const words = [];
    if (found.last !== null) {
      words.push(resultLine("last", found.last, base("last"), true));
      words.push(resultLine("lowest", found.lowest, base("lowest"), false));
      if (tag.name === "Metrics") words.push(resultLine("highest", found.highest, base("highest"), false));
    }
    if (found.broken !== null)
      words.push(element("div", {class: "alarm"}, `NaN or ∞ from epoch ${formatEpoch(found.broken)}`));
    return words;
  };
  return shown.flatMap(
      (tag) => layerNames(tag.name).flatMap(
          (layer) => lineNames(tag.name).map((line) => [line.replace(/ mean$/, ""), cell(tag, layer, line)])));
}

/** Of several runs, the settings in which they are not all alike; first what was told, then the configuration's. */
function differingSettings() {
  if (runs.length < 2) return [];
  return ["hyperparameters", "settings"].flatMap((kind) => {
    const told = runs.map((run) => new Map(run[kind]));
    const names = [...new Set(told.flatMap((each) => [...each.keys()]))];
    return names.filter((name) => new Set(told.map((each) => each.get(name))).size > 1)
        .map((name) => [name, (run) => element("b", {}, breakable(told[run.index].get(name) ?? "–"))]);
  });
}
