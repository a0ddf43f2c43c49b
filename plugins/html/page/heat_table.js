/** Which of a line's numbers is the worst: [what it is called, whether `a` is worse than `b`]. */
function worstOf(tag, lineName) {
  if (HIGH_IS_BAD.test(`${tag.name} ${lineName}`)) return ["highest", (a, b) => a > b];
  if (LOW_IS_BAD.test(lineName)) return ["lowest", (a, b) => a < b];
  return ["furthest from 0", (a, b) => Math.abs(a) > Math.abs(b)];
}

/** A heat map's rows for those who do not see it: each layer's first, last and worst value of the epochs on show. */
function heatTable({rows, columns, run, tag, line}) {
  const [worstName, isWorse] = worstOf(tag, line);
  const said = (series, i) =>
      i === null ? "no value" : `${formatNumber(series.values[i])} in epoch ${formatEpoch(run.epochs[i])}`;
  const row = ({name, series, severity}) => {
    let first = null, last = null, worst = null;
    for (const i of columns) {
      if (series.isMissing(i)) continue;
      if (first === null) first = i;
      last = i;
      const broken = series.isBroken(i), knownBroken = worst !== null && series.isBroken(worst);
      if (worst === null || (broken && !knownBroken) ||
          (!knownBroken && isWorse(series.values[i], series.values[worst])))
        worst = i;
    }
    return element(
        "tr", {}, element("th", {scope: "row"}, name),
        [first, last, worst].map((i) => element("td", {}, said(series, i))),
        element("td", {}, severity === 0 ? "none" : SEVERITIES[severity]));
  };
  const heads = ["Layer", "First", "Last", `Worst (${worstName})`, "Finding"];
  return element(
      "table", {}, element("caption", {}, `${tag.name}, ${line}, of ${run.label}`),
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", {scope: "col"}, head)))),
      element("tbody", {}, rows.map(row)));
}
