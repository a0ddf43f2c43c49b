"use strict";

function byId(id) { return document.getElementById(id); }

/** A number as a record has it: what JSON cannot hold is a text, and what nobody could tell null. */
function numberOf(value) { return value === null ? null : Number(value); }

const STATES = {
  reading: "being read",
  running: "running",
  stopped: "stopped without an end",
  completed: "completed",
  interrupted: "interrupted",
  failed: "failed",
  ended: "ended",
  damaged: "damaged record"
};

/**
 * Light or dark: as the system says until the reader chooses. Reports have the same switch, and share the choice; in the
 * bar above a report there is none.
 */
(() => {
  const key = "loupe-theme";
  const darkPreferred = matchMedia("(prefers-color-scheme: dark)");
  const button = byId("theme");
  let chosen = null;
  try {
    chosen = localStorage.getItem(key);
  } catch {
    // A browser that keeps nothing follows the system.
  }
  const show = () => {
    const dark = chosen === null ? darkPreferred.matches : chosen === "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    if (button !== null) button.textContent = dark ? "☀ Light" : "☾ Dark";
  };
  addEventListener("storage", ({key: changed, newValue}) => {
    if (changed !== key) return;
    chosen = newValue;
    show();
  });
  if (button !== null) {
    button.addEventListener("click", () => {
      chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      show();
      try {
        localStorage.setItem(key, chosen);
      } catch {
        // The choice then lasts as long as the page.
      }
    });
  }
  darkPreferred.addEventListener("change", show);
  show();
})();

// The token is kept as a cookie from now on, and need not stay where it can be read over a shoulder.
if (new URLSearchParams(location.search).has("token")) {
  const address = new URL(location.href);
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
}

/** Calls `show` with the list, now and whenever it changes; `lost` where the server does not answer. */
function followList(show, lost) {
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
