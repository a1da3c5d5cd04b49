"""Describe a data folder: counts, scores and margins, by task, source and error type.
Checks of a dataset are in ``validate.py``.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, islice
from typing import Any

import numpy as np

from visualjudge.core.records import Annotation
from visualjudge.dataset.sampling import Group, group

NONE = "(none)"
MARGINS_A_GROUP = 500
"""Number of pairs examined per group: enough for a median in groups of any size."""
NameOf = Callable[[Annotation], str]


@dataclass(frozen=True)
class Slice:
    """A part of a task's annotations: counts, quartiles of the scores, and the median
    margin of pairs with one of them; None without data.
    """

    name: str
    annotations: int
    images: int
    groups: int
    pairs: int
    score_q1: float | None
    score_median: float | None
    score_q3: float | None
    margin_median: float | None


@dataclass(frozen=True)
class Threshold:
    """The bounds on a source's predictions that are shown and scored; all if every
    bound is None.
    """

    source: str
    min_score: float | None
    top_k: int | None
    score_at: str | None
    annotations: int = 0

    def __str__(self) -> str:
        point = "" if self.score_at is None else f" ({self.score_at})"
        least = (
            []
            if self.min_score is None
            else [f"confidence ≥ {self.min_score:.4g}{point}"]
        )
        most = (
            []
            if self.top_k is None
            else [f"the {self.top_k} most confident of an image"]
        )
        bounds = ", ".join(least + most) or "all predictions"
        return f"{self.source}: {bounds}, {self.annotations} annotations"


@dataclass(frozen=True)
class Description:
    task: str
    whole: Slice
    by_source: list[Slice]
    by_error_type: list[Slice]
    thresholds: list[Threshold]

    def to_json(self) -> dict[str, Any]:
        record = asdict(self)
        whole = record.pop("whole")
        del whole["name"]
        return {"task": record.pop("task"), **whole, **record}


def describe(task: str, annotations: Sequence[Annotation]) -> Description:
    """Return counts, scores and margins of one task's annotations. A margin is the
    difference of two scores of one group. A controlled error has a type, but is of no
    source: its severity is no model.
    """
    groups = group(annotations)
    of_models = [
        note for note in annotations if note.metadata.get("severity") is None
    ]
    return Description(
        task,
        _slice(annotations, groups, "all", lambda _: "all"),
        _slices(of_models, groups, lambda note: note.source or NONE),
        _slices(annotations, groups, lambda note: note.error_type or NONE),
        _thresholds(annotations),
    )


def _thresholds(annotations: Sequence[Annotation]) -> list[Threshold]:
    known = ((note.source or NONE, note.metadata) for note in annotations)
    times = Counter(
        Threshold(
            source,
            data.get("min_score"),
            data.get("top_k"),
            data.get("score_at"),
        )
        for source, data in known
    )
    stated = any(
        (time.min_score, time.top_k, time.score_at) != (None, None, None)
        for time in times
    )
    return [
        replace(time, annotations=times[time])
        for time in sorted(times, key=str)
        if stated
    ]


def _slices(
    annotations: Sequence[Annotation], groups: Sequence[Group], name_of: NameOf
) -> list[Slice]:
    return [
        _slice(annotations, groups, name, name_of)
        for name in sorted(set(map(name_of, annotations)))
    ]


def _slice(
    annotations: Sequence[Annotation],
    groups: Sequence[Group],
    name: str,
    name_of: NameOf,
) -> Slice:
    own = [note for note in annotations if name_of(note) == name]
    held = [
        item for item in groups if any(name_of(note) == name for note in item)
    ]
    margins = [
        margin for item in held for margin in _margins(item, name, name_of)
    ]
    return Slice(
        name,
        len(own),
        len({note.image_id for note in own}),
        len(held),
        len(margins),
        *_quartiles([note.final_score for note in own]),
        _quartiles(margins)[1],
    )


def _margins(pool: Group, name: str, name_of: NameOf) -> list[float]:
    pairs = (
        pair
        for pair in combinations(pool, 2)
        if name in (name_of(pair[0]), name_of(pair[1]))
    )
    differences = (
        abs(a.final_score - b.final_score)
        for a, b in islice(pairs, MARGINS_A_GROUP)
    )
    return [margin for margin in differences if margin > 0]


def _quartiles(
    values: list[float],
) -> tuple[float | None, float | None, float | None]:
    if not values:
        return None, None, None
    low, middle, high = (
        round(float(v), 4) for v in np.percentile(values, [25, 50, 75])
    )
    return low, middle, high
