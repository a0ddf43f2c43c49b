import {button, element, fill, keep, kept, plural, showsScrolling} from "../../../../plugins/html/page/text.js";
import {
  alikeSettings, breakableText, columnsOf, comparedLoss, grouped, groupings, groupWords, hasAll, lowestOf, showAges, sorted,
  wordsOf
} from "./columns.js";
import {byId, followRuns, showStatus} from "./common.js";

const MOST_COMPARED = 20;
const USUAL_SORT = "-started";
const MARKS = {none: "↕", ascending: "▲", descending: "▼"};
const head = document.querySelector("#runs thead tr"), body = document.querySelector("#runs tbody");
// Keyed by the run's folder, since a restarted server numbers its runs again.
const rows = new Map(), chosen = new Set();
const COLUMNS_KEY = "loupe-hidden-columns";
const hiddenColumns = (() => {
  try {
    return new Set(JSON.parse(kept(COLUMNS_KEY)) || []);
  } catch {
    return new Set();
  }
})();
// The choices in the address, and the last data from the server.
let sort = USUAL_SORT, group = "", told = {runs: [], folders: [], left_out: ""}, columns = [], allColumns = [], clock = 0;
let groups = [];  // groups of runs with the same value of the chosen setting, each with a heading row
let fault = "";  // why runs could not be archived; cleared when something else is chosen

class Row {
  constructor(folder) {
    this.shown = "";
    this.box = element("input", {type: "checkbox", onchange: () => {
      if (this.box.checked) chosen.add(folder);
      else chosen.delete(folder);
      fault = "";
      showChoice();
    }});
    this.link = element("a", {});
    this.folder = element("div", {class: "folder muted small"});
    this.edit = button({class: "edit small", onclick: () => editNotes(this.run)}, "Edit");
    this.name = element("th", {role: "rowheader", scope: "row"}, this.link, this.folder, this.edit);
    this.root = element("tr", {role: "row"}, element("td", {role: "cell", class: "tick"}, this.box), this.name);
  }

  show(run, place, context) {
    this.run = run;
    this.link.href = addressOf([run]);
    // Do not redraw a row that has not changed: the reader may have selected its text or listen to it.
    const shown = JSON.stringify([run, place, columns.map(({title}) => title), context]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.words = wordsOf(run);
    fill(this.link, breakableText(run.name));
    this.link.title = run.name;
    fill(this.folder, place === run.name ? null : breakableText(place));
    this.folder.title = run.folder;
    this.root.classList.toggle("archived", run.archived);
    this.edit.setAttribute("aria-label", `Edit tags and note of ${run.name}, ${place}`);
    this.box.setAttribute("aria-label", `Compare ${run.name}, ${place}`);
    const cells = columns.filter(({cell}) => cell !== undefined).map(({key, title, cell}) => {
      const content = element("div", {}, cell(run, context)), what = key.startsWith(":") ? "setting" : key;
      const isEmpty = content.textContent === "–" && content.childElementCount === 0;
      const name = `of-${what}${isEmpty ? " nothing" : ""}`;
      return element("td", {role: "cell", class: name, "data-label": title}, content);
    });
    while (this.name.nextSibling) this.name.nextSibling.remove();
    this.root.append(...cells);
  }

  matches(wanted) { return isListed(this.run) && hasAll(wanted, this.run, this.words); }
}

function isListed({archived}) { return !archived || byId("archived").checked; }

/** Where a run is; a folder that all runs share is left out. */
function placeOf(folder, folders) {
  const prefix = folders.length === 1 ? `${folders[0].replace(/\/$/, "")}/` : "";
  const isWithin = prefix !== "" && folder.startsWith(prefix) && folder.length > prefix.length;
  return isWithin ? folder.slice(prefix.length) : folder;
}

/** The address of a report of some runs; its hash leads back to the list in its current state. */
function addressOf(runs) {
  return `open?${runs.map(({folder}) => `run=${encodeURIComponent(folder)}`).join("&")}${location.hash}`;
}

function sortedBy() {
  // The list may be sorted by a hidden column.
  const descends = sort.startsWith("-"), column = allColumns.find(({key}) => key === sort.replace(/^-/, ""));
  return column?.value ? {column, descends} : {column: allColumns.find(({key}) => key === "started"), descends: true};
}

function sortBy({key, descends}) {
  const now = sortedBy(), isSame = now.column.key === key;
  sort = (isSame ? !now.descends : descends) ? `-${key}` : key;
  writeAddress();
  showAll();
}

function showHead() {
  const {column, descends} = sortedBy();
  const shown = JSON.stringify([columns.map(({key, title}) => [key, title]), column.key, descends]);
  if (head.dataset.shown === shown) return;
  head.dataset.shown = shown;
  const focused = document.activeElement.dataset.key;
  while (head.children.length > 1) head.lastChild.remove();
  head.append(...columns.map((each) => {
    const order = each !== column ? "none" : descends ? "descending" : "ascending";
    // Keep the mark on one line with the last word. A name may contain line ends.
    const [, words, last] = /^(.* )?(.*)$/s.exec(each.title);
    const mark = element("span", {class: "mark", "aria-hidden": "true"}, MARKS[order]);
    const title = each.value ? button({"data-key": each.key, onclick: () => sortBy(each)}, words || "",
        element("span", {class: "whole-words"}, last, " ", mark)) : each.title;
    return element("th", {scope: "col", role: "columnheader", "aria-sort": each.value ? order : null}, title);
  }));
  if (focused !== undefined) [...head.querySelectorAll("button")].find(({dataset}) => dataset.key === focused)?.focus();
}

function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  sort = parts.get("sort") || USUAL_SORT;
  byId("filter").value = parts.get("filter") || "";
  byId("archived").checked = parts.has("archived");
  group = parts.get("group") || "";
}

