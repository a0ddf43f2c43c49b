import {breakable, element, formatEpoch, formatNumber, plural, section} from "./text.js";
import {runs} from "./data.js";
import {baselineRun, on} from "./state.js";
import {lineColour} from "./colours.js";
import {findings, severityName} from "./findings.js";
import {settingsList, stateOf} from "./run_table.js";
import {lossesOf} from "./summary.js";

function listOf(names) { return names.join(", ").replace(/, (?=[^,]*$)/, " and "); }

/** Each loss of any run: {name, of: what each run has of it or undefined, best: the runs where it is lowest}. */
function comparedLosses() {
  const told = runs.map((run) => new Map(lossesOf(run, / mean$/).map((loss) => [loss.name, loss])));
  const names = [...new Set(told.flatMap((losses) => [...losses.keys()]))];
  // Runs are judged by their validation.
  return [...names.filter((name) => name.includes("val")), ...names.filter((name) => !name.includes("val"))].map((name) => {
    const of = told.map((losses) => losses.get(name)), having = runs.filter((_, i) => of[i] !== undefined);
    const lowest = Math.min(...of.map((loss) => loss?.best?.value ?? Infinity));
    const best = having.length < 2 ? [] : having.filter(({index}) => of[index].best?.value === lowest);
    return {name, of, having, best};
  });
}

/** Which run is best in a loss, in words, or why none is. */
function answerOf({name, of, having, best}) {
  const loss = element("b", {}, name);
  if (having.length === 1)
    return ["Only '", having[0].label, "' has the loss ", loss, ", so that nothing compares with it."];
  if (best.length === 0) return [loss, " was finite in no run."];
  const {value, epoch} = of[best[0].index].best;
  return [
    "Best ", loss, ": ", element("b", {}, listOf(best.map(({label}) => `'${label}'`))), ` with ${formatNumber(value)}`,
    best.length === 1 ? ` in epoch ${formatEpoch(epoch)}` : "",
    having.length < runs.length ? `, of the ${having.length} runs that have it.` : ".",
  ];
}

/** Models, hyperparameters and the configuration by their names, each with what each run says or undefined. */
function comparedSettings() {
  const bare = (type) => type.replace(/^.*::/, "").replace(/(?<=.)Impl$/, "");
  const models = (run) => run.models.filter((model) => model && model.type).map(({name, type, parameters}) =>
    [name && name !== bare(type) ? `model ${name}` : "model", `${bare(type)} of ${plural(Number(parameters) || 0, "parameter")}`]);
  const told = runs.map((run) => new Map([...models(run), ...run.hyperparameters, ...run.settings]));
  return [...new Set(told.flatMap((each) => [...each.keys()]))]
      .map((name) => ({name, values: told.map((each) => each.get(name))}));
}

function lossCell({of, best}, run) {
  const loss = of[run.index];
  if (loss === undefined) return "–";
  const last = `last ${formatNumber(loss.last.value)}`;
  if (loss.best === null) return element("span", {class: "alarm"}, last);
  return [
    element("b", {}, formatNumber(loss.best.value)), " ",
    best.includes(run) ? element("span", {class: "best"}, "best") : null,
    element("div", {class: "muted"}, `in epoch ${formatEpoch(loss.best.epoch)} · ${last}`),
  ];
}

/** What stands is worse than what is over, whatever it was. */
function findingCell(run) {
  const own = findings.filter((finding) => finding.run === run);
  const worst = own.find(({gone}) => !gone) || own[0];
  if (worst === undefined) return "–";
  const place = worst.layer === null ? "" : ` of ${worst.layer}${worst.parameter ? `.${worst.parameter}` : ""}`;
  return element("span", {class: worst.gone ? "noted" : severityName(worst), title: worst.message},
      element("span", {class: "severity"}, severityName(worst)), ` ${worst.gone ? "(over) " : ""}`,
      breakable(worst.rule.replaceAll("_", " ") + place));
}

function nameCell(run) {
  const swatch = element("i", {class: "swatch line", style: `color:${lineColour(run.index)}`, "aria-hidden": "true"});
  return [element("span", {class: "entry"}, swatch, element("span", {}, run.label)),
    run === baselineRun() ? element("div", {class: "muted"}, "baseline") : null];
}

function newTable(losses, differing) {
  const columns = [
    ...losses.map((loss) => [loss.name, (run) => lossCell(loss, run)]),
    ...differing.map(({name, values}) => [breakable(name), ({index}) => breakable(values[index] ?? "–")]),
    ["State", stateOf], ["Worst finding", findingCell],
  ];
  const head = (scope, ...what) => element("th", {scope}, ...what);
  return element("table", {class: "comparison-table"},
      element("thead", {}, element("tr", {}, head("col", "Run"), columns.map(([title]) => head("col", title)))),
      element("tbody", {}, runs.map((run) => element("tr", {}, head("row", ...nameCell(run)),
          columns.map(([, cell]) => element("td", {}, cell(run)))))));
}

/** Which of several runs is best, and what was different; null for a single run. */
export function comparisonSection() {
  if (runs.length < 2) return null;
  const losses = comparedLosses(), settings = comparedSettings();
  const isSame = ({values}) => values.every((value) => value === values[0]);
  const same = settings.filter(isSame), differing = settings.filter((each) => !isSame(each));
  const answers = losses.map((loss) => element("p", {class: "answer"}, answerOf(loss)));
  if (answers.length === 0)
    answers.push(element("p", {class: "answer"}, "No run has a loss, so that none can be called the best."));
  const box = element("div", {class: "scrolled"}), show = () => box.replaceChildren(newTable(losses, differing));
  for (const change of ["theme", "baseline"]) on(change, show);
  show();
  const folded = same.length === 0 ? null : element("details", {class: "same"},
      element("summary", {}, `${plural(same.length, "setting")} the same in all`),
      settingsList(same.map(({name, values}) => [name, values[0]])));
  return section("comparison", "Comparison", null, element("div", {class: "panel"}, answers, box, folded));
}
