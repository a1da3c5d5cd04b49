"""Replies that could not be read, by cause. See ``replies/reply_to_value.py`` for the reasons why a
reply has no value.
"""

from __future__ import annotations

import polars as pl

from visualjudge.analysis.answers import EXTRACTED
from visualjudge.analysis.figures import Unread


def unread(table: pl.DataFrame) -> Unread:
    """Return the failed replies of all question types of one run by cause, most frequent first."""
    failed = table.filter(~pl.col("usable"))
    causes = (
        failed.group_by("cause").len().sort(["len", "cause"], descending=[True, False])
    )
    extracted = failed.filter(pl.col("status") == EXTRACTED).height
    return Unread(
        table.height,
        failed.height,
        {str(cause): int(n) for cause, n in causes.iter_rows()},
        extracted,
    )
