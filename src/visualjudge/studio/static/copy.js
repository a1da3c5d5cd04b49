// <vj-copy>: copies the text at data-from, or the address data-link, to the clipboard and confirms it.
class Copy extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    const title = button.textContent;
    button.addEventListener("click", async () => {
      const text = this.dataset.link ? new URL(this.dataset.link, location).href : await (await fetch(this.dataset.from)).text();
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        window.open(this.dataset.link ?? this.dataset.from, "_blank", "noopener");
      }
      setTimeout(() => (button.textContent = title), 1500);
    });
  }
}

customElements.define("vj-copy", Copy);
