import {keep, kept} from "../../../../plugins/html/page/text.js";
import {followTheme} from "../../../../plugins/html/page/colours.js";

export function byId(id) { return document.getElementById(id); }

export const STATES = {
  reading: "being read",
  running: "running",
  unknown: "running or crashed",
  crashed: "crashed or killed",
  completed: "completed",
  interrupted: "interrupted",
  failed: "failed",
  ended: "ended",
  damaged: "damaged record"
};

followTheme(byId("theme"));

// The token is a cookie from now on. Remove it from the address, where others could read it.
if (new URLSearchParams(location.search).has("token")) {
  const address = new URL(location.href);
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
}

/** Shows a line beside the title. @param isLost whether the line says that the page is no longer up to date */
export function showStatus(text, isLost = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("lost", isLost);
}

const LIVE_KEY = "loupe-live";
const live = byId("live");

/** Whether pages follow running runs; all pages of a browser share this choice. */
export function isLive() { return live.checked; }

/** Calls `changed` when the reader turns live on or off, in this page or another. */
function followLive(changed) {
  live.checked = kept(LIVE_KEY) !== "off";
  live.addEventListener("change", () => {
    keep(LIVE_KEY, live.checked ? null : "off");
    changed();
  });
  addEventListener("storage", ({key, newValue}) => {
    if (key !== LIVE_KEY) return;
    live.checked = newValue !== "off";
    changed();
  });
}

/**
 * Calls `show` with all runs, now and, while the page is live, whenever one has changed; shows a status if the server
 * does not answer.
 * @param switched is called when the reader turns live on or off
 * @returns a function that asks for the runs once more if the page is not live
 */
export function followRuns(show, switched = () => {}) {
  const runs = new Map();  // by the number that the server gave each run
  let events = null, wantsOnce = true;
  const take = ({data}) => {
    const {ids, runs: news, ...about} = JSON.parse(data), there = new Set(ids);
    for (const id of runs.keys()) if (!there.has(id)) runs.delete(id);
    for (const run of news) runs.set(run.id, run);
    wantsOnce = false;
    show({...about, runs: [...runs.values()]});
    if (!isLive() && !news.some(({state}) => state === "reading")) stop();
  };
  const stop = () => {
    if (events !== null) events.close();
    events = null;
  };
  const follow = () => {
    stop();
    // A browser has only a few connections to each server, so hidden pages close theirs.
    if (document.hidden || (!isLive() && !wantsOnce)) return;
    events = new EventSource("events");
    events.addEventListener("runs", take);
    events.addEventListener("error", () => {
      showStatus("The server does not answer; start loupe view again.", true);
      // EventSource does not reconnect after an HTTP error, so do it here.
      if (events !== null && events.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
    });
  };
  document.addEventListener("visibilitychange", follow);
  followLive(() => {
    follow();
    switched();
  });
  follow();
  return () => {
    wantsOnce = true;
    if (events === null) follow();
  };
}
