"""Preferences of a judge that do not depend on the truth; see
:mod:`visualjudge.analysis.bias`.
"""

from __future__ import annotations

from visualjudge.analysis.bias import in_both_orders, preferences
from visualjudge.analysis.figures.vocabulary import (
    HOLM,
    Cells,
    EstimatesPlot,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    Shown,
    as_named,
    counts,
    figure,
    named,
    points,
)
from visualjudge.analysis.pairwise_figures import Preference

PREFERENCE = Layout[Preference](
    *as_named("feature"),
    named("leans_to", "Preference for"),
    *counts("estimate"),
    *figure("preference", "estimate", "Points", points, ends="ci95"),
    HOLM,
    *as_named("p", "flagged"),
)


def _rows(judge: JudgeResult) -> tuple[Preference, ...]:
    pairs = judge.pairs
    return preferences(pairs if "truth" in judge.has else in_both_orders(pairs))


def _leanings(judge: JudgeResult) -> Cells:
    rows = (row for row in judge[BIAS] if row.estimate.value is not None)
    return {row.leans_to: row.estimate for row in rows}


def _section(view: Shown) -> Section:
    return Section(
        "bias",
        "Does the judge prefer the first option?",
        "Rows with p below 5 % after Holm’s adjustment are bold.",
        view.grids(
            BIAS,
            lambda rows: [row for row in rows if row.estimate.n],
            lambda row: row.flagged,
        ),
    )


BIAS = JudgeFigure(
    "bias",
    _rows,
    PREFERENCE,
    place=60,
    section=_section,
    plots=(
        EstimatesPlot(
            "leanings",
            "Preference for one kind of option",
            "Half the difference in accuracy between pairs in which this option is "
            "right and pairs in which it is wrong, at equal difficulty: 0 without a "
            "bias, 50 for a judge that uses nothing else.",
            _leanings,
            "the questions asked cannot show a bias, or the order of the options is "
            "not known",
            "Preference in points",
        ),
    ),
)
