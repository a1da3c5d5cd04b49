"""Verdicts without an answer: what could not be read, calls that failed, what a judge declined,
what a person cannot tell.

All of them are wrong in an accuracy and counted in ``failed``; only their names differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

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


def declined_and_unsure(table: pl.DataFrame) -> tuple[int, int]:
    """Verdicts that a judge declined, and those by which a person says that they cannot tell."""
    status = table.filter(~pl.col("parsed"))["status"]
    return int((status == DECLINED).sum()), int((status == CANNOT_TELL).sum())
