// Elements from data. Text is always a text node: content of datasets and judges is never parsed as HTML.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const count = (n) => n.toLocaleString("en");

export async function getJSON(address, signal) {
  const response = await fetch(address, { signal });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

const WIDTHS = [96, 160, 240, 320, 480, 640];

/** Address of a thumbnail that is at least `width` CSS pixels wide on this screen. */
export function thumb(dataset, name, width) {
  const wanted = width * Math.min(devicePixelRatio || 1, 2);
  const made = WIDTHS.find((w) => w >= wanted) ?? WIDTHS.at(-1);
  return `/d/${dataset}/thumb/${made}/${path(name)}`;
}

export const image = (dataset, name) => `/d/${dataset}/image/${path(name)}`;
export const path = (name) => name.split("/").map(encodeURIComponent).join("/");
export const typing = (event) => event.target.closest?.("input:not([type=range]):not([type=checkbox]):not([type=radio]), textarea, select") !== null;

export const MARKS = { right: "✓", wrong: "✕", mixed: "≠", failed: "!", "cannot tell": "?", "not asked": "·", "no right answer": "–" };

/** A labelled slider; `stage` is redrawn when it moves. */
export function range(label, min, max, value, set, stage) {
  const input = h("input", { type: "range", min, max, value, oninput: () => { set(Number(input.value)); stage.draw(); } });
  return h("label", { class: "range" }, h("span", {}, label), input);
}

/** Number of parts that partsInView() distinguishes. */
export const PARTS = 9;

/** The parts (0 to 8, row by row) of a box whose centre is visible on `element`: neither outside nor covered. */
export function partsInView({ left, top, width, height }, element) {
  const middles = [...Array(PARTS).keys()].map((part) => [left + (width * (2 * (part % 3) + 1)) / 6, top + (height * (2 * Math.floor(part / 3) + 1)) / 6]);
  return middles.flatMap((at, part) => (element.contains(document.elementFromPoint(...at)) ? [part] : []));
}
