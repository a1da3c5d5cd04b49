"""Check whether a column's values fit a role that its name leaves open, and whether verdict letters
have their assumed meaning.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from visualjudge.apps.adopting.answers import is_missing, is_number, letter_of, order_of
from visualjudge.apps.adopting.rows import models_of, with_texts
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TIES
from visualjudge.replies import read_reply

LOOKED_AT = 200
"""Number of values of a column to check, from the first row that has one."""
LONGEST_NAME = 100
"""Maximum length of a group's name in characters."""

LEAST_SURE = 3.3
"""Standard errors below 0 of the association of verdicts and truth beyond which letters are said to
have the other meaning: about one in 2,000 tables by chance.
"""


class Lettered(NamedTuple):
    """A verdict given as a letter, for a question whose true answer is an option."""

    cluster: str
    turned: bool
    """Whether option B was shown first, in which case the two meanings of a letter differ."""
    said_a: bool
    truth_a: bool


def other_letters_fit(rows: Sequence[Lettered]) -> bool:
    """Return whether the truth indicates the other meaning of letters: A is said less often when A
    is right than when B is right in rows that showed option B first, but not in other rows.

    The test compares the association within these rows with 0. It does not use accuracy, which is
    also low for a judge that always names the same position. Rows of a cluster count together.
    """
    apart = {
        turned: _association([row for row in rows if row.turned == turned]) for turned in _BOTH
    }
    return apart[True] < -LEAST_SURE and (apart[False] > 0 or all(row.turned for row in rows))


_BOTH = (False, True)


def _association(rows: Sequence[Lettered]) -> float:
    """Return the covariance of verdict and truth, in standard errors."""
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
    """Return whether at least half of the column's values (for an order: all) fit ``role``;
    ``found`` has the columns of known roles.
    """
    models = [pl.col(found[name]).alias(name) for name in ("model_a", "model_b") if name in found]
    rows = with_texts(frame.select(pl.col(column).alias("value"), *models)).rows(named=True)
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
