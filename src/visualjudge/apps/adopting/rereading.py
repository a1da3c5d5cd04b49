"""Read a table's replies with our own reader, each distinct reply once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from visualjudge.core.records import FAILED, TIES, TURNED, Answer, QuestionType, Verdict
from visualjudge.core.workers import map_chunks
from visualjudge.replies import Reading, read_reply

if TYPE_CHECKING:
    from visualjudge.apps.adopting.rows import Table

ReplyKey = tuple[str, str]
"""Text and finish reason."""
FEW = 5_000
"""Number of replies up to which starting other processes does not pay."""
BATCH = 1_000


def reply_key(row: Mapping[str, Any]) -> ReplyKey:
    """Return the parts of a row that determine the reading of its reply."""
    return str(row["reply"]), str(row.get("finish_reason") or "stop")


def read_replies(table: Table, workers: int) -> dict[ReplyKey, Reading]:
    """Return the readings of all replies in the table."""
    rows = (row for row in table.rows if row["reply"] is not None)
    keys = list(dict.fromkeys(map(reply_key, rows)))
    kind: QuestionType = "pairwise" if table.pairs else "scoring"
    jobs = ((kind, part) for part in _parts(keys))
    parts = map_chunks(_read, jobs, workers if len(keys) > FEW else 1)
    found = [reading for part in parts for reading in part]
    return dict(zip(keys, found, strict=True))


def _parts(keys: Iterable[ReplyKey]) -> Iterable[list[ReplyKey]]:
    left = iter(keys)
    while part := list(islice(left, BATCH)):
        yield part


def _read(job: tuple[QuestionType, Sequence[ReplyKey]]) -> list[Reading]:
    kind, keys = job
    return [read_reply(text, kind, finish_reason=reason, ties=TIES) for text, reason in keys]


def reread(table: Table, theirs: Verdict, found: Reading) -> Verdict:
    """Return a verdict with our reading of the reply and the table's own value.

    Scores are on the table's scale; a score outside it is not read.
    """
    value: Answer = found.value
    status, cause = found.status, found.cause
    if isinstance(value, str):
        value = TURNED.get(value, value) if theirs.order == "BA" else value
    else:
        low, high = table.scale
        if low <= value <= high:
            value = round((value - low) / (high - low) * 10, 9)
        else:
            value, status, cause = FAILED, "unparseable", "other scale"
    extra: dict[str, Any] = {"published_value": str(theirs.value)}
    if found.rule:
        extra |= {"rule": found.rule, "read_by": found.read_by}
    return Verdict(
        theirs.id,
        theirs.order,
        value,
        status,
        theirs.raw_response,
        theirs.usage,
        repeat=theirs.repeat,
        cause=cause,
        extra=extra,
    )
