"""Who answered a run, as the server stated it: routers and aliases may change the model in
mid-run.
"""

from __future__ import annotations

import polars as pl

from visualjudge.analysis.figures import ServedBy
from visualjudge.core.records import Served

ENOUGH = 20
"""Verdicts on pairs below which no accuracy is given."""


def served_by(answers: pl.DataFrame) -> tuple[ServedBy, ...]:
    """Return each model and fingerprint with its number of verdicts and accuracy, most frequent
    first; empty if no server named any.
    """
    names = ["served_model", "fingerprint"]
    pairs = pl.col("right").count()
    rows = (
        answers.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in names))
        .group_by(names)
        .agg(n=pl.len(), accuracy=pl.when(pairs >= ENOUGH).then(pl.col("right").mean()))
        .sort("n", *names, descending=[True, False, False])
    )
    return tuple(ServedBy(*row) for row in rows.iter_rows())


def moved(rows: tuple[ServedBy, ...]) -> list[str]:
    """Return the warning about a run that several models answered; none for one model."""
    if len(rows) < 2:
        return []
    shown = [
        f"{Served(row.model, row.fingerprint)} {row.n}"
        + ("" if row.accuracy is None else f" ({100 * row.accuracy:.1f} % right)")
        for row in rows
    ]
    return [f"the model moved: the run was answered by {len(rows)}: {', '.join(shown)} verdicts"]
