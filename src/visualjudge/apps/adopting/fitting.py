"""Whether the values of a column fit a role that its name alone does not tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
