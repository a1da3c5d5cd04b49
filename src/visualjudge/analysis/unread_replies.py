"""Replies that could not be read: failed replies by cause, and their most common shapes. See
``replies/reply_to_value.py`` for the reasons why a reply has no value.
"""

from __future__ import annotations

import re

import polars as pl

from visualjudge.analysis.answers import EXTRACTED
from visualjudge.analysis.figures import Shape, Unread
from visualjudge.analysis.load import read_reply
from visualjudge.analysis.study_table import Run, Study

SHAPES = 10
SAMPLED = 1000
"""Number of failed replies, from the start of the run, whose shapes are counted."""
SHAPE_LENGTH = 60
EXAMPLE_LENGTH = 400
EMPTY = "(empty reply)"
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SPACE = re.compile(r"\s+")
_LONG = re.compile(r"(.)\1{3,}")


def shape_of(text: str) -> str:
    """Return the shape of a reply: its end in lower case, with numbers as 0 and repeated signs
    once.
    """
    plain = _LONG.sub(r"\1", _NUMBER.sub("0", _SPACE.sub(" ", text).strip().lower()))
    if not plain:
        return EMPTY
    return plain if len(plain) <= SHAPE_LENGTH else "… " + plain[-SHAPE_LENGTH:]


def unread(study: Study, index: int) -> Unread:
    """Return the failed replies of all question types of one run by cause, and by shape including
    those of probes.
    """
    table, answered = study.joined[index], study.answered[index]
    failed, anywhere = (rows.filter(~pl.col("usable")) for rows in (table, answered))
    causes = dict(
        failed.group_by("cause").len().sort(["len", "cause"], descending=[True, False]).iter_rows()
    )
    shapes = _shapes(study.runs[index], anywhere)
    found = {str(k): int(n) for k, n in causes.items()}
    extracted = failed.filter(pl.col("status") == EXTRACTED).height
    again = _accuracy_with(table) if extracted else None
    tiers = (
        table.filter(pl.col("usable") & pl.col("read_by").is_not_null())
        .group_by("read_by")
        .len()
        .sort("read_by")
    )
    read_by = {str(tier): int(n) for tier, n in tiers.iter_rows()}
    return Unread(
        table.height,
        failed.height,
        found,
        shapes,
        extracted,
        again,
        anywhere.height - failed.height,
        read_by,
    )


def _accuracy_with(table: pl.DataFrame) -> float | None:
    """Return the pairwise accuracy including the values that a second reader gave."""
    pairs = table.filter(pl.col("right").is_not_null())
    right = pl.col("right") | pl.col("right_extracted").fill_null(False)
    return float(pairs.select(right.mean()).item()) if pairs.height else None


def _shapes(run: Run, failed: pl.DataFrame) -> tuple[Shape, ...]:
    found: dict[tuple[str, str], Shape] = {}
    for row in failed.head(SAMPLED).select("id", "offset", "cause").iter_rows(named=True):
        text = read_reply(run, row["offset"]).get("raw_response")
        if not isinstance(text, str):
            continue
        key = (str(row["cause"]), shape_of(text))
        old = found.get(key)
        example, question = (
            (old.example, old.question) if old else (text[-EXAMPLE_LENGTH:], str(row["id"]))
        )
        found[key] = Shape(*key, (old.count if old else 0) + 1, example, question)
    return tuple(
        sorted(found.values(), key=lambda shape: (-shape.count, shape.cause, shape.shape))[:SHAPES]
    )
