// <vj-stage>: images with a shared zoom and pan, exact to the pixel. Side by side, flicker, slider and difference.
// All images share the coordinates of the first one; an image of another size is stretched over the same area.
import { amplified } from "./difference.js";
import { PARTS, h, image, partsInView, range, typing } from "./dom.js";
import { drawCursor, drawPixelGrid, drawPlaces } from "./marks.js";

const MODES = [["side", "Side by side", "S"], ["flicker", "Flicker", "F"], ["slider", "Slider", "L"], ["difference", "Difference", "D"], ["one", "One", "O"]];
const NARROW = 500;
const SWIPE = 40;
const GRID_FROM = 12;
const RETRY_MS = 1500;

class Stage extends HTMLElement {
  async connectedCallback() {
    this.dataset_ = this.closest("[data-dataset]")?.dataset.dataset;
    this.layers = JSON.parse(this.dataset.layers);
    this.places = JSON.parse(this.dataset.places ?? "[]");
    this.view = { scale: 0, x: 0, y: 0 };
    this.mode = "side";
    this.cut = 0.5;
    this.gain = 4;
    this.opacity = 1;
    const options = this.layers.filter((layer) => !layer.key.startsWith("o"));
    this.a = (options[0] ?? this.layers[0]).key;
    this.b = (options[1] ?? this.layers[0]).key;
    this.original = this.layers.find((layer) => layer.key === "o0")?.key;
    this.at = 0;
    this.seen = new Map(this.layers.map((layer) => [layer.key, new Set()]));
    this.build();
    this.listen = (event) => this.pressed(event);
    addEventListener("keydown", this.listen);
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.panes);
    this.scrolled = () => this.look();
    addEventListener("scroll", this.scrolled, { passive: true, capture: true });
    this.loaded = Promise.all(this.layers.map((layer) => this.fetch(layer)));
    await this.loaded;
    this.base = this.layers.find((layer) => layer.bitmap);
    this.classList.add("ready");
    this.draw();
  }

  disconnectedCallback() {
    removeEventListener("keydown", this.listen);
    removeEventListener("scroll", this.scrolled, { capture: true });
    this.watch.disconnect();
  }

  /** With data-patient, retry images that fail to load, such as during a server restart. */
  async fetch(layer) {
    const bitmap = new Image();
    bitmap.src = layer.src ?? image(this.dataset_, layer.name);
    try {
      await bitmap.decode();
      Object.assign(layer, { bitmap, width: bitmap.naturalWidth, height: bitmap.naturalHeight, missing: false });
    } catch {
      layer.missing = true;
    }
    this.draw();
    if (!layer.missing || !("patient" in this.dataset) || !this.isConnected) return;
    this.dispatchEvent(new Event("vj-missing"));
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    await this.fetch(layer);
  }

  layer(key) {
    return this.layers.find((layer) => layer.key === key);
  }

  // ------------------------------------------------------------------ controls

  build() {
    const choose = (which, label) => h("label", { class: "pick" }, h("span", {}, label),
      h("select", { "aria-label": `${label} image`, onchange: (event) => { this[which] = event.target.value; this.draw(); } },
        this.layers.map((layer) => h("option", { value: layer.key, selected: layer.key === this[which] }, layer.title))));
    this.modes = MODES.map(([mode, title, key]) =>
      h("button", { type: "button", "data-mode": mode, title: `${title} (${key})`, "aria-keyshortcuts": key, onclick: () => this.setMode(mode) }, title));
    const zoom = (label, title, act) => h("button", { type: "button", title, "aria-keyshortcuts": title.match(/\((.)\)/)[1], "aria-label": `${label} ${title}`, onclick: act }, label);
    this.readout = h("output", { class: "readout", "aria-live": "off" });
    this.tools = {
      slider: range("Position", 0, 100, 50, (v) => { this.cut = v / 100; }, this),
      difference: range("Gain", 1, 32, this.gain, (v) => { this.gain = v; }, this),
      opacity: range("Overlay", 0, 100, 100, (v) => { this.opacity = v / 100; }, this),
    };
    this.panes = h("div", { class: "panes", role: "group", "aria-label": "Images", tabindex: 0 });
    this.picks = h("div", { class: "segments picks", role: "group", "aria-label": "Image" }, this.layers.map((layer, i) =>
      h("button", { type: "button", onclick: () => this.step(i - this.at) }, layer.title.length === 1 ? `Show ${layer.title}` : layer.title)));
    const several = this.layers.length > 1;
    this.append(
      h("div", { class: "stage-tools", role: "toolbar", "aria-label": "Compare images" },
        several ? h("div", { class: "segments modes" }, this.modes) : null, this.picks,
        several ? choose("a", "Left") : null, several ? choose("b", "Right") : null,
        Object.values(this.tools),
        h("span", { class: "grow" }),
        h("div", { class: "segments zooms" }, zoom("−", "Zoom out (−)", () => this.zoom(0.5)), zoom("Fit", "Fit (0)", () => this.fit()),
          zoom("1:1", "One screen pixel each (1)", () => this.zoomTo(1)), zoom("+", "Zoom in (+)", () => this.zoom(2)))),
      this.panes, this.readout);
    this.setMode(this.layers.length > 1 && this.dataset.all && this.clientWidth < NARROW ? "one" : "side");
    this.panes.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.panes.addEventListener("pointerdown", (event) => this.grab(event));
    this.panes.addEventListener("pointermove", (event) => this.point(event));
    this.panes.addEventListener("pointerleave", () => { this.cursor = null; this.draw(); });
    this.panes.addEventListener("dblclick", (event) => (this.zoomed ? this.fit() : this.zoom(2, ...(this.place(event) ?? []))));
  }

  setMode(mode) {
    if (mode === "flicker" && this.mode === "flicker") this.turned = !this.turned;
    else this.turned = false;
    this.mode = mode;
    for (const button of this.modes) button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    const original = this.original && mode !== "difference" && this.layers.length > 1;
    this.tools.slider.hidden = mode !== "slider";
    this.picks.hidden = mode !== "one";
    this.tools.difference.hidden = mode !== "difference";
    this.tools.opacity.hidden = !original;
    this.draw();
  }

  /** In the mode "one": the next image, wrapping around. */
  step(by) {
    this.at = (this.at + by + this.layers.length) % this.layers.length;
    this.draw();
  }

  /** The images that have mostly not been in view, including any that could not be loaded. */
  get unseen() {
    this.look();
    return this.layers.filter(({ key }) => this.seen.get(key).size <= PARTS / 2);
  }

  /** Record which parts of the images are in view. A difference shows no image, and a slider half of each. */
  look() {
    if (!this.base || this.opacity < 1 || ["slider", "difference"].includes(this.mode)) return;
    const scale = this.scale();
    if (!(scale > 0) || !Number.isFinite(scale)) return; // no space, or an SVG without intrinsic size
    [...this.panes.children].forEach((figure, i) => {
      const layer = this.layer(this.shown[i]);
      if (!layer?.bitmap) return;
      const box = figure.getBoundingClientRect();
      const [left, top] = this.corner(box.width, box.height, scale);
      const drawn = new DOMRect(box.left + left, box.top + top, this.base.width * scale, this.base.height * scale);
      for (const part of partsInView(drawn, figure)) this.seen.get(layer.key).add(part);
    });
  }

  pressed(event) {
    if (event.defaultPrevented || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("[role=tab], vj-grid")) return;
    const pan = (dx, dy) => () => this.pan(dx, dy);
    const range_ = event.target.matches?.("input[type=range]");
    if (this.dataset.digits === "off" && /^[0-9]$/.test(event.key)) return;
    const act = {
      f: () => this.setMode("flicker"), s: () => this.setMode("side"), l: () => this.setMode("slider"), d: () => this.setMode("difference"), o: () => this.setMode("one"),
      "+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5), 0: () => this.fit(), 1: () => this.zoomTo(1), 8: () => this.zoomTo(8),
      ...(range_ ? {} : { ArrowLeft: pan(1, 0), ArrowRight: pan(-1, 0), ArrowUp: pan(0, 1), ArrowDown: pan(0, -1) }),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    if (event.key.startsWith("Arrow") && !this.zoomed) {
      if (this.mode === "one" && /Left|Right/.test(event.key)) this.step(event.key === "ArrowRight" ? 1 : -1);
      return;
    }
    event.preventDefault();
    act();
  }

  // ------------------------------------------------------------------ shared view

  field() {
    const pane = this.panes.firstElementChild;
    return { width: pane?.clientWidth ?? 1, height: pane?.clientHeight ?? 1 };
  }

  fitted() {
    const { width, height } = this.field();
    return this.base ? Math.min(width / this.base.width, height / this.base.height) : 1;
  }

  scale() {
    return this.view.scale || this.fitted();
  }

  /** Whether part of the image is outside the pane. */
  get zoomed() {
    return this.scale() > 1.001 * this.fitted();
  }

  /** The view with the image kept inside the pane, or the pane inside the image if the image is larger. */
  clamped() {
    const { width, height } = this.field();
    const within = (at, size, room) => {
      const most = Math.max(0, (size - room / this.scale()) / 2);
      return Math.max(-most, Math.min(most, at));
    };
    return { scale: this.view.scale, x: within(this.view.x, this.base.width, width), y: within(this.view.y, this.base.height, height) };
  }

  fit() {
    this.view = { scale: 0, x: 0, y: 0 };
    this.draw();
  }

  /** Screen pixels per image pixel; keeps the point (px, py) of the pane where it is. */
  zoomTo(scale, px, py) {
    const { width, height } = this.field();
    const [cx, cy] = [px ?? width / 2, py ?? height / 2];
    const [ix, iy] = this.toImage(cx, cy);
    const next = Math.max(Math.min(1, this.fitted()), Math.min(scale, 96));
    this.view = { scale: next, x: ix - (cx - width / 2) / next - this.base.width / 2, y: iy - (cy - height / 2) / next - this.base.height / 2 };
    this.draw();
  }

  zoom(factor, px, py) {
    const now = this.scale() * factor;
    if (factor < 1 && now <= this.fitted()) {
      this.fit();
      return;
    }
    const whole = now > 1 ? Math.max(1, Math.round(now)) : now;
    this.zoomTo(factor === 2 || factor === 0.5 ? whole : now, px, py);
  }

  pan(dx, dy) {
    const step = Math.max(1, this.field().width / 8 / this.scale());
    this.view = { scale: this.scale(), x: this.view.x - dx * step, y: this.view.y - dy * step };
    this.draw();
  }

  /** Pane to image coordinates. */
  toImage(px, py, scale = this.scale()) {
    const { width, height } = this.field();
    return [(px - width / 2) / scale + this.base.width / 2 + this.view.x, (py - height / 2) / scale + this.base.height / 2 + this.view.y];
  }

  place(event) {
    const pane = event.target.closest("canvas");
    if (!pane) return null;
    const box = pane.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  wheel(event) {
    const at = this.place(event);
    if (!at || !this.base) return;
    if (!event.ctrlKey && !event.metaKey && !this.zoomed && event.deltaY > 0) return; // let the page scroll
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), ...at);
  }

  grab(event) {
    if (!this.base || event.button) return;
    this.pointers ??= new Map();
    this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
    event.target.setPointerCapture?.(event.pointerId);
    this.pinched = this.pointers.size > 1;
    const swiping = () => !this.pinched && this.mode === "one" && !this.zoomed;
    const move = (e) => (swiping() ? null : this.drag(e));
    const done = (e) => {
      const across = e.clientX - event.clientX;
      if (swiping() && Math.abs(across) > SWIPE && e.type === "pointerup") this.step(across < 0 ? 1 : -1);
      this.pointers.delete(event.pointerId);
      event.target.removeEventListener("pointermove", move);
    };
    event.target.addEventListener("pointermove", move);
    event.target.addEventListener("pointerup", done, { once: true });
    event.target.addEventListener("pointercancel", done, { once: true });
  }

  drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    if (others.length) {
      const far = (at) => Math.hypot(at[0] - others[0][0], at[1] - others[0][1]);
      this.zoom(far([event.clientX, event.clientY]) / Math.max(far(before), 1), ...(this.place(event) ?? []));
    } else if (this.mode === "slider" && Math.abs(this.place(event)[0] - this.cut * this.field().width) < 24) {
      this.cut = Math.max(0, Math.min(1, this.place(event)[0] / this.field().width));
      this.tools.slider.querySelector("input").value = this.cut * 100;
    } else if (this.zoomed) {
      const scale = this.scale();
      this.view = { scale, x: this.view.x - (event.clientX - before[0]) / scale, y: this.view.y - (event.clientY - before[1]) / scale };
    }
    this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
    this.draw();
  }

  point(event) {
    const at = this.place(event);
    this.cursor = at && this.base ? this.toImage(...at).map(Math.floor) : null;
    this.draw();
  }

  // ------------------------------------------------------------------ drawing

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.paint());
  }

  /** The panes that begin a row so that options stay beside one another in `n` columns, and the number of rows. */
  rows(panes, n) {
    const option = (key) => /^u?[A-E]$/.test(key ?? "");
    const starts = new Set();
    let at = 0;
    panes.forEach((key, i) => {
      const together = panes.slice(i).findIndex((other) => !option(other) || other.length !== key.length);
      const group = option(panes[i - 1]) ? 1 : together < 0 ? panes.length - i : together;
      if (group <= n && (at % n) + group > n) {
        starts.add(i);
        at += n - (at % n);
      }
      at += 1;
    });
    return { starts, count: Math.ceil(at / n) };
  }

  /** The number of columns in which these images of one shape are largest; an empty place costs a tenth. */
  columns(panes) {
    const { clientWidth: width, clientHeight: height } = this.panes;
    const shape = this.base ? this.base.width / this.base.height : 1;
    const size = (n) => {
      const { starts, count } = this.rows(panes, n);
      return Math.min(width / n / shape, height / count) * (starts.size ? 0.9 : 1);
    };
    return panes.map((_, k) => k + 1).reduce((best, n) => (size(n) > 1.01 * size(best) ? n : best), 1);
  }

  paint() {
    const side = this.dataset.all ? this.layers.map((layer) => layer.key) : [this.a, this.b];
    const shown = { side, flicker: [this.turned ? this.b : this.a], slider: [this.a], difference: [this.a], one: [this.layers[this.at].key] }[this.mode];
    const panes = this.layers.length === 1 ? [this.a] : shown;
    while (this.panes.children.length > panes.length) this.panes.lastElementChild.remove();
    while (this.panes.children.length < panes.length) this.panes.append(h("figure", {}, h("canvas"), h("figcaption")));
    const columns = this.columns(panes);
    const { starts } = this.rows(panes, columns);
    this.panes.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    [...this.panes.children].forEach((figure, i) => { figure.style.gridColumnStart = starts.has(i) ? 1 : ""; });
    if (this.base && this.scale() > 0) this.view = this.clamped();
    panes.forEach((key, i) => this.paintPane(this.panes.children[i], key));
    this.dataset.scale = this.base ? this.scale().toFixed(4) : "";
    this.dataset.mode = this.mode;
    this.shown = panes;
    this.look();
    [...this.picks.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === this.at)));
    this.dataset.shown = panes.join(",");
    this.tell();
  }

  paintPane(figure, key) {
    const canvas = figure.firstElementChild;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = figure;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const layer = this.layer(key);
    figure.lastElementChild.textContent = this.caption(layer);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", this.caption(layer));
    if (!this.base) return;
    if (this.mode === "difference" && this.layers.length > 1) this.put(context, width, height, this.differenceOf(this.layer(this.a), this.layer(this.b)));
    else this.overlaid(context, width, height, layer);
    if (this.mode === "slider") this.slide(context, width, height);
    if (this.scale() >= GRID_FROM) drawPixelGrid(context, width, height, this.toImage(0, 0), this.scale());
    if (this.places.length && this.mode !== "difference") drawPlaces(context, this.places, layer.key, this.toImage(0, 0), this.scale());
    if (this.cursor) drawCursor(context, this.cursor, this.toImage(0, 0), this.scale());
  }

  caption(layer) {
    if (this.layers.length === 1) return layer.title;
    const other = this.layer(this.b).title;
    const both = { difference: `|${layer.title} − ${other}| × ${this.gain}`, slider: `${layer.title} | ${other}` }[this.mode];
    if (both) return both;
    return layer.missing ? `${layer.title}: the image cannot be shown` : layer.title;
  }

  overlaid(context, width, height, layer) {
    const original = this.layer(this.original);
    if (this.opacity < 1 && original && !layer.key.startsWith("o")) {
      this.put(context, width, height, original);
      context.globalAlpha = this.opacity;
    }
    this.put(context, width, height, layer);
    context.globalAlpha = 1;
  }

  /** The position of the image's upper left corner in a pane. */
  corner(width, height, scale) {
    return [width / 2 - (this.base.width / 2 + this.view.x) * scale, height / 2 - (this.base.height / 2 + this.view.y) * scale];
  }

  put(context, width, height, layer) {
    if (!layer?.bitmap) return;
    const scale = this.scale();
    context.imageSmoothingEnabled = scale < 2;
    context.imageSmoothingQuality = "high";
    const [left, top] = this.corner(width, height, scale);
    context.drawImage(layer.bitmap, left, top, this.base.width * scale, this.base.height * scale);
  }

  slide(context, width, height) {
    const x = Math.round(this.cut * width);
    context.save();
    context.beginPath();
    context.rect(x, 0, width - x, height);
    context.clip();
    context.clearRect(x, 0, width - x, height);
    this.overlaid(context, width, height, this.layer(this.b));
    context.restore();
    context.fillStyle = "#fff";
    context.fillRect(x - 1, 0, 2, height);
    context.fillStyle = "#0008";
    context.fillRect(x + 1, 0, 1, height);
    context.fillRect(x - 2, 0, 1, height);
  }

  pixels(layer) {
    if (!layer?.bitmap) return null;
    if (!layer.data) {
      const canvas = new OffscreenCanvas(this.base.width, this.base.height);
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.drawImage(layer.bitmap, 0, 0, canvas.width, canvas.height);
      layer.data = context.getImageData(0, 0, canvas.width, canvas.height).data;
    }
    return layer.data;
  }

  differenceOf(a, b) {
    const key = `${a.key}-${b.key}-${this.gain}`;
    if (this.difference?.key === key) return this.difference;
    const [first, second] = [this.pixels(a), this.pixels(b)];
    if (!first || !second) return null;
    const canvas = amplified(first, second, this.gain, this.base.width, this.base.height);
    this.difference = { key, bitmap: canvas };
    return this.difference;
  }

  tell() {
    const scale = this.scale();
    const zoom = this.base ? `${scale >= 1 ? scale.toFixed(scale % 1 ? 1 : 0) + "×" : Math.round(scale * 100) + " %"}` : "";
    const size = this.base ? `${this.base.width} × ${this.base.height}` : "";
    const [x, y] = this.cursor ?? [];
    const inside = this.cursor && x >= 0 && y >= 0 && x < this.base.width && y < this.base.height;
    const colors = inside ? [this.a, this.b].filter((k, i, all) => all.indexOf(k) === i).map((key) => {
      const data = this.pixels(this.layer(key));
      const at = (y * this.base.width + x) * 4;
      return data ? `${this.layer(key).title} ${data[at]} ${data[at + 1]} ${data[at + 2]}` : "";
    }) : [];
    this.readout.textContent = [zoom, size, inside ? `x ${x}, y ${y}` : "", ...colors].filter(Boolean).join("   ");
  }
}

customElements.define("vj-stage", Stage);
