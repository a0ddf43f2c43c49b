/** Draws the words under `root` where they stand, word by word, so that lines break as they do on the page. */
function drawWords(context, root, origin) {
  const words = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const node = words.currentNode, parent = node.parentElement;
    if (parent.closest("button:not(.card-title), select, .visually-hidden, [hidden]") !== null) continue;
    const style = getComputedStyle(parent);
    context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    context.fillStyle = style.color;
    const rotated = parent.closest(".dygraph-label-rotate-right");
    for (const {index, 0: word} of node.data.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const box = range.getBoundingClientRect();
      if (box.width === 0) continue;
      context.save();
      context.translate(box.left - origin.left + box.width / 2, box.top - origin.top + box.height / 2);
      if (rotated) context.rotate(-Math.PI / 2);
      context.fillText(word, 0, 0);
      context.restore();
    }
  }
}

/** The coloured signs of a legend. */
function drawSwatches(context, root, origin) {
  for (const swatch of root.querySelectorAll(".swatch")) {
    const box = swatch.getBoundingClientRect(), style = getComputedStyle(swatch);
    const [left, top] = [box.left - origin.left, box.top - origin.top];
    if (swatch.classList.contains("ramp-swatch")) {
      const ramp = context.createLinearGradient(left, 0, left + box.width, 0);
      SEQUENTIAL.forEach((colour, i) => ramp.addColorStop(i / (SEQUENTIAL.length - 1), colour));
      context.fillStyle = ramp;
    } else {
      context.fillStyle = style.color;
    }
    if (swatch.classList.contains("dashed"))
      for (let x = 0; x < box.width; x += 6) context.fillRect(left + x, top, Math.min(4, box.width - x), box.height);
    else
      context.fillRect(left, top, box.width, box.height);
  }
}

/** A card as a picture: what is painted in it, its words and its legend; without its buttons and the cursor. */
function pictureOf(card) {
  const origin = card.getBoundingClientRect(), density = Math.max(2, devicePixelRatio || 1);
  const canvas = element("canvas", {width: Math.round(origin.width * density), height: origin.height * density});
  const context = canvas.getContext("2d");
  context.scale(density, density);
  context.fillStyle = themeColour("panel");
  context.fillRect(0, 0, origin.width, origin.height);
  for (const painted of card.querySelectorAll("canvas")) {
    const box = painted.getBoundingClientRect();
    if (painted.width > 0 && painted.height > 0)
      context.drawImage(painted, box.left - origin.left, box.top - origin.top, box.width, box.height);
  }
  context.textAlign = "center";
  context.textBaseline = "middle";
  drawSwatches(context, card, origin);
  drawWords(context, card, origin);
  return new Promise((made, failed) => canvas.toBlob((blob) => (blob ? made(blob) : failed()), "image/png"));
}
