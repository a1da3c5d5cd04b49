"""Do the true scores of all annotations put the sources in the order of the questions that were
drawn?
"""

from __future__ import annotations

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.judged_items import Items
from visualjudge.analysis.study_table import Study, unchanged
from visualjudge.core.records import FloatArray


def overturned(study: Study, found: Items, true: FloatArray) -> tuple[tuple[str, str], ...]:
    """Pairs of comparable sources: the first has the higher mean true score, the second the higher
    ``true`` (S,).

    The scores are those of all different annotations in the dataset's questions, asked or not.
    """
    scores, group = _mean_scores(study, found), found.group
    first, second = np.triu_indices(group.size, 1)
    same = group[first] == group[second]
    by_score, by_questions = (np.round(x[first] - x[second], 9) for x in (scores, true))
    turned = np.flatnonzero(same & (np.sign(by_score) * np.sign(by_questions) < 0))
    pairs = ((first[k], second[k]) if by_score[k] > 0 else (second[k], first[k]) for k in turned)
    return tuple((found.names[above], found.names[below]) for above, below in pairs)


def _mean_scores(study: Study, found: Items) -> FloatArray:
    """The mean true score of each source in its group (S,)."""
    lists = ["annotations", "sources", "scores"]
    asked = study.questions.lazy().filter(unchanged()).select("task", *lists).explode(lists)
    each = asked.select(pl.col("task", "annotations", "sources").cast(pl.String), "scores")
    known = each.unique(["task", "annotations", "sources"]).rename({"sources": "source"}).collect()
    placed = known.join(found.places, on=["task", "source"])
    place, score = placed["place"].to_numpy(), placed["scores"].cast(pl.Float64).to_numpy()
    size = len(found.names)
    count = np.bincount(place, minlength=size)
    total = np.bincount(place, score, size)
    return np.asarray(np.divide(total, count, out=np.full(size, np.nan), where=count > 0))
