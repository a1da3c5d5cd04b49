"""What guessing gets of pairwise questions: one in as many as answers are allowed, A, B and the
question's ties.
"""

from __future__ import annotations

import polars as pl

from visualjudge.analysis.join import Study, unchanged
from visualjudge.analysis.pairwise_figures import OF_TWO


def guessed(questions: pl.DataFrame) -> float:
    """The mean over pairwise ``questions`` of the share right of a guess; ½ of none."""
    found = questions.select((1 / (2 + pl.col("ties").list.len().fill_null(0))).mean()).item()
    return OF_TWO if found is None else float(found)


def pairwise_asked(study: Study, run: int) -> pl.DataFrame:
    """The pairwise questions that a run answered, without those that a probe has changed: their
    task and ties.
    """
    asked = pl.Series(study.asked[run]).cast(study.questions.schema["question"])
    kept = (pl.col("kind") == "pairwise") & unchanged() & pl.col("question").is_in(asked.implode())
    return study.questions.lazy().filter(kept).select("task", "ties").collect()


def guessed_by_task(asked: pl.DataFrame) -> dict[str, float]:
    """:func:`guessed` of each task."""
    return {str(task): guessed(part) for (task,), part in asked.group_by("task")}
