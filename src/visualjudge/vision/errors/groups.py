"""Graded predictions: a perturbed truth, scored, with only the severities that the score tells
apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from visualjudge.core.seeding import Key
from visualjudge.vision.error_types import Pairing, error_type_named, perturbed
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.predictions import Prediction
from visualjudge.vision.score import score


@dataclass(frozen=True, eq=False)
class Graded:
    """One prediction with a known error: its severity in (0, 1] and its score in 0..10; severity 0
    is no error.
    """

    error_type: str
    severity: float
    prediction: Prediction
    final_score: float


def graded(
    task: str,
    error_type: str,
    truth: Prediction,
    scene: ErrorScene,
    *,
    seed: int,
    key: Key,
    base: Prediction | None = None,
    with_truth: bool = False,
    pairing: Pairing = "ladder",
    **options: Any,
) -> list[Graded]:
    """A group of predictions of one truth with one type of error, severity rising and score
    falling.

    A severity that does not lower the score is left out: two predictions of equal score cannot be
    asked about. Of matched predictions the one of the opposite severity is left out with it, so
    that what is left is symmetric. Empty where the error cannot be made (a swap with one person,
    say).

    Parameters
    ----------
    key
        Names the truth (image, class of interest): the same key draws the same errors.
    base
        What the errors are put into, where that is not the truth itself: the truth without its
        crowd regions.
    with_truth
        Begin the group with the prediction that has no error, at severity 0: "right against
        slightly wrong".
    pairing
        ``ladder``: the error itself grows. ``matched``: all predictions bear errors of the same
        look, and differ in how far they are from the truth; a type that has no matched form of the
        error makes a ladder.
    options
        Go to :func:`visualjudge.vision.score.score`.
    """
    start = truth if base is None else base
    row = error_type_named(task, error_type)
    if not row.applies(start, scene):
        return []
    kept: list[Graded] = []
    if with_truth:
        right = row.clean(start)
        kept.append(Graded(error_type, 0.0, right, score(task, right, truth, **options)))
    for severity, prediction in perturbed(
        task, error_type, start, scene, seed=seed, key=key, pairing=pairing
    ):
        value = score(task, prediction, truth, **options)
        if not kept or value < kept[-1].final_score:
            kept.append(Graded(error_type, severity, prediction, value))
    if pairing == "matched" and row.matched is not None:
        kept = _balanced(kept)
    return kept if len(kept) > with_truth else []


def _balanced(group: list[Graded]) -> list[Graded]:
    """Predictions of as many severities below ½ as above: in pairs, from the outside inwards."""
    low = [item for item in group if item.severity < 0.5]
    high = [item for item in group if item.severity > 0.5]
    n = min(len(low), len(high))
    middle = [item for item in group if item.severity == 0.5 and n]
    return [*low[:n], *middle, *high[len(high) - n :]]


def labels_shown(truth: Prediction, group: list[Graded]) -> tuple[str, ...] | None:
    """The class of interest that shows everything of a group: the labels of the truth and of every
    prediction in it.
    """
    labels = {*truth.labels}.union(*(item.prediction.labels for item in group))
    return tuple(sorted(labels)) or None
