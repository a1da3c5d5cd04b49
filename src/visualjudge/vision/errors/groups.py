"""Graded predictions: perturbed and scored ground truth, limited to severities with
different scores. The errors are in ``vision/<type>/errors.py``.
"""

from dataclasses import dataclass
from typing import Any

from visualjudge.core.seeding import Key
from visualjudge.vision.error_types import Pairing, error_type_named, perturbed
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.predictions import Prediction
from visualjudge.vision.score import score


@dataclass(frozen=True, eq=False)
class Graded:
    """A prediction with a known error, its severity in (0, 1] and its score in 0..10;
    severity 0 means no error.
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
    """Return predictions of one truth with one type of error, by increasing severity
    and decreasing score.

    A severity that does not lower the score is omitted, because two predictions with
    equal scores have no correct order. For matched predictions the opposite severity is
    omitted too, so that the group stays symmetric. The group is empty if the error
    cannot be made, for example a swap with only one person.

    Parameters
    ----------
    key
        Identifies the truth (image, class of interest): the same key gives the same
        errors.
    base
        The prediction to perturb, if not the truth itself: the truth without its crowd
        regions.
    with_truth
        Start the group with the error-free prediction, at severity 0, for comparisons
        of "right" and "slightly wrong".
    pairing
        ``ladder``: the error itself grows. ``matched``: all predictions have errors
        that look alike, and differ in their distance from the truth; an error type
        without a matched form gives a ladder.
    options
        Passed to :func:`visualjudge.vision.score.score`.
    """
    start = truth if base is None else base
    row = error_type_named(task, error_type)
    if row.applies is not None and not row.applies(start, scene):
        return []
    steps: list[Graded] = []
    if with_truth:
        right = start if row.clean is None else row.clean(start)
        steps.append(
            Graded(error_type, 0.0, right, score(task, right, truth, **options))
        )
    for severity, prediction in perturbed(
        task, error_type, start, scene, seed=seed, key=key, pairing=pairing
    ):
        value = score(task, prediction, truth, **options)
        if not steps or value < steps[-1].final_score:
            steps.append(Graded(error_type, severity, prediction, value))
    if pairing == "matched" and row.matched is not None:
        steps = _balanced(steps)
    return steps if len(steps) > with_truth else []


def _balanced(group: list[Graded]) -> list[Graded]:
    """Keep equally many severities below and above ½, in pairs from the outside
    inwards."""
    low = [item for item in group if item.severity < 0.5]
    high = [item for item in group if item.severity > 0.5]
    n = min(len(low), len(high))
    middle = [item for item in group if item.severity == 0.5 and n]
    return [*low[:n], *middle, *high[len(high) - n :]]


def labels_shown(
    truth: Prediction, group: list[Graded]
) -> tuple[str, ...] | None:
    """Return the class of interest that shows everything in a group: the labels of the
    truth and of all predictions.
    """
    labels = {*truth.labels}.union(*(item.prediction.labels for item in group))
    return tuple(sorted(labels)) or None
