"""A people's run: what raters said of ordinary questions, and apart from it what was asked to check
them.

Known items are the easiest there are, and a repeat is the same rater once more: neither is a
further answer, and no figure but those here counts them. A rater sees each ordinary question once,
in one of the two orders: answers of two raters say nothing of what the order does.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from visualjudge.analysis.category_codes import WORD
from visualjudge.analysis.comparison_figures import RaterChecks
from visualjudge.runs.folder import RunFolder, excluded_raters

CLOSE = 1.0
"""A score this near the truth is right; two scores this near each other are the same answer."""
KEYS = ("id", "order", "repeat")


def ordinary_and_checks(
    home: Path, answered: pl.DataFrame
) -> tuple[pl.DataFrame, tuple[RaterChecks, ...]]:
    """The verdicts on ordinary questions with their ``rater``, and how each rater did where they
    were checked.

    Raters whom the study's own rules exclude are among the checks only. The verdicts have one
    ``order`` (``said_first`` knows the one shown) and a ``repeat`` for each rater.
    """
    named = answered.join(_purposes(home, answered), on=KEYS, how="inner", maintain_order="left")
    left_out = excluded_raters(RunFolder(home).manifest())
    ordinary = named.filter(pl.col("purpose") == "question", ~pl.col("rater").is_in(left_out))
    asked = pl.int_range(pl.len()).over("question", "rater")
    once = ordinary.with_columns(
        order=pl.lit("AB").cast(WORD),
        repeat=pl.concat_str(asked, "rater").rank("dense").cast(pl.Int32) - 1,
    )
    return once.drop("purpose"), _checks(named)


def _purposes(home: Path, answered: pl.DataFrame) -> pl.DataFrame:
    """Rater and purpose of each verdict; a line of another program without a purpose is an ordinary
    question.
    """
    rows = [
        (
            v.id,
            v.order,
            v.repeat,
            str(v.extra.get("rater")),
            str(v.extra.get("purpose") or "question"),
        )
        for v in RunFolder(home).verdicts().values()
    ]
    table = pl.DataFrame(rows, schema=[*KEYS, "rater", "purpose"], orient="row")
    return table.with_columns(pl.col(name).cast(answered.schema[name]) for name in KEYS)


def _checks(named: pl.DataFrame) -> tuple[RaterChecks, ...]:
    near = (pl.col("number") - pl.col("truth")).abs() <= CLOSE
    right = pl.col("parsed") & (
        (pl.col("text") == pl.col("answer")).fill_null(False) | near.fill_null(False)
    )
    said = ["question", "rater", "order", "text", "number"]
    first = (
        named.filter(pl.col("purpose") == "question")
        .select(said)
        .unique(["question", "rater"], keep="first")
    )
    again = named.filter(pl.col("purpose") == "repeat").select(said)
    both = again.join(first, on=["question", "rater"], suffix="_first")
    close = (
        pl.col("number") - pl.col("number_first")
    ).abs() <= CLOSE  # null where either is no score
    same = pl.col("text").eq_missing(pl.col("text_first")) & close.fill_null(
        pl.col("number").is_null() & pl.col("number_first").is_null()
    )
    turned = pl.col("order") != pl.col("order_first")
    known = (
        named.filter(pl.col("purpose") == "known")
        .group_by("rater")
        .agg(known=pl.len(), known_right=right.sum())
    )
    repeats = both.group_by("rater").agg(
        repeats=pl.len(), same=same.sum(), turned=turned.sum(), same_turned=(same & turned).sum()
    )
    rows = known.join(repeats, on="rater", how="full", coalesce=True).fill_null(0).sort("rater")
    return tuple(RaterChecks(**row) for row in rows.iter_rows(named=True))
