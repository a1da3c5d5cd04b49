"""Tasks of one judge share the level at which they are decided: else one of eight that
are not good enough is called so in up to a quarter of studies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from judged_records import pair, said, scoring
from visualjudge.analysis import study_of
from visualjudge.analysis.decisions.pair_answer import pair_answer
from visualjudge.analysis.decisions.score_answer import score_answer
from visualjudge.analysis.statistics.score_bar import Bar
from visualjudge.core.records import Question, Verdict

IMAGES = 20
Asked = list[tuple[Question, Verdict]]


def chosen(task: str, right: int, images: int = IMAGES) -> Asked:
    """A pair on each image, ``right`` of which the judge gets right."""
    rows = []
    for k in range(images):
        scores = (1.0, 0.0) if k % 2 else (0.0, 1.0)
        asked = pair(
            k,
            scores,
            id=f"{task}{k}",
            task=task,
            image_id=f"{task}{k}",
            annotation_ids=(f"{task}a{k}", f"{task}b{k}"),
        )
        wrong = "B" if asked.answer == "A" else "A"
        rows.append((asked, said(asked, asked.answer if k < right else wrong)))
    return rows


def scored(task: str, noise: float) -> Asked:
    """A score of each image, off by normal errors of ``noise``."""
    rng = np.random.default_rng(4)
    rows = []
    for k in range(IMAGES):
        true = float(rng.uniform(0, 10))
        asked = scoring(
            k,
            true,
            id=f"{task}{k}",
            task=task,
            image_id=f"{task}{k}",
            annotation_ids=(f"{task}{k}",),
        )
        error = noise * rng.normal()
        rows.append((asked, said(asked, float(np.clip(true + error, 0, 10)))))
    return rows


def states(of: Any, rows: Asked) -> dict[str, str]:
    study = study_of([q for q, _ in rows], {"judge": [v for _, v in rows]})
    return {task.task: task.state for task in of(study, 0, Bar()).tasks}


@pytest.mark.parametrize("others", [0, 7])
def test_a_task_among_eight_needs_more_than_one_alone(others: int) -> None:
    """All of 20 right: at least 83 % in 95 of 100 studies, and 74 % in 99.4."""
    rows = chosen("first", IMAGES)
    for k in range(others):
        rows += chosen(f"other{k}", 14)
    found = states(pair_answer, rows)
    assert found["first"] == ("too_few" if others else "yes")


def test_tasks_on_too_few_images_take_no_part() -> None:
    rows = chosen("first", IMAGES)
    for k in range(7):
        rows += chosen(f"other{k}", 6, images=9)
    assert states(pair_answer, rows)["first"] == "yes"


@pytest.mark.parametrize(("others", "state"), [(0, "yes"), (7, "too_few")])
def test_scores_of_a_task_among_eight_need_more(
    others: int, state: str
) -> None:
    rows = scored("first", 2.0)
    for k in range(others):
        rows += scored(f"other{k}", 4.0)
    assert states(score_answer, rows)["first"] == state
