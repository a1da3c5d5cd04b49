"""A dataset and its runs, arranged for looking: filtered lists, one question with every verdict, its pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from visualjudge.analysis.join import Run, join, question_table
from visualjudge.analysis.load import load_run, read_reply
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.records import Question

PAGE = 50
FILTERS = ("task", "encoding", "kind", "error_type", "outcome")
OUTCOMES = {
    "right": "every verdict is right",
    "mixed": "some verdicts are right and some wrong: the orders, repeats or judges disagree",
    "wrong": "every verdict is wrong",
    "failed": "a reply could not be used",
    "not asked": "there is no verdict",
}


@dataclass(frozen=True, eq=False)
class Shelf:
    """Questions by id and in order, and each run's verdicts on them."""

    dataset: Dataset
    runs: tuple[Run, ...]

    @cached_property
    def questions(self) -> dict[str, Question]:
        """The questions by id."""
        return {q.id: q for q in self.dataset.questions}

    @cached_property
    def pictures(self) -> frozenset[str]:
        """The only files that are ever served: those that a question names."""
        return frozenset(name for q in self.dataset.questions for name in q.images)

    @cached_property
    def _joined(self) -> tuple[pl.DataFrame, ...]:
        table = question_table(self.dataset.questions)
        return tuple(join(table, run) for run in self.runs)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row a question, with ``outcome``: (OUTCOMES) over all its verdicts and how many of them are ``right``."""
        base = question_table(self.dataset.questions).select("id", "task", "encoding", "kind", "image", "error_type")
        exact = pl.when(pl.col("kind") == "ranking").then(pl.col("text") == pl.col("answer"))
        close = exact.otherwise((pl.col("number") - pl.col("truth")).abs() <= 1)
        right = pl.when(pl.col("kind") == "pairwise").then(pl.col("right")).otherwise(close)
        good = (pl.col("parsed") & right).fill_null(False)
        seen = [t.select("id", "parsed", good=good) for t in self._joined]
        if not seen:
            return base.with_columns(outcome=pl.lit("not asked"), right=pl.lit(0), asked=pl.lit(0))
        counts = (
            pl.concat(seen)
            .group_by("id")
            .agg(right=pl.col("good").sum(), failed=(~pl.col("parsed")).sum(), asked=pl.len())
        )
        table = base.join(counts, on="id", how="left", maintain_order="left")
        return table.select(*base.columns, "right", "asked", outcome=_outcome())

    def choices(self) -> dict[str, list[str]]:
        """Every value of every filter."""
        return {name: sorted(self.table[name].unique().to_list()) for name in FILTERS}

    def listed(self, chosen: Mapping[str, str], page: int) -> tuple[list[dict[str, Any]], int]:
        """One page of the questions that fit ``chosen``, and how many fit in all."""
        found = self.table
        for name, value in chosen.items():
            found = found.filter(pl.col(name) == value)
        return found.slice((page - 1) * PAGE, PAGE).to_dicts(), found.height

    def verdicts(self, identity: str) -> list[dict[str, Any]]:
        """Every run's verdicts on one question, with the raw reply."""
        out = []
        for run, table in zip(self.runs, self._joined, strict=True):
            for row in table.filter(pl.col("id") == identity).iter_rows(named=True):
                said = row["text"] if row["text"] is not None else row["number"]
                raw = read_reply(run, row["offset"]).get("raw_response") or ""
                out.append({"judge": run.name, "simulated": run.simulated, "said": said, "raw": raw, **row})
        return out

    def neighbours(self, identity: str) -> tuple[str | None, str | None]:
        """The questions before and after in the order of the file."""
        ids = self._order
        at = self._places[identity]
        return (ids[at - 1] if at else None), (ids[at + 1] if at + 1 < len(ids) else None)

    @cached_property
    def _order(self) -> list[str]:
        return [q.id for q in self.dataset.questions]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self._order)}

    def picture(self, name: str) -> Path | None:
        """The file of a picture that some question names and that lies inside the dataset; None for anything else."""
        if name not in self.pictures:
            return None
        root = self.dataset.root.resolve()
        path = (root / name).resolve()
        return path if path.is_relative_to(root) and path.is_file() else None


def _outcome() -> pl.Expr:
    """A key of OUTCOMES from the counts ``right``, ``failed`` and ``asked``."""
    right, asked = pl.col("right"), pl.col("asked")
    return (
        pl.when(asked.is_null())
        .then(pl.lit("not asked"))
        .when(pl.col("failed") > 0)
        .then(pl.lit("failed"))
        .when(right == asked)
        .then(pl.lit("right"))
        .when(right == 0)
        .then(pl.lit("wrong"))
        .otherwise(pl.lit("mixed"))
    )


def open_shelf(dataset: str | Path, runs: Sequence[str | Path] = ()) -> Shelf:
    """A dataset and run folders, read.

    Raises
    ------
    UsageError, DataError
        If one of them cannot be read.
    """
    return Shelf(load_dataset(dataset), tuple(load_run(run) for run in runs))
