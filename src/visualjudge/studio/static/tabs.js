// <vj-tabs>: tabs following the ARIA Authoring Practices.
class Tabs extends HTMLElement {
  connectedCallback() {
    this.tabs = [...this.querySelectorAll("[role=tab]")];
    this.tabs.forEach((tab, i) => {
      tab.tabIndex = i ? -1 : 0;
      tab.addEventListener("click", () => this.choose(tab));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.stopPropagation();
        this.choose(this.tabs[(i + step + this.tabs.length) % this.tabs.length]).focus();
      });
    });
  }

  choose(chosen) {
    for (const tab of this.tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
    return chosen;
  }
}

customElements.define("vj-tabs", Tabs);
