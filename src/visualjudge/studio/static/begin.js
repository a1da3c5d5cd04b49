// <vj-begin>: uses a one-time link; the browser gets a cookie, and the token is removed from the address.
class Begin extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    button.addEventListener("click", async () => {
      button.disabled = true;
      const body = JSON.stringify({ rater: this.dataset.rater || null, token: this.dataset.token });
      const told = this.querySelector("[role=status]");
      try {
        const reply = await fetch("/begin", { method: "POST", headers: { "Content-Type": "application/json" }, body });
        if (reply.ok) location.replace(location.pathname);
        else told.textContent = await reply.text();
      } catch {
        told.textContent = "The server cannot be reached. Try again.";
      }
      button.disabled = false;
    });
  }
}

customElements.define("vj-begin", Begin);
