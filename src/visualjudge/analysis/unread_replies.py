"""Replies that could not be read, by cause. See ``replies/reply_to_value.py`` for the reasons why a
reply has no value.
"""

from __future__ import annotations

import polars as pl

from visualjudge.analysis.answers import EXTRACTED
from visualjudge.analysis.figures import Unread
from visualjudge.analysis.study_table import Study


def unread(study: Study, index: int) -> Unread:
    """Return the failed replies of all question types of one run by cause."""
    table, answered = study.joined[index], study.answered[index]
    failed, anywhere = (rows.filter(~pl.col("usable")) for rows in (table, answered))
    extracted = failed.filter(pl.col("status") == EXTRACTED).height
    read = table.filter(pl.col("usable") & pl.col("read_by").is_not_null())
    return Unread(
        table.height,
        failed.height,
        _counts(failed, "cause"),
        extracted,
        anywhere.height - failed.height,
        _counts(read, "read_by"),
    )


def _counts(rows: pl.DataFrame, column: str) -> dict[str, int]:
    """Count the rows by the words of a column, the most frequent first."""
    counts = rows.group_by(column).len().sort(["len", column], descending=[True, False])
    return {str(word): int(n) for word, n in counts.iter_rows()}
