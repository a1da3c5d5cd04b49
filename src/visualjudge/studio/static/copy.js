// <vj-copy>: copies the address data-link to the clipboard and confirms it.
class Copy extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    const title = button.textContent;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(new URL(this.dataset.link, location).href);
        button.textContent = "Copied";
      } catch {
        window.open(this.dataset.link, "_blank", "noopener");
      }
      setTimeout(() => (button.textContent = title), 1500);
    });
  }
}

customElements.define("vj-copy", Copy);
