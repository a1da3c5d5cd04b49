"""Rankings and scores; see :mod:`visualjudge.analysis.scores`."""

from __future__ import annotations

import polars as pl

from visualjudge.analysis.figure_text import number
from visualjudge.analysis.figures.columns import RANKING, SCORING
from visualjudge.analysis.figures.figure import JudgeFigure
from visualjudge.analysis.figures.probabilities import RELIABILITY
from visualjudge.analysis.figures.section import Section
from visualjudge.analysis.plots.points import Points
from visualjudge.analysis.plots.series import LinesPlot
from visualjudge.analysis.results import JudgeResult
from visualjudge.analysis.scores import (
    NO_RANKING,
    NO_SCORING,
    Ranking,
    Scoring,
    ranking_cells,
    scoring_cells,
)
from visualjudge.analysis.table_layout import Column, Layout


def _ranking(judge: JudgeResult) -> Ranking:
    return ranking_cells(judge.rankings, ()).get("", NO_RANKING)


def _scoring(judge: JudgeResult) -> Scoring:
    found = scoring_cells(judge.scorings, ()).get("", NO_SCORING)
    return found if "truth" in judge.has else found.without_truth


def _mean_scores(judge: JudgeResult) -> Points:
    """Return the judge's mean score in each tenth of the scale."""
    tenth = pl.col("truth").floor().clip(0, 9)
    means = (
        judge.scorings.select("usable", "number", "truth")
        .filter("usable")
        .drop_nulls()
        .group_by(tenth=tenth)
        .agg(pl.col("truth", "number").mean(), n=pl.len())
    )
    return tuple(means.sort("tenth").select("truth", "number", "n").iter_rows())


RANKINGS = JudgeFigure(
    "ranking",
    _ranking,
    RANKING,
    place=65,
    wide=True,
    headline=Layout[Ranking](Column(None, "tau.value", "Ranking τ-b", number)),
)
SCORES = JudgeFigure(
    "scoring",
    _scoring,
    SCORING,
    place=70,
    wide=True,
    headline=Layout[Scoring](
        Column(None, "within.value", "Scoring τ-b in an image", number),
        Column(None, "spearman.value", "Scoring ρ over all images", number),
    ),
    section=lambda _: Section(
        "scores", "How do the judge’s scores relate to the truth?"
    ),
    plots=(
        LinesPlot(
            "scores",
            "Scores of the judge by the true score",
            "Mean score of the judge in each tenth of the scale; on the dashed line both are "
            "equal.",
            ("true_score", "mean_score"),
            _mean_scores,
            ("True score", "Judge’s score"),
            "Larger markers stand for more replies.",
            "no scoring question has a known score and a reply that was read",
            10.0,
        ),
        RELIABILITY,
    ),
)
