"""The simulations on the page about the method are those of the stored figures."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from docs_method import BLOCK, PAGE, block  # noqa: E402


def test_the_tables_are_made_from_the_stored_figures() -> None:
    found = BLOCK.search(PAGE.read_text("utf-8"))
    assert found is not None
    assert found.group() == block(), "python tools/docs_method.py"
