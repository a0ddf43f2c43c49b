import {byId, followList, showStatus, STATES} from "./common.js";

// Making a large report again takes a while, and a reader wants to read.
const LEAST_SECONDS = 5;
const wanted = new URLSearchParams(location.search).get("runs") || "";
const address = `report?runs=${encodeURIComponent(wanted)}`;
const frame = byId("report");
let shownVersions = null, latestVersions = null, loadedAt = 0, waiting = 0, loading = false;

function load() {
  clearTimeout(waiting);
  waiting = 0;
  shownVersions = latestVersions;
  loading = true;
  showState();
  showNews();
  try {
    // Where the reader was; the report looks for it under this key.
    const scroll = frame.contentWindow.scrollY;
    if (scroll > 0) sessionStorage.setItem("loupe-reading:/report", JSON.stringify({scroll}));
  } catch {
    // A report that was found in a run's folder is kept apart from this page, and begins at its top.
  }
  // In the frame's place in the history, so that "back" leads to the list.
  frame.contentWindow.location.replace(new URL(address, location.href));
}

function showNews() {
  const isOld = shownVersions !== null && latestVersions !== shownVersions;
  byId("news").hidden = !isOld && !byId("follow").checked;
  byId("again").disabled = !isOld || loading;
  if (!isOld || loading || waiting !== 0 || !byId("follow").checked) return;
  waiting = setTimeout(load, Math.max(0, loadedAt + LEAST_SECONDS * 1000 - Date.now()));
}

frame.addEventListener("load", () => {
  if (!loading) return;
  loading = false;
  loadedAt = Date.now();
  showState();
  showNews();
  document.documentElement.dataset.ready = "true";
});
byId("again").addEventListener("click", load);
byId("follow").addEventListener("change", () => {
  clearTimeout(waiting);
  waiting = 0;
  showNews();
});
byId("alone").href = address;

let runs = [];
function showState() {
  showStatus(loading ? "The report is being made …" : runs.length === 1 ? STATES[runs[0].state] :
    runs.some(({state}) => state === "running") ? "some are running" : "");
}

followList((told) => {
  const ids = wanted.split(",").map(Number);
  runs = told.runs.filter(({id}) => ids.includes(id)).sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
  latestVersions = runs.map(({id, version}) => `${id}:${version}`).join(" ");
  const names = runs.map(({name}) => name).join(" · ") || "Report";
  byId("title").textContent = names;
  frame.title = `Report of ${names}`;
  document.title = `${names} – Loupe`;
  // A run that is still being read changes with each part of it.
  if (shownVersions === null && !runs.some(({state}) => state === "reading")) return load();
  showState();
  showNews();
});
