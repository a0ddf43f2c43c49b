const RELOAD_SECONDS = 20;
// Files opened from a disk share one store, and so each report has a key of its own.
const READING_KEY = `loupe-reading:${location.pathname}`;

/** What the reader had chosen when the page loaded itself again; {} otherwise. */
const resumedReading = (() => {
  try {
    const kept = JSON.parse(sessionStorage.getItem(READING_KEY)) || {};
    sessionStorage.removeItem(READING_KEY);
    return kept;
  } catch {
    // A browser that keeps nothing for local files begins anew.
    return {};
  }
})();
if (resumedReading.openTags) state.openTags = resumedReading.openTags;

function reloadAndGoOn() {
  try {
    // The address holds the rest of the view.
    sessionStorage.setItem(READING_KEY, JSON.stringify({openTags: state.openTags, scroll: scrollY, reloads: true}));
  } catch {
    // The page then loads as if for the first time.
  }
  location.reload();
}

/** Whether a run that has not ended told something within a day: one that was killed long ago brings nothing new. */
function goesOn(run, now = Date.now()) {
  return !run.ended && now - new Date(run.lastTick || run.begun) < 24 * 3600 * 1000;
}

let lastKey = -Infinity;
addEventListener("keydown", () => lastKey = performance.now(), {capture: true});

/** Whether the reader is in the midst of something that loading again would break off. */
function isBusy() {
  const types = performance.now() - lastKey < RELOAD_SECONDS * 500;
  return document.hidden || types || document.querySelector(".help-panel, .card-menu") !== null || !getSelection().isCollapsed;
}

/**
 * A switch to load the page again now and then while a run trains; null once all have ended. On by itself, but for a
 * page within another, which knows better when there is something new.
 */
function reloadSwitch() {
  if (runs.length === 0 || runs.every((run) => run.ended)) return null;
  const {reloads = window.top === window && runs.some((run) => goesOn(run))} = resumedReading;
  let waiting = 0;
  const wait = (wanted) => {
    clearTimeout(waiting);
    if (wanted) waiting = setTimeout(() => (isBusy() ? wait(true) : reloadAndGoOn()), RELOAD_SECONDS * 1000);
  };
  wait(reloads);
  const box = element("input", {type: "checkbox", id: "reload", checked: reloads, onchange: () => wait(box.checked)});
  return element("label", {class: "field"}, box, element("span", {}, `Reload every ${RELOAD_SECONDS} s`));
}

/** After everything stands: to where the reader was. */
function goOnReading() {
  if (resumedReading.scroll !== undefined) scrollTo(0, resumedReading.scroll);
}
