"""HTML tables of results for notebooks, with every value escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from visualjudge.core.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

MOST_ROWS = 40


def html_table(title: str, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a caption; rows after the first 40 are only counted."""
    shown = [*rows]
    head = "".join(f"<th>{escape(name)}</th>" for name in headers)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>"
        for row in shown[:MOST_ROWS]
    )
    more = f"<p>and {len(shown) - MOST_ROWS} more rows</p>" if len(shown) > MOST_ROWS else ""
    caption = f"<caption style='caption-side:top;text-align:left'>{escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return escape(f"{value:.3g}" if isinstance(value, float) else str(value))


def as_pandas(table: pl.DataFrame) -> pd.DataFrame:
    """Return the table as a pandas data frame.

    Raises
    ------
    UsageError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise UsageError("to_pandas needs pandas; install it with `pip install pandas`") from None
    columns: dict[str, Any] = table.to_dict(as_series=False)
    return pd.DataFrame(columns)
