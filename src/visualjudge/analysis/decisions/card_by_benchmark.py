"""One row for each judge, benchmark and type of question, for a card over several benchmarks.

Rows of the same type are comparable: the accuracy on pairs (with that of guessing), the mean τ-b of
rankings, Spearman's ρ of scores. Rows of different types are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from visualjudge.analysis.accuracy_cells import accuracy, guessed
from visualjudge.analysis.scores import ranking_figures, scoring_figures
from visualjudge.analysis.study_table import Study
from visualjudge.analysis.value_and_interval import Ends
from visualjudge.core.text_tables import Table

Figure = tuple[str, float | None, Ends | None]


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """``value`` of ``measure`` with its 95 % interval; ``guessing`` is the value at chance."""

    judge: str
    benchmark: str
    question_type: str
    measure: str
    value: float | None
    interval: Ends | None
    guessing: float
    verdicts: int
    failed: int


def rows_of(study: Study, runs: Iterable[int]) -> tuple[BenchmarkRow, ...]:
    """Return the rows of these runs; none if the questions are of one dataset."""
    return tuple(row for k in runs for row in _rows(study, k))


def _rows(study: Study, run: int) -> Iterator[BenchmarkRow]:
    table = study.joined[run]
    if "benchmark" not in table.columns:
        return
    named = study.runs[run].info.get("judge") or study.runs[run].name
    for (benchmark, kind), part in sorted(
        table.group_by(["benchmark", "kind"]), key=lambda found: str(found[0])
    ):
        measure, value, interval = FIGURES[str(kind)](part)
        failed = int((~part["usable"]).sum())
        chance = _guessing(study.questions.join(part.select("id").unique(), on="id", how="semi"))
        yield BenchmarkRow(
            str(named),
            str(benchmark),
            str(kind),
            measure,
            value,
            interval,
            chance,
            part.height,
            failed,
        )


def _guessing(questions: pl.DataFrame) -> float:
    """Return the accuracy of a guess among the allowed answers; 0 for a correlation."""
    if questions["kind"][0] != "pairwise":
        return 0.0
    return guessed(questions)


def _pairs(part: pl.DataFrame) -> Figure:
    share = accuracy(part).share
    return "accuracy", share.value, share.interval


def _rankings(part: pl.DataFrame) -> Figure:
    tau = ranking_figures(part).tau
    return "mean tau-b", tau.value, tau.interval


def _scores(part: pl.DataFrame) -> Figure:
    rho = scoring_figures(part).spearman
    return "Spearman", rho.value, rho.interval


FIGURES: Mapping[str, Callable[[pl.DataFrame], Figure]] = {
    "pairwise": _pairs,
    "ranking": _rankings,
    "scoring": _scores,
}


def benchmarks_table(rows: tuple[BenchmarkRow, ...]) -> Table:
    """Return the rows as a table."""
    columns = (
        "Judge",
        "Benchmark",
        "Questions",
        "Measure",
        "Value",
        "95 %",
        "By guessing",
        "Verdicts",
        "Not read",
    )
    cells = tuple(
        (
            row.judge,
            row.benchmark,
            row.question_type,
            row.measure,
            "–" if row.value is None else f"{row.value:.3f}",
            " to ".join("–" if end is None else f"{end:.3f}" for end in row.interval or (None,)),
            f"{row.guessing:.2f}",
            str(row.verdicts),
            str(row.failed),
        )
        for row in rows
    )
    note = "Rows of one measure are comparable; compare an accuracy with guessing."
    return Table(columns, cells, (note,), "Benchmarks")
