"""Accuracy as a mean over tasks, and Cohen's κ."""

from dataclasses import replace

import numpy as np
import polars as pl

from visualjudge.analysis import estimate
from visualjudge.analysis.estimate import shares
from visualjudge.analysis.image_sums import image_sums
from visualjudge.analysis.statistics.kappa import kappa
from visualjudge.analysis.value_and_interval import (
    NOTHING,
    UNANSWERED,
    Estimate,
)
from visualjudge.core.records import TIES, FloatArray, IntArray


def macro(pairs: pl.DataFrame) -> Estimate:
    """Return the unweighted mean of the accuracies of the tasks.

    The result has no interval if a task has too few images: a few that agree by chance
    would make the interval too narrow. An image contributes its number of right answers
    minus the number expected from the shares of its tasks.
    """
    if pairs.is_empty():
        return NOTHING
    right = pl.col("right")
    sums = image_sums(pairs, ["task"], {"top": right, "n": right.is_not_null()})
    n = sums.columns["n"]
    cell = sums.cell
    count = sums.total("n")
    value = sums.total("top") / count
    weight = (n.sum() / sums.cells / count)[cell]
    image, place = estimate.renumbered(sums.cluster)
    bottom, squares, beyond = (
        estimate.sums(place, values, image.size)
        for values in (
            weight * n,
            weight**2 * n,
            weight * (sums.columns["top"] - value[cell] * n),
        )
    )
    share = shares(beyond + value.mean() * bottom, bottom, squares=squares)[0]
    few = np.bincount(cell, minlength=sums.cells) < estimate.LEAST_IMAGES
    if not few.any():
        return share
    first = sums.keys["task"].cast(pl.String).filter(pl.Series(few))[0]
    more = int(few.sum()) - 1
    why = f"a task with {estimate.too_few()}: {first}" + (
        f" and {more} more" if more else ""
    )
    return replace(share, interval=None, n=int(n.sum()), why=why)


CHOICES = {answer: k for k, answer in enumerate(("A", "B", *TIES))}
"""The numbers of the answers to pairs, for statistics of several raters."""
ONE_ANSWER = "all the same"


def kappa_with_truth(pairs: pl.DataFrame) -> Estimate:
    """Return Cohen's κ of the verdicts and the right answers. A failed reply agrees
    with no answer, so that declining is no way to raise it.
    """
    if pairs.is_empty():
        return NOTHING
    if not pairs["usable"].any():
        images = pairs["cluster"].n_unique()
        return Estimate(None, None, pairs.height, images, UNANSWERED)
    answers = _choices(pairs, "text", "usable", -1.0)
    true = pairs["answer"].cast(pl.String).replace_strict(CHOICES, default=-1.0)
    return _kappa(
        np.stack([answers, true.to_numpy().astype(float)]),
        pairs["cluster"].to_numpy(),
    )


def kappa_of_two(both: pl.DataFrame) -> Estimate:
    """Return Cohen's κ of two judges on the questions that both answered; the columns
    of the second end in ``_b``.
    """
    read = both.filter(pl.col("usable") & pl.col("usable_b"))
    if read.is_empty():
        return NOTHING
    answers = [
        _choices(read, f"text{end}", f"usable{end}", np.nan)
        for end in ("", "_b")
    ]
    return _kappa(np.stack(answers), read["cluster"].to_numpy())


def _choices(
    table: pl.DataFrame, text: str, parsed: str, failed: float
) -> FloatArray:
    """Return the number of each answer, and ``failed`` where there is none."""
    known = table[text].cast(pl.String).replace_strict(CHOICES, default=None)
    numbers = known.cast(pl.Float64).fill_null(failed).to_numpy()
    return np.where(table[parsed].to_numpy(), numbers, failed)


def _kappa(ratings: FloatArray, clusters: IntArray) -> Estimate:
    value, ends = kappa(ratings, clusters)
    why = None if ends else estimate.too_few()
    if value is None:
        why = ONE_ANSWER
    return Estimate(
        value, ends, ratings.shape[1], int(np.unique(clusters).size), why
    )
