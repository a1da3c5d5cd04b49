// <vj-links>: creates a new link for a rater, on the overview of a study.
class Links extends HTMLElement {
  connectedCallback() {
    this.addEventListener("click", async (event) => {
      const rater = event.target.dataset.renew;
      if (!rater) return;
      const headers = { "Content-Type": "application/json", "X-Studio-Token": this.dataset.token };
      const reply = await fetch("/links", { method: "POST", headers, body: JSON.stringify({ rater }) });
      const cell = event.target.closest("td");
      cell.replaceChildren(reply.ok ? Object.assign(document.createElement("code"), { textContent: location.origin + (await reply.json()).link }) : await reply.text());
    });
  }
}

customElements.define("vj-links", Links);
