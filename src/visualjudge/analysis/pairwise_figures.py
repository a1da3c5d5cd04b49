"""What is known of the pairwise verdicts of one judge, as frozen records.

Verdicts without an answer are those that could not be read, calls that failed, what a judge
declined and what a person cannot tell. All of them are wrong in an accuracy and counted in
``failed``; only their names differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from visualjudge.analysis.value_and_interval import NO_SHARE, UNANSWERED, Estimate, Share

DECLINED, CANNOT_TELL = "refusal", "cannot_tell"
"""Statuses of verdicts that give no answer on purpose."""
NO_REPLY = "api_error"
"""Status of verdicts whose call failed: there was nothing to read."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Counts of verdicts without an answer."""

    unread: int = 0
    no_reply: int = 0
    declined: int = 0
    cannot_tell: int = 0


def unanswered(causes: Mapping[str, int]) -> Unanswered:
    """The failed replies of ``causes`` (a status, or "status: cause") by what they are."""
    found = {NO_REPLY: 0, DECLINED: 0, CANNOT_TELL: 0}
    for cause, n in causes.items():
        status = cause.partition(":")[0]
        if status in found:
            found[status] += n
    return Unanswered(sum(causes.values()) - sum(found.values()), *found.values())


def withheld() -> pl.Expr:
    """Whether a verdict gives no answer on purpose."""
    return ~pl.col("parsed") & pl.col("status").is_in([DECLINED, CANNOT_TELL])


OF_TWO = 0.5
"""The share right of a guess between A and B."""


@dataclass(frozen=True)
class Accuracy:
    """Pairwise verdicts of one cell. A reply that failed is wrong in ``share`` and left out of
    ``parsed``.
    """

    share: Share
    failed: int
    upper_bound: float | None
    """The share had every failed reply been right."""
    parsed: Share
    answered_a: float | None
    """Share of the usable replies that chose the option shown first; None where none chose an
    option, or the order shown is not known.
    """
    causes: Mapping[str, int]
    """Failed replies by cause."""

    @property
    def shown(self) -> Share:
        """``share`` as reports show it: without a value where no verdict has an answer to be right
        or wrong.
        """
        return (
            replace(NO_SHARE, n=self.share.n, images=self.share.images, why=UNANSWERED)
            if self.none
            else self.share
        )

    @property
    def none(self) -> bool:
        """Whether verdicts are there and none has an answer."""
        return 0 < self.share.n == self.failed


@dataclass(frozen=True)
class Swap:
    """Questions asked in both orders. One without an answer in one of them is not consistent; one
    without an answer on purpose in both says nothing of consistency and is left out.
    """

    consistency: Share
    consistency_parsed: float | None
    right_in_both: Share
    always_first: int
    always_second: int
    p: float | None
    """Clustered test of "first place both times" against "second place both times"."""
    withheld: int = 0
    """Questions that the judge declined, or could not tell, in both orders."""


@dataclass(frozen=True)
class Preference:
    """How a judge leans to one feature, compared at equal difficulty: 0 = fair, ±½ = looks at
    nothing else.
    """

    feature: str
    leans_to: str
    chosen: float | None
    estimate: Estimate
    p: float | None
    p_holm: float | None = None
    flagged: bool = False
    crude: float | None = None
    """The same without comparing at equal difficulty."""


def constant_answer(pairs: pl.DataFrame) -> float | None:
    """The share of the most frequent right answer, options by the place in which they were
    shown.
    """
    if pairs.is_empty():
        return None
    shown = (
        pl.when(pl.col("first_right").is_null())
        .then(pl.col("answer").cast(pl.String))
        .otherwise(pl.col("first_right").cast(pl.String))
    )
    return int(pairs.group_by(shown.alias("said")).len()["len"].max()) / pairs.height  # type: ignore[arg-type]


@dataclass(frozen=True)
class Pairwise:
    """All pairwise verdicts of one judge."""

    accuracy: Accuracy
    questions: int
    chance: float
    """Share right of a guess among the answers that the questions allow: ½ of two, ¼ of A, B and
    two ties.
    """
    constant: float | None
    """Share right of always giving the same answer, the best of them: of the option shown first,
    the one shown second and each tie; None where the order shown is not known.
    """
    macro: Share
    """Mean over tasks of the share right."""
    position_p: float | None
    """Exact binomial p of "the first option" against ½, verdicts as if independent."""
    swap: Swap
    published: Mapping[str, Share]
    """As well-known benchmarks print it, by key of
    :data:`visualjudge.analysis.benchmark_pair_rules.RULES`.
    """

    @property
    def better_than_chance(self) -> bool:
        """Whether the interval of the share right lies above chance: what failed is wrong, each
        verdict counts once.
        """
        low = (self.accuracy.shown.interval or (None, None))[0]
        return low is not None and low > self.chance

    @property
    def worse_than_chance(self) -> bool:
        """Whether the interval of what was read lies below chance: a reply that was not read is no
        wrong choice.
        """
        high = (self.accuracy.parsed.interval or (None, None))[1]
        return high is not None and high < self.chance
