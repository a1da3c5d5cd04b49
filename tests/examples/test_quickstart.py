"""The notebook in examples/ runs from data to report, offline, in 12 cells."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "quickstart.ipynb"
CELLS = [
    cell
    for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    if cell["cell_type"] == "code"
]


async def shown_by(source: str, names: dict[str, Any]) -> str:
    """What a cell prints, and its last value, as in a notebook: an event loop is
    running."""
    program = ast.parse(source)
    last = program.body[-1]
    if isinstance(last, ast.Expr):
        program.body[-1] = ast.Assign(
            [ast.Name("_last", ast.Store())], last.value
        )
    code = compile(
        ast.fix_missing_locations(program),
        "cell",
        "exec",
        ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
    )
    names["_last"] = ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        waiting = eval(code, names)
        if waiting is not None:
            await waiting
    return f"{printed.getvalue()}{names['_last']!r}"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    async def every() -> list[str]:
        names: dict[str, Any] = {}
        return [
            await shown_by("".join(cell["source"]), names) for cell in CELLS
        ]

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        # where the notebook makes its folder, which it leaves to its reader
        patch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("home")))
        warnings.simplefilter("error", UserWarning)
        return asyncio.run(every())


def test_it_goes_from_data_to_report_in_twelve_cells(
    outputs: list[str],
) -> None:
    assert len(outputs) == 12
    assert "tasks: object_detection" in outputs[2]
    assert "1320 verdicts" in outputs[7]
    assert outputs[10].startswith("Study(")
    assert "report.html" in outputs[11]


def test_it_is_kept_without_outputs() -> None:
    assert all(not cell["outputs"] for cell in CELLS)
