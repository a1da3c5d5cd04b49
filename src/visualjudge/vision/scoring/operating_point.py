"""Operating points of detectors. AP uses all predictions, but users see only those
above a threshold. AP is in ``average_precision.py``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.vision.base import Prediction
from visualjudge.vision.scoring.average_precision import CocoImages

# IoU or OKS at which F1 is computed.
SIMILARITY = 0.5
# Standard errors from which confidences are reversed.
FEW_ERRORS = 4


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The lowest confidence that counts, and the F1 of the remaining items at IoU (OKS)
    0.5 over all classes.
    """

    min_score: float
    f1: float


def best_f1(images: CocoImages) -> OperatingPoint | None:
    """Return the confidence with the largest F1 = 2·TP / (predictions + truths) of a
    data set; the highest if several are equal. None if there is no ground truth or no
    prediction.

    Items are matched as in ``COCOeval`` at IoU (OKS) 0.5; predictions in crowd regions
    do not count.
    """
    scores, right, truths = images.matches(SIMILARITY)
    if not truths or not len(scores):
        return None
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    hits = np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(scores) + 1) + truths)
    last = np.flatnonzero(np.diff(scores, append=-np.inf))
    best = last[int(np.argmax(f1[last]))]
    return OperatingPoint(float(scores[best]), float(f1[best]))


def reversed_confidences(images: CocoImages) -> bool:
    """Return whether wrong predictions have higher confidences than right ones, beyond
    chance: by the correlation of both."""
    scores, right, _ = images.matches(SIMILARITY)
    return (
        False
        if not len(set(scores)) > 1 < len(set(right))
        else bool(
            np.corrcoef(scores, right)[0, 1] * len(scores) ** 0.5 < -FEW_ERRORS
        )
    )


def shown_at(
    prediction: Prediction, min_score: float | None, top_k: int | None
) -> Prediction:
    """Return the prediction with only the items of confidence ``min_score`` and above,
    and at most the ``top_k`` highest.

    Raises
    ------
    DataError
        If an item has no confidence.
    """
    if prediction.count is None or (min_score is None and top_k is None):
        return prediction
    items: tuple[Any, ...] = prediction.items  # type: ignore[attr-defined]
    scores = [item.score for item in items]
    if None in scores:
        raise DataError(
            "score: is missing; `min_score` and `top_k` need the confidence of every "
            "prediction"
        )
    order = sorted(range(len(scores)), key=lambda k: -scores[k])
    selected = sorted(
        k for k in order[:top_k] if min_score is None or scores[k] >= min_score
    )
    return replace(prediction, items=tuple(items[k] for k in selected))  # type: ignore[type-var]


def confident(sides: Iterable[Prediction]) -> bool:
    """Return whether there are items and all of them have a confidence."""
    items = [item for side in sides for item in getattr(side, "items", ())]
    return bool(items) and all(
        getattr(item, "score", None) is not None for item in items
    )
