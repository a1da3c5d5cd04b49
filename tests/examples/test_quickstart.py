"""The notebook in examples/ runs from data to report, offline, in 12 cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "quickstart.ipynb"


@pytest.fixture(scope="module")
def executed() -> Any:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
    return notebook


def _outputs(notebook: Any) -> list[str]:
    """What each code cell shows, as text and as HTML."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        "".join(
            out.get("text", "") + "".join(map(str, out.get("data", {}).values()))
            for out in cell.outputs
        )
        for cell in cells
    ]


def test_it_goes_from_data_to_report_in_twelve_cells(executed: Any) -> None:
    shown = _outputs(executed)
    assert len(shown) == 12
    assert "tasks: object_detection" in shown[2]
    assert shown[10].startswith("Study(")
    assert "report.html" in shown[11]


def test_the_cell_that_judges_shows_its_run_and_nothing_warns(executed: Any) -> None:
    assert "1320 verdicts" in _outputs(executed)[7]
    assert "Warning" not in "".join(_outputs(executed))


def test_it_is_kept_without_outputs() -> None:
    nbformat = pytest.importorskip("nbformat")
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert all(not cell.outputs for cell in cells if cell.cell_type == "code")
