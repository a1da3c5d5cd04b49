"""The accuracy that a judge could reach from length, count, size or position alone. It shows
whether a benchmark can be gamed.

Each rule of the form "choose the option with more of it" is scored on the dataset itself, without a
judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from visualjudge.analysis.accuracy_cells import image_sums, share_of, test_of
from visualjudge.analysis.estimate import holm
from visualjudge.analysis.figures import ALL, Leak
from visualjudge.analysis.study_table import Run, lead
from visualjudge.analysis.value_and_interval import Share
from visualjudge.core.records import FloatArray

RULES = ("position", "text_chars", "count", "area", "png_bytes")
NEEDED = ("question", "kind", "answer", "task", "cluster", *map(lead, RULES[1:]))
"""Columns of the questions that the audit uses."""
SHOWN = "shown_first"
LEVEL = 0.05


def with_order_shown(questions: pl.DataFrame, runs: Sequence[Run]) -> pl.DataFrame:
    """Add the column :data:`SHOWN` to the questions: 1 if judges saw option A first, −1 if they saw
    B first, 0 if they were asked in both orders or the order is not known. With 0, always choosing
    the first option is not a rule that could be right more often than not.
    """
    first = pl.when(pl.col("order") == "BA").then(-1.0).otherwise(1.0)
    asked = [
        run.answered.select("question", first=first if run.order_shown else pl.lit(0.0))
        for run in runs
        if not run.of_people
    ]
    if not asked:
        return questions
    one_order = pl.col("first").min() == pl.col("first").max()
    orders = (
        pl.concat(asked)
        .group_by("question")
        .agg(pl.when(one_order).then(pl.col("first").first()).otherwise(0.0).alias(SHOWN))
    )
    found = questions.join(orders, on="question", how="left", maintain_order="left")
    return found.with_columns(pl.col(SHOWN).fill_null(0.0))


def differences(pairs: pl.DataFrame) -> FloatArray:
    """Return option A minus option B of every rule's feature, pairs × rules; 0 if unknown. Position
    is 1 if A is shown first, which is assumed for all pairs if there is no column :data:`SHOWN`.
    """
    first = pl.col(SHOWN) if SHOWN in pairs.columns else pl.lit(1.0)
    told = pairs.select(
        first.cast(pl.Float64).alias("position"),
        *(pl.col(lead(name)).fill_null(0.0) for name in RULES[1:]),
    )
    return told.to_numpy()


def _rows(pairs: pl.DataFrame, by: Sequence[str]) -> Iterator[Leak]:
    """Yield each rule's accuracy, in each cell of ``by``, on the questions to which it applies."""
    gaps, truth = differences(pairs), (pairs["answer"] == "A").to_numpy()
    for rule, gap in zip(RULES, gaps.T, strict=True):
        hits = pairs.select("cluster", "task", hit=pl.Series((gap > 0) == truth))
        applies = hits.filter(pl.Series(gap != 0))
        sums = image_sums(applies, by, {"n": pl.col("hit").is_not_null(), "hit": pl.col("hit")})
        value, found = sums.ratio("hit", "n")
        shares = sums.shares("hit", "n")
        for k in range(sums.cells if applies.height or not by else 0):
            scope = str(sums.keys["task"][k]) if by else ALL
            yield Leak(scope, rule, share_of(shares, k), test_of(value - 0.5, found, k))


def leak_audit(questions: pl.DataFrame) -> tuple[Leak, ...]:
    """Return one row per rule and scope ("all", or a task that is not all). A row is ``flagged`` if
    p by Holm over all rows is below 5 % and the interval also excludes ½: the test uses the share's
    own scale, and the interval allows for few and unequal images.
    """
    pairs = questions.filter((pl.col("kind") == "pairwise") & pl.col("answer").is_in(["A", "B"]))
    if pairs.is_empty():
        return ()
    rows = list(_rows(pairs, ()))
    whole = {row.rule: row.share.n for row in rows}
    rows += [row for row in _rows(pairs, ("task",)) if row.share.n < whole[row.rule]]
    adjusted = holm([row.p for row in rows])
    return tuple(
        replace(row, p_holm=p, flagged=p is not None and p < LEVEL and _apart(row.share))
        for row, p in zip(rows, adjusted, strict=True)
    )


def _apart(share: Share) -> bool:
    """Return whether the interval excludes ½."""
    low, high = share.interval or (None, None)
    return low is not None and high is not None and not low <= 0.5 <= high
