"""Figures of the pairwise verdicts of one judge, as frozen records.

Verdicts without an answer are replies that could not be read, calls that failed,
questions that a judge declined and questions to which a person answered "cannot tell".
Accuracies count all of them as wrong, and ``failed`` includes all of them; only their
names differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from visualjudge.analysis.value_and_interval import (
    NOTHING,
    UNANSWERED,
    Estimate,
    unknown,
)

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
