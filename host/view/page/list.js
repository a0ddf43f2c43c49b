import {element, fill, formatEpoch, formatNumber, plural} from "../../../plugins/html/page/text.js";
import {byId, followList, numberOf, showStatus, STATES} from "./common.js";

const MOST_COMPARED = 20;
const body = document.querySelector("#runs tbody");
const rows = new Map();  // by the number that the server gave a run
const chosen = new Set();

class Row {
  constructor(id) {
    this.id = id;
    this.shown = "";
    this.box = element("input", {type: "checkbox", onchange: () => {
      if (this.box.checked) chosen.add(id);
      else chosen.delete(id);
      showChoice();
    }});
    this.link = element("a", {href: `open?runs=${id}`});
    this.folder = element("span", {class: "folder muted"});
    this.cells =
      ["State", "Last tick", "Losses", "Findings"].map((label) => element("td", {role: "cell", "data-label": label}));
    this.root = element("tr", {role: "row"}, element("td", {role: "cell", class: "tick"}, this.box),
      element("th", {role: "rowheader", scope: "row"}, this.link, this.folder), this.cells);
  }

  show(run, place) {
    this.run = run;
    // What is the same stays as it is, for those who select text or listen.
    const shown = JSON.stringify([run, place]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.link.textContent = run.name;
    this.folder.textContent = place;
    this.folder.title = run.folder;
    this.box.setAttribute("aria-label", `Compare ${run.name}, ${place}`);
    const [state, tick, losses, findings] = this.cells;
    fill(state, element("span", {class: `state ${run.state}`}, STATES[run.state] || run.state),
        [run.why, run.damage].filter((text) => text !== "").map((text) => element("span", {class: "why"}, text)));
    fill(tick, tickOf(run));
    fill(losses, run.losses.length > 0 ? run.losses.map(lossItem) : "–");
    fill(findings, findingsOf(run));
  }

  matches(wanted) {
    const text = `${this.run.name} ${this.run.folder} ${STATES[this.run.state]}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  }
}

function lossItem({name, value}) {
  return element("div", {class: "loss"}, element("span", {class: "muted"}, name), " ",
      element("span", {class: typeof value === "string" ? "broken" : null}, formatNumber(numberOf(value))));
}

/** Where a run lies; the one folder that all lie in goes without saying. */
function placeOf(folder, folders) {
  const prefix = folders.length === 1 ? `${folders[0].replace(/\/$/, "")}/` : "";
  const isWithin = prefix !== "" && folder.startsWith(prefix) && folder.length > prefix.length;
  return isWithin ? folder.slice(prefix.length) : folder;
}

function tickOf(run) {
  if (run.epoch === null) return [run.state === "damaged" || run.state === "reading" ? "–" : "none yet"];
  const parts = [element("div", {}, `epoch ${formatEpoch(run.epoch)}, step ${run.step.toLocaleString("en")}`)];
  if (typeof run.time === "number" && run.time > 0) {
    const time = new Date(run.time * 1000);
    parts.push(element("time", {datetime: time.toISOString(), class: "muted"}, time.toLocaleString("sv")));
  }
  return parts;
}

function findingsOf({findings, state}) {
  const {counts, worst} = findings;
  if (worst === null) return [state === "damaged" || state === "reading" ? "–" : "none"];
  const words = (kind) => (["info", "gone"].includes(kind) ? `${counts[kind]} ${kind}` : plural(counts[kind], kind));
  const badges = ["error", "warning", "info", "gone"].filter((kind) => counts[kind] > 0)
      .map((kind) => element("span", {class: `badge ${kind}`}, words(kind)));
  const text = worst.gone ? `(gone) ${worst.text}` : worst.text;
  return [element("div", {class: "badges"}, badges),
    element("div", {class: `worst ${worst.gone ? "gone" : worst.severity}`}, text)];
}

function showChoice() {
  const count = chosen.size, button = byId("compare");
  button.disabled = count === 0 || count > MOST_COMPARED;
  button.textContent = count === 0 ? "Compare" : count === 1 ? "Open 1 run" : `Compare ${count} runs`;
  byId("clear").hidden = count === 0;
  byId("hint").textContent = count > MOST_COMPARED ? `One report takes at most ${MOST_COMPARED} runs.` :
    count === 0 ? "Tick runs to compare them in one report." : "";
}

function showMatching() {
  const wanted = byId("search").value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  for (const row of rows.values()) row.root.hidden = !row.matches(wanted);
}

function show({runs, folders, left_out}) {
  const there = new Set(runs.map((run) => run.id));
  for (const [id, row] of rows) {
    if (there.has(id)) continue;
    row.root.remove();
    rows.delete(id);
    chosen.delete(id);
  }
  runs.forEach((run, place) => {
    if (!rows.has(run.id)) rows.set(run.id, new Row(run.id));
    const row = rows.get(run.id);
    row.show(run, placeOf(run.folder, folders));
    // Moved only where the order is another: a row that is moved loses the keyboard's focus.
    if (body.children[place] !== row.root) body.insertBefore(row.root, body.children[place] || null);
  });
  byId("runs").hidden = byId("tools").hidden = runs.length === 0;
  byId("empty").hidden = runs.length > 0;
  byId("empty").textContent = `No runs under ${folders.join(", ")} yet. A run is listed as soon as its visualizer ` +
    "“record” has written a record.jsonl there: put “record” among the visualizers of its YAML. " +
    "This page goes on looking.";
  byId("left-out").hidden = left_out === "";
  byId("left-out").textContent = left_out === "" ? "" : `Not all is listed: ${left_out}.`;
  const running = runs.filter(({state}) => state === "running").length;
  showStatus(`${plural(runs.length, "run")}${running > 0 ? `, ${running} running` : ""}, live`);
  showMatching();
  showChoice();
  document.documentElement.dataset.ready = "true";
}

byId("search").addEventListener("input", showMatching);
byId("compare").addEventListener("click", () => {
  const ids = [...body.children].map((root) => [...rows.values()].find((row) => row.root === root).id);
  location.assign(`open?runs=${ids.filter((id) => chosen.has(id)).join(",")}`);
});
byId("clear").addEventListener("click", () => {
  chosen.clear();
  for (const row of rows.values()) row.box.checked = false;
  showChoice();
  byId("search").focus();
});
// A page that is gone back to may come with ticks that it does not know of.
addEventListener("pageshow", () => {
  chosen.clear();
  for (const [id, row] of rows) {
    if (row.box.checked) chosen.add(id);
  }
  showChoice();
});
followList(show);
