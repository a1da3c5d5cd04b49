"""How far a judge is above the local baseline: a small model without language that looks at the
same questions.

Only questions that the baseline answered are compared; what it declined says nothing of the judge.
Its answer does not depend on the order shown, so that one verdict of it stands beside every order
and repeat of the judge's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from visualjudge.analysis.accuracy_cells import estimate_of, image_sums, test_of
from visualjudge.analysis.figures import Above
from visualjudge.analysis.repeated_rows import ALL, above_verdicts, holm_apart, originals
from visualjudge.analysis.statistics import jackknife
from visualjudge.analysis.statistics.paired import gap_ends
from visualjudge.analysis.statistics.share_intervals import ratio_influence
from visualjudge.analysis.study_table import Run, Study
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.judges.registry import LOCAL

SCOPES = ("task", "error_type")
NOTHING_ANSWERED = Estimate(None, None, 0, 0, "the baseline answered none of these questions")


def is_baseline(run: Run) -> bool:
    """Whether a run is of the local judge."""
    return run.info.get("backend") == LOCAL


def baseline_of(study: Study) -> int | None:
    """The first run of the local judge; None if no run is of it."""
    return next((k for k, run in enumerate(study.runs) if is_baseline(run)), None)


def above_baseline(
    study: Study, index: int, baseline: int | None, chance: float
) -> tuple[Above, ...]:
    """The gap of a judge to the baseline, in all and by task and error type; ``chance``: what
    guessing gets.

    Empty for the baseline itself, and for a judge that answered nothing.
    """
    if baseline is None or is_baseline(study.runs[index]):
        return ()
    kept = ("id", "right", "parsed")
    theirs = study.kind(baseline, "pairwise", kept).unique("id", keep="first", maintain_order=True)
    both = study.kind(index, "pairwise", (*kept, "cluster", *SCOPES)).join(
        theirs, on="id", suffix="_b", maintain_order="left"
    )
    if both.is_empty() or not both["parsed"].any():
        return ()
    name = study.runs[baseline].name
    return _adjusted([row for scope in (ALL, *SCOPES) for row in _rows(both, scope, name, chance)])


def _adjusted(rows: list[Above]) -> tuple[Above, ...]:
    """The p of tasks and error types by Holm."""
    parts = [None if row.scope == ALL else row.p for row in rows]
    adjusted = holm_apart(parts, originals(rows, above_verdicts))
    return tuple(replace(row, p_holm=p) for row, p in zip(rows, adjusted, strict=True))


def _rows(both: pl.DataFrame, scope: str, name: str, chance: float) -> Iterator[Above]:
    by = [] if scope == ALL else [scope]
    right, other, known = (pl.col(column) for column in ("right", "right_b", "parsed_b"))
    values = {
        "n": known,
        "gap": known * (right.cast(pl.Int8) - other.cast(pl.Int8)),
        "apart": known & (right != other),
        "declined": ~known,
        "other": known & other,
    }
    sums = image_sums(both, by, values)
    held = sums.columns["n"] > 0
    weights, cell = sums.columns["n"][held], sums.cell[held]
    value, influence = ratio_influence(sums.columns["gap"][held], weights, cell, sums.cells)
    found = jackknife.spread(influence, weights, cell, sums.cells)
    n, apart, declined = (sums.total(column) for column in ("n", "apart", "declined"))
    ends = gap_ends(value, found, apart, n)
    for k in range(sums.cells):
        place = str(sums.keys[scope][k]) if by else ALL
        gap = estimate_of(value, found, ends, int(n[k]), k) if n[k] else NOTHING_ANSWERED
        theirs = float(sums.total("other")[k] / n[k]) if n[k] else None
        yield Above(
            name, scope, place, gap, test_of(value, found, k), int(declined[k]), chance, theirs
        )
