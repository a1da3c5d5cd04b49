"""Describe a data folder: counts, scores and margins, by task, source and error type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import UsageError
from visualjudge.core.records import Annotation
from visualjudge.dataset.sampling import Group, group

NONE = "(none)"
MARGINS_A_GROUP = 500
"""Number of pairs examined per group: enough for a median in groups of any size."""


@dataclass
class Slice:
    """Scores of a part of a data folder, and the margins of pairs that include one of its
    annotations.
    """

    name: str
    scores: list[float] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)
    images: set[str] = field(default_factory=set)
    groups: int = 0

    def row(self) -> dict[str, Any]:
        """Return a JSON record: counts, quartiles of the scores, median margin; None without
        data.
        """
        low, middle, high = _quartiles(self.scores)
        return {
            "name": self.name,
            "annotations": len(self.scores),
            "images": len(self.images),
            "groups": self.groups,
            "pairs": len(self.margins),
            "score_q1": low,
            "score_median": middle,
            "score_q3": high,
            "margin_median": _quartiles(self.margins)[1],
        }


@dataclass(frozen=True)
class Threshold:
    """The bounds on a source's predictions that are shown and scored; all if every bound is
    None.
    """

    source: str
    min_score: float | None
    top_k: int | None
    score_at: str | None
    annotations: int = 0

    def __str__(self) -> str:
        point = "" if self.score_at is None else f" ({self.score_at})"
        least = [] if self.min_score is None else [f"confidence ≥ {self.min_score:.4g}{point}"]
        most = [] if self.top_k is None else [f"the {self.top_k} most confident of an image"]
        return (
            f"{self.source}: {', '.join(least + most) or 'all predictions'}, {self.annotations} "
            "annotations"
        )


@dataclass
class Description:
    """One task: overall, by source and by error type."""

    task: str
    whole: Slice
    by_source: list[Slice]
    by_error_type: list[Slice]
    thresholds: list[Threshold]

    def to_json(self) -> dict[str, Any]:
        """Return a record for JSON."""
        return {
            "task": self.task,
            **{key: value for key, value in self.whole.row().items() if key != "name"},
            "by_source": [part.row() for part in self.by_source],
            "by_error_type": [part.row() for part in self.by_error_type],
            "thresholds": [asdict(one) for one in self.thresholds],
        }


def describe(task: str, annotations: Sequence[Annotation]) -> Description:
    """Return counts, scores and margins of one task's annotations. A margin is the difference of
    two scores of one group.
    """
    groups = group(task, annotations)
    return Description(
        task,
        _slice(annotations, groups, "all", lambda _: "all"),
        _parts(annotations, groups, lambda note: note.source or NONE),
        _parts(annotations, groups, lambda note: note.error_type or NONE),
        _thresholds(annotations),
    )


def _thresholds(annotations: Sequence[Annotation]) -> list[Threshold]:
    """Return the thresholds by source, if any record has them."""
    stated = [_threshold(note) for note in annotations]
    if all((one.min_score, one.top_k, one.score_at) == (None, None, None) for one in stated):
        return []
    times = Counter(stated)
    return [replace(one, annotations=times[one]) for one in sorted(times, key=str)]


def _threshold(note: Annotation) -> Threshold:
    data = note.metadata
    return Threshold(
        note.source or NONE, data.get("min_score"), data.get("top_k"), data.get("score_at")
    )


def plot(descriptions: Sequence[Description], path: Path) -> None:
    """Plot histograms of scores and margins with one row per task, in the format of the suffix of
    ``path``.

    Raises
    ------
    UsageError
        If Matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise UsageError("--out needs Matplotlib: pip install 'visualjudge[plot]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        len(descriptions), 2, figsize=(9, 1.1 + 1.3 * len(descriptions)), squeeze=False, sharex=True
    )
    bins = np.linspace(0, 10, 21)
    for (left, right), one in zip(axes, descriptions, strict=True):
        left.hist(one.whole.scores, bins=bins, color="#4363d8")
        right.hist(one.whole.margins, bins=bins, color="#f58231")
        left.set_ylabel(one.task, rotation=0, ha="right", va="center", fontsize=8)
        for axis in (left, right):
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(labelsize=7)
    axes[0][0].set_title("final_score", fontsize=9)
    axes[0][1].set_title("margin of the pairs in a group", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _parts(
    annotations: Sequence[Annotation], groups: Sequence[Group], name_of: Callable[[Annotation], str]
) -> list[Slice]:
    names = sorted({name_of(note) for note in annotations})
    return [_slice(annotations, groups, name, name_of) for name in names]


def _slice(
    annotations: Sequence[Annotation],
    groups: Sequence[Group],
    name: str,
    name_of: Callable[[Annotation], str],
) -> Slice:
    """Return the annotations with this name."""

    def holds(note: Annotation) -> bool:
        return name_of(note) == name

    own = [note for note in annotations if holds(note)]
    part = Slice(name, [note.final_score for note in own], images={note.image_id for note in own})
    for one in groups:
        if any(map(holds, one.members)):
            part.groups += 1
            part.margins += _margins(one.members, holds)
    return part


def _margins(members: Iterable[Annotation], holds: Callable[[Annotation], bool]) -> list[float]:
    """Return the score differences of pairs with one of the part's annotations."""
    pairs = (pair for pair in combinations(members, 2) if any(map(holds, pair)))
    margins = [
        abs(first.final_score - second.final_score)
        for first, second in islice(pairs, MARGINS_A_GROUP)
    ]
    return [margin for margin in margins if margin > 0]


def _quartiles(values: list[float]) -> tuple[float | None, float | None, float | None]:
    if not values:
        return None, None, None
    low, middle, high = (round(float(v), 4) for v in np.percentile(values, [25, 50, 75]))
    return low, middle, high