function writeAddress() {
  const parts = new URLSearchParams(), filter = byId("filter").value.trim();
  if (sort !== USUAL_SORT) parts.set("sort", sort);
  if (filter !== "") parts.set("filter", filter);
  if (byId("archived").checked) parts.set("archived", "1");
  if (group !== "") parts.set("group", group);
  const hash = parts.size === 0 ? "" : `#${parts}`;
  history.replaceState(null, "", location.pathname + location.search + hash);
  for (const row of rows.values()) row.link.href = addressOf([row.run]);
}

function showChoice() {
  const count = chosen.size, compare = byId("compare");
  compare.disabled = count === 0 || count > MOST_COMPARED;
  compare.textContent = count === 0 ? "Compare" : count === 1 ? "Open 1 run" : `Compare ${count} runs`;
  byId("clear").hidden = byId("archive").hidden = count === 0;
  byId("archive").textContent = areArchived() ? "Take out of the archive" : "Archive";
  byId("hint").textContent = fault !== "" ? fault :
    count > MOST_COMPARED ? `One report takes at most ${MOST_COMPARED} runs.` :
    count === 0 ? "Tick runs to compare them in one report." : "";
}

function chosenRuns() { return told.runs.filter(({folder}) => chosen.has(folder)); }

function areArchived() { return chosenRuns().every(({archived}) => archived); }

/** Puts a text into the filter, or clears the filter if it contains only that text. */
function filterBy(text) {
  byId("filter").value = byId("filter").value === text ? "" : text;
  writeAddress();
  showMatching();
}

function showMatching() {
  const wanted = byId("filter").value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  let matching = 0;
  for (const row of rows.values()) {
    row.root.hidden = !row.matches(wanted);
    if (!row.root.hidden) ++matching;
  }
  for (const {root, runs} of groups) root.hidden = runs.every(({folder}) => rows.get(folder).root.hidden);
  const running = told.runs.filter(({state}) => state === "running").length;
  const archived = told.runs.filter((run) => run.archived).length;
  byId("archived-field").hidden = archived === 0;
  byId("archived-text").textContent = `Show ${archived} archived`;
  showStatus([plural(rows.size, "run"), running > 0 ? `${running} running` : null,
    archived > 0 ? `${archived} archived` : null, wanted.length > 0 ? `${matching} shown` : null]
      .filter((text) => text !== null).join(", "));
  byId("no-match").hidden = matching > 0 || rows.size === 0;
  byId("no-match").textContent = wanted.length > 0 ? "No run matches the filter." : "All runs are archived.";
}

