"""The demo's study: four models with matched errors, the labels of a person, and the
README's snippet, which is about it.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from runs.made_dataset import make_dataset
from visualjudge.apps.demo import STUDY_TASKS
from visualjudge.apps.demo.study_data import (
    MODELS,
    SIDE,
    VIEWS,
    fill_labels,
    make_study,
    views,
)
from visualjudge.data.folder import DataFolder
from visualjudge.dataset.folder import load_dataset

README = Path(__file__).parents[3] / "README.md"


def test_views_show_objects_of_the_photographs() -> None:
    shown = list(views(42))
    assert len(shown) == VIEWS
    assert len({view.name for view in shown}) == VIEWS
    for view in shown:
        assert view.pixels.shape == (SIDE, SIDE, 3)
        assert view.objects
        for item in view.objects:
            x1, y1, x2, y2 = item.mask.xyxy
            assert 0 <= x1 < x2 <= SIDE
            assert 0 <= y1 < y2 <= SIDE


def test_other_seeds_show_other_views() -> None:
    first, again, other = (next(views(seed)).pixels for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has made its study."""
    root = tmp_path_factory.mktemp("study")
    total = make_study(root / "demo-out/study/data", STUDY_TASKS[0], seed=42)
    (root / "total").write_text(str(total))
    return root


@pytest.fixture(scope="module")
def notes(home: Path) -> list[dict[str, object]]:
    total = int((home / "total").read_text())
    folder = DataFolder(home / "demo-out/study/data")
    found = list(folder.annotations(STUDY_TASKS[0]))
    assert folder.problems == []
    assert len(found) == total
    return [
        {"image": one.image_id, "model": one.source, "score": one.final_score}
        for one in found
    ]


def test_models_differ_on_average(notes: list[dict[str, object]]) -> None:
    scores = [
        np.mean(
            [
                float(str(note["score"]))
                for note in notes
                if note["model"] == model
            ]
        )
        for model in MODELS
    ]
    assert scores == sorted(scores, reverse=True)


def test_no_model_answers_an_image_twice(
    notes: list[dict[str, object]],
) -> None:
    keys = [(note["image"], note["model"]) for note in notes]
    assert len(keys) == len(set(keys))
    assert len({image for image, _ in keys}) > VIEWS / 2


def test_labels_are_the_right_answers(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "data", pairwise=6, ranking=0, scoring=0)
    questions = list(load_dataset(root).questions)
    labels = tmp_path / "labels.csv"
    rows = [
        {"question_id": one.id, "answer": "", "probability": "0.5"}
        for one in questions[:4]
    ]
    with labels.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert fill_labels(root, labels) == 4
    with labels.open(newline="") as file:
        filled = list(csv.DictReader(file))
    assert [row["answer"] for row in filled] == [
        one.answer for one in questions[:4]
    ]
    assert {row["probability"] for row in filled} == {"0.5"}


def test_the_snippet_of_the_readme_prints_what_the_readme_says(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On the demo's own data, so that the printed answer is the one that a reader
    gets."""
    monkeypatch.chdir(home)
    text = README.read_text("utf-8")
    [snippet] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    [printed] = re.findall(r"```text\n(.*?)\n```", text, re.DOTALL)
    exec(compile(snippet, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1] == printed
    assert (home / "report.html").is_file()
