"""What guessing gets of pairwise questions.

A tie that a question allows and that is right for no question gives a guess no chance: who never
chooses it is right in half of the pairs without looking.
"""

from __future__ import annotations

import polars as pl

from visualjudge.analysis.pairwise_figures import OF_TWO
from visualjudge.analysis.study_table import Study, unchanged


def guessed(questions: pl.DataFrame) -> float:
    """The mean over pairwise ``questions`` of the share right of a guess among A, B and the ties
    that the question allows and that are right for any of the questions; ½ of none.
    """
    right = questions["answer"].unique().implode()
    return _share(questions, pl.col("ties").list.set_intersection(right).list.len())


def guessed_among_allowed(questions: pl.DataFrame) -> float:
    """As :func:`guessed`, with all ties that a question allows: where a curve of accuracy begins,
    for a judge that chooses ties of pairs that hardly differ.
    """
    return _share(questions, pl.col("ties").list.len())


def _share(questions: pl.DataFrame, ties: pl.Expr) -> float:
    found = questions.select((1 / (2 + ties.fill_null(0))).mean()).item()
    return OF_TWO if found is None else float(found)


def pairwise_asked(study: Study, run: int) -> pl.DataFrame:
    """The pairwise questions that a run answered, without those that a probe has changed: their
    task, ties and answer.
    """
    asked = pl.Series(study.asked[run]).cast(study.questions.schema["question"])
    kept = (pl.col("kind") == "pairwise") & unchanged() & pl.col("question").is_in(asked.implode())
    return study.questions.lazy().filter(kept).select("task", "ties", "answer").collect()


def guessed_by_task(asked: pl.DataFrame) -> dict[str, float]:
    """:func:`guessed` of each task."""
    return {str(task): guessed(part) for (task,), part in asked.group_by("task")}
