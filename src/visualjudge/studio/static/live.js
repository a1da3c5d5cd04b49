// <vj-live>: loads the state of a run again while it is running. <vj-answer>: the card's answer and the failing probes.
import { getJSON, h } from "./dom.js";

const EVERY_MS = 2000;
const MOST_NAMED = 3;

class Live extends HTMLElement {
  connectedCallback() {
    this.wait();
  }

  disconnectedCallback() {
    clearTimeout(this.waiting);
  }

  wait() {
    if (this.querySelector("[data-state=running]")) this.waiting = setTimeout(() => this.load(), EVERY_MS);
  }

  async load() {
    try {
      const response = await fetch(this.dataset.from);
      if (response.ok) this.replaceChildren(...new DOMParser().parseFromString(await response.text(), "text/html").body.children);
    } catch {
      // the server is busy or unreachable: try again
    }
    this.wait();
  }
}

/** Answers take seconds: one at a time leaves the browser's other connections to the pages. */
let before = Promise.resolve();

const unbroken = text => text.replaceAll(" %", "\u00a0%");

class Answer extends HTMLElement {
  connectedCallback() {
    before = before.then(() => this.load()).catch(() => {});
  }

  async load() {
    const { question, verdict, reasons, caution, failing, address } = await getJSON(this.dataset.from);
    if (question) this.append(h("p", { class: "says" }, h("b", {}, question.replace(/\?$/, ", over all tasks?")), ` ${unbroken(verdict)}.`));
    else this.append(h("p", { class: "soft small" }, verdict));
    if (reasons.length) this.append(h("ul", { class: "reasons small" }, ...reasons.map(own => h("li", {}, `${own.sign} ${unbroken(own.text)}`))));
    if (caution) this.append(h("p", { class: "small" }, caution));
    if (!failing.length) return;
    const more = failing.length - MOST_NAMED;
    const named = failing.slice(0, MOST_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
    this.append(h("p", { class: "wrong small" }, h("a", { href: address }, `✕ Fails ${failing.length === 1 ? "a probe" : `${failing.length} probes`}: ${named}`)));
  }
}

customElements.define("vj-live", Live);
customElements.define("vj-answer", Answer);
