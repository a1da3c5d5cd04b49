"""Errors of labelled items (boxes or masks), named as in TIDE (Bolya et al., ECCV
2020). Errors of one type are in ``vision/<type>/errors.py``; faults that are measured,
in ``scoring/item_faults.py``.

Errors are nested: a more severe prediction has all errors of a milder one, and more.
"""

from dataclasses import replace
from typing import Any, TypeVar

from visualjudge.vision.errors.levels import (
    ErrorScene,
    Perturbation,
    Rng,
    counted,
)
from visualjudge.vision.errors.matched import ItemErrors
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.rows import ErrorType

# IoU of an item at severity 1, just below the lowest matching threshold.
LOWEST_IOU = 0.45
Items = TypeVar("Items", bound=LabelledItems)


def classification(
    truth: Items, severity: float, scene: ErrorScene, rng: Rng
) -> Items:
    """Some objects get another label of the data set."""
    order = rng.permutation(len(truth.items))
    wrong = [scene.wrong_label(item.label, rng) for item in truth.items]
    struck = set(order[: counted(severity, len(order))].tolist())
    return truth.with_items(
        replace(item, label=wrong[k]) if k in struck else item
        for k, item in enumerate(truth.items)
    )


def missed(
    truth: Items, severity: float, _scene: ErrorScene, rng: Rng
) -> Items:
    """Some objects are missing."""
    order = rng.permutation(len(truth.items))
    gone = set(order[: counted(severity, len(order))].tolist())
    return truth.with_items(
        item for k, item in enumerate(truth.items) if k not in gone
    )


def something(truth: Any, _scene: ErrorScene) -> bool:
    """Return whether the truth has items."""
    return len(truth.items) > 0


def two_labels(truth: Any, scene: ErrorScene) -> bool:
    """Return whether the truth has items and the data set has at least two labels."""
    return len(truth.items) > 0 and len(set(scene.labels)) > 1


def item_errors(
    type: str,
    matched: ItemErrors,
    localization: Perturbation,
    duplicate: Perturbation,
    background: Perturbation,
) -> tuple[ErrorType, ...]:
    """Return the five errors of a type of labelled items, from those that depend on the
    type."""
    return (
        ErrorType(
            type,
            "classification",
            classification,
            two_labels,
            None,
            matched.classification,
        ),
        ErrorType(
            type,
            "localization",
            localization,
            something,
            None,
            matched.localization,
        ),
        ErrorType(
            type, "duplicate", duplicate, something, None, matched.duplicate
        ),
        ErrorType(
            type, "background", background, something, None, matched.background
        ),
        ErrorType(type, "missed", missed, something, None, matched.missed),
    )
