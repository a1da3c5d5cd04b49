// <vj-live>: updates the runs on the page by server-sent events.
import { count, getJSON, h } from "./dom.js";

const MOST_NAMED = 3;

class Live extends HTMLElement {
  connectedCallback() {
    this.source = new EventSource("/live");
    this.source.addEventListener("run", (event) => this.show(JSON.parse(event.data)));
    for (const line of this.querySelectorAll("[data-probes]")) this.probes(line);
  }

  /** Name the probes that a judge fails, once they are computed. */
  async probes(line) {
    const { failing, address } = await getJSON(line.dataset.probes);
    if (!failing.length) return;
    const more = failing.length - MOST_NAMED;
    const named = failing.slice(0, MOST_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
    line.replaceChildren(h("a", { href: address }, `✕ Fails ${failing.length === 1 ? "a probe" : `${failing.length} probes`}: ${named}`));
    line.hidden = false;
  }

  disconnectedCallback() {
    this.source.close();
  }

  show(run) {
    const card = this.querySelector(`[data-run="${CSS.escape(run.slug)}"]`);
    if (!card) return;
    const put = (name, text) => {
      const field = card.querySelector(`[data-field="${name}"]`);
      if (!field || field.textContent === text) return;
      field.textContent = text;
      if (field.localName === "dd") field.parentElement.hidden = !text; // hide unknown values
    };
    const share = (n, all) => (all ? `${((100 * n) / all).toFixed(1)} %` : "–");
    put("state", run.state);
    card.querySelector("[data-field=state]").dataset.state = run.state;
    put("done", run.asked ? `${count(run.done)} of ${count(run.asked)}` : count(run.done));
    for (const one of run.shares) put(`share-${one.question_type}`, `${share(one.right, one.answered && one.verdicts)} of ${count(one.verdicts)}`);
    put("failed", share(run.failed, run.done));
    put("rate", run.state === "running" && run.rate ? `${run.rate.toFixed(1)} /s` : "");
    put("left", run.seconds_left === null ? "" : duration(run.seconds_left));
    put("tokens", run.tokens ? count(run.tokens) : "");
    put("cost", run.cost ?? "");
    const cells = card.querySelectorAll("[data-outcome]");
    run.outcomes.flatMap((row) => row.counts).forEach((n, i) => cells[i]?.replaceChildren(count(n)));
    const bar = card.querySelector("progress");
    bar.max = run.asked || run.done || 1;
    bar.value = run.done;
    const causes = run.causes.map(([name, n]) => h("span", { class: "badge failed" }, `${name} ${count(n)}`));
    card.querySelector("[data-field=causes]").replaceChildren(...causes.flatMap((c) => [c, " "]));
  }
}

function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

customElements.define("vj-live", Live);
