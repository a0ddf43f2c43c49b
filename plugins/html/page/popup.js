/** A panel beside a button: one of its kind at a time; Escape or a click elsewhere closes it. */
class Popup {
  constructor() {
    this.root = this.button = null;
    addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close(true);
    });
    addEventListener("pointerdown", ({target}) => {
      if (this.root !== null && !this.root.contains(target) && !this.button.contains(target)) this.close();
    });
  }

  /** @param made gives what to show  @param focused gives what in it the keyboard goes to */
  toggle(button, made, focused) {
    const same = this.root !== null && this.button === button;
    this.close();
    if (same) return;
    this.button = button;
    this.root = made();
    document.body.append(this.root);
    const box = button.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left - 8, document.documentElement.clientWidth - this.root.offsetWidth - 8));
    this.root.style.left = `${left + scrollX}px`;
    this.root.style.top = `${box.bottom + 5 + scrollY}px`;
    button.setAttribute("aria-expanded", "true");
    focused(this.root).focus({preventScroll: true});
  }

  /** @param back whether the keyboard goes back to where it was */
  close(back = false) {
    if (this.root === null) return;
    this.root.remove();
    this.root = null;
    this.button.setAttribute("aria-expanded", "false");
    if (back) this.button.focus({preventScroll: true});
  }
}
