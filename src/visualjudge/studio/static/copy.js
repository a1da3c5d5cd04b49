// <vj-copy>: copies the text at data-from to the clipboard and confirms it.
class Copy extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    const title = button.textContent;
    button.addEventListener("click", async () => {
      const response = await fetch(this.dataset.from);
      const text = await response.text();
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        window.open(this.dataset.from, "_blank", "noopener");
      }
      setTimeout(() => (button.textContent = title), 1500);
    });
  }
}

customElements.define("vj-copy", Copy);
