"""Accuracy by task, encoding, error type or margin, and that of guessing. Its intervals
are in ``estimate.py``; the sections that show it, in ``figures/accuracy.py`` and
``figures/tasks_and_encodings.py``.

A guess never picks a tie option that is the right answer to no question, so a pair
without right ties has a guessing accuracy of one half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from visualjudge.analysis.answers import has_truth, where_known
from visualjudge.analysis.image_sums import image_sums
from visualjudge.analysis.pairwise_verdicts import OF_TWO, Accuracy
from visualjudge.analysis.ranking_and_scoring import Ranking, Scoring
from visualjudge.analysis.study_table import Study, unchanged
from visualjudge.analysis.value_and_interval import NOTHING, Estimate


@dataclass(frozen=True)
class Cell:
    """One task, encoding, error type or margin, with ``keys`` in the order of its
    table's key columns.
    """

    keys: tuple[tuple[str, str], ...]
    accuracy: Accuracy
    ranking: Ranking | None = None
    scoring: Scoring | None = None

    @property
    def name(self) -> str:
        """The keys joined: ``object_detection/text_xyxy``."""
        return "/".join(value for _, value in self.keys)

    @property
    def without_truth(self) -> Cell:
        """The cell without what needs right answers."""
        scoring = self.scoring and self.scoring.without_truth
        return replace(
            self,
            accuracy=self.accuracy.without_truth,
            scoring=scoring,
        )

    @property
    def graded(self) -> dict[str, Estimate]:
        """The main figures of its ranking and scoring questions, by title."""
        result = (
            {} if self.ranking is None else {"ranking, τ-b": self.ranking.tau}
        )
        if self.scoring is not None:
            result["scoring, τ-b in an image"] = self.scoring.within
            result["scoring, mean error"] = self.scoring.mae
        return result


NO_ACCURACY = Accuracy(
    NOTHING,
    0,
    None,
    NOTHING,
    None,
    {},
)


_COUNTS = {
    "n": pl.col("usable").is_not_null(),
    "right": pl.col("right"),
    "usable": pl.col("usable"),
    "said_first": pl.col("said_first"),
    "placed": pl.col("said_first").is_not_null(),
}


def causes(
    failed: pl.DataFrame, by: Sequence[str]
) -> dict[tuple[str, ...], dict[str, int]]:
    """Count failed replies by cause in each cell of ``by``."""
    failed = failed.group_by([*by, "cause"]).len().sort([*by, "cause"])
    out: dict[tuple[str, ...], dict[str, int]] = {}
    for row in failed.iter_rows():
        out.setdefault(tuple(map(str, row[: len(by)])), {})[str(row[-2])] = int(
            row[-1]
        )
    return out


def accuracy_cells(table: pl.DataFrame, by: Sequence[str]) -> tuple[Cell, ...]:
    """Return the accuracy of each cell of ``by``, with failed verdicts counted as
    wrong, and the accuracy if all of them had been right; of the questions whose truth is
    known, if any is.
    """
    table = where_known(table)
    if table.is_empty():
        return ()
    sums = image_sums(table, by, _COUNTS)
    every = sums.shares("right", "n")
    read = sums.shares("right", "usable")
    totals = {name: sums.total(name) for name in _COUNTS}
    failed = causes(table.filter(~pl.col("usable")), by)
    rows = []
    for k, words in enumerate(sums.keys.rows()):
        keys = tuple(zip(by, words, strict=False))
        n, parsed, right = (
            totals[name][k] for name in ("n", "usable", "right")
        )
        accuracy = Accuracy(
            every[k],
            int(n - parsed),
            float(right + n - parsed) / float(n),
            read[k],
            float(totals["said_first"][k] / parsed)
            if totals["placed"][k]
            else None,
            failed.get(tuple(value for _, value in keys), {}),
        )
        rows.append(Cell(keys, accuracy))
    return tuple(
        row.without_truth if table["right"].null_count() else row
        for row in rows
    )


def accuracy(table: pl.DataFrame) -> Accuracy:
    """Return the accuracy over all rows of ``table``."""
    rows = accuracy_cells(table, ())
    return rows[0].accuracy if rows else NO_ACCURACY


def guessed(questions: pl.DataFrame) -> float:
    """Return the accuracy of guessing: the mean over pairwise ``questions`` of the
    chance that a random choice among A, B and the ties is right. Ties count if the
    question allows them and they are the right answer to any of the questions. Returns
    ½ if there are no questions.
    """
    right = questions["answer"].unique().implode()
    ties = pl.col("ties").list.set_intersection(right).list.len()
    result = questions.select((1 / (2 + ties.fill_null(0))).mean()).item()
    return OF_TWO if result is None else float(result)


def guessed_among_used(pairs: pl.DataFrame) -> float:
    """Return the chance that a random choice among A, B and the ties that a judge
    answered is right. Its accuracy curve starts at this value: where pairs hardly
    differ, it may answer "tie".
    """
    return 1 / (2 + pairs.filter("tie")["text"].n_unique())


def pairwise_asked(study: Study, run: int) -> pl.DataFrame:
    """Return task, allowed ties and answer of the pairwise questions of known truth that
    a run answered, without those that a probe changed.
    """
    asked = pl.Series(study.asked[run]).cast(study.questions.schema["question"])
    selected = (
        (pl.col("kind") == "pairwise")
        & unchanged()
        & has_truth()
        & pl.col("question").is_in(asked.implode())
    )
    return (
        study.questions.lazy()
        .filter(selected)
        .select("task", "ties", "answer")
        .collect()
    )


def by_task(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows of each task, by its name, sorted."""
    parts = table.partition_by("task", as_dict=True)
    return sorted((str(task), part) for (task,), part in parts.items())
