import {element} from "../../../../plugins/html/page/text.js";
import {byId, followRuns, isLive, showStatus, STATES} from "./common.js";

// Making a large report takes a while and slows the trainers down, and it interrupts the reader.
const LEAST_SECONDS = 5, PAUSE_FOR_EACH_LOAD = 10;
const DRAWING_MILLISECONDS = 200;
const wanted = new URLSearchParams(location.search).getAll("run");  // the folders of the runs
let runs = [], latest = null, loaded = null, isLoading = false, earliest = 0, waiting = 0;
let frame = null, next = null;

/** The address of the report itself. Each run has its own query: the name of its folder may not be valid text. */
function address() { return `report?${runs.map(({report}) => report.slice(report.indexOf("?") + 1)).join("&")}`; }

/** The window of the current report; null without one, or for a report from a run's folder, which is isolated. */
function ownReport() {
  const report = frame === null ? null : frame.contentDocument;
  return report !== null && report.contentType === "text/html" ? frame.contentWindow : null;
}

/** Loads a new report behind the current one, which reports when its reader is idle and keeps the view. */
function load() {
  waiting = 0;
  isLoading = true;
  showState();
  if (ownReport() !== null) ownReport().postMessage("loupe: news", location.origin);
  else loadBehind();
}

function loadBehind() {
  loaded = latest;
  const begun = Date.now(), hash = ownReport() === null ? "" : ownReport().location.hash;
  next = element("iframe", {class: "next", src: address() + hash, title: document.title});
  next.addEventListener("load", () => setTimeout(() => {
    earliest = Date.now() + Math.max(LEAST_SECONDS * 1000, PAUSE_FOR_EACH_LOAD * (Date.now() - begun));
    showNext();
  }, DRAWING_MILLISECONDS));
  byId("frames").append(next);
}

function showNext() {
  const old = frame, scroll = ownReport() === null ? null : ownReport().scrollY;
  [frame, next] = [next, null];
  if (scroll !== null && ownReport() !== null) ownReport().scrollTo(0, scroll);
  frame.className = "";
  if (document.activeElement === old) frame.focus();
  if (old !== null) old.remove();
  frame.id = "report";
  isLoading = false;
  showState();
  loadWhenNew();
  document.documentElement.dataset.ready = "true";
}

addEventListener("message", ({source, data}) => {
  if (source === ownReport() && data === "loupe: go on" && isLoading && next === null) loadBehind();
});

function loadWhenNew() {
  if (!isLive() || runs.length === 0) {
    clearTimeout(waiting);
    waiting = 0;
  } else if (latest !== loaded && !isLoading && waiting === 0) {
    waiting = setTimeout(load, Math.max(0, earliest - Date.now()));
  }
}

function showState() {
  byId("again").hidden = isLive();
  if (frame !== null && runs.length === 0) return showStatus("The record was deleted; this is its last report.", true);
  const running = runs.filter(({state}) => state === "running").length;
  showStatus(isLoading && frame === null ? "The report is being made …" : runs.length === 1 ? STATES[runs[0].state] :
    running > 0 ? `${running} of ${runs.length} running` : "");
}

// Link to the list with its current order and filter.
byId("back").href = `/${location.hash}`;

const ask = followRuns((told) => {
  runs = told.runs.filter(({folder}) => wanted.includes(folder))
      .sort((a, b) => wanted.indexOf(a.folder) - wanted.indexOf(b.folder));
  if (runs.length > 0) byId("alone").href = address();
  latest = runs.map(({id, version}) => `${id}:${version}`).join(" ");
  const names = runs.map(({name}) => name).join(" · ") || byId("title").textContent;
  byId("title").textContent = names;
  document.title = `${names} – Loupe`;
  showState();
  // A run that is still being read changes with each part that was read.
  if (frame !== null) loadWhenNew();
  else if (runs.length === 0) showStatus(`There is no run at ${wanted.join(", ")}.`, true);
  else if (!isLoading && !runs.some(({state}) => state === "reading")) load();
}, () => {
  showState();
  loadWhenNew();
});
byId("again").addEventListener("click", () => {
  ask();
  if (!isLoading) load();
});
