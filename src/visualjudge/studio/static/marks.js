// Overlays on the images of <vj-stage>: the pixel grid and the pixel under the pointer.
// `origin` is the image point [x, y] at the pane's upper left corner, `scale` the screen pixels per image pixel.

export function drawPixelGrid(context, width, height, origin, scale) {
  const [left, top] = origin.map((v) => (Math.ceil(v) - v) * scale);
  context.fillStyle = "#8886";
  for (let x = left; x < width; x += scale) context.fillRect(Math.round(x), 0, 1, height);
  for (let y = top; y < height; y += scale) context.fillRect(0, Math.round(y), width, 1);
}

/** Boxes in image pixels: measured faults dashed, on their option and, with its letter, on the original; places that a judge
 * named solid. */
export function drawPlaces(context, places, key, origin, scale) {
  context.font = "12px sans-serif";
  const shown = places.filter((place) => (place.true ? place.true === key || key === "o0" : !key.startsWith("u")))
    .map((place) => ({ ...place, title: place.true && key === "o0" ? `${place.true}: ${place.title}` : place.title, at: place.box.map((v, i) => (v - origin[i % 2]) * scale) }));
  for (const { at: [x1, y1, x2, y2], true: option } of shown) {
    context.setLineDash(option ? [6, 4] : []);
    for (const [color, wide] of [["#000", 4], [option ? "#ffd400" : "#00e5ff", 2]]) {
      Object.assign(context, { strokeStyle: color, lineWidth: wide });
      context.strokeRect(x1, y1, x2 - x1, y2 - y1);
    }
  }
  context.setLineDash([]);
  const taken = [];
  for (const { at: [x1, y1, x2, y2], title } of shown) {
    if (x2 < 0 || y2 < 0) continue;
    const width = context.measureText(title).width + 6;
    const left = Math.max(Math.min(x1, context.canvas.clientWidth - width), 0);  // whole, also at an edge
    let top = Math.max(y1, 16);
    while (taken.some(([x, y, wide]) => left < x + wide && x < left + width && Math.abs(top - y) < 16)) top += 16;
    taken.push([left, top, width]);
    context.fillStyle = "#000c";
    context.fillRect(left, top - 16, width, 16);
    context.fillStyle = "#fff";
    context.fillText(title, left + 3, top - 4);
  }
}

/** A frame around the pixel `cursor`, at least 8 screen pixels wide. */
export function drawCursor(context, cursor, origin, scale) {
  const [x, y] = [(cursor[0] - origin[0]) * scale, (cursor[1] - origin[1]) * scale];
  const box = Math.max(scale, 8);
  for (const [color, wide] of [["#000", 3], ["#fff", 1]]) {
    Object.assign(context, { strokeStyle: color, lineWidth: wide });
    context.strokeRect(x + scale / 2 - box / 2, y + scale / 2 - box / 2, box, box);
  }
}
