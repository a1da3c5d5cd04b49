// Tables sort by the column whose heading is pressed; the details open for print.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const said = row.cells[column].textContent.trim().replace(/\u2212/g, "-").replace(/,/g, "");
    return Number.isNaN(parseFloat(said)) ? said : parseFloat(said);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
        return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
      });
      table.tBodies[0].append(...rows);
    };
  });
}
for (const card of document.querySelectorAll(".miss")) {
  if (!card.querySelector("img")) continue;
  const button = document.createElement("button");
  const turn = () => {
    button.textContent = card.classList.toggle("large") ? "Smaller" : "Enlarge";
  };
  button.className = "zoom";
  button.textContent = "Enlarge";
  button.onclick = turn;
  card.querySelector(".strip").after(button);
  for (const image of card.querySelectorAll("img")) image.onclick = turn;
}
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("#details details:not(.long,.setup)")) part.open = true;
});
