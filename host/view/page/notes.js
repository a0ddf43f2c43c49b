import {fill} from "../../../plugins/html/page/text.js";
import {byId} from "./common.js";
import {breakableText} from "./columns.js";

const dialog = byId("notes"), tags = byId("notes-tags"), note = byId("notes-note"), archived = byId("notes-archived");
let run = null, opened = {}, changed = () => {};

/** Has the server write what people say of a run, and the run say so too. Throws an Error with a sentence. */
export async function changeNotes(of, change) {
  const answer = await fetch(of.address, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(change)
  }).catch(() => { throw new Error("The server does not answer; start loupe view again."); });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  const {tags: newTags, note: newNote, archived: isArchived} = await answer.json();
  Object.assign(of, {tags: newTags, note: newNote, archived: isArchived});
}

function showFault(text) {
  byId("notes-fault").hidden = text === "";
  byId("notes-fault").textContent = text;
}

/** Opens the dialog for a run; calls `then` when something was changed. */
export function editNotes(of, then) {
  [run, changed] = [of, then];
  fill(byId("notes-title"), breakableText(of.name));
  fill(byId("notes-folder"), breakableText(of.folder));
  tags.value = of.tags.join(" ");
  note.value = of.note;
  archived.checked = of.archived;
  opened = {tags: tags.value, note: note.value, archived: archived.checked};
  showFault("");
  dialog.showModal();
  tags.focus();
}

byId("notes-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  // What is left as it was may have been changed by others meanwhile.
  const change = {};
  if (tags.value !== opened.tags) change.tags = tags.value.split(/[\s,]+/).filter((word) => word !== "");
  if (note.value !== opened.note) change.note = note.value.trim();
  if (archived.checked !== opened.archived) change.archived = archived.checked;
  try {
    if (Object.keys(change).length > 0) await changeNotes(run, change);
  } catch ({message}) {
    showFault(message);
    return;
  }
  dialog.close();
  changed();
});
note.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("notes-form").requestSubmit();
});
byId("notes-cancel").addEventListener("click", () => dialog.close());
