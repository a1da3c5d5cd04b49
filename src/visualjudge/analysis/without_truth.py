"""Figures of a judge whose questions have no known answer, as in a table of verdicts without truth.

What needs no truth stays: how often it gives the same answer in both orders, its preference for the
option shown first, ties, failed replies, the sources as it ranks them, and agreement between
judges. All else is not measured, and says why.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from visualjudge.analysis.figures import Cell, Comparison, JudgeResult, Scoring
from visualjudge.analysis.pairwise_figures import Accuracy, Pairwise
from visualjudge.analysis.value_and_interval import NO_TRUTH, Estimate


def _unknown(found: Estimate) -> Estimate:
    return replace(found, value=None, interval=None, why=NO_TRUTH) if found.n else found


def _accuracy(found: Accuracy) -> Accuracy:
    return replace(
        found,
        share=_unknown(found.share),
        upper_bound=None,
        parsed=_unknown(found.parsed),
    )


def pairwise_without_truth(found: Pairwise) -> Pairwise:
    """Return the figures that need no truth."""
    return replace(
        found,
        accuracy=_accuracy(found.accuracy),
        constant=None,
        swap=replace(found.swap, right_in_both=_unknown(found.swap.right_in_both)),
        macro=_unknown(found.macro),
        kappa=_unknown(found.kappa),
    )


def in_both_orders(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts on questions that were read in both orders, as if A were right.

    Their preference for the option shown first is the same whichever option is right: half the
    difference of how often the first and the second option shown is chosen.
    """
    read = pairs.filter("usable")
    both = read.filter(pl.col("order").n_unique().over("question", "repeat") == 2)
    return both.with_columns(
        right=pl.col("text") == "A",
        first_right=pl.col("order") == "AB",
        margin=pl.lit(0.0),
    )


def _cell(cell: Cell) -> Cell:
    scoring = None if cell.scoring is None else _scoring(cell.scoring)
    return replace(cell, accuracy=_accuracy(cell.accuracy), scoring=scoring)


def _scoring(found: Scoring) -> Scoring:
    spearman, mae = _unknown(found.spearman), _unknown(found.mae)
    return replace(
        found,
        within=_unknown(found.within),
        spearman=spearman,
        pearson=spearman,
        mae=mae,
        bias=mae,
    )


def comparison_without_truth(found: Comparison) -> Comparison:
    """Return the agreement of two judges without their accuracies."""
    return Comparison(
        found.a,
        found.b,
        found.questions,
        found.verdicts,
        _unknown(found.gap),
        kappa=found.kappa,
    )


def result_without_truth(found: JudgeResult) -> JudgeResult:
    """Return the results that need no truth."""
    by_table = {
        name: tuple(map(_cell, getattr(found, name)))
        for name in ("by_task", "by_encoding", "by_error_type")
    }
    return replace(
        found,
        **by_table,  # type: ignore[arg-type]
        pairwise=pairwise_without_truth(found.pairwise),
        scoring=_scoring(found.scoring),
        sensitivity=(),
        encodings=(),
        variance=(),
        own_scores=(),
    )
