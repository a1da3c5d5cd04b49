"""README's table of published judges is that of the figures in the repository."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from readme_table import BLOCK, PLOT, block, kept  # noqa: E402


def test_the_table_is_of_the_figures_in_the_repository() -> None:
    found = BLOCK.search((ROOT / "README.md").read_text("utf-8"))
    assert found is not None
    assert found.group() == block(), "python tools/readme_table.py"


def test_the_plot_has_every_judge() -> None:
    drawn = PLOT.read_text("utf-8")
    assert all(f"{row.judge}, {row.part}" in drawn for row in kept()[0])
