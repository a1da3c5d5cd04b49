// <vj-bar>: words, order, number of selected questions, and the active filters, each removable.
import { count, h } from "./dom.js";
import { filters, params, toggle, update } from "./state.js";

class Bar extends HTMLElement {
  connectedCallback() {
    this.words = this.querySelector("[name=q]");
    this.sort = this.querySelector("[name=sort]");
    this.words.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => update((next) => set(next, "q", this.words.value.trim()), { keep: true }), 180);
    });
    const size = this.querySelector("[name=size]");
    size.value = localStorage.getItem("visualjudge-card") ?? 300;
    size.addEventListener("input", () => {
      localStorage.setItem("visualjudge-card", size.value);
      dispatchEvent(new Event("vj-size"));
    });
    this.sort.addEventListener("change", () => update((next) => set(next, "sort", this.sort.value === "file" ? "" : this.sort.value)));
    const drawer = this.querySelector(".drawer-button");
    drawer.addEventListener("click", () => {
      drawer.setAttribute("aria-expanded", document.body.classList.toggle("drawer"));
      document.querySelector("vj-facets input")?.focus();
    });
    addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.target.closest("input, textarea, select")) {
        event.preventDefault();
        this.words.select();
      }
      if (event.key === "Escape") document.body.classList.remove("drawer");
    });
    addEventListener("vj-facets", ({ detail }) => this.show(detail));
    addEventListener("vj-state", () => this.read());
    this.read();
  }

  read() {
    if (document.activeElement !== this.words) this.words.value = params().get("q") ?? "";
    this.sort.value = params().get("sort") ?? "file";
    for (const link of document.querySelectorAll("a[data-keeps-filters]")) link.search = filters();
  }

  show({ total, of, copies, facets }) {
    this.querySelector(".total").textContent = `${total === of ? "" : `${count(total)} of `}${count(of)} ${of === 1 ? "question" : "questions"}`;
    const chips = facets.flatMap((facet) => facet.chosen.map((value) => {
      const label = facet.values.find((v) => v.value === value)?.label ?? value;
      const title = facet.group ? `${facet.group}: ${label}` : `${facet.title}: ${label}`;
      return h("button", { type: "button", class: "chip", "aria-label": `Remove the filter ${title}`, onclick: () => toggle(facet.name, value) }, title, h("span", { "aria-hidden": "true" }, "✕"));
    }));
    if (chips.length > 1 || (chips.length && this.words.value)) {
      chips.push(h("button", { type: "button", class: "chip clear", onclick: () => { this.words.value = ""; update((next) => { for (const key of [...next.keys()]) if (key !== "sort") next.delete(key); }); } }, "Clear all"));
    }
    this.querySelector(".chips").replaceChildren(...chips, ...(copies.number ? [this.probes(copies)] : []));
    this.querySelector(".drawer-button").textContent = chips.length ? `Filters (${facets.reduce((n, f) => n + f.chosen.length, 0)})` : "Filters";
  }

  /** Copies made by probes are in no count, as in the report, unless asked for. */
  probes({ shown, number }) {
    const text = `${count(number)} copies made by probes ${shown ? "shown" : "hidden"}`;
    const title = shown ? "Hide the questions that probes changed" : "Show the questions that probes changed; the report counts none of them";
    return h("button", { type: "button", class: "chip clear", title, "aria-pressed": String(shown), onclick: () => update((next) => { next.delete("probe"); set(next, "probes", shown ? "" : "shown"); }) }, text);
  }
}

function set(query, name, value) {
  if (value) query.set(name, value);
  else query.delete(name);
}

customElements.define("vj-bar", Bar);
