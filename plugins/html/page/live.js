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
for (const key of ["zoom", "scale", "axis", "search", "order", "tagName", "openTags"]) {
  if (key in resumedReading) state[key] = resumedReading[key];
}

function reloadAndGoOn() {
  try {
    sessionStorage.setItem(
        READING_KEY, JSON.stringify({...state, hiddenRuns: undefined, scroll: scrollY, reloads: true}));
  } catch {
    // The page then loads as if for the first time.
  }
  location.reload();
}

/** A switch to load the page again now and then while the run trains; null once it has ended. */
function reloadSwitch() {
  if (runs.length === 0 || runs[runs.length - 1].ended) return null;
  let waiting = 0;
  const wait = (wanted) => {
    clearTimeout(waiting);
    if (wanted) waiting = setTimeout(reloadAndGoOn, RELOAD_SECONDS * 1000);
  };
  wait(resumedReading.reloads === true);
  const box = element(
      "input",
      {type: "checkbox", id: "reload", checked: resumedReading.reloads === true, onchange: () => wait(box.checked)});
  return element("label", {class: "field"}, box, element("span", {}, `Reload every ${RELOAD_SECONDS} s`));
}

/** After everything stands: to where the reader was. */
function goOnReading() {
  if (resumedReading.scroll !== undefined) scrollTo(0, resumedReading.scroll);
}
