"""The one table of answers: one row a verdict, beside its question.

Here alone is decided what a verdict is worth. ``usable``: its value answers the question; what is
not usable has *failed*, for the ``cause``. ``tie``: it calls two options equal. A tie is an answer,
whether or not the question allows one: it is never failed, and right only where the truth is that
tie. ``right``: pairwise only; a failed reply is wrong. ``chosen``: the option that a usable reply
prefers, "A" or "B" as stored; null for ties. ``said_first``: that option was shown first (by
``order``). ``first_right``: the better option was shown first; null if neither is better.
``image`` names the image, and ``cluster`` numbers it: the unit of every interval.

Nothing is repaired here.
"""

from __future__ import annotations

from itertools import permutations

import polars as pl

from visualjudge.core.records import FAILED, LETTERS, TIES

EXTRACTED = "ok_extracted"
UNFIT = "the value does not fit the question"
OPTIONS = ["A", "B"]


def is_tie(column: str = "text") -> pl.Expr:
    """Return whether an answer calls the options equal."""
    return pl.col(column).is_in(list(TIES))


def is_option(column: str = "text") -> pl.Expr:
    """Return whether an answer, or the truth, is one of two options."""
    return pl.col(column).is_in(OPTIONS)


def failed() -> pl.Expr:
    """Return whether a verdict has no usable answer."""
    return ~pl.col("usable")


def _usable() -> pl.Expr:
    """Return whether the value answers its question: a letter or a tie, a permutation of the
    letters, or 0..10.
    """
    text = pl.col("text")
    orders = (
        (pl.col("options") == k)
        & text.is_in(["".join(order) for order in permutations(LETTERS[:k])])
        for k in range(1, len(LETTERS) + 1)
    )
    fits = (
        pl.when(pl.col("kind") == "pairwise")
        .then(is_option() | is_tie())
        .when(pl.col("kind") == "ranking")
        .then(pl.any_horizontal(orders))
        .otherwise(pl.col("number").is_between(0, 10))
    )
    return (fits & (pl.col("status") == "ok")).fill_null(False)


def _cause() -> pl.Expr:
    """Return why a reply failed: its status, with the detailed cause if the journal has one."""
    named = pl.format("{}: {}", "status", "said_cause")
    stated = (
        pl.when(pl.col("said_cause").is_null()).then(pl.col("status")).otherwise(named)
    )
    reason = pl.when(pl.col("status") == "ok").then(pl.lit(UNFIT)).otherwise(stated)
    return pl.when(failed()).then(reason)


def join(questions: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the table of answers: one row per verdict on a question of the dataset."""
    rows = questions.select("id", place=pl.int_range(pl.len(), dtype=pl.UInt32))
    place = verdicts.select("id").join(
        rows, on="id", how="left", maintain_order="left"
    )["place"]
    known = (
        verdicts if place.null_count() == 0 else verdicts.filter(place.is_not_null())
    )
    table = (
        known.drop("id")
        .hstack(questions[place.drop_nulls()])
        .with_columns(usable=_usable())
    )
    extracted, pairwise = pl.col("status") == EXTRACTED, pl.col("kind") == "pairwise"
    table = table.with_columns(
        text=pl.when(extracted).then(pl.lit(FAILED)).otherwise("text"),
        number=pl.when(~extracted).then("number"),
    )
    read, turned = pairwise & pl.col("usable"), pl.col("order") == "BA"
    return table.with_columns(
        tie=pl.when(pairwise).then(read & is_tie()),
        right=pl.when(pairwise).then(read & (pl.col("text") == pl.col("answer"))),
        chosen=pl.when(read & is_option()).then("text"),
        said_first=pl.when(read & is_option()).then((pl.col("text") == "A") ^ turned),
        first_right=pl.when(pairwise & is_option("answer")).then(
            (pl.col("answer") == "A") ^ turned
        ),
        cause=_cause().cast(pl.Categorical()),
    ).drop("said_cause", "ties")
