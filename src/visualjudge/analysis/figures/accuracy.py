"""The verdicts on pairs: accuracy, answers in both orders, and agreement with the
truth. Its rows are records of ``analysis/pairwise_verdicts.py``; rankings and scores
are in ``scoring.py``.
"""

from dataclasses import replace

import polars as pl

from visualjudge.analysis.answers import (
    as_dealt,
    letters_dealt,
    where_known,
)
from visualjudge.analysis.figures.bias import (
    BIAS,
    PREFERENCE,
    binomial_p,
    both_orders,
    swap_figures,
)
from visualjudge.analysis.figures.figure_parts import (
    ACCURACY,
    ESTIMATE,
    PAIRED,
    Column,
    JudgeFigure,
    JudgeResult,
    Layout,
    accuracy,
    as_named,
    block,
    inside,
    number,
    percent,
    with_ends,
)
from visualjudge.analysis.pairwise_verdicts import (
    OF_TWO,
    Pairwise,
    Swap,
    constant_answer,
    kappa_with_truth,
    macro,
)


def pairwise_figures(
    pairs: pl.DataFrame,
    chance: float = OF_TWO,
    *,
    order_shown: bool = True,
) -> Pairwise:
    """The headline of the pairwise questions. ``position_p`` is the exact binomial test
    of A against ½.
    """
    dealt = letters_dealt(pairs)
    known = where_known(pairs)
    questions = known["question"].n_unique()
    ties = int(pairs["tie"].sum() or 0)
    result = Pairwise(
        accuracy=accuracy(known),
        questions=questions,
        chance=chance,
        constant=constant_answer(known)
        if dealt and (order_shown or questions == known.height)
        else None,
        position_p=binomial_p(
            int(pairs["said_first"].sum() or 0),
            int(pairs["said_first"].count()),
        ),
        swap=swap_figures(both_orders(pairs)),
        ties=ties / int(pairs["usable"].sum()) if ties else None,
        macro=macro(known),
        kappa=kappa_with_truth(as_dealt(known, "answer", "text", dealt=dealt)),
    )
    return result.without_truth if known["right"].null_count() else result


def _rows(judge: JudgeResult) -> Pairwise:
    result = pairwise_figures(
        judge.study.kind(judge.index, "pairwise", PAIRED),
        judge.chance,
        order_shown=judge.run.order_shown,
    )
    position = next(row for row in judge[BIAS] if row.feature == "position")
    return replace(result, position=position)


SWAP = Layout[Swap](
    Column("n", "consistency.n"),
    Column("images", "consistency.images"),
    Column("consistency", "consistency.value"),
    Column("right_in_both", "right_in_both.value"),
    Column("right_in_both_ci95", "right_in_both.interval"),
    *as_named("consistency_parsed", "withheld"),
    Column("ci95", "consistency.interval"),
)
COLUMNS = Layout[Pairwise](
    *inside("accuracy", ACCURACY.columns),
    *as_named("questions", "chance"),
    Column("constant_answer", "constant"),
    block("macro", ESTIMATE),
    block("kappa", ESTIMATE),
    Column("answered_tie", "ties"),
    *as_named("position_p"),
    block("position_preference", PREFERENCE, "position"),
    Column("swap_consistency", "swap.consistency.value"),
    block("swap", SWAP),
)


def _macro(pairwise: Pairwise) -> float | None:
    """Return the mean over tasks, where it is not that of an only one."""
    only = pairwise.macro.value == pairwise.accuracy.shown.value
    return None if only or pairwise.accuracy.none else pairwise.macro.value


PAIRWISE = JudgeFigure(
    "pairwise",
    _rows,
    COLUMNS,
    place=10,
    wide=True,
    headline=Layout[Pairwise](
        Column(
            None,
            lambda row: row.accuracy.share.n or None,
            "Verdicts on pairs",
            number,
        ),
        Column(
            None,
            lambda row: row.accuracy.share.images or None,
            "Images",
            number,
        ),
        Column(None, "accuracy.shown", "Accuracy (95 %)", with_ends),
        Column(None, _macro, "Accuracy (mean of tasks)", percent),
        Column(None, "kappa.value", "Cohen’s κ", number),
        Column(
            None,
            lambda row: (
                row.accuracy.parsed.value if row.accuracy.failed else None
            ),
            "Accuracy without failed replies",
            percent,
        ),
        Column(None, "constant", "Best constant answer", percent),
        Column(None, "accuracy.answered_a", "Answered A", percent),
        Column(None, "ties", "Answered tie", percent),
        Column(None, "swap.consistency.value", "Same when swapped", percent),
        Column(
            None,
            lambda row: (
                row.swap.consistency_parsed if row.accuracy.failed else None
            ),
            "Same, without failed replies",
            percent,
        ),
    ),
)
