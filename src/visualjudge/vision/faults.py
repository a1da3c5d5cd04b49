"""How a prediction differs from its ground truth: kinds, places and weights. The
measures are in ``vision/<type>/faults.py``. Errors made on purpose are in
``vision/errors``.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from visualjudge.core.errors import DataError
from visualjudge.core.records import Fault, Pixels
from visualjudge.core.typed_records import first_problem
from visualjudge.vision.predictions import Prediction, type_of
from visualjudge.vision.tasks import TASKS

# An annotation states its heaviest faults, so that dense images do not fill a dataset.
MOST_FAULTS = 100
_STATED = TypeAdapter(tuple[Fault, ...] | None)


def kinds_of(task: str) -> Mapping[str, str]:
    """Return the kinds of faults of a task's predictions, each with a clause that
    describes it; empty without a measure, as of tasks that are not ours.
    """
    row = type_of(task).faults if task in TASKS else None
    return {} if row is None else row.kinds


def faults_of(
    task: str,
    prediction: Prediction,
    truth: Prediction,
    labels: Collection[str] | None = None,
    input_image: Pixels | None = None,
) -> dict[str, Any]:
    """Return the ``metadata`` of an annotation about its faults: ``{"faults": […]}``,
    heaviest first, with boxes in pixels to one decimal; empty if its type has no
    measure or the sides cannot be compared.

    Parameters
    ----------
    prediction
        What the annotation shows: only items of ``labels``.
    truth
        The ground truth with all labels.
    labels
        The class of interest; None = all.
    input_image
        The input of a restoration, H×W×3 uint8 RGB.
    """
    row = type_of(task).faults
    if row is None:
        return {}
    try:
        return _stated(row.measure(prediction, truth, labels, input_image))
    except DataError:
        return {}


def faults_by_class(
    task: str,
    prediction: Prediction,
    truth: Prediction,
    labels: Collection[str],
) -> dict[str, dict[str, Any]]:
    """Return :func:`faults_of` with each of ``labels`` as the class of interest; items
    are compared only once. ``prediction`` has the items of all labels.
    """
    row = type_of(task).faults
    if row is None or row.by_class is None:
        return {
            label: faults_of(task, prediction.only((label,)), truth, (label,))
            for label in labels
        }
    try:
        return {
            label: _stated(faults)
            for label, faults in row.by_class(prediction, truth, labels)
        }
    except DataError:
        return {label: {} for label in labels}


def _stated(faults: Iterable[Fault]) -> dict[str, Any]:
    measured = sorted(faults, key=lambda fault: -fault.weight)
    heaviest = [
        {
            "kind": fault.kind,
            "box": [round(float(v), 1) for v in fault.box],
            "weight": round(float(fault.weight), 4),
            **({"item": fault.item} if fault.item else {}),
        }
        for fault in measured[:MOST_FAULTS]
    ]
    return {"faults": [fault for fault in heaviest if fault["weight"]]}


def stated_faults(metadata: Mapping[str, Any]) -> tuple[Fault, ...] | None:
    """Return the faults in the ``metadata`` of an annotation; None if it states none.

    Raises
    ------
    ValueError
        If they are malformed.
    """
    try:
        return _STATED.validate_python(metadata.get("faults"))
    except ValidationError as error:
        place, reason = first_problem(error)
        raise ValueError(
            ": ".join((".".join(("faults", *place)), reason))
        ) from None
