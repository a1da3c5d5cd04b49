// Working sets. <vj-mark>: star, tags and note of one question. <vj-sets>: actions on all selected questions.
import { count, h, typing } from "./dom.js";
import { filters, update } from "./state.js";

const root = (element) => `/d/${element.closest("[data-dataset]").dataset.dataset}`;

const NOTE_MS = 500;

async function post(address, body = {}, keepalive = false) {
  const response = await fetch(address, { method: "POST", keepalive, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

class Mark extends HTMLElement {
  connectedCallback() {
    this.tags = JSON.parse(this.dataset.tags);
    this.starred = this.dataset.star !== "";
    this.star = h("button", { type: "button", title: "Star (M)", "aria-keyshortcuts": "M", onclick: () => this.toggle() });
    this.field = h("input", { type: "text", maxlength: 40, placeholder: "Add a tag", "aria-label": "Add a tag" });
    this.note = h("textarea", { rows: 2, maxlength: 4000, placeholder: "Note", "aria-label": "Note", oninput: () => this.noted(), onchange: () => this.keep() }, this.dataset.note);
    this.list = h("span", { class: "chips" });
    this.said = h("p", { class: "soft small", role: "status" });
    this.toast = h("p", { class: "toast", "aria-hidden": "true" });
    const form = h("form", { class: "tag-form", onsubmit: (event) => { event.preventDefault(); this.add(); } }, this.field, h("button", {}, "Add"));
    this.append(h("div", { class: "mark-line" }, this.star, form), this.list, this.note, this.said, this.toast);
    this.listen = (event) => {
      if (event.key.toLowerCase() === "m" && !typing(event) && !event.ctrlKey && !event.metaKey && !event.altKey) this.toggle();
    };
    addEventListener("keydown", this.listen);
    this.left = () => this.keep(true);
    addEventListener("pagehide", this.left);
    this.draw();
    this.note.value = sessionStorage.getItem(this.draft) ?? this.note.value;
    this.keep();
  }

  disconnectedCallback() {
    removeEventListener("keydown", this.listen);
    removeEventListener("pagehide", this.left);
  }

  /** A note is kept in the tab until the server has it, since a reload may precede the request. */
  get draft() {
    return `note ${root(this)} ${this.dataset.id}`;
  }

  noted() {
    this.said.textContent = "Not saved yet.";
    sessionStorage.setItem(this.draft, this.note.value);
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.keep(), NOTE_MS);
  }

  /** Save the note if it has changed; `leaving`: the page is closing, and the request must outlive it. */
  async keep(leaving = false) {
    clearTimeout(this.writing);
    const note = this.note.value;
    if (note !== this.dataset.note && (await this.change({ note }, leaving))) this.dataset.note = note;
    if (note === this.dataset.note && note === this.note.value) sessionStorage.removeItem(this.draft);
  }

  draw() {
    this.star.textContent = this.starred ? "★ Starred" : "☆ Star";
    this.star.setAttribute("aria-pressed", String(this.starred));
    this.list.replaceChildren(...this.tags.map((tag) => h("button", { type: "button", class: "chip", "aria-label": `Remove the tag ${tag}`, onclick: () => this.remove(tag) }, tag, h("span", { "aria-hidden": "true" }, "✕"))));
  }

  async change(fields, leaving = false) {
    try {
      await post(`${root(this)}/marks`, { ids: [this.dataset.id], ...fields }, leaving);
      this.said.textContent = "Saved.";
      this.draw();
      return true;
    } catch (error) {
      this.said.textContent = `Not saved: ${error.message}`;
      return false;
    }
  }

  async toggle() {
    this.starred = !this.starred;
    if (!(await this.change({ star: this.starred }))) this.starred = !this.starred;
    this.draw();
    this.toast.textContent = this.said.textContent === "Saved." ? this.star.textContent : this.said.textContent;
    setTimeout(() => (this.toast.textContent = ""), 2000);
  }

  async add() {
    const tag = this.field.value.trim();
    if (!tag || !(await this.change({ add: tag }))) return;
    this.tags = [...new Set([...this.tags, tag])].sort();
    this.field.value = "";
    this.draw();
  }

  async remove(tag) {
    if (!(await this.change({ remove: tag }))) return;
    this.tags = this.tags.filter((one) => one !== tag);
    this.draw();
  }
}

class Sets extends HTMLElement {
  connectedCallback() {
    this.said = h("p", { class: "soft small", role: "status" });
    this.tag = h("input", { type: "text", maxlength: 40, placeholder: "Tag", "aria-label": "Tag for all selected questions" });
    this.ids = h("a", { class: "button", download: true }, "Ids (questions.txt)");
    const root_ = this.dataset.root;
    const commands = [
      `visualjudge judge ${root_} --questions questions.txt --model MODEL --out runs/NAME`,
      `visualjudge studio people ${root_} --out runs/people --rater NAME --questions questions.txt`,
    ];
    this.commands = h("div", { class: "commands" }, h("p", { class: "soft small" }, "Save the ids as questions.txt, then:"), commands.map((text) => h("pre", { tabindex: 0 }, text)));
    const button = (text, act, type = "button") => h("button", { type, onclick: act }, text);
    const tagForm = h("form", { onsubmit: (event) => { event.preventDefault(); this.marked({ add: this.tag.value.trim() }); } },
      this.tag, button("Tag all", null, "submit"), button("Untag all", () => this.marked({ remove: this.tag.value.trim() })));
    this.all = h("h2", {}, "All selected questions");
    this.panel = h("details", { class: "sets", ontoggle: () => this.panel.open && this.refresh() }, h("summary", { class: "button" }, "Selection"),
      h("div", { class: "panel" },
        this.all,
        h("div", { class: "set-line" }, button("Star all", () => this.marked({ star: true })), button("Unstar all", () => this.marked({ star: false }))),
        tagForm,
        h("div", { class: "set-line" }, this.ids),
        h("h2", {}, "Ask them again"), this.commands, this.said));
    this.append(this.panel);
    addEventListener("vj-state", () => this.panel.open && this.refresh());
    addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.panel.open = false;
      if (event.key.toLowerCase() !== "m" || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const card = document.activeElement?.closest?.(".card[data-id]");
      if (card) this.starred(card);
    });
  }

  async starred(card) {
    const star = !card.hasAttribute("data-star");
    try {
      await post(`${root(this)}/marks`, { ids: [card.dataset.id], star });
      card.toggleAttribute("data-star", star);
    } catch (error) {
      this.said.textContent = `Not saved: ${error.message}`;
    }
  }

  refresh() {
    this.ids.href = `${root(this)}/selection.txt?${filters()}`;
    this.all.textContent = `Selected: ${document.querySelector("vj-bar .total")?.textContent ?? "questions"}`;
  }

  async marked(fields) {
    if ("add" in fields && !fields.add || "remove" in fields && !fields.remove) {
      this.said.textContent = "Enter a tag first.";
      return;
    }
    try {
      const { changed } = await post(`${root(this)}/marks`, { query: filters().toString(), ...fields });
      this.said.textContent = `${count(changed)} ${changed === 1 ? "question" : "questions"} changed.`;
      update(() => {}, { keep: true });
    } catch (error) {
      this.said.textContent = `Not saved: ${error.message}`;
    }
  }
}

customElements.define("vj-mark", Mark);
customElements.define("vj-sets", Sets);
