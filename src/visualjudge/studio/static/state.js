// The address holds the whole state of a view: filters, words, order, and the first card on the screen (at).
export const params = () => new URLSearchParams(location.search);

export function filters() {
  const found = params();
  found.delete("at");
  return found;
}

/** Change the address and notify listeners. `keep`: replace the entry in the history, as for each typed letter. */
export function update(change, { keep = false } = {}) {
  const next = params();
  next.delete("at");
  change(next);
  const address = next.size ? `?${next}` : location.pathname;
  history[keep ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event("vj-state"));
}

/** Store the scroll position without adding a history entry. */
export function remember(at) {
  const next = params();
  if (at) next.set("at", at);
  else next.delete("at");
  history.replaceState(null, "", next.size ? `?${next}` : location.pathname);
}

export function toggle(name, value) {
  update((next) => {
    const had = next.getAll(name);
    next.delete(name);
    const values = had.includes(value) ? had.filter((v) => v !== value) : [...had, value];
    for (const v of values) next.append(name, v);
  });
}

addEventListener("popstate", () => dispatchEvent(new Event("vj-state")));
