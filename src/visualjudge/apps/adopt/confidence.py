"""Stated confidence as a probability from 0 to 1. Columns of other answers are in
``criteria.py``.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

from visualjudge.apps.adopt.cell_spellings import is_missing, is_number
from visualjudge.apps.adopt.files import Row

Form = Literal["probabilities", "percentages", "log-probabilities"]
ROLE = "confidence"


def form_of(rows: Sequence[Row]) -> Form:
    """Return what the numbers of the column are, by their range: 0 to 1, 0 to 100 with
    some above 10, or at most 0.

    Raises
    ------
    DataError
        If they are none of these.
    """
    numbers = [number for row in rows if (number := _number(row)) is not None]
    low = min(numbers, default=0.0)
    high = max(numbers, default=0.0)
    if low >= 0 and high <= 1:
        return "probabilities"
    if high <= 0:
        return "log-probabilities"
    if low >= 0 and 10 < high <= 100:
        return "percentages"
    raise rows[0].fault(
        ROLE,
        "must be probabilities (0 to 1), percentages (0 to 100) or log-probabilities "
        f"(at most 0), got numbers from {low:g} to {high:g}",
    )


def confidence_of(row: Row, form: Form) -> float | None:
    """Return a row's confidence as a probability; None if the cell is empty."""
    number = _number(row)
    if number is None or form == "probabilities":
        return number
    return math.exp(number) if form == "log-probabilities" else number / 100


def _number(row: Row) -> float | None:
    cell: Any = row.get(ROLE)
    if is_missing(cell):
        return None
    number = float(cell) if is_number(cell) else math.nan
    if not math.isfinite(number):
        raise row.fault(ROLE, f"must be a number, got {cell!r}")
    return number
