// <vj-grid>: any number of cards; only those on the screen are in the DOM.
// A browser cannot lay out an element of unlimited height, so beyond MAX_HEIGHT the scroll bar moves over "pages" whose
// offsets overlap (the technique of SlickGrid): small movements scroll by pixels, large ones jump in proportion.
import { MARKS, getJSON, h, thumb } from "./dom.js";
import { filters, params, remember } from "./state.js";

const MAX_HEIGHT = 8_000_000;
const PAGE = 60;
const GAP = 12;
const OVERSCAN = 2;
const CHIP = 140;
const CHIP_LINE = 23;

class Grid extends HTMLElement {
  connectedCallback() {
    this.dataset_ = this.closest("[data-dataset]").dataset.dataset;
    this.space = h("div", { class: "grid-space" });
    this.append(this.space);
    this.cards = new Map();
    this.pages = new Map();
    this.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.addEventListener("keydown", (event) => this.moved(event));
    addEventListener("vj-state", () => this.load());
    addEventListener("vj-size", () => this.measure());
    addEventListener("vj-indexed", ({ detail }) => detail.done && this.load(this.first));
    new ResizeObserver(() => this.measure()).observe(this);
    this.load(Number(params().get("at")) || 0);
  }

  async load(at = 0) {
    this.abort?.abort();
    this.abort = new AbortController();
    this.pages.clear();
    this.query = filters().toString();
    try {
      const first = await this.page(Math.floor(at / PAGE));
      this.total = first.total;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.total = 0;
    }
    this.clear();
    this.toggleAttribute("data-empty", this.total === 0);
    this.measure(at);
  }

  page(number) {
    if (!this.pages.has(number)) {
      const address = `/d/${this.dataset_}/cards?${this.query}&start=${number * PAGE}&count=${PAGE}`;
      const promise = getJSON(address, this.abort.signal);
      promise.catch(() => this.pages.delete(number));
      this.pages.set(number, promise);
      if (this.pages.size > 40) this.pages.delete(this.pages.keys().next().value);
    }
    return this.pages.get(number);
  }

  clear() {
    for (const element of this.cards.values()) element.remove();
    this.cards.clear();
  }

  /** Compute sizes for the available width; keep the first card in view. */
  measure(at = this.first ?? 0) {
    if (this.total === undefined) return;
    const width = this.clientWidth - 2 * GAP;
    const least = Math.min(width, width < 500 ? 340 : Number(localStorage.getItem("visualjudge-card") ?? 300));
    this.columns = Math.max(1, Math.floor((width + GAP) / (least + GAP)));
    this.cardWidth = (width - GAP * (this.columns - 1)) / this.columns;
    this.chips = Math.max(2, Math.floor(this.cardWidth / CHIP)); // verdicts per line, at most two lines
    const lines = Math.min(2, Math.max(1, Math.ceil(Number(this.dataset.runs) / this.chips)));
    this.chips *= lines;
    this.rowHeight = (width < 500 ? 236 : 252) + CHIP_LINE * (lines - 1) + GAP;
    const real = Math.ceil(this.total / this.columns) * this.rowHeight + GAP;
    this.height = Math.min(real, MAX_HEIGHT);
    this.pageHeight = this.height / 100;
    this.pageCount = Math.max(1, Math.floor(real / this.pageHeight));
    this.jump = this.pageCount > 1 && real > this.height ? (real - this.height) / (this.pageCount - 1) : 0;
    this.real = real;
    this.space.style.height = `${this.height}px`;
    this.clear();
    this.goTo(Math.min(at, Math.max(0, this.total - 1)));
  }

  goTo(card) {
    const y = Math.floor(card / this.columns) * this.rowHeight;
    const page = this.jump ? Math.min(this.pageCount - 1, Math.floor(y / this.pageHeight)) : 0;
    this.offset = Math.round(page * this.jump);
    this.last = y - this.offset;
    this.scrollTop = this.last;
    this.render();
  }

  scrolled() {
    const top = this.scrollTop;
    if (this.jump) {
      if (Math.abs(top - this.last) >= this.clientHeight) {
        const share = (this.real - this.clientHeight) / (this.height - this.clientHeight);
        const page = Math.min(this.pageCount - 1, Math.floor((top * share) / this.pageHeight));
        this.offset = Math.round(page * this.jump);
      }
    }
    this.last = top;
    this.render();
    clearTimeout(this.noted);
    this.noted = setTimeout(() => remember(this.first), 250);
  }

  render() {
    if (this.total === undefined) return;
    const top = Math.min(this.scrollTop + this.offset, Math.max(0, this.real - this.clientHeight));
    const row = Math.max(0, Math.floor(top / this.rowHeight));
    this.first = row * this.columns;
    const from = Math.max(0, (row - OVERSCAN) * this.columns);
    const rows = Math.ceil(this.clientHeight / this.rowHeight) + 2 * OVERSCAN + 1;
    const to = Math.min(this.total, from + rows * this.columns);
    for (const [place, element] of this.cards) {
      if (place < from || place >= to) {
        if (element.contains(document.activeElement)) this.focus({ preventScroll: true });
        element.remove();
        this.cards.delete(place);
      } else this.put(element, place);
    }
    for (let place = from; place < to; place++) if (!this.cards.has(place)) this.add(place);
  }

