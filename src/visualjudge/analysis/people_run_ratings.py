"""A people's run as ratings: each verdict belongs to the rater that its line names.

Scores are ratings of the image's source, as those of a judge are. A pairwise choice is a rating of
its question: 1 where the first option as stored was chosen, 0 where the second was; a judge that
was asked in both orders gets the mean. What a person could not tell is no rating; nor are repeats
and known items, which are there to check the rater.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from visualjudge.analysis.leaderboard import points
from visualjudge.analysis.load import load_study
from visualjudge.analysis.rating_table import COLUMNS, ratings_of_run
from visualjudge.analysis.run_warnings import NO_REMARKS, Remarks, remarks_on

CHOICE = "first option"
"""The source of a rating that is a choice between two options."""


@dataclass(frozen=True, eq=False)
class RunRatings:
    """Ratings as a table (COLUMNS, ``kind``, ``image``), and the judges' names, also of those that
    rated nothing.
    """

    table: pl.DataFrame
    judges: tuple[str, ...]
    rankings: int = 0
    """Answers of people to rankings, which are no ratings."""
    remarks: Remarks = NO_REMARKS


def ratings_of_runs(folders: Sequence[str | Path]) -> RunRatings:
    """The verdicts of runs as ratings: of people by rater, of other runs by judge.

    Pairwise choices are among them where one of the runs is a people's run.

    Raises
    ------
    DataError
        If a run or its dataset cannot be read.
    """
    studies = [load_study([folder]) for folder in folders]
    asked = any(study.runs[0].of_people for study in studies)
    tables, rankings = [], 0
    for study in studies:
        run, joined = study.runs[0], study.joined[0]
        if run.of_people:
            named = joined.filter("parsed")
            tables += [_scores(named), _choices(named, "person")]
            rankings += named.filter(pl.col("kind") == "ranking").height
        else:
            tables.append(ratings_of_run(joined, run.name))
            tables += (
                [_choices(joined.with_columns(rater=pl.lit(run.name)), "judge")] if asked else []
            )
    judges = tuple(study.runs[0].name for study in studies if not study.runs[0].of_people)
    runs = (study.runs[0] for study in studies)
    return RunRatings(pl.concat(tables, how="vertical"), judges, rankings, remarks_on(runs))


def _scores(named: pl.DataFrame) -> pl.DataFrame:
    """Scores as :func:`ratings_of_run` makes them, one table of all raters."""
    parts = [
        ratings_of_run(part, str(rater))
        for (rater,), part in named.group_by(["rater"], maintain_order=True)
    ]
    return (
        pl.concat(parts).with_columns(kind=pl.lit("person")) if parts else ratings_of_run(named, "")
    )


def _choices(named: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Choices between two options, one rating a question and rater."""
    pairs = named.filter((pl.col("kind") == "pairwise") & pl.col("parsed"))
    dimension = pl.col("task").cast(pl.String) + "/pairwise"
    return (
        pairs.group_by(
            item=pl.col("id").cast(pl.String),
            rater="rater",
            dimension=dimension,
            maintain_order=True,
        )
        .agg(
            score=points("text").mean(),
            source=pl.lit(CHOICE).first(),
            kind=pl.lit(kind).first(),
            image=pl.col("image").cast(pl.String).first(),
        )
        .select(*COLUMNS, "kind", "image")
    )
