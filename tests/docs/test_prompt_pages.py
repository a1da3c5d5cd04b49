"""docs/prompts shows every encoding in every type of question."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from folding import each
from making import make_folder
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.prompts import PromptAssetStore
from visualjudge.vision.encode import encodings
from visualjudge.vision.tasks import TASKS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from prompt_pages import write_pages  # noqa: E402

DOCS = ROOT / "docs/prompts"
ROWS = [row for row in encodings() if row.is_final]


@each("kind", ["pairwise", "ranking", "scoring"])
@each("row", ROWS, ids=lambda row: f"{row.task}/{row.stem}")
def test_page_of_the_task_shows_the_encoding(row: object, kind: str) -> None:
    page = (DOCS / f"{row.task}.md").read_text("utf-8")  # type: ignore[attr-defined]
    assert f"### {row.stem} · {kind}\n" in page  # type: ignore[attr-defined]


def test_every_image_of_a_page_is_there() -> None:
    for page in DOCS.glob("*.md"):
        for part in page.read_text("utf-8").split('<img src="')[1:]:
            assert (DOCS / part.split('"')[0]).is_file()


@each("row", ROWS, ids=lambda row: f"{row.task}/{row.stem}")
def test_page_has_the_words_of_the_asset_in_use(row: object) -> None:
    task = TASKS[row.task]  # type: ignore[attr-defined]
    page = (DOCS / f"{task.name}.md").read_text("utf-8")
    natural = task.type in ("restoration", "generation")
    asset = PromptAssetStore().get_prompt(
        "questions/context" if natural else f"questions/format/{task.type}"
    )
    words = asset.parts[task.name if natural else row.stem]  # type: ignore[attr-defined]
    for between in re.split(r"\{\{.*?\}\}", words):
        assert between in page


def test_writing_pages_shows_the_first_question_of_each_kind(
    tmp_path: Path,
) -> None:
    make_folder(
        tmp_path / "data", images=1, annotations=3, tasks=["depth_estimation"]
    )
    build(tmp_path / "data", tmp_path / "dataset")
    dataset = load_dataset(tmp_path / "dataset")
    pages = write_pages(dataset, tmp_path / "docs")
    assert [page.name for page in pages] == ["README.md", "depth_estimation.md"]
    text = pages[1].read_text("utf-8")
    assert text.count("\n### ") == 9
    assert f"Answer: `{dataset.questions[0].answer}`" in text
