// <vj-rater>: one question after another, answered by keyboard or pointer. Each answer is on disk before the next question is shown.
import { PARTS, count, h, partsInView, typing } from "./dom.js";

const HELP = {
  pairwise: ["A", "B", "C cannot tell"],
  ranking: ["letters, best first", "⌫ removes the last letter", "⏎ confirm", "X cannot tell"],
  scoring: ["digits: the score", "⏎ confirm", "X cannot tell"],
};

const TIES = { T: "tie", W: "both_bad" };
const TIE_KEYS = { tie: "T", both_bad: "W" };

class Rater extends HTMLElement {
  connectedCallback() {
    this.steps = 0;
    this.listen = (event) => this.pressed(event);
    addEventListener("keydown", this.listen);
    this.scrolled = () => this.look();
    addEventListener("scroll", this.scrolled, { passive: true, capture: true });
    document.addEventListener("visibilitychange", () => this.clock());
    this.least = Number(this.dataset.least);
    this.instructions = document.querySelector("dialog.instructions");
    this.load("next");
  }

  disconnectedCallback() {
    removeEventListener("keydown", this.listen);
    removeEventListener("scroll", this.scrolled, { capture: true });
  }

  // ------------------------------------------------------------------ server requests

  async ask(path, body) {
    const response = await fetch(`/people/${encodeURIComponent(this.dataset.rater)}/${path}`, {
      method: body ? "POST" : "GET",
      headers: { "X-Studio-Token": this.dataset.token, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body && JSON.stringify(body),
    });
    if (!response.ok) throw Object.assign(new Error(await response.text()), { status: response.status });
    return response.json();
  }

  /** Until the reply is here, keys and buttons do nothing: an answer would be to a question that is on its way out. */
  async load(path) {
    this.sending = true;
    try {
      this.show(await this.ask(path));
    } catch (error) {
      this.say(error.status ? error.message : "The server cannot be reached. Your answers are saved; reload the page when the server is running again.");
      if (path !== "next") this.steps = Math.max(0, this.steps - 1);
    }
    this.sending = false;
  }

  async send(extra) {
    if (this.sending || this.held || !this.question) return;
    if (!this.ready) {
      this.say("Look at the question first: answers are accepted shortly after its images have loaded.");
      return;
    }
    const unseen = this.unseen;
    if (unseen.length) {
      const ways = [["image", "Swipe or use the arrow keys for the next image; Fit (0) shows all of it."], ["text", "Scroll down to the text."]];
      this.say(`Please look at everything first. Not seen yet: ${unseen.map((one) => one.name).join(", ")}. ${ways.filter(([kind]) => unseen.some((one) => one.kind === kind)).map(([, way]) => way).join(" ")}`);
      return;
    }
    this.sending = true;
    this.toggleAttribute("aria-busy", true);
    const open = extra.cannot_tell ? [] : this.question.criteria.filter(({ id }) => !(id in this.criteria));
    if (open.length) {
      this.sending = false;
      this.say(`Please answer first: ${open.map(({ ask }) => ask).join(" ")}`);
      this.querySelector(`[name="${open[0].id}"]`).focus();
      return;
    }
    const body = { slot: this.question.slot, criteria: this.criteria, seconds: this.seconds(), note: this.note.value || null, revise: this.steps > 0, ...extra };
    try {
      const next = await this.ask("answer", body);
      this.steps = 0;
      this.sending = false;
      if (next.feedback) this.feedback(next);
      else this.show(next);
    } catch (error) {
      this.sending = false;
      if (error.status === 409) {
        this.steps = 0;
        await this.load("next");
        this.say(error.message);
      } else this.say(error.status ? error.message : "The answer was not saved: the server cannot be reached. Try again.");
    }
    this.toggleAttribute("aria-busy", false);
  }

  // ------------------------------------------------------------------ time in view

  clock(start = false) {
    if (start) this.spent = 0;
    else if (this.since !== undefined) this.spent += performance.now() - this.since;
    this.since = document.hidden ? undefined : performance.now();
  }

  seconds() {
    this.clock();
    return Math.min(86400, Math.round(this.spent / 10) / 100);
  }

  // ------------------------------------------------------------------ showing

  show({ question, answered, past, left }) {
    this.question = question;
    this.held = null;
    if (past === 0 && question && !this.told) this.instruct();
    this.dataset.answered = answered;
    const total = answered + left;
    const bar = h("progress", { max: total || 1, value: answered, "aria-label": `${answered} of at most ${total} answered` });
    if (!question) {
      this.replaceChildren(h("div", { class: "page finished", role: "status" }, h("h1", {}, "You have answered all questions. Thank you."),
        h("p", { class: "soft" }, `${count(answered)} answers are saved.`), past ? this.undoButton() : null), this.status());
      return;
    }
    this.chosen = "";
    this.typed = "";
    this.prefilled = false;
    this.note = h("textarea", { rows: 2, maxlength: 4000, placeholder: "Note (N)", "aria-label": "Note" });
    const given = question.given;
    this.criteria = { ...given?.criteria };
    if (given) {
      this.note.value = given.note ?? "";
      if (!given.cannot_tell) this.chosen = String(given.value);
      this.prefilled = this.chosen !== "";
    }
    const layers = [...question.originals.map((src, i) => ({ key: `o${i}`, title: ["Original", "Control"][i] ?? `Image ${i + 1}`, src })),
      ...question.options.filter((o) => o.image).map((o) => ({ key: o.letter, title: question.type === "scoring" ? "Prediction" : o.letter, src: o.image }))];
    const texts = question.options.filter((o) => o.text);
    const written = texts.length ? h("section", { class: "texts", "aria-label": "Options as text" }, texts.map((o) =>
      h("div", { class: "text-option" }, h("h2", {}, question.type === "scoring" ? "Prediction" : o.letter), h("pre", { tabindex: 0 }, swatches(o.text))))) : null;
    const beside = layers.length && texts.length <= 2 && texts.every((o) => o.text.length <= 200); // leaves images the height
    this.choices = h("div", { class: "choices", role: "group", "aria-label": "Your answer" });
    const aside = h("div", { class: "answer panel" },
      h("div", { class: "rater-head" }, h("span", { class: "soft grow" }, given ? "Changing an earlier answer" : question.practice ? "Practice: this does not count" : `${count(answered)} answered, at most ${count(left)} left`),
        this.instructions ? h("button", { type: "button", class: "undo", onclick: () => this.instruct() }, "Instructions") : null,
        given ? h("button", { type: "button", class: "keep", "aria-keyshortcuts": "K", onclick: () => this.keep() }, "Keep it") : null, this.undoButton(past <= this.steps)), bar,
      question.before ? h("div", { class: "brief", tabindex: 0, role: "group", "aria-label": "What is asked" }, question.before) : null,
      beside ? written : null,
      question.criteria.map((criterion) => this.criterion(criterion)),
      h("div", { class: "decide" }, this.status(), h("h2", {}, question.after || "Your answer"),
        this.choices,
        h("button", { type: "button", class: "cannot", "aria-keyshortcuts": question.type === "pairwise" ? "C" : "X", onclick: () => this.send({ cannot_tell: true }) },
          given?.cannot_tell ? "Cannot tell (your answer)" : "Cannot tell")),
      this.note,
      h("p", { class: "soft small keys-line" }, [...HELP[question.type], ...question.ties.map((tie) => `${TIE_KEYS[tie]} ${{ tie: "equal", both_bad: "both bad" }[tie]}`), given ? "K keep it" : null, "U undo", "N note", "F flicker", "+ − zoom"].filter(Boolean).map((text) => h("span", {}, text))));
    const stage = layers.length ? h("vj-stage", { class: "stage", "data-layers": JSON.stringify(layers), "data-all": "1", "data-digits": "off", "data-patient": "" }) : null;
    this.replaceChildren(h("div", { class: "rate" }, h("div", { class: "rate-main" }, stage, beside ? null : written), aside));
    this.draw();
    this.wait(stage);
  }

  /** The options that have mostly not been in view. */
  get unseen() {
    this.look();
    const texts = [...this.querySelectorAll(".text-option")].filter((option) => this.read.get(option).size <= PARTS / 2);
    const images = this.querySelector("vj-stage")?.unseen ?? [];
    const of = (name) => (name.length === 1 ? ` of ${name}` : "");
    const named = (title) => (title.length === 1 ? `image ${title}` : title.toLowerCase());
    return [...images.map((layer) => ({ kind: "image", name: named(layer.title) })),
      ...texts.map((option) => ({ kind: "text", name: `text${of(option.firstElementChild.textContent)}` }))];
  }

  look() {
    for (const option of this.querySelectorAll(".text-option")) {
      if (!this.read.has(option)) this.read.set(option, new Set());
      for (const part of partsInView(option.getBoundingClientRect(), option)) this.read.get(option).add(part);
    }
  }

  // The clock starts and answers are accepted once the images are visible.
  async wait(stage) {
    const { question } = this;
    this.ready = false;
    this.read = new Map();
    this.removeAttribute("data-ready");
    this.clock(true);
    stage?.addEventListener("vj-missing", () => this.say("An image could not be loaded. The page keeps trying."));
    await stage?.loaded;
    if (this.instructions?.open) await new Promise((resolve) => this.instructions.addEventListener("close", resolve, { once: true }));
    if (this.question === question) this.clock(true);
    while (this.question === question && this.seconds() < this.least) {
      await new Promise((resolve) => setTimeout(resolve, 1000 * (this.least - this.spent / 1000) + 5));
    }
    if (this.question !== question) return;
    stage?.look();
    this.look();
    this.ready = true;
    this.toggleAttribute("data-ready", true);
  }

  status() {
    this.message ??= h("p", { class: "toast", role: "alert" });
    return this.message;
  }

  say(text) {
    this.status().textContent = text;
    if (!this.message.isConnected) this.append(this.message);
    clearTimeout(this.fading);
    this.fading = setTimeout(() => (this.message.textContent = ""), 6000);
  }

  undoButton(disabled = false) {
    return h("button", { type: "button", class: "undo", disabled, "aria-keyshortcuts": "U", onclick: () => this.undo() }, "Undo");
  }

  draw() {
    const { type, options } = this.question;
    const draw = { pairwise: () => this.pair(), ranking: () => this.ranking(options), scoring: () => this.scale() }[type];
    this.choices.replaceChildren(...draw());
  }

  /** A criterion of a rubric as a form control; its value goes with the answer. */
  criterion({ id, ask, range, words }) {
    const set = (event) => (event.target.value === "" ? delete this.criteria[id] : (this.criteria[id] = range ? Number(event.target.value) : event.target.value));
    const control = range
      ? h("input", { type: "number", name: id, min: range[0], max: range[1], step: "any", value: this.criteria[id], "aria-label": ask, oninput: set })
      : words.map((value) => h("label", {}, h("input", { type: "radio", name: id, value, checked: this.criteria[id] === value, onchange: set }), value));
    return h("fieldset", { class: "criterion" }, h("legend", {}, range ? `${ask} (${range[0]} to ${range[1]})` : ask), control);
  }

  pair() {
    const button = (value, text, key, kind) => h("button", { type: "button", class: kind, "aria-pressed": String(this.chosen === value), "aria-keyshortcuts": key, onclick: () => this.send({ value }) }, text);
    const { ties } = this.question;
    const titles = { tie: ties.includes("both_bad") ? "Both good" : "Equally good", both_bad: "Both bad" };
    return [...["A", "B"].map((letter) => button(letter, letter, letter, "choice")), ...ties.map((tie) => button(tie, titles[tie], TIE_KEYS[tie], "choice tie"))];
  }

  instruct() {
    this.told = true;
    this.instructions?.showModal();
  }

  /** Feedback on a practice answer, with the question still in view. */
  feedback(next) {
    const { right, answer, why } = next.feedback;
    for (const other of this.querySelectorAll(".cannot, .answer > textarea")) other.hidden = true;
    this.held = next;
    this.choices.replaceChildren(h("p", { class: `feedback ${right ? "right" : "wrong"}`, role: "status" }, `${right ? "✓ Right: " : "✕ "}${answer} is better${why ? `; the other’s costliest error: ${why}` : ""}.`),
      h("button", { type: "button", class: "primary confirm", onclick: () => this.show(next) }, "Continue"));
    this.querySelector(".confirm").focus();
  }

  scale() {
    const numbers = this.question.scores.map((n) => h("button", { type: "button", "aria-pressed": String(Number(this.chosen) === n && this.chosen !== ""), onclick: () => { this.chosen = String(n); this.draw(); } }, String(n)));
    return [h("div", { class: "scale" }, numbers), this.confirm(this.chosen !== "", () => this.send({ value: Number(this.chosen) }))];
  }

  ranking(options) {
    const letters = options.map((o) => o.letter);
    const rest = letters.filter((l) => !this.chosen.includes(l));
    const list = h("ol", { class: "ranks" }, [...this.chosen].map((letter, i) => this.rank(letter, i)));
    return [list, h("div", { class: "rest" }, rest.map((letter) => h("button", { type: "button", class: "choice", draggable: "true", "aria-label": `Rank ${letter} next`, onclick: () => this.add(letter) }, letter))),
      this.confirm(!rest.length, () => this.send({ value: this.chosen }))];
  }

  rank(letter, place) {
    const move = (to) => {
      const letters = [...this.chosen].filter((l) => l !== letter);
      letters.splice(Math.max(0, Math.min(to, letters.length)), 0, letter);
      this.chosen = letters.join("");
      this.prefilled = false;
      this.draw();
    };
    const button = (label, text, to) => h("button", { type: "button", "aria-label": `${label} ${letter}`, onclick: () => move(to) }, text);
    return h("li", { draggable: "true",
      ondragstart: (event) => event.dataTransfer.setData("text/plain", letter),
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => { event.preventDefault(); const from = event.dataTransfer.getData("text/plain"); if (this.chosen.includes(from)) { this.chosen = swapIn(this.chosen, from, place); this.prefilled = false; this.draw(); } } },
    h("b", {}, letter), h("span", { class: "grow soft" }, place ? "" : "best"), button("Move up", "↑", place - 1), button("Move down", "↓", place + 1));
  }

  add(letter) {
    this.startAfresh();
    if (!this.chosen.includes(letter)) this.chosen += letter;
    this.draw();
  }

  // The first key of a correction replaces the earlier answer on display.
  startAfresh() {
    if (this.prefilled) this.chosen = this.typed = "";
    this.prefilled = false;
  }

  confirm(ready, act) {
    this.act = ready ? act : null;
    return h("button", { type: "button", class: "primary confirm", disabled: !ready, onclick: act }, "Confirm");
  }

  /** Keep an earlier answer and return to the current question. */
  keep() {
    if (this.sending) return;
    this.steps = 0;
    this.load("next");
  }

  undo() {
    if (this.sending) return;
    this.steps += 1;
    this.load(`back?steps=${this.steps}`);
  }

  // ------------------------------------------------------------------ keyboard

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || this.sending) return;
    if (this.instructions?.open) return;
    if (event.key === "Escape") document.activeElement?.blur();
    if (typing(event)) return;
    if (this.held) return; // Enter presses the focused button
    const key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
    const handled = this.general(key, event) || (this.question && this[`keys_${this.question.type}`](key, event));
    if (handled) event.preventDefault();
  }

  general(key) {
    if (key === "U") { this.undo(); return true; }
    if (key === "K" && this.question?.given) { this.keep(); return true; }
    if (key === "N" && this.question) { this.note.focus(); return true; }
    return false;
  }

  keys_pairwise(key) {
    if (key === "A" || key === "B") this.send({ value: key });
    else if (key === "C" || key === "X") this.send({ cannot_tell: true });
    else if (this.question.ties.includes(TIES[key])) this.send({ value: TIES[key] });
    else return false;
    return true;
  }

  keys_ranking(key, event) {
    if (this.question.options.some((o) => o.letter === key)) this.add(key);
    else if (key === "Backspace") { this.chosen = this.chosen.slice(0, -1); this.prefilled = false; this.draw(); }
    else if (key === "Enter" && this.act && event.target.tagName !== "BUTTON") this.act();
    else if (key === "X") this.send({ cannot_tell: true });
    else return false;
    return true;
  }

  /** Digits that follow one another name a score: the longest that begins so, else the last digit alone. */
  type(key) {
    this.startAfresh();
    const texts = this.question.scores.map(String);
    const longer = this.typed + key;
    this.typed = texts.some((text) => text.startsWith(longer)) ? longer : key;
    this.chosen = texts.includes(this.typed) ? this.typed : "";
    this.draw();
  }

  keys_scoring(key, event) {
    if (/^[0-9.]$/.test(key)) { this.type(key); }
    else if (key === "Enter" && this.act && event.target.tagName !== "BUTTON") this.act();
    else if (key === "X") this.send({ cannot_tell: true });
    else return false;
    return true;
  }
}

/** A text with a sample of each colour in place of its code. */
function swatches(text) {
  return text.split(/ \((#[0-9A-Fa-f]{6})\)/).map((part, i) => {
    if (i % 2 === 0) return part;
    const sample = h("span", { class: "swatch", "aria-hidden": "true" });
    sample.style.background = part;
    return sample;
  });
}

function swapIn(letters, letter, place) {
  const rest = [...letters].filter((l) => l !== letter);
  rest.splice(place, 0, letter);
  return rest.join("");
}

customElements.define("vj-rater", Rater);
