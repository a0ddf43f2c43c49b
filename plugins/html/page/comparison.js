import {breakable, button, element, fill, formatEpoch, formatNumber, isNumber, plural, section} from "./text.js";
import {runs} from "./data.js";
import {announce, baselineRun, on, setState, state} from "./state.js";
import {lineColour} from "./colours.js";
import {findings, severityName} from "./findings.js";
import {settingsList, stateOf} from "./run_table.js";
import {settingPlots} from "./setting_plots.js";
import {lossesOf} from "./summary.js";

const FIRST = 5, MOST_NAMED = 3;

/** "'a', 'b' and 'c'", of many the first and how many more. */
function listOf(names) {
  const more = names.length - MOST_NAMED;
  const shown = more > 1 ? [...names.slice(0, MOST_NAMED), `${more} more`] : names;
  return shown.join(", ").replace(/, (?=[^,]*$)/, " and ");
}

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

/** @param isBrief leaves out when it was best, and the last, which then are told of the pointer alone */
function lossCell({of, best}, run, isBrief) {
  const loss = of[run.index];
  if (loss === undefined) return "–";
  const last = `last ${formatNumber(loss.last.value)}`;
  if (loss.best === null) return element("span", {class: "alarm"}, last);
  const when = `in epoch ${formatEpoch(loss.best.epoch)} · ${last}`;
  return [
    element("b", {title: when}, formatNumber(loss.best.value)), " ",
    best.length <= MOST_NAMED && best.includes(run) ? element("span", {class: "best"}, "best") : null,
    isBrief ? null : element("span", {class: "muted"}, ` ${when}`),
  ];
}

/** A setting's value; a number as the plots have it, and whole under the pointer. */
function settingCell(text) {
  if (text === undefined) return "–";
  return isNumber(text) && !/^-?\d+$/.test(text) ? element("span", {title: text}, formatNumber(Number(text))) : text;
}

/** What stands is worse than what is over, whatever it was. */
function worstFinding(run) {
  const own = findings.filter((finding) => finding.run === run);
  return own.find(({gone}) => !gone) || own[0];
}

function findingCell(run) {
  const worst = worstFinding(run);
  if (worst === undefined) return "–";
  const place = worst.layer === null ? "" : ` of ${worst.layer}${worst.parameter ? `.${worst.parameter}` : ""}`;
  return element("span", {class: worst.gone ? "noted" : severityName(worst), title: worst.message},
      element("span", {class: "severity"}, severityName(worst)), ` ${worst.gone ? "(gone) " : ""}`,
      worst.rule.replaceAll("_", " ") + place);
}

/** Whether a run is on show, its colour and its name. */
function nameCell(run) {
  const box = element("input", {type: "checkbox", "aria-label": `Show ${run.label}`, onchange: () => {
    const hiddenRuns = new Set(state.hiddenRuns);
    if (box.checked) hiddenRuns.delete(run.index);
    else hiddenRuns.add(run.index);
    setState("runs", {hiddenRuns});
  }});
  const show = () => box.checked = !state.hiddenRuns.has(run.index);
  show();
  const swatch = element("i", {class: "swatch line", style: `color:${lineColour(run.index)}`, "aria-hidden": "true"});
  return {show, cell: [element("label", {class: "entry"}, box, swatch, element("span", {}, run.label)),
    run === baselineRun() ? element("span", {class: "muted"}, " baseline") : null]};
}

/** The table of the runs, best first until a head is clicked; it chooses which are on show. */
class RunList {
  /** @param judging which of the losses they stand in order of at first, and which is told in full */
  constructor(losses, judging, differing) {
    const settingKey = ({values}) => {
      const areNumbers = values.every((value) => value === undefined || isNumber(value));
      return ({index}) => (values[index] === undefined ? null : areNumbers ? Number(values[index]) : values[index]);
    };
    const severity = (run) => {
      const worst = worstFinding(run);
      return worst === undefined ? 0 : -(worst.gone ? 0.5 : worst.severity);
    };
    // A title, a cell, and what it is sorted by; null stands last.
    this.columns = [
      ["Run", null, ({label}) => label],
      ...losses.map((loss, i) => [loss.name, (run) => lossCell(loss, run, i !== judging),
        ({index}) => loss.of[index]?.best?.value ?? null]),
      ...differing.map((setting) => [breakable(setting.name), ({index}) => settingCell(setting.values[index]),
        settingKey(setting)]),
      ["State", stateOf, ({ending}) => ending?.how ?? 0], ["Worst finding", findingCell, severity],
    ];
    this.sorted = losses.length > 0 ? 1 + judging : null;
    this.isReversed = false;
    this.root = element("div", {class: "scrolled comparison-box"});
    for (const change of ["theme", "baseline"]) on(change, () => this.draw());
    on("runs", () => this.shows.forEach((show) => show()));
    on("hover", (run) => this.rows.forEach((row, each) => row.classList.toggle("pointed", each === run)));
    this.draw();
  }

