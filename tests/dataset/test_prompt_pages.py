"""docs/prompts shows every encoding in every type of question."""

from __future__ import annotations

from pathlib import Path

import pytest

from making import make_folder
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.prompt_pages import write_pages
from visualjudge.encoding import encodings

DOCS = Path(__file__).parents[2] / "docs/prompts"
ROWS = [row for row in encodings() if row.is_final]


@pytest.mark.parametrize("kind", ["pairwise", "ranking", "scoring"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.task}/{row.stem}")
def test_page_of_the_task_shows_the_encoding(row: object, kind: str) -> None:
    page = (DOCS / f"{row.task}.md").read_text("utf-8")  # type: ignore[attr-defined]
    assert f"### {row.stem} · {kind}\n" in page  # type: ignore[attr-defined]


def test_every_picture_of_a_page_is_there() -> None:
    for page in DOCS.glob("*.md"):
        for part in page.read_text("utf-8").split('<img src="')[1:]:
            assert (DOCS / part.split('"')[0]).is_file()


def test_pages_are_up_to_date_with_the_prompts(tmp_path: Path) -> None:
    make_folder(tmp_path / "data", images=1, annotations=3, size=(240, 320), tasks=["depth_estimation"])
    build(tmp_path / "data", tmp_path / "dataset")
    write_pages(load_dataset(tmp_path / "dataset"), tmp_path / "docs", lambda done, total: None)
    made = (tmp_path / "docs/depth_estimation.md").read_text("utf-8")
    assert made == (DOCS / "depth_estimation.md").read_text("utf-8")
