/** A drop-down list that follows `change`, by which others may choose for it. @param chosen what is chosen now */
function boundSelector(label, choices, change, chosen, onChange) {
  const field = selector(label, choices, chosen(), onChange);
  on(change, () => {
    field.querySelector("select").value = chosen();
  });
  return field;
}

function scaleSelector() {
  return boundSelector(
      "Scale", [["tag", "as each plot says"], ["log", "logarithmic"], ["linear", "linear"]], "scale", () => state.scale,
      (scale) => setState("scale", {scale}));
}

/** Light or dark: as the system says until the reader chooses; the choice is remembered where the browser allows it. */
function themeButton() {
  const key = "loupe-theme";
  const darkPreferred = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem(key);
  } catch {
    // A browser that keeps nothing for local files follows the system.
  }
  const button = element("button", {
    type: "button",
    id: "theme",
    onclick: () => {
      chosen = isDark() ? "light" : "dark";
      show();
      try {
        localStorage.setItem(key, chosen);
      } catch {
        // The choice then lasts as long as the page.
      }
    }
  });
  const show = () => {
    document.documentElement.dataset.theme = chosen || (darkPreferred.matches ? "dark" : "light");
    button.textContent = isDark() ? "☀ Light" : "☾ Dark";
    announce("theme");
  };
  darkPreferred.addEventListener("change", show);
  show();
  return button;
}

function searchField() {
  let waiting = 0;
  const input = element("input", {
    type: "search",
    id: "search",
    placeholder: "Search layers",
    "aria-label": "Search layers",
    value: state.search,
    oninput: () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => setState("search", {search: input.value.trim()}), 120);
    }
  });
  on("search", () => {
    if (input.value.trim() !== state.search) input.value = state.search;
  });
  return input;
}

/** The epochs on show as two numbers, for those who do not drag. */
function epochFields() {
  const field = (label) =>
      element("input", {type: "number", step: "any", "aria-label": label, min: firstEpoch, max: lastEpoch});
  const [from, to] = [field("First epoch on show"), field("Last epoch on show")];
  const apply = () => setZoom(Number(from.value || firstEpoch), Number(to.value || lastEpoch));
  from.addEventListener("change", apply);
  to.addEventListener("change", apply);
  const whole =
      element("button", {type: "button", id: "zoom-out", onclick: () => setZoom(firstEpoch, lastEpoch)}, "All");
  const show = () => {
    const [first, last] = epochWindow();
    from.value = Number(first.toPrecision(10));
    to.value = Number(last.toPrecision(10));
    whole.disabled = state.zoom === null;
  };
  on("zoom", show);
  show();
  return element("div", {class: "field"}, element("span", {}, "Epochs"), from, element("span", {}, "to"), to, whole);
}

function runChips() {
  if (runs.length < 2) return null;
  const chips = runs.map((run) => {
    const chip = element(
        "button", {
          type: "button",
          class: "chip",
          "aria-pressed": String(!state.hiddenRuns.has(run.index)),
          onclick: () => {
            const hidden = new Set(state.hiddenRuns);
            if (!hidden.delete(run.index)) hidden.add(run.index);
            setState("runs", {hiddenRuns: hidden});
          }
        },
        element("i", {class: "swatch line", "aria-hidden": "true"}), run.label);
    return [run, chip];
  });
  const colour = () => chips.forEach(([run, chip]) => {
    chip.querySelector(".swatch").style.color = lineColour(run.index);
  });
  on("theme", colour);
  on("runs", () => chips.forEach(([run, chip]) => {
    chip.setAttribute("aria-pressed", String(!state.hiddenRuns.has(run.index)));
  }));
  colour();
  return element("div", {class: "chips", role: "group", "aria-label": "Runs"}, chips.map(([, chip]) => chip));
}
