// <vj-steps>: keyboard navigation to the neighbours within the filter.
import { typing } from "./dom.js";

class Steps extends HTMLElement {
  connectedCallback() {
    this.listen = (event) => {
      if (typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const link = { j: "[rel=next]", n: "[rel=next]", k: "[rel=prev]", p: "[rel=prev]" }[event.key.toLowerCase()];
      if (link) this.querySelector(link)?.click();
      if (event.key.toLowerCase() === "g") document.querySelector(".crumbs a")?.click();
    };
    addEventListener("keydown", this.listen);
    for (const link of this.querySelectorAll("a")) document.head.append(Object.assign(document.createElement("link"), { rel: "prefetch", href: link.href }));
  }

  disconnectedCallback() {
    removeEventListener("keydown", this.listen);
  }
}

customElements.define("vj-steps", Steps);
