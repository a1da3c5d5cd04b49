// <vj-watch>: the newest replies of a run, updated while it runs.
import { h } from "./dom.js";

const MOST = 60;

class Watch extends HTMLElement {
  connectedCallback() {
    this.source = new EventSource(`/r/${encodeURIComponent(this.dataset.run)}/live`);
    this.source.addEventListener("verdicts", (event) => this.add(JSON.parse(event.data)));
  }

  disconnectedCallback() {
    this.source.close();
  }

  add(verdicts) {
    this.querySelector(":scope > p")?.remove();
    this.prepend(...verdicts.map((verdict) => this.article(verdict)));
    while (this.children.length > MOST) this.lastElementChild.remove();
    if (!this.children.length) this.append(h("p", { class: "soft" }, "No reply yet."));
  }

  article(v) {
    const link = `/d/${this.dataset.dataset}/q/${encodeURIComponent(v.id)}`;
    const unsure = v.status === "cannot_tell";
    const failure = unsure ? "? cannot tell" : `! ${v.status.replaceAll("_", " ")}${v.cause ? `: ${v.cause}` : ""}`;
    return h("article", { class: "panel" },
      h("header", {}, h("a", { href: link }, v.id), v.order ? h("span", { class: "badge quiet" }, v.order) : null, v.purpose ? h("span", { class: "badge quiet" }, v.purpose) : null, h("span", { class: "grow" }),
        v.status.startsWith("ok") ? h("b", {}, v.said) : h("span", { class: unsure ? "cannot-tell" : "failed" }, failure),
        v.seconds ? h("span", { class: "soft" }, `${v.seconds.toFixed(2)} s`) : null),
      v.reply ? h("pre", { tabindex: "0" }, v.reply) : null);
  }
}

customElements.define("vj-watch", Watch);
