"""The verdicts of a Parquet file, taken column by column: three times as fast as line by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

LARGEST = 1e30
"""A number beyond this is none."""
_MOST_TOKENS = 2**31 - 1
_STATED = ("id", "order", "value", "status", "repeat")
_IN_MORE = '"(purpose|paid)"'
"""Fields of ``more`` on which the columns of a verdict depend."""


@dataclass(frozen=True, eq=False, slots=True)
class VerdictColumns:
    """Verdicts as columns, an entry a verdict in each."""

    ids: list[str]
    order: pl.Series
    status: pl.Series
    value: pl.Series
    """Null where it is a number."""
    replies: list[str | None]
    causes: list[str]
    """Of those that have one."""
    numbers: Mapping[str, NDArray[Any]]
    """By the name of the field in the index."""


def has_plain_columns(frame: pl.DataFrame) -> bool:
    """Whether the columns alone are the verdicts: nothing is missing, or stands elsewhere."""
    if frame["json"].null_count() < frame.height or any(
        frame[name].null_count() for name in _STATED
    ):
        return False
    if (frame["repeat"] < 0).any() or not frame["order"].is_in(["AB", "BA"]).all():
        return False
    return not frame["more"].str.contains(_IN_MORE).any()


def columns_of(frame: pl.DataFrame) -> VerdictColumns:
    """The verdicts of rows that :func:`has_plain_columns`."""
    import polars as pl

    replies = frame["raw_response"]
    return VerdictColumns(
        ids=frame["id"].to_list(),
        order=frame["order"],
        status=frame["status"],
        value=frame.select(
            pl.when(pl.col("number").is_null()).then(pl.col("value")).alias("value")
        )["value"],
        replies=replies.to_list(),
        causes=[cause for cause in frame["cause"].drop_nulls().to_list() if cause],
        numbers={
            "repeat": frame["repeat"].to_numpy(),
            "number": _real(frame["number"]),
            "probability": _real(frame["probability_a"]),
            "latency": _real(frame["latency_s"]),
            "chars": replies.str.len_chars().fill_null(0).to_numpy(),
            "tokens_in": _tokens(frame["tokens_in"]),
            "tokens_out": _tokens(frame["tokens_out"]),
        },
    )


def coded(column: pl.Series, codes: Mapping[str, int], other: int) -> NDArray[np.int32]:
    """The code of each text; ``other`` for a text without one and for null."""
    import polars as pl

    found = column.replace_strict(
        list(codes), list(codes.values()), default=other, return_dtype=pl.Int32
    )
    return np.asarray(found.fill_null(other).to_numpy())


def _real(column: pl.Series) -> NDArray[np.float64]:
    found = np.array(column.fill_null(float("nan")).to_numpy(), dtype=np.float64)
    found[~(np.abs(found) < LARGEST)] = np.nan
    return found


def _tokens(column: pl.Series) -> NDArray[np.int64]:
    return np.asarray(column.fill_null(0).clip(0, _MOST_TOKENS).to_numpy())
