"""Columns of words of which few differ, and their numbers in the order of the words."""

from __future__ import annotations

import numpy as np
import polars as pl

from visualjudge.analysis.statistics.jackknife import renumbered
from visualjudge.core.records import IntArray

WORD = pl.Categorical()
"""A text as a number of 4 bytes a row: it compares, sorts and prints as the text does."""


def ordered(column: pl.Series) -> tuple[pl.Series, IntArray]:
    """The distinct words of a column without nulls, sorted, and the place of each row's word among
    them, from 0.
    """
    words = column.cast(WORD)
    codes, place = renumbered(words.to_physical().to_numpy())
    row = np.zeros(codes.size, dtype=np.int64)
    row[place] = np.arange(place.size)
    held = words[row].cast(pl.String)
    order = held.arg_sort().to_numpy()
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    return held[order], rank[place]
