"""What ``import visualjudge`` promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

import visualjudge


def test_every_public_name_is_there() -> None:
    for name in visualjudge.__all__:
        assert getattr(visualjudge, name) is not None


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = visualjudge.no_such_name


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
