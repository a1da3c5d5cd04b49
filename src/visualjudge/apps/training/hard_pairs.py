"""Pairs near a judge's threshold: neither always right nor indistinguishable for it."""

from __future__ import annotations

from pathlib import Path

from visualjudge.analysis.analysing import analyse
from visualjudge.core.errors import UsageError
from visualjudge.core.records import Question
from visualjudge.dataset.folder import Dataset
from visualjudge.dataset.question_filter import margin

FACTOR = 2.0
"""A pair is near the threshold if its margin is 1/2 to 2 times the 75 % point."""


def at_threshold(dataset: Dataset, run: str | Path) -> Dataset:
    """Return the pairs of ``dataset`` whose margin is near the 75 % point of the judge of ``run``.

    The 75 % point is that of the pair's task if the run has one, else that of all its pairs; pairs
    of a task without either are left out.

    Raises
    ------
    UsageError
        If the run has no 75 % point, or no pair is near it.
    """
    (judge, *_) = analyse([run]).results.judges
    curves = [
        one for one in judge.sensitivity if one.against == "margin" and one.scope in ("all", "task")
    ]
    points = {(one.scope, one.value): one.jnd.value for one in curves if one.jnd.value is not None}
    if not points:
        reason = next((one.reason for one in curves if one.reason), "it has no pairs")
        raise UsageError(f"--margin-at: {run} has no 75 % point: {reason}")
    found = dataset.filter(lambda question: _near(question, points))
    if not len(found):
        stated = ", ".join(f"{value}: {point:.3g}" for (_, value), point in points.items())
        raise UsageError(
            f"--margin-at: {dataset.root} must have a pair near the 75 % point ({stated})"
        )
    return found


def _near(question: Question, points: dict[tuple[str, str], float]) -> bool:
    point = points.get(("task", question.task), points.get(("all", "all")))
    apart = margin(question) if question.question_type == "pairwise" else None
    return point is not None and apart is not None and point / FACTOR <= apart <= point * FACTOR
