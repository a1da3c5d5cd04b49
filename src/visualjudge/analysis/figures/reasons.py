"""Does the judge name the error that decides, and does it point at it? Is it right for
the right reason? See :mod:`visualjudge.analysis.stated_reasons`. The criteria of a
rubric in general are in ``criteria.py``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from visualjudge.analysis.estimate import Ends, difference_ends
from visualjudge.analysis.figure_text import lower_first
from visualjudge.analysis.figures.figure_parts import (
    ALL,
    Column,
    Estimate,
    ImageSums,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    by_task,
    counts,
    estimate_of,
    figure,
    image_sums,
    known,
    named,
    percent,
    plain_name,
    points,
    with_ends,
)
from visualjudge.analysis.stated_reasons import REASONS

TITLES = {
    "names": "Names the costliest error",
    "points": "Points at an error of the worse option",
}


@dataclass(frozen=True)
class RightReason:
    """Verdicts by whether they are right and their ``reason`` is (``names``,
    ``points``, or ``either``).

    ``right`` is the share of right verdicts, ``both`` of those that are right for the
    right reason, ``shuffled`` what that would be with the judge's reasons shuffled among
    the questions of a task; ``reasoned`` the share of right reasons among right verdicts;
    ``with_reason`` and ``without_reason`` are the accuracies of verdicts whose reason
    is right and wrong.
    """

    reason: str
    right: Estimate
    both: Estimate
    shuffled: float | None
    reasoned: Estimate
    with_reason: Estimate
    without_reason: Estimate


def _right_reasons(judge: JudgeResult) -> tuple[RightReason, ...]:
    table = judge[REASONS]
    asked = [name for name in REASON_TITLES if name in table.columns]
    if not asked:
        return ()
    pairs = table.filter(
        pl.col("kind") == "pairwise", pl.col("right").is_not_null()
    )
    tables = {
        name: pairs.with_columns(
            reason=pl.col(name), chance=pl.col(f"{name}_chance")
        ).drop_nulls("reason")
        for name in asked
    }
    return tuple(
        right_reason_of(name, table)
        for name, table in tables.items()
        if table.height
    )


def right_reason_of(name: str, table: pl.DataFrame) -> RightReason:
    """Return the figures of a table with the columns ``cluster, right, reason`` and
    ``chance``, how often shuffled reasons are right."""
    right = pl.col("right")
    reason = pl.col("reason")
    chance = pl.col("chance")
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
            "shuffled": right.cast(pl.Float64) * chance,
            "exchanged": chance.is_not_null(),
        },
    )
    return RightReason(
        name,
        sums.shares("right", "n")[0],
        sums.shares("both", "n")[0],
        known(sums.ratio("shuffled", "exchanged")[0][0]),
        sums.shares("both", "right")[0],
        sums.shares("both", "reason")[0],
        sums.shares("lucky", "neither")[0],
    )


REASON_TITLES = {**TITLES, "either": "Either of the two"}
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
    named("shuffled", "With reasons shuffled", percent),
    Column(None, "with_reason", "Accuracy if the reason is right", with_ends),
    Column(None, "without_reason", "Accuracy if it is wrong", with_ends),
)


def _right_sentences(rows: Sequence[RightReason]) -> list[str]:
    return [
        f"It is right in {percent(row.right.value)} of answers, and for the right reason in "
        f"{with_ends(row.both)} (by chance: {percent(row.shuffled)})."
        for row in rows[-1:]
        if row.both.interval is not None
    ]


RIGHT_REASON = JudgeFigure(
    "right_reason",
    _right_reasons,
    RIGHT_COLUMNS,
    needs={"truth"},
    place=91,
    sentences=_right_sentences,
    section=Section(
        "reasons",
        "Is the judge right for the right reason?",
        "A reason is right if it names the costliest error, or points at an error of the "
        "worse option.",
    ),
    link=lambda judge, _: judge.address(type="pairwise"),
)


@dataclass(frozen=True)
class Reason:
    """How often a judge names the error, or points at it (``reason``), in one task or
    in all: the share of ``right`` reasons, the share with its own reasons
    ``shuffled`` among the questions of the task, and the ``gain`` over these.
    """

    reason: str
    task: str
    right: Estimate
    shuffled: float | None
    gain: Estimate


def _reasons_of(table: pl.DataFrame) -> Iterator[Reason]:
    for name in TITLES:
        if name not in table.columns:
            continue
        known = table.filter(pl.col(name).is_not_null())
        tasks = dict(by_task(known))
        every = {ALL: known, **(tasks if len(tasks) > 1 else {})}
        for task, part in every.items():
            if part.height:
                yield reason_of(name, task, part)


def reason_of(name: str, task: str, table: pl.DataFrame) -> Reason:
    """Return the figures of a table of
    :data:`~visualjudge.analysis.stated_reasons.REASONS`."""
    sums = image_sums(table, [], {"n": pl.lit(1), "right": pl.col(name)})
    paired = table.filter(pl.col(f"{name}_gap").is_not_null())
    own = pl.col(name).cast(pl.Float64)
    gap = pl.col(f"{name}_gap")
    gaps = image_sums(
        paired, [], {"n": pl.lit(1), "own": own, "other": own - gap, "gap": gap}
    )
    value, dispersion = gaps.ratio("gap", "n")
    gain = estimate_of(value, dispersion, _gain_ends(gaps), paired.height, 0)
    right = sums.shares("right", "n")[0]
    return Reason(
        name, task, right, known(gaps.ratio("other", "n")[0][0]), gain
    )


def _gain_ends(gaps: ImageSums) -> Ends:
    """Return the interval of the share ``own`` less the share ``other``."""
    return difference_ends(
        gaps.shares("own", "n"),
        gaps.shares("other", "n", graded=True),
        *(
            gaps.ratio(name, "n")[1].variance
            for name in ("own", "other", "gap")
        ),
    )


COLUMNS = Layout[Reason](
    named("reason", "Reason", TITLES.__getitem__, text=True),
    named("task", "Task", plain_name, text=True),
    *counts("right"),
    *figure("share", "right", "Right", ends="ci95"),
    named("shuffled", "With reasons shuffled", percent),
    *figure("gain", "gain", "Above shuffled reasons, points", points),
)


def _sentences(rows: Sequence[Reason]) -> list[str]:
    return [
        f"It {lower_first(TITLES[row.reason])} in {with_ends(row.right)} of answers (by "
        f"chance: {percent(row.shuffled)})."
        for row in rows
        if row.task == ALL and row.gain.interval is not None
    ]


REASON_SHARES = JudgeFigure(
    "reasons",
    lambda judge: tuple(_reasons_of(judge[REASONS])),
    COLUMNS,
    place=92,
    sentences=_sentences,
    section=Section(
        "reasons",
        "Is the judge right for the right reason?",
        "The costliest error is the kind that costs the worse option most in "
        "comparison with the better one. A place is right if the worse option has an "
        "error there that the better option does not have. Chance: the judge’s reasons, "
        "shuffled among the questions of a task.",
    ),
    link=lambda judge, row: judge.address(task=row.task),
)
