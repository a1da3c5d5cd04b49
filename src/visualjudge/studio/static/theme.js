// Light or dark: the system's choice until the user makes one. Loaded before the page is painted.
const stored = localStorage.getItem("visualjudge-theme");
if (stored) document.documentElement.dataset.theme = stored;
addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme")?.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("visualjudge-theme", root.dataset.theme);
  });
});
