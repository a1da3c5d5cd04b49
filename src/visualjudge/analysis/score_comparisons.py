"""Comparisons of two judges by their scores of the same items.

Two measures, each a paired difference with images as the unit: the rank correlation
with the truth, as the mean over tasks, and the mean absolute error. Items that one of
the two did not score are left out.
"""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from visualjudge.analysis.score_scale import scale_of
from visualjudge.analysis.scores import scores_of
from visualjudge.analysis.statistics.score_agreement import (
    Figure,
    Scores,
    of_items,
    weighted_mean,
)
from visualjudge.analysis.study_table import Study

KEYS = ("question", "repeat")
Measure = Callable[[Scores], Figure]
MEASURES: dict[str, Measure] = {
    "spearman": lambda scores: scores.spearman,
    "mae": lambda scores: scores.mae,
}
Gaps = list[tuple[str, Figure, Figure]]
"""Task, and the figures of two judges."""


def common_scores(study: Study, i: int, j: int) -> pl.DataFrame:
    """Return the items that both judges scored: question, task, cluster, truth (null if
    unknown), usable, number and number_b.
    """
    people = study.runs[i].of_people or study.runs[j].of_people
    keys = KEYS[:1] if people else KEYS
    a, b = (
        study.kind(
            k,
            "scoring",
            (*keys, "task", "cluster", "usable", "number", "truth"),
        ).filter("usable")
        for k in (i, j)
    )
    both = a.join(b.select(*keys, "number"), on=keys, suffix="_b")
    return both.with_columns(pl.col("task").cast(pl.String)).sort(
        "task", "cluster"
    )


def score_gaps(study: Study, both: pl.DataFrame) -> Iterator[tuple[str, Gaps]]:
    """Yield each measure, and its figures of both judges over tasks ("") and by
    task."""
    step = scale_of(study).step
    second = both.with_columns(number=pl.col("number_b"))
    whole = scores_of(both, step), scores_of(second, step)
    task = both["task"].to_numpy()
    names = np.unique(task).tolist()
    parts = [[of_items(own, task == name) for name in names] for own in whole]
    for name, measure in MEASURES.items():
        figures = [list(map(measure, own)) for own in parts]
        rows = list(zip(names, *figures, strict=True))
        over = [weighted_mean(own) for own in figures]
        yield name, [("", over[0], over[1]), *rows]
