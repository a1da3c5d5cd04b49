"""What ``import visualjudge`` promises."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import visualjudge


def test_every_public_name_is_there() -> None:
    for name in visualjudge.__all__:
        assert getattr(visualjudge, name) is not None


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = visualjudge.no_such_name


@pytest.mark.parametrize(
    ("old", "name", "new"),
    [
        ("vision.drawing.grid", "cell_side", "vision.masks.label_grid"),
        (
            "analysis.report.paper",
            "paper_tables",
            "analysis.report.paper_tables",
        ),
        ("formats.sample", "paired", "formats.pairing"),
    ],
)
def test_a_moved_module_works_and_says_where_it_is(
    old: str, name: str, new: str
) -> None:
    module = import_module(f"visualjudge.{old}")
    with pytest.warns(DeprecationWarning, match=rf"is in visualjudge\.{new};"):
        value = getattr(module, name)
    assert value is getattr(import_module(f"visualjudge.{new}"), name)


def test_importing_the_package_loads_no_heavy_library() -> None:
    heavy = (
        "[name for name in ('numpy', 'polars', 'pyarrow', 'cv2', 'scipy', 'PIL') if "
        "name in sys.modules]"
    )
    code = f"import sys, visualjudge, visualjudge.cli.main; print({heavy})"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == "[]"
