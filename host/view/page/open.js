import {byId, followRuns, isLive, showStatus, STATES} from "./common.js";

// Making a large report again takes a while, in which the trainers want the machine, and a reader wants to read.
const LEAST_SECONDS = 5, PAUSE_FOR_EACH_LOAD = 10;
const wanted = new URLSearchParams(location.search).get("runs") || "";
const address = `report?runs=${encodeURIComponent(wanted)}`;
const frame = byId("report");
let runs = [], latest = null, shown = null, isLoading = false, earliest = 0, waiting = 0;

/** The report in the frame; null where there is none, or one that was found in a run's folder and is kept apart. */
function ownReport() {
  const report = shown === null ? null : frame.contentDocument;
  return report !== null && report.contentType === "text/html" ? report : null;
}

/** Loads what is new, which a report of this Loupe's does by itself: it keeps the view, and waits for its reader. */
function load() {
  waiting = 0;
  if (ownReport() !== null) frame.contentWindow.postMessage("loupe: news", location.origin);
  // In the frame's place in the history, so that "back" leads to the list.
  else frame.contentWindow.location.replace(new URL(address, location.href));
  isLoading = true;
  shown = latest;
  showState();
}

function loadWhenNew() {
  if (!isLive()) {
    clearTimeout(waiting);
    waiting = 0;
  } else if (latest !== shown && !isLoading && waiting === 0) {
    waiting = setTimeout(load, Math.max(0, earliest - Date.now()));
  }
}

/** How long the frame's page took to be made and sent, in milliseconds; 0 where that is kept from this page. */
function loadTime() {
  try {
    return frame.contentWindow.performance.getEntriesByType("navigation")[0]?.responseEnd ?? 0;
  } catch {
    return 0;
  }
}

frame.addEventListener("load", () => {
  if (!isLoading) return;
  isLoading = false;
  earliest = Date.now() + Math.max(LEAST_SECONDS * 1000, PAUSE_FOR_EACH_LOAD * loadTime());
  showState();
  loadWhenNew();
  document.documentElement.dataset.ready = "true";
});

function showState() {
  byId("again").hidden = isLive();
  const running = runs.filter(({state}) => state === "running").length;
  showStatus(isLoading && ownReport() === null ? "The report is being made …" : runs.length === 1 ? STATES[runs[0].state] :
    running > 0 ? `${running} of ${runs.length} running` : "");
}

byId("alone").href = address;
// To the list as it was sorted and filtered.
byId("back").href = `/${location.hash}`;

const ask = followRuns((told) => {
  const ids = wanted.split(",").map(Number);
  runs = told.runs.filter(({id}) => ids.includes(id)).sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
  latest = runs.map(({id, version}) => `${id}:${version}`).join(" ");
  const names = runs.map(({name}) => name).join(" · ") || "Report";
  byId("title").textContent = names;
  frame.title = `Report of ${names}`;
  document.title = `${names} – Loupe`;
  showState();
  // A run that is still being read changes with each part of it.
  if (shown !== null) loadWhenNew();
  else if (!runs.some(({state}) => state === "reading")) load();
}, () => {
  showState();
  loadWhenNew();
});
byId("again").addEventListener("click", () => {
  ask();
  load();
});