  ordered() {
    if (this.sorted === null) return runs;
    const [, , key] = this.columns[this.sorted], sign = this.isReversed ? -1 : 1;
    const compare = (a, b) => (a === null || b === null ? (a === null) - (b === null) :
      typeof a === "number" ? sign * (a - b) : sign * String(a).localeCompare(String(b), "en", {numeric: true}));
    return [...runs].sort((a, b) => compare(key(a), key(b)));
  }

  sortBy(column) {
    this.isReversed = this.sorted === column && !this.isReversed;
    this.sorted = column;
    this.draw();
    this.root.querySelectorAll("thead button")[column].focus();
  }

  head([title], i) {
    const sort = this.sorted !== i ? "none" : this.isReversed ? "descending" : "ascending";
    return element("th", {scope: "col", "aria-sort": sort},
        button({class: "link", onclick: () => this.sortBy(i)}, title));
  }

  draw() {
    this.shows = [];
    this.rows = new Map();
    const row = (run) => {
      const {show, cell: name} = nameCell(run);
      this.shows.push(show);
      const made = element("tr", {onpointerenter: () => announce("hover", run), onpointerleave: () => announce("hover", null)},
          element("th", {scope: "row"}, ...name), this.columns.slice(1).map(([, cell]) => element("td", {}, cell(run))));
      this.rows.set(run, made);
      return made;
    };
    fill(this.root, element("table", {class: "comparison-table"},
        element("thead", {}, element("tr", {}, this.columns.map((column, i) => this.head(column, i)))),
        element("tbody", {}, this.ordered().map(row))));
  }

  /** Shows all runs, none, or the first so many of the table. */
  choose(count) {
    setState("runs", {hiddenRuns: new Set(this.ordered().slice(count).map(({index}) => index))});
  }
}

/** For many runs: which of them the plots show. */
function choiceOf(list) {
  const choice = (text, count) => button({onclick: () => list.choose(count)}, text);
  return element("div", {class: "buttons"}, choice("Show all", runs.length), choice(`Show the first ${FIRST}`, FIRST),
      choice("Show none", 0));
}

/**
 * Which of several runs is best, and what was different; null for a single run.
 * @param beside what stands beside the table, or null
 */
export function comparisonSection(beside) {
  if (runs.length < 2) return null;
  const losses = comparedLosses(), settings = comparedSettings();
  const isSame = ({values}) => values.every((value) => value === values[0]);
  // The first that can be compared.
  const judging = Math.max(0, losses.findIndex(({best}) => best.length > 0));
  const same = settings.filter(isSame), differing = settings.filter((each) => !isSame(each));
  const answers = losses.map((loss) => element("p", {class: "answer"}, answerOf(loss)));
  if (answers.length === 0)
    answers.push(element("p", {class: "answer"}, "No run has a loss, so that none can be called the best."));
  const list = new RunList(losses, judging, differing);
  const plots = settingPlots(losses[judging], differing);
  const folded = same.length === 0 ? null : element("details", {class: "same"},
      element("summary", {}, `${plural(same.length, "setting")} the same in all`),
      settingsList(same.map(({name, values}) => [name, values[0]])));
  return section("comparison", "Comparison", null, element("div", {class: "panel"},
      element("div", {class: "answers"}, answers, runs.length > FIRST ? choiceOf(list) : null),
      element("div", {class: "compared"}, element("div", {class: "compared-table"}, list.root, folded), beside, plots)));
}