function groupHead(some, compared) {
  const words = groupWords(group, {...some, runs: some.runs.filter(isListed)}, compared);
  return element("tr", {role: "row", class: "group-head"},
      element("th", {role: "rowheader", scope: "rowgroup", colspan: columns.length + 1}, element("div", {}, words)));
}

/** Shows the columns to choose from; the run itself always stays. */
function showColumnChoice(all) {
  const shown = JSON.stringify(all.map(({key, title}) => [key, title, hiddenColumns.has(key)]));
  const box = byId("columns");
  if (box.dataset.shown === shown) return;
  box.dataset.shown = shown;
  fill(box, all.slice(1).map(({key, title}) => {
    const tick = element("input", {type: "checkbox", onchange: () => {
      if (tick.checked) hiddenColumns.delete(key);
      else hiddenColumns.add(key);
      keep(COLUMNS_KEY, JSON.stringify([...hiddenColumns]));
      showAll();
    }});
    tick.checked = !hiddenColumns.has(key);
    return element("label", {class: "field"}, tick, element("span", {}, title));
  }));
}

function showAlike(runs) {
  const {count, settings} = alikeSettings(runs), whose = count === runs.length ? "all runs" :
    `the ${plural(count, "run")} with settings`;
  byId("alike").hidden = runs.length < 2 || settings.length === 0;
  fill(byId("alike"), `Alike in ${whose}: `, settings.flatMap(([name, text], i) => [i === 0 ? "" : " · ",
    element("span", {class: "pair"}, `${name} `, element("b", {}, text))]));
}

/** The choice of a setting to group by; it includes the one that the address names, even if the runs do not differ in it. */
function showGrouping(runs) {
  const names = groupings(runs), field = byId("group");
  if (group !== "" && !names.includes(group)) names.push(group);
  byId("group-field").hidden = names.length === 0;
  const shown = JSON.stringify(names);
  const option = (value, text) => element("option", {value}, text);
  if (field.dataset.shown !== shown) fill(field, option("", "none"), names.map((name) => option(name, name)));
  field.dataset.shown = shown;
  field.value = group;
}

/** Puts rows into the order of the table. Moves only rows that are out of place, and keeps the keyboard focus. */
function showOrder(roots) {
  const focused = body.contains(document.activeElement) ? document.activeElement : null;
  let next = body.firstElementChild;
  for (const root of roots) {
    if (root === next) next = next.nextElementSibling;
    else body.insertBefore(root, next);
  }
  if (focused !== null && document.activeElement !== focused) focused.focus({preventScroll: true});
}

function showAll() {
  const {runs, folders, left_out} = told, there = new Set(runs.map((run) => run.folder));
  for (const [folder, row] of rows) {
    if (there.has(folder)) continue;
    row.root.remove();
    rows.delete(folder);
    chosen.delete(folder);
  }
  const listed = runs.filter(isListed);
  const compared = comparedLoss(listed), context = {compared, lowest: lowestOf(listed, compared), filterBy};
  allColumns = columnsOf(listed, compared);
  columns = allColumns.filter(({key}) => !hiddenColumns.has(key));
  showColumnChoice(allColumns);
  showGrouping(listed);
  showHead();
  showAlike(listed);
  for (const run of runs) {
    if (!rows.has(run.folder)) rows.set(run.folder, new Row(run.folder));
    rows.get(run.folder).show(run, placeOf(run.folder, folders), context);
  }
  const {column, descends} = sortedBy();
  const ordered = sorted(runs, column, descends), rootsOf = (some) => some.map(({folder}) => rows.get(folder).root);
  for (const old of groups) old.root.remove();
  groups = group === "" ? [] : grouped(ordered, group).map((each) => ({...each, root: groupHead(each, compared)}));
  showOrder(groups.length === 0 ? rootsOf(ordered) : groups.flatMap(({root, runs: own}) => [root, ...rootsOf(own)]));
  byId("runs").hidden = byId("tools").hidden = runs.length === 0;
  byId("empty").hidden = runs.length > 0;
  byId("empty").textContent = `No runs under ${folders.join(", ")} yet. A run is listed as soon as its visualizer ` +
    "“record” has written a record.jsonl there: add “record” to the visualizers in its YAML. This page keeps searching.";
  byId("left-out").hidden = left_out === "";
  byId("left-out").textContent = left_out === "" ? "" : `Not all is listed: ${left_out}.`;
  showAges(Date.now() / 1000 + clock);
  showMatching();
  showChoice();
}

