"""Whether the values of a column fit a role that its name alone does not tell, and the letters of
verdicts their assumed meaning.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from visualjudge.apps.adopting.answers import is_missing, is_number, letter_of, order_of
from visualjudge.apps.adopting.rows import models_of
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TIES
from visualjudge.replies import read_reply

LOOKED_AT = 200
"""Values of a column that are looked at, from the first row that has one."""
LONGEST_NAME = 100
"""Characters of the name of a group."""

LEAST_SURE = 3.3
"""Standard errors below 0 of the association of verdicts and truth from which on letters are said
to have the other meaning: about one in 2,000 tables by chance.
"""


class Lettered(NamedTuple):
    """A verdict given as a letter, on a question whose truth is one of its options."""

    cluster: str
    turned: bool
    """Option B was shown first: here the two meanings of a letter differ."""
    said_a: bool
    truth_a: bool


def other_letters_fit(rows: Sequence[Lettered]) -> bool:
    """Whether the truth says that letters have the other meaning: where option B was shown first, A
    is said less often if A is right than if B is, and elsewhere it is not.

    The association within these rows is compared with 0, not the share of right verdicts, which a
    judge that always names one place gets wrong as well. Rows of a cluster count together.
    """
    apart = {
        turned: _association([row for row in rows if row.turned == turned]) for turned in _BOTH
    }
    return apart[True] < -LEAST_SURE and (apart[False] > 0 or all(row.turned for row in rows))


_BOTH = (False, True)


def _association(rows: Sequence[Lettered]) -> float:
    """The covariance of what was said and what is right, in standard errors."""
    if not rows:
        return 0.0
    said = sum(row.said_a for row in rows) / len(rows)
    truth = sum(row.truth_a for row in rows) / len(rows)
    sums: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        sums[row.cluster] += (row.said_a - said) * (row.truth_a - truth)
    spread = math.sqrt(sum(value * value for value in sums.values()))
    return sum(sums.values()) / spread if spread else 0.0


def fits(frame: pl.DataFrame, role: str, column: str, found: Mapping[str, str]) -> bool:
    """Whether at least half of the values of ``column`` are those of ``role``, all of them where
    it is the order; ``found``: the columns of roles that are known.
    """
    models = [pl.col(found[name]).alias(name) for name in ("model_a", "model_b") if name in found]
    rows = frame.select(pl.col(column).alias("value"), *models).rows(named=True)
    told = [row for row in rows if not is_missing(row["value"])][:LOOKED_AT]
    good = sum(_fits(role, row) for row in told)
    return bool(told) and (good == len(told) if role == "order" else 2 * good >= len(told))


def _fits(role: str, row: Mapping[str, Any]) -> bool:
    value, models = row["value"], models_of(row)
    text = str(value)
    try:
        if role == "order":
            order_of(value, models)
        elif role == "verdict":
            return is_number(value) or letter_of(value, models, {}, "") != FAILED
        elif role == "reply":
            return read_reply(text, "pairwise", finish_reason="stop", ties=TIES).value != FAILED
        return len(text) <= LONGEST_NAME
    except DataError:
        return False
