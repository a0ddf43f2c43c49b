import {followTheme} from "../../../plugins/html/page/colours.js";

export function byId(id) { return document.getElementById(id); }

/** A number as a record has it: what JSON cannot hold is a text, and what nobody could tell null. */
export function numberOf(value) { return value === null ? null : Number(value); }

export const STATES = {
  reading: "being read",
  running: "running",
  stopped: "stopped without an end",
  completed: "completed",
  interrupted: "interrupted",
  failed: "failed",
  ended: "ended",
  damaged: "damaged record"
};

followTheme(byId("theme"));

// The token is kept as a cookie from now on, and need not stay where it can be read over a shoulder.
if (new URLSearchParams(location.search).has("token")) {
  const address = new URL(location.href);
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
}

/** Shows a line beside the title. @param isLost whether it says that the page is no longer up to date */
export function showStatus(text, isLost = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("lost", isLost);
}

/** Calls `show` with the list, now and whenever it changes, and says so where the server does not answer. */
export function followList(show) {
  const lost = (why) => showStatus(why || "The server does not answer; start loupe view again.", true);
  let events = null, asked = 0;
  const load = async () => {
    const mine = ++asked;
    try {
      const answer = await fetch("runs.json");
      const told = answer.ok ? await answer.json() : null;
      if (mine !== asked) return;
      if (told === null) return lost(await answer.text());
      show(told);
    } catch {
      if (mine === asked) lost("");
    }
  };
  const follow = () => {
    if (events !== null) events.close();
    events = null;
    // A browser has but a few connections for each server: pages that nobody sees give theirs back.
    if (document.hidden) return;
    events = new EventSource("events");
    events.addEventListener("runs", load);
    events.addEventListener("error", () => {
      lost("");
      // Where the server refused, the browser does not ask again by itself.
      if (events !== null && events.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
    });
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}
