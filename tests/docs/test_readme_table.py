"""The tables of published judges on the pages are those of the figures in the repository."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from atlas import AtlasRow  # noqa: E402
from readme_table import BLOCK, PLOT, best_of_images, block, kept  # noqa: E402


@pytest.mark.parametrize(
    ("page", "rows"),
    [("README.md", best_of_images(kept()[0])), ("docs/benchmarks.md", kept()[0])],
)
def test_the_table_is_of_the_figures_in_the_repository(
    page: str, rows: list[AtlasRow]
) -> None:
    found = BLOCK.search((ROOT / page).read_text("utf-8"))
    assert found is not None
    assert found.group() == block(rows), "python tools/readme_table.py"


def test_the_plot_has_every_judge() -> None:
    drawn = PLOT.read_text("utf-8")
    assert all(f"{row.judge}, {row.part}" in drawn for row in kept()[0])
