"""Is the judge right for the right reason? See :mod:`visualjudge.analysis.reasons`."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from visualjudge.analysis.figures.reasons import TITLES
from visualjudge.analysis.figures.vocabulary import (
    Column,
    Estimate,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    counts,
    figure,
    image_sums,
    named,
    percent,
    with_ends,
)
from visualjudge.analysis.reasons import REASONS


@dataclass(frozen=True)
class RightReason:
    """Verdicts by whether they are right and their ``reason`` is (``names``,
    ``points``, or ``either``).

    ``right`` is the share of right verdicts, ``both`` of those that are right for the
    right reason; ``reasoned`` the share of right reasons among right verdicts;
    ``with_reason`` and ``without_reason`` are the accuracies of verdicts whose reason
    is right and wrong.
    """

    reason: str
    right: Estimate
    both: Estimate
    reasoned: Estimate
    with_reason: Estimate
    without_reason: Estimate


def _right_reasons(judge: JudgeResult) -> tuple[RightReason, ...]:
    table = judge[REASONS]
    asked = [name for name in TITLES if name in table.columns]
    if not asked:
        return ()
    pairs = table.filter(
        pl.col("kind") == "pairwise", pl.col("right").is_not_null()
    )
    reasons = {name: pl.col(name) for name in asked}
    if len(asked) > 1:
        # of what is known: where one is not, only right ones would be left
        known = pl.any_horizontal(pl.col(asked).is_not_null())
        right = pl.any_horizontal(pl.col(asked).fill_null(False))
        reasons["either"] = pl.when(known).then(right)
    tables = {
        name: pairs.with_columns(reason=reason).drop_nulls("reason")
        for name, reason in reasons.items()
    }
    return tuple(
        right_reason_of(name, table)
        for name, table in tables.items()
        if table.height
    )


def right_reason_of(name: str, table: pl.DataFrame) -> RightReason:
    """Return the figures of a table with the columns ``cluster, right, reason``."""
    right = pl.col("right")
    reason = pl.col("reason")
    sums = image_sums(
        table,
        [],
        {
            "n": pl.lit(1),
            "right": right,
            "reason": reason,
            "both": right & reason,
            "neither": ~reason,
            "lucky": right & ~reason,
        },
    )
    return RightReason(
        name,
        sums.shares("right", "n")[0],
        sums.shares("both", "n")[0],
        sums.shares("both", "right")[0],
        sums.shares("both", "reason")[0],
        sums.shares("lucky", "neither")[0],
    )


REASON_TITLES = {**TITLES, "either": "Either"}
RIGHT_COLUMNS = Layout[RightReason](
    named("reason", "Reason", REASON_TITLES.__getitem__, text=True),
    *counts("right"),
    *figure("right", "right"),
    *figure("right_reason", "both"),
    *figure("reason_if_right", "reasoned"),
    *figure("accuracy_right_reason", "with_reason"),
    *figure("accuracy_wrong_reason", "without_reason"),
    Column(None, "right", "Right (95 %)", with_ends),
    Column(None, "both", "For the right reason", with_ends),
    Column(None, "reasoned", "Right reason, of right ones", with_ends),
    Column(None, "with_reason", "Right, with a right reason", with_ends),
    Column(None, "without_reason", "Right, with a wrong one", with_ends),
)


def _right_sentences(rows: Sequence[RightReason]) -> list[str]:
    return [
        f"Right in {percent(row.right.value)}, for the right reason in "
        f"{with_ends(row.both)}."
        for row in rows[:1]
        if row.both.interval is not None
    ]


RIGHT_REASON = JudgeFigure(
    "right_reason",
    _right_reasons,
    RIGHT_COLUMNS,
    needs={"truth"},
    place=93,
    sentences=_right_sentences,
    section=Section(
        "right_reason",
        "Is the judge right for the right reason?",
        "A judge that is right for a wrong reason may not be right about the next "
        "model. A reason is right if it names the error that decides, or points at it.",
    ),
    link=lambda judge, _: judge.address(type="pairwise"),
)
