"""One row for each judge, benchmark and type of question, if the runs are on several
benchmarks. The scores that their authors define are in ``published_scores.py``.

Rows of the same type are comparable: the accuracy on pairs (with that of guessing), the
mean τ-b of rankings, Spearman's ρ of scores. Rows of different types are not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from visualjudge.analysis.figures.figure_parts import (
    Column,
    Estimate,
    Layout,
    Section,
    Shown,
    StudyFigure,
    Table,
    accuracy,
    grid,
    guessed,
    named,
    number,
    number3,
    span3,
)
from visualjudge.analysis.ranking_and_scoring import (
    ranking_cells,
    scoring_cells,
)
from visualjudge.analysis.study_table import Study

MEASURES = {
    "pairwise": "accuracy",
    "ranking": "mean tau-b",
    "scoring": "Spearman",
}


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """A ``figure`` of one judge on one benchmark; ``guessing`` is its value at
    chance."""

    judge: str
    benchmark: str
    question_type: str
    figure: Estimate
    guessing: float
    verdicts: int
    failed: int


def rows_of(study: Study) -> Iterator[BenchmarkRow]:
    """Yield the rows of each run; none if the questions are of one dataset."""
    for run, table in zip(study.runs, study.joined, strict=True):
        judge = str(run.info.get("judge") or run.name)
        parts = (
            table.group_by(["benchmark", "kind"])
            if "benchmark" in table.columns
            else ()
        )
        for (benchmark, kind), part in sorted(
            parts, key=lambda named: str(named[0])
        ):
            asked = study.questions.join(
                part.select("id").unique(), on="id", how="semi"
            )
            guessing = guessed(asked) if kind == "pairwise" else 0.0
            failed = int((~part["usable"]).sum())
            figure = _figure(str(kind), part)
            yield BenchmarkRow(
                judge,
                str(benchmark),
                str(kind),
                figure,
                guessing,
                part.height,
                failed,
            )


def _figure(kind: str, part: pl.DataFrame) -> Estimate:
    if kind == "pairwise":
        return accuracy(part).share
    if kind == "ranking":
        return ranking_cells(part, ())[""].tau
    return scoring_cells(part, ())[""].spearman


COLUMNS = Layout[BenchmarkRow](
    named("judge", "Judge"),
    named("benchmark", "Benchmark"),
    named("question_type", "Questions"),
    Column("measure", lambda row: MEASURES[row.question_type], "Measure"),
    Column("value", "figure.value", "Value", number3),
    Column("ci95", "figure.interval", "95 %", span3),
    named("guessing", "By guessing", number),
    named("verdicts", "Verdicts", number),
    named("failed", "Not read", number),
)


def benchmarks_table(rows: Sequence[BenchmarkRow]) -> Table:
    """Return the rows as a table."""
    note = (
        "Rows of one measure are comparable; compare an accuracy with guessing."
    )
    return grid(COLUMNS, rows, title="Benchmarks", notes=[note])


def _section(view: Shown) -> Section:
    table = benchmarks_table(view.analysis[BENCHMARKS])
    return Section("benchmarks", "By benchmark", asked=[table], detail=True)


BENCHMARKS = StudyFigure(
    "benchmarks",
    lambda analysis: tuple(rows_of(analysis.study)),
    COLUMNS,
    place=125,
    section=_section,
)
