"""The records of one judge's verdicts on pairs: accuracy as a mean over tasks, answers
in both orders, Cohen's κ, replies without an answer. Accuracy by cell is in
``accuracy_cells.py``; rankings and scores, in ``ranking_and_scoring.py``; the sections
that show them, in ``figures/``.

Verdicts without an answer are replies that could not be read, calls that failed,
questions that a judge declined and questions to which a person answered "cannot tell".
Accuracies count all of them as wrong, and ``failed`` includes all of them; only their
names differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from visualjudge.analysis import estimate
from visualjudge.analysis.image_sums import image_sums
from visualjudge.analysis.statistics.rater_agreement import kappa
from visualjudge.analysis.value_and_interval import (
    NOTHING,
    UNANSWERED,
    Estimate,
    unknown,
)
from visualjudge.core.records import TIES, FloatArray, IntArray

DECLINED = "refusal"
CANNOT_TELL = "cannot_tell"
"""Statuses of verdicts that intentionally give no answer."""
NO_REPLY = "api_error"
"""Status of verdicts whose call failed, so that there was no reply to read."""


def of_status(causes: Mapping[str, int], status: str) -> int:
    """Count the failed replies of ``causes`` (a status, or "status: cause") with this
    status."""
    return sum(
        n for cause, n in causes.items() if cause.partition(":")[0] == status
    )


def withheld() -> pl.Expr:
    """Return whether a verdict intentionally gives no answer."""
    return ~pl.col("usable") & pl.col("status").is_in([DECLINED, CANNOT_TELL])


OF_TWO = 0.5
"""Accuracy of guessing between A and B."""


@dataclass(frozen=True)
class Accuracy:
    """Pairwise verdicts of one cell, with failed replies by cause. A failed reply is
    wrong in ``share``, left out of ``parsed``, and right in ``upper_bound``.
    ``answered_a`` is the share of the usable replies that chose the option shown first;
    None if none chose an option or the order shown is not known.
    """

    share: Estimate
    failed: int
    upper_bound: float | None
    parsed: Estimate
    answered_a: float | None
    causes: Mapping[str, int]

    @property
    def shown(self) -> Estimate:
        """``share`` as reports show it: without a value if no verdict has an answer."""
        return (
            replace(
                NOTHING,
                n=self.share.n,
                images=self.share.images,
                why=UNANSWERED,
            )
            if self.none
            else self.share
        )

    @property
    def without_truth(self) -> Accuracy:
        """The figures that need no right answers."""
        share = unknown(self.share)
        parsed = unknown(self.parsed)
        return replace(self, share=share, upper_bound=None, parsed=parsed)

    @property
    def none(self) -> bool:
        """Whether there are verdicts but none has an answer."""
        return 0 < self.share.n == self.failed


@dataclass(frozen=True)
class Swap:
    """Questions asked in both orders. A question without an answer in one order is not
    consistent. The ``withheld`` ones, declined or answered "cannot tell" in both
    orders, are left out.
    """

    consistency: Estimate
    consistency_parsed: float | None
    right_in_both: Estimate
    withheld: int = 0


@dataclass(frozen=True)
class Preference:
    """A judge's preference for one feature, compared at equal difficulty: 0 is fair, ±½
    ignores everything else.
    """

    feature: str
    leans_to: str
    estimate: Estimate
    p: float | None
    p_holm: float | None = None
    flagged: bool = False


def constant_answer(pairs: pl.DataFrame) -> float | None:
    """Return the share of the most frequent right answer, with options named by the
    position in which they were shown.
    """
    if pairs.is_empty():
        return None
    displayed = (
        pl.when(pl.col("first_right").is_null())
        .then(pl.col("answer").cast(pl.String))
        .otherwise(pl.col("first_right").cast(pl.String))
    )
    counts = (
        pairs.select(displayed.alias("said"))
        .to_series()
        .value_counts()["count"]
    )
    return float(max(counts.to_list()) / pairs.height)


@dataclass(frozen=True)
class Pairwise:
    """All pairwise verdicts of one judge.

    ``chance`` is the accuracy of guessing among the answers that the questions allow: ½
    for two answers, ¼ for A, B and two ties. ``constant`` is that of the best answer
    given always: the option shown first, the one shown second, or a tie. If the order
    shown is not known, options are named as stored; None if questions were then asked
    more than once. ``position_p`` is the exact binomial p of "the first option" against
    ½, with verdicts treated as independent; ``ties`` the share of the usable replies
    that call it a tie, None if none does; ``macro`` the accuracy as the mean over
    tasks; ``kappa`` Cohen's κ of verdicts and right answers; ``position`` the
    preference for the option shown first.
    """

    accuracy: Accuracy
    questions: int
    chance: float
    constant: float | None
    position_p: float | None
    swap: Swap
    ties: float | None = None
    macro: Estimate = NOTHING
    kappa: Estimate = NOTHING
    position: Preference | None = None

    @property
    def without_truth(self) -> Pairwise:
        """The figures that need no right answers."""
        return replace(
            self,
            accuracy=self.accuracy.without_truth,
            constant=None,
            swap=replace(
                self.swap, right_in_both=unknown(self.swap.right_in_both)
            ),
            macro=unknown(self.macro),
            kappa=unknown(self.kappa),
        )


def macro(pairs: pl.DataFrame) -> Estimate:
    """Return the unweighted mean of the accuracies of the tasks.

    The result has no interval if a task has too few images: a few that agree by chance
    would make the interval too narrow. An image contributes its number of right answers
    minus the number expected from the shares of its tasks.
    """
    if pairs.is_empty():
        return NOTHING
    right = pl.col("right")
    sums = image_sums(pairs, ["task"], {"top": right, "n": pl.lit(1)})
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
    share = estimate.shares(
        beyond + value.mean() * bottom, bottom, squares=squares
    )[0]
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
