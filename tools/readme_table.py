"""Write the tables of published judges in README and docs/benchmarks.md, and their plot:
from the figures in docs/published, or from copies of the benchmarks.

    python tools/readme_table.py [CLONE ...]

With copies (see ``tools/atlas.py``), the figures in docs/published are computed again
first.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import orjson
from atlas import COLUMNS, AtlasRow, atlas, atlas_figure

from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.atomic import write_json, write_text

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs/published/judges.json"
PLOT = ROOT / "docs/published/judges.svg"
BEGIN, END = "<!-- published judges -->", "<!-- end of published judges -->"
BLOCK = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
MOST = 3
"""Rows of each part in README."""
PARTS = {"image_edition": "Image editing", "image_generation": "Image generation"}


def main() -> None:
    """Compute the figures where copies are given; write the plot, and the block in README.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "clones", nargs="*", help="local copies of benchmarks: FOLDER or NAME=FOLDER"
    )
    clones = parser.parse_args().clones
    if clones:
        PLOT.parent.mkdir(exist_ok=True)
        write_json(
            FIGURES,
            {"date": datetime.now(UTC).date().isoformat(), "rows": atlas(clones)},
        )
        atlas_figure(kept()[0]).save(PLOT)
        write_text(
            PLOT,
            PLOT.read_text("utf-8").replace(
                "<svg ", '<svg style="background:#fff" ', 1
            ),
        )  # on dark pages too
    rows = kept()[0]
    for page, shown in (
        ("README.md", best_of_images(rows)),
        ("docs/benchmarks.md", rows),
    ):
        made = block(shown)
        place = ROOT / page
        write_text(
            place,
            BLOCK.sub(lambda _, made=made: made, place.read_text("utf-8"), count=1),
        )


def kept() -> tuple[tuple[AtlasRow, ...], date]:
    """The figures in the repository, and the day on which they were computed."""
    found = orjson.loads(FIGURES.read_bytes())
    rows = (
        AtlasRow(**{**row, "accuracy": Estimate(**row["accuracy"])})
        for row in found["rows"]
    )
    return tuple(rows), date.fromisoformat(found["date"])


def best_of_images(rows: Sequence[AtlasRow]) -> list[AtlasRow]:
    """The most accurate judges of each kind of images, as README shows them."""
    by_part = {part: [row for row in rows if row.part == part] for part in PARTS}
    ranked = (
        sorted(found, key=lambda row: -row.accuracy.value) for found in by_part.values()
    )
    return [row for found in ranked for row in found[:MOST]]


def block(rows: Sequence[AtlasRow]) -> str:
    """A table of ``rows``; all scores of authors in per cent with one decimal."""
    day = kept()[1]
    left_out = ("Ties: said / true", "Rank models with it?")
    columns = tuple(name for name in COLUMNS if name not in left_out)
    own = {
        **COLUMNS,
        "Questions": lambda row: PARTS.get(row.part, row.part.capitalize()),
        "Authors": lambda row: f"{float(row.authors):.1f} %",
    }
    cells = tuple(tuple(own[name](row) for name in columns) for row in rows)
    made = f"Computed on {day.isoformat()} by `python tools/readme_table.py`."
    lines = (
        f"| {' | '.join(row)} |" for row in (columns, ("---",) * len(columns), *cells)
    )
    return "\n".join([BEGIN, *lines, "", made, END])


if __name__ == "__main__":
    main()
