"""Arrays of notebooks: NumPy, PIL images, torch tensors and whatever has the array
protocol. Files of arrays are in ``arrays.py``.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.errors import DataError, in_field


def array_of(value: Any) -> NDArray[Any] | None:
    """Return the NumPy array of an array-like object; None for others, also for
    lists."""
    if hasattr(
        value, "cpu"
    ):  # a torch tensor, which may need a gradient or be on a GPU
        value = value.detach().cpu()
        if "bfloat16" in str(value.dtype):  # NumPy has none
            value = value.float()
    _refuse_masked(value)
    like = hasattr(value, "__array__") or hasattr(value, "__array_interface__")
    return (
        np.asarray(value)
        if like and not isinstance(value, np.generic)
        else None
    )


def _refuse_masked(value: Any) -> None:
    """Refuse an array whose mask NumPy would drop without a word."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise DataError(
            "must have no masked elements; fill them or leave them out"
        )


def shaped(
    value: Any,
    field: str,
    shape: tuple[str | int, ...],
    words: str,
    kinds: str = "iuf",
) -> NDArray[Any]:
    """Return an array-like object as an array of ``shape``, in which a name stands for
    any length. ``kinds`` are NumPy's letters of the allowed dtypes, and ``words`` tells
    them in errors.

    Raises
    ------
    DataError
        If it has another shape or dtype.
    """
    with in_field(field):
        for item in value if isinstance(value, list | tuple) else (value,):
            _refuse_masked(item)
    try:
        array = (
            np.asarray(value)
            if isinstance(value, list | tuple)
            else array_of(value)
        )
    except ValueError:  # lists of different lengths
        array = None
    if array is not None and not array.size and shape[0] == "N":
        array = np.zeros(
            [0 if isinstance(side, str) else side for side in shape], np.intp
        )
    wanted = f"must be ({', '.join(map(str, shape))}) {words}"
    if array is None:
        raise DataError(f"{field}: {wanted}, got {type(value).__name__}")
    pairs = zip(array.shape, shape, strict=False)
    if array.ndim != len(shape) or any(
        isinstance(b, int) and a != b for a, b in pairs
    ):
        raise DataError(f"{field}: {wanted}, got {array.shape}")
    if array.dtype.kind not in kinds:
        raise DataError(f"{field}: {wanted}, got {array.dtype}")
    return array


def supervision_columns(data: Any) -> Any:
    """Return supervision's ``Detections`` as a mapping of arrays; others as they
    are."""
    if not (hasattr(data, "xyxy") and hasattr(data, "class_id")):
        return data
    names = data.data.get("class_name")
    return {
        "boxes": data.xyxy,
        "masks": data.mask if len(data.xyxy) else [],
        "scores": data.confidence,
        "labels": (data.class_id if names is None else names),
    }


def rows(
    data: Mapping[str, Any], count: int, **columns: list[Any]
) -> list[dict[str, Any]]:
    """Return ``count`` items with the values of ``columns``, and the ``labels`` and
    ``scores`` of a mapping. Labels may be numbers, with their names in ``classes``.
    """
    columns["label"] = _labels(data, count)
    if data.get("scores") is not None:
        columns["score"] = shaped(
            data["scores"], "scores", ("N",), "float"
        ).tolist()
    for name, values in columns.items():
        if len(values) != count:
            raise DataError(
                f"{name}s: must be {count}, one for each item, got {len(values)}"
            )
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


def _labels(data: Mapping[str, Any], count: int) -> list[str]:
    stated = data.get("labels")
    classes = data.get("classes")
    if stated is None and count:
        raise DataError("labels: must be given, one for each item")
    array = array_of(stated)
    labels = list(stated or ()) if array is None else array.tolist()
    if classes is not None:
        names = (
            classes
            if isinstance(classes, Mapping)
            else dict(enumerate(classes))
        )
        unknown = [label for label in labels if label not in names]
        if unknown:
            raise DataError(f"labels: must be in classes, got {unknown[0]!r}")
        labels = [names[label] for label in labels]
    for label in labels:
        if not isinstance(label, str):
            raise DataError(
                'labels: must be names, or numbers with "classes": {1: "road"}, '
                f"got {label!r:.40} without classes"
            )
    return labels
