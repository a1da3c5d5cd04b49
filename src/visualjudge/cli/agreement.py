"""``visualjudge agreement``: compare a judge with people, and people with each other.
It is computed in ``analysis/people_agreement.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from visualjudge.cli.console import (
    end_with,
    following,
    remark,
    say,
    tell,
    write,
)
from visualjudge.cli.options import JsonFile, PageFile, pairs_of
from visualjudge.core.errors import DataError, UsageError

if TYPE_CHECKING:
    import polars as pl


NOTHING = (
    "nothing to compare: ratings of people are needed, and a judge (--judge or --run) "
    "or a second person (copies made by probes do not count); of judges alone, "
    "`visualjudge report` has κ and α"
)


def agreement(
    ratings: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Ratings, .csv .jsonl .parquet.", metavar="FILE..."
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="Rater that is a judge; repeatable.", metavar="RATER"
        ),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(help="Run of a judge or of people.", metavar="RUN"),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of another name, as item=image.", metavar="ROLE=NAME"
        ),
    ] = None,
    level: Annotated[
        Literal["nominal", "ordinal", "interval"] | None,
        typer.Option(help="Of α; default: by type."),
    ] = None,
    alt_test: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=0.99,
            help="Could a judge replace people? ε, as 0.2.",
            metavar="EPSILON",
        ),
    ] = None,
    json: JsonFile = None,
    out: PageFile = None,
) -> None:
    """Measure how far a judge agrees with people, and people with each other.

    Ratings have the columns item (or id, prompt, image), rater, score; of several
    sources or dimensions, source and dimension; and image if several items show one. Or
    item and a column of scores or votes (A, B, tie) for each rater. Beside a --run,
    dimension is the task and item the image_id (image_id/CLASS).

    Example: visualjudge agreement ratings.csv --judge gpt-4o --json agreement.json
    """
    import polars as pl

    from visualjudge.analysis import (
        people_agreement,
        rating_table,
        table_layout,
    )
    from visualjudge.analysis.report.agreement_page import (
        html,
        sentences,
        tables_of,
    )
    from visualjudge.core.text_tables import folded

    if not ratings and not run:
        raise UsageError("agreement needs ratings or a --run")
    columns = pairs_of(column, "--column", "item=image")
    read = [rating_table.read_ratings(path, columns) for path in ratings or []]
    problems = [problem for _, outcome in read for problem in outcome]
    tell(problems)
    of_runs = rating_table.ratings_of_runs(run or [])
    every = pl.concat(
        [*(table for table, _ in read), of_runs.table], how="diagonal"
    )
    result = people_agreement.agreement(
        every, judge or (), level=level, epsilon=alt_test, of_tasks=not ratings
    )
    lost = _unmatched(every, [*(judge or []), *of_runs.judges])
    if not result.rows:
        raise DataError(lost[0] if lost else NOTHING)
    write(json, table_layout.plain(asdict(result)))
    write(out, html(result) if out else None)
    print(
        "\n\n".join(
            [
                "\n".join(map(folded, sentences(result))),
                *(table.text() for table in tables_of(result)),
            ]
        )
    )
    remark(
        {
            f"{of_runs.rankings} rankings by people are left out: an order is no "
            "rating. The overview of the study says how often they are equal.": (
                of_runs.rankings
            ),
        }
    )
    if run:  # ratings alone have no card
        following("card", run[0])
    say(*of_runs.remarks.warnings)
    if problems:
        lost.append(f"{len(problems)} ratings left out")
    if not lost and {row.spearman for row in result.rows} == {None}:
        lost.append(
            "no correlation is known: too few items, or a rater's scores are all equal"
        )
    end_with([*lost, *of_runs.remarks.problems])


def _unmatched(ratings: pl.DataFrame, named: Sequence[str]) -> list[str]:
    """Return a line for each judge, ``named`` or marked as one, that shares no rating
    with people.
    """
    import polars as pl

    from visualjudge.analysis.rating_table import apart

    marked = (
        pl.col("kind") == "judge"
        if "kind" in ratings.columns
        else pl.lit(False)
    )
    names = list(dict.fromkeys([*named, *ratings.filter(marked)["rater"]]))
    people = ratings.filter(~pl.col("rater").is_in(names))
    if people.is_empty():
        return []
    reasons = (
        (name, apart(ratings.filter(pl.col("rater") == name), people))
        for name in names
    )
    return [
        f"{name}: {reason}" for name, reason in reasons if reason is not None
    ]