// The dialog for tags and notes, and the run that it was opened for.
const dialog = byId("notes"), tags = byId("notes-tags"), note = byId("notes-note"), archived = byId("notes-archived");
let noted = null, opened = {};

/** Makes the server write the notes of a run, and updates the run. Throws an Error with a sentence. */
async function changeNotes(of, change) {
  const answer = await fetch(of.address, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(change)
  }).catch(() => { throw new Error("The server does not answer; start loupe view again."); });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  const {tags: newTags, note: newNote, archived: isArchived} = await answer.json();
  Object.assign(of, {tags: newTags, note: newNote, archived: isArchived});
}

function showFault(text) {
  byId("notes-fault").hidden = text === "";
  byId("notes-fault").textContent = text;
}

/** Opens the dialog for a run. */
function editNotes(of) {
  noted = of;
  fill(byId("notes-title"), breakableText(of.name));
  fill(byId("notes-folder"), breakableText(of.folder));
  tags.value = of.tags.join(" ");
  note.value = of.note;
  archived.checked = of.archived;
  opened = {tags: tags.value, note: note.value, archived: archived.checked};
  showFault("");
  dialog.showModal();
  tags.focus();
}

byId("notes-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  // Send only fields that the user changed: others may have changed the rest meanwhile.
  const change = {};
  if (tags.value !== opened.tags) change.tags = tags.value.split(/[\s,]+/).filter((word) => word !== "");
  if (note.value !== opened.note) change.note = note.value.trim();
  if (archived.checked !== opened.archived) change.archived = archived.checked;
  try {
    if (Object.keys(change).length > 0) await changeNotes(noted, change);
  } catch ({message}) {
    showFault(message);
    return;
  }
  dialog.close();
  showAll();
});
note.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("notes-form").requestSubmit();
});
byId("notes-cancel").addEventListener("click", () => dialog.close());

byId("filter").addEventListener("input", () => {
  writeAddress();
  showMatching();
});
byId("compare").addEventListener("click", () => {
  const runs = sorted(told.runs, ...Object.values(sortedBy()));
  location.assign(addressOf(runs.filter(({folder}) => chosen.has(folder))));
});
function clearChoice() {
  chosen.clear();
  fault = "";
  for (const row of rows.values()) row.box.checked = false;
  showChoice();
  byId("filter").focus();
}
byId("clear").addEventListener("click", clearChoice);
byId("archive").addEventListener("click", async () => {
  const runs = chosenRuns(), archived = !areArchived();
  clearChoice();
  const answers = await Promise.allSettled(runs.map((run) => changeNotes(run, {archived})));
  fault = answers.find(({status}) => status === "rejected")?.reason.message ?? "";
  showAll();
});
byId("group").addEventListener("change", () => {
  group = byId("group").value;
  writeAddress();
  showAll();
});
byId("archived").addEventListener("change", () => {
  writeAddress();
  showAll();
});
// A page restored by "back" may have boxes ticked that the script does not know of.
addEventListener("pageshow", () => {
  chosen.clear();
  for (const [folder, row] of rows) {
    if (row.box.checked) chosen.add(folder);
  }
  showChoice();
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, select, textarea")) return;
  event.preventDefault();
  byId("filter").focus();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  // Keep the address: it holds the order and the filter.
  event.preventDefault();
  byId("main").focus();
});
addEventListener("hashchange", () => {
  readAddress();
  if (rows.size > 0) showAll();
});
readAddress();
// On a phone the headings scroll, not the table.
for (const box of [document.querySelector(".scrolled"), head]) showsScrolling(box);
followRuns((now) => {
  told = now;
  clock = now.now - Date.now() / 1000;
  showAll();
  document.documentElement.dataset.ready = "true";
});
setInterval(() => showAges(Date.now() / 1000 + clock), 5000);
