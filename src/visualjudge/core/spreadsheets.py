"""Make tables safe for spreadsheet programs, so that no text runs as a formula (OWASP, "CSV
injection")."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """Return ``table`` with an apostrophe before each text that a spreadsheet would evaluate; plain
    numbers are unchanged.
    """
    import polars as pl
    import polars.selectors as select

    text = select.string()
    acts = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    return table.with_columns(pl.when(acts).then(pl.lit("'") + text).otherwise(text).name.keep())
