// The absolute difference of two images' pixels (RGBA), times a gain, on a canvas.

export function amplified(first, second, gain, width, height) {
  const canvas = new OffscreenCanvas(width, height);
  const out = new ImageData(width, height);
  for (let i = 0; i < first.length; i += 4) {
    for (let c = 0; c < 3; c++) out.data[i + c] = Math.abs(first[i + c] - second[i + c]) * gain;
    out.data[i + 3] = 255;
  }
  canvas.getContext("2d").putImageData(out, 0, 0);
  return canvas;
}
