// Overlays on the images of <vj-stage>: the pixel grid, the pixel under the pointer, and the name of a region.
// `origin` is the image point [x, y] at the pane's upper left corner, `scale` the screen pixels per image pixel.

export function drawPixelGrid(context, width, height, origin, scale) {
  const [left, top] = origin.map((v) => (Math.ceil(v) - v) * scale);
  context.fillStyle = "#8886";
  for (let x = left; x < width; x += scale) context.fillRect(Math.round(x), 0, 1, height);
  for (let y = top; y < height; y += scale) context.fillRect(0, Math.round(y), width, 1);
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

/** The smallest of the labelled regions that contains the image point [x, y]. */
export function smallestAt(labels, [x, y]) {
  const area = ({ box: [l, t, r, b] }) => (r - l) * (b - t);
  return (labels ?? []).filter(({ box: [l, t, r, b] }) => x >= l && x <= r && y >= t && y <= b).sort((p, q) => area(p) - area(q))[0];
}

/** A dashed frame around a region, and its name beside the pointer. */
export function drawLabel(context, width, height, { label, box }, cursor, [left, top], scale) {
  const [l, t, r, b] = [box[0] - left, box[1] - top, box[2] - left, box[3] - top].map((v) => v * scale);
  context.strokeStyle = "#fff";
  context.setLineDash([4, 4]);
  context.strokeRect(l, t, r - l, b - t);
  context.setLineDash([]);
  context.font = "600 13px system-ui, sans-serif";
  const wide = context.measureText(label).width + 14;
  const x = Math.max(0, Math.min((cursor[0] - left) * scale + 14, width - wide));
  const y = Math.max(0, Math.min((cursor[1] - top) * scale + 14, height - 24));
  context.fillStyle = "#16161a";
  context.fillRect(x, y, wide, 23);
  context.fillStyle = "#fff";
  context.fillText(label, x + 7, y + 16);
}
