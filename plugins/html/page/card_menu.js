/** Hands a file to the reader; the page needs no server for it. */
function saveFile(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", {href: address, download: name.replace(/[^\p{L}\p{N}._-]+/gu, "_")});
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** Whether the clipboard took it: browsers may refuse that to a page from a disk. */
async function copied(write) {
  try {
    await write();
    return true;
  } catch {
    return false;
  }
}

function copyText(text) {
  return copied(async () => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = element("textarea", {});
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("refused");
  });
}

const menuPopup = new Popup();

/** What can be taken from a card. */
function cardMenu(card) {
  const name = [
    runs.map((run) => run.label).join("-"), card.tag.name, card.layerName === card.tag.name ? null : card.layerName
  ].filter(Boolean).join(" ");
  card.mount();
  const drawn = () => card.plots.map((slot) => slot.drawn).filter(Boolean);
  const said = element("span", {role: "status", class: "muted"});
  const item = (text, act) => element(
      "button", {
        type: "button",
        class: "menu-item",
        onclick: async () => {
          said.textContent = await act() === false ? "The browser does not allow it; save it instead." : "Done.";
        }
      },
      text);
  const csv = () => cardTables(drawn()).map(csvText).join("\r\n");
  return element(
      "div", {class: "card-menu", role: "group", "aria-label": `Take ${name} along`},
      item("Save as PNG", async () => saveFile(`${name}.png`, await pictureOf(card.root))),
      item(
          "Copy as PNG",
          () => copied(() => navigator.clipboard.write([new ClipboardItem({"image/png": pictureOf(card.root)})]))),
      item("Save the numbers as CSV", () => saveFile(`${name}.csv`, new Blob([csv()], {type: "text/csv"}))),
      item("Copy the numbers as CSV", () => copyText(csv())), said);
}

/** The button in a card's head that opens its menu. */
function menuButton(card) {
  const label = `Save or copy ${card.tag.name}: ${card.layerName}`;
  const button = element(
      "button", {
        type: "button",
        class: "help take",
        title: "Save or copy this plot or its numbers",
        "aria-label": label,
        "aria-expanded": "false",
        onclick: () => menuPopup.toggle(button, () => cardMenu(card), (menu) => menu.querySelector("button")),
      },
      "⤓");
  return button;
}
