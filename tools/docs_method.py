"""Write the tables of simulations on docs/analysis.md from docs/simulations.json.

    python tools/docs_method.py

``python benchmarks/method.py`` makes the JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core.atomic import write_text
from visualjudge.core.text_tables import Table

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs/simulations.json"
PAGE = ROOT / "docs/analysis.md"
BEGIN, END = "<!-- simulations -->", "<!-- end of simulations -->"
BLOCK = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
ANSWERS = {"yes": "Yes", "no": "No", "unclear": "Undecided"}


def main() -> None:
    """Replace what stands between the marks."""
    write_text(PAGE, BLOCK.sub(lambda _: block(), PAGE.read_text("utf-8"), count=1))


def block() -> str:
    """Both tables, with the number of simulations behind them."""
    told = orjson.loads(FIGURES.read_bytes())
    designs = "; ".join(f"{n}: {one['design']}" for n, one in enumerate(told["coverage"], 1))
    parts = [
        "Share of 95 % intervals that hold the true value, in %, by design "
        f"({told['simulations']} data sets for shares, τ-b and errors, {told['slow']} for the "
        f"others: Monte Carlo errors of {_error(told['simulations'])} and {_error(told['slow'])} "
        "points):",
        coverage(told["coverage"]).markdown().rstrip(),
        f"Designs, by images and true accuracy: {designs}. Shares may cover more than 95 %, "
        "because whole images may fail until errors show otherwise.",
        f"Answers of the card, in % of {told['runs']} data sets with five sources, by number of "
        "images:",
        card(told["card"]).markdown().rstrip(),
        f"Simulated by visualjudge {told['version']} on {told['date']}.",
    ]
    return "\n\n".join([BEGIN, *parts, END])


def coverage(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each figure, a column for each design."""
    names = list(dict.fromkeys(name for row in rows for name in row["covers"]))
    cells = tuple((name, *(_percent(row["covers"].get(name)) for row in rows)) for name in names)
    return Table(("Figure", *(str(n + 1) for n in range(len(rows)))), cells)


def card(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each judge: the answers on each number of images."""
    sizes = list(dict.fromkeys(row["images"] for row in rows))
    columns = [f"{title}, {size}" for size in sizes for title in ANSWERS.values()]
    cells = []
    for judge, deserves in dict.fromkeys((row["judge"], row["deserves"]) for row in rows):
        own = {row["images"]: row for row in rows if row["judge"] == judge}
        shares = [_percent(own[size][key]) for size in sizes for key in ANSWERS]
        cells.append((judge, deserves, *shares))
    return Table(("Judge", "Deserves", *columns), tuple(cells))


def _error(simulations: int) -> str:
    """Standard error of a share of 95 % in as many simulations, in points."""
    return f"{100 * (0.95 * 0.05 / simulations) ** 0.5:.1f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


if __name__ == "__main__":
    main()