  put(element, place) {
    const x = GAP + (place % this.columns) * (this.cardWidth + GAP);
    const y = GAP + Math.floor(place / this.columns) * this.rowHeight - this.offset;
    element.style.transform = `translate(${x}px, ${y}px)`;
    element.style.width = `${this.cardWidth}px`;
    element.style.height = `${this.rowHeight - GAP}px`;
  }

  add(place) {
    const element = h("a", { class: "card loading" });
    this.cards.set(place, element);
    this.put(element, place);
    this.space.append(element);
    clearTimeout(this.fetching);
    this.fetching = setTimeout(() => this.fill(), this.pages.has(Math.floor(place / PAGE)) ? 0 : 60);
  }

  /** Fetch the visible cards; cards that were only scrolled past are not requested. */
  async fill() {
    const query = this.query;
    const waiting = new Set([...this.cards].filter(([, e]) => e.classList.contains("loading")).map(([p]) => Math.floor(p / PAGE)));
    await Promise.all([...waiting].map(async (number) => {
      try {
        const { start, cards } = await this.page(number);
        if (query !== this.query) return;
        cards.forEach((card, i) => this.draw(start + i, card));
      } catch (error) {
        if (error.name !== "AbortError") this.dispatchEvent(new CustomEvent("vj-error", { bubbles: true, detail: error }));
      }
    }));
  }

  draw(place, card) {
    const element = this.cards.get(place);
    if (!element?.classList.contains("loading")) return;
    element.classList.remove("loading");
    element.href = `/d/${this.dataset_}/q/${encodeURIComponent(card.id)}?${this.query}`;
    element.dataset.id = card.id;
    element.toggleAttribute("data-star", card.star);
    element.append(this.images(card), this.caption(card), this.verdicts(card));
  }

  images(card) {
    const options = card.options;
    const width = this.cardWidth / Math.max(options.length, 1);
    const digits = card.margin !== null && card.margin < 0.1 ? 2 : 1;
    if (card.prompt !== null) {
      const scores = options.map((option) => h(option.best ? "b" : "span", {}, `${option.letter} ${option.score.toFixed(digits)}`.trim()));
      return h("span", { class: "strip" }, h("span", { class: "option bare" }, h("pre", {}, card.prompt), h("span", { class: "score" }, scores)));
    }
    const cells = options.map((option) => {
      const shown = option.image
        ? h("img", { src: thumb(this.dataset_, option.image, width), alt: "", loading: "lazy", decoding: "async" })
        : card.original && !option.text
          ? h("img", { src: thumb(this.dataset_, card.original, width), alt: "", loading: "lazy", class: "faint" })
          : h("pre", {}, option.text);
      const score = h("span", { class: "score", title: `True score${option.source ? ` of ${option.source}` : ""}, of 10` }, option.score.toFixed(digits));
      const letter = option.letter.trim() ? h("span", { class: "letter" }, option.letter) : null;
      return h("span", { class: `option${option.best ? " best" : ""}` }, shown, letter, score);
    });
    return h("span", { class: "strip" }, cells);
  }

  caption(card) {
    const ranked = card.options.length > 2;
    const title = `Difference in true score, of 10${ranked ? ", between the best and the worst option" : ""}`;
    const margin = card.margin === null ? null : h("span", { class: "soft", title }, `${card.margin.toFixed(card.margin < 0.1 ? 2 : 1)} apart`);
    return h("span", { class: "caption" },
      h("span", { class: "line" }, h("b", { title: card.stem }, card.encoding), margin),
      h("span", { class: "line soft" }, h("span", {}, [card.type === "pairwise" ? card.task : `${card.task} · ${card.type}`, ...card.tags.map((tag) => `#${tag}`)].join(" ")), h("span", { class: "imageid", title: card.image }, card.image)));
  }

  verdicts(card) {
    const chips = card.verdicts.slice(0, this.chips).map((v) =>
      h("span", { class: `verdict ${v.outcome.replaceAll(" ", "-")}`, title: `${v.judge}: ${v.outcome}${v.outcome === "mixed" ? ", its answers differ between orders or repeats" : ""}` },
        h("i", { "aria-hidden": "true" }, MARKS[v.outcome]), h("b", { class: "hidden" }, v.outcome), h("span", {}, v.judge), v.said ? h("em", {}, v.said) : null));
    const more = card.verdicts.length - chips.length;
    return h("span", { class: "verdicts" }, chips, more > 0 ? h("span", { class: "soft" }, `+${more}`) : null);
  }

  moved(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns, Home: -Infinity, End: Infinity }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = [...this.cards].find(([, element]) => element === document.activeElement)?.[0];
    if (at === undefined && Math.abs(step) !== Infinity && !["ArrowRight", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    const next = at === undefined && Number.isFinite(step) ? this.first : Math.max(0, Math.min(this.total - 1, (at ?? 0) + step));
    const y = Math.floor(next / this.columns) * this.rowHeight - this.offset;
    if (y < this.scrollTop || y + this.rowHeight > this.scrollTop + this.clientHeight) {
      if (Math.abs(step) === Infinity) this.goTo(next);
      else this.scrollTop = y < this.scrollTop ? y : y + this.rowHeight + GAP - this.clientHeight;
      this.render();
    }
    this.cards.get(next)?.focus({ preventScroll: true });
  }
}

customElements.define("vj-grid", Grid);
