// <vj-indexing>: progress of indexing. `data-until="TEXT"`: reload when no line has the text, since the page cannot be shown earlier.
import { getJSON, h } from "./dom.js";

const EVERY_MS = 1500;
const reading = (lines) => lines.some((line) => line.includes("reading the questions"));

class Indexing extends HTMLElement {
  connectedCallback() {
    this.look();
  }

  async look() {
    let lines = null;
    try {
      ({ lines } = await getJSON("/progress"));
    } catch {
      // the server is busy or unreachable: try again
    }
    if (lines) this.show(lines);
    if (lines === null || lines.length) setTimeout(() => this.look(), EVERY_MS);
  }

  show(lines) {
    const { until } = this.dataset;
    if (until && !lines.some((line) => line.includes(until))) location.reload();
    if (this.told?.length && this.told.join() !== lines.join() && !until) dispatchEvent(new CustomEvent("vj-indexed", { detail: { done: !lines.length || (reading(this.told) && !reading(lines)) } }));
    this.told = lines;
    if (lines.length) this.seen = true;
    this.hidden = !this.seen || (!lines.length && document.querySelector("vj-grid") !== null);
    this.replaceChildren(...lines.map((line) => h("p", {}, `${line}.`)));
    // The grid loads anew by itself; numbers of other pages are those of the time when they were opened.
    if (!lines.length) this.append(h("p", {}, "Everything is read. ", h("a", { href: "" }, "Load this page again"), "."));
  }
}

customElements.define("vj-indexing", Indexing);
