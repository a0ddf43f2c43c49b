function formatTime(text) {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text || "–" : element("time", {datetime: text}, time.toLocaleString());
}

/** "3 h 12 min" between two times; null where one is unknown. */
function formatDuration(from, to) {
  const seconds = Math.round((new Date(to) - new Date(from)) / 1000);
  if (!Number.isFinite(seconds) || seconds < 0) return null;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/** Whether the report saw the run itself: a recorded run that is played again ticks at another time than it trained. */
function wasTold(run) { return Math.abs(new Date(run.begun) - new Date(run.started)) < 10 * 60 * 1000; }

function countOf(value) {
  if (Array.isArray(value)) return value.length.toLocaleString("en");
  return typeof value === "number" ? value.toLocaleString("en") : String(value ?? "–");
}

/** One model as the run tells of it: an object of name, type, parameters and modules. */
function modelSummary(model) {
  if (model === null || typeof model !== "object") return element("div", {}, String(model));
  const {name, type, parameters, modules, ...others} = model;
  const rest = {
    ...others,
    ...(Array.isArray(modules) ? {modules} : {}),
    ...(Array.isArray(parameters) ? {parameters} : {})
  };
  return element(
      "div", {class: "model"}, element("strong", {}, name || type || "model"), name && type ? ` ${type}` : "",
      element("div", {class: "muted"}, `${countOf(parameters)} parameters · ${countOf(modules)} modules`),
      Object.keys(rest).length === 0 ? null : folded("All that was told", JSON.stringify(rest, null, 2)));
}

function folded(title, text) {
  return element("details", {}, element("summary", {}, title), element("pre", {tabindex: "0"}, text));
}

/** How a run ended, as far as it was told. */
function stateOf({ending, resumed}) {
  const resumption = resumed ? "; resumed" : "";
  if (ending === null) return `running, or stopped without a word${resumption}`;
  const how = {1: "completed", 2: "interrupted", 3: "failed"}[ending.how] || "ended";
  const when = ending.how === 1 || !ending.step ? "" : ` at step ${ending.step.toLocaleString("en")}`;
  return [
    element("span", {class: how === "failed" ? "alarm" : null}, how), when, resumption,
    ending.message ? element("div", {class: "muted"}, ending.message) : null
  ];
}

function settingsList(settings) {
  return element(
      "dl", {class: "settings"},
      settings.flatMap(([name, text]) => [element("dt", {}, breakable(name)), element("dd", {}, breakable(text))]));
}

/** A table of the runs, a column each. */
function newRunTable() {
  const models = (run) => (Array.isArray(run.models) ? run.models : run.models ? [run.models] : []);
  const rows = [
    ["Model", (run) => (models(run).length > 0 ? models(run).map(modelSummary) : "–")],
    [
      "Epochs",
      (run) => {
        const count = run.epochs.length;
        const span = count > 0 ? `${formatEpoch(run.epochs[0])} to ${formatEpoch(run.epochs[count - 1])}` : "none yet";
        return run.stride > 1 ? `${span}; one of ${run.stride} is shown` : span;
      }
    ],
    ["State", stateOf],
    ...resultRows(),
    ...differingSettings(),
    ["Settings", (run) => (run.hyperparameters.length > 0 ? settingsList(run.hyperparameters) : "–")],
    ["Started", (run) => formatTime(run.started)],
    ["Last tick", (run) => (wasTold(run) ? formatTime(run.lastTick) : "–")],
    ["Duration", (run) => (wasTold(run) && formatDuration(run.started, run.lastTick)) || "–"],
    ["Directory", (run) => run.directory || "–"],
    ["Loupe", (run) => run.loupe || "–"],
    ["LibTorch", (run) => run.libtorch || "–"],
    ["Config", (run) => (run.config ? folded("Show", run.config) : "–")],
  ];
  const name = (run) => (run === baselineRun() ? [run.label, element("div", {class: "muted"}, "baseline")] : run.label);
  return element(
      "section", {id: "run", "aria-labelledby": "run-title"},
      element("h2", {id: "run-title"}, runs.length > 1 ? "Runs" : "Run"),
      element(
          "div", {class: "panel scrolled"},
          element(
              "table", {class: "run-table"},
              element(
                  "thead", {},
                  element(
                      "tr", {}, element("th", {scope: "col"}, "Name"),
                      runs.map((run) => element("th", {scope: "col"}, name(run))))),
              element(
                  "tbody", {},
                  rows.map(
                      ([name, cell]) => element(
                          "tr", {}, element("th", {scope: "row"}, name),
                          runs.map((run) => element("td", {}, cell(run)))))))));
}

/** The section of the runs; its numbers follow the choice of a baseline. */
function runTable() {
  const section = newRunTable();
  on("baseline", () => section.querySelector("table").replaceWith(newRunTable().querySelector("table")));
  return section;
}
