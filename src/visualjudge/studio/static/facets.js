// <vj-facets>: the filters of questions, with counts under the other filters.
import { MARKS, count, getJSON, h } from "./dom.js";
import { filters, toggle } from "./state.js";

class Facets extends HTMLElement {
  connectedCallback() {
    this.dataset_ = this.closest("[data-dataset]").dataset.dataset;
    this.open = new Map();
    this.useful = new Set();
    addEventListener("vj-state", () => this.load());
    addEventListener("vj-indexed", () => this.load());
    this.load();
  }

  async load() {
    this.abort?.abort();
    this.abort = new AbortController();
    try {
      const found = await getJSON(`/d/${this.dataset_}/facets?${filters()}`, this.abort.signal);
      this.show(found);
      dispatchEvent(new CustomEvent("vj-facets", { detail: found }));
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  }

  show({ facets }) {
    const focused = document.activeElement?.closest?.("vj-facets") ? document.activeElement.id : null;
    const top = this.scrollTop;
    // Keep values once shown, so that the others do not move.
    for (const facet of facets) if (facet.values.length > 1 || facet.chosen.length) this.useful.add(facet.name);
    const useful = facets.filter((facet) => this.useful.has(facet.name) && facet.values.length);
    this.replaceChildren(
      h("div", { class: "facets-head" }, h("h2", {}, "Filters"), h("button", { type: "button", class: "close", onclick: () => document.body.classList.remove("drawer") }, "Done")),
      ...sections(useful).map(([name, list]) =>
        h("section", {}, name ? h("h2", { class: "judge" }, name) : null, list.map((facet) => this.facet(facet)))),
    );
    this.scrollTop = top;
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  facet(facet) {
    const key = facet.name;
    const wanted = this.open.get(key) ?? (facet.chosen.length > 0 || OPEN.has(key.split(".")[0]));
    const list = h("ul", {}, facet.values.map((value) => this.value(facet, value)));
    const details = h("details", { open: wanted, ontoggle: () => this.open.set(key, details.open) },
      h("summary", {}, h("span", {}, facet.title), facet.chosen.length ? h("span", { class: "badge" }, String(facet.chosen.length)) : null),
      list,
      facet.more ? this.more(facet, list) : null,
      h("p", { class: "slice-link" }, h("a", { href: this.slices(facet), "aria-label": `Slices by ${facet.title}`, title: "The share of right answers by this filter" }, "Slices")));
    return details;
  }

  slices(facet) {
    const query = filters();
    query.delete(facet.name);
    query.set("by", facet.name);
    return `/d/${this.dataset_}/slices?${query}`;
  }

  value(facet, { value, label, count: n, chosen }) {
    const id = `f-${facet.name}-${value}`;
    const mark = facet.name.startsWith("outcome.") ? h("i", { class: `mark ${value.replaceAll(" ", "-")}`, "aria-hidden": "true" }, MARKS[value]) : null;
    const box = h("input", { type: "checkbox", id, onchange: () => toggle(facet.name, value) });
    box.checked = chosen;
    return h("li", {}, h("label", { title: label === value ? label : `${label} (${value})` }, box, mark, h("span", { class: "name" }, label), h("span", { class: "n" }, count(n))));
  }

  /** A search field for facets with many values. */
  more(facet, list) {
    const field = h("input", { type: "search", placeholder: `${count(facet.more)} more…`, "aria-label": `Find in ${facet.title}` });
    field.addEventListener("input", async () => {
      const query = filters();
      query.set("name", facet.name);
      query.set("find", field.value);
      const { facets: [found] } = await getJSON(`/d/${this.dataset_}/facets?${query}`);
      list.replaceChildren(...found.values.slice(0, field.value ? 60 : 12).map((value) => this.value(facet, value)));
    });
    return field;
  }
}

const OPEN = new Set(["task", "form", "margin", "type", "outcome", "order"]);

const FIRST = new Set(["task", "margin", "probe"]);
const JUDGES_FIRST = 2;

/** Names and filters, those used most first: what the first judges said, task, probe and margin; all of it fits a screen. */
function sections(facets) {
  const judges = [...new Set(facets.map((facet) => facet.group).filter(Boolean))].map((name) => [name, facets.filter((facet) => facet.group === name)]);
  const own = facets.filter((facet) => !facet.group);
  const [first, rest] = [true, false].map((wanted) => ["", own.filter((facet) => FIRST.has(facet.name) === wanted)]);
  return [...judges.slice(0, JUDGES_FIRST), first, rest, ...judges.slice(JUDGES_FIRST)].filter(([, list]) => list.length);
}

customElements.define("vj-facets", Facets);
