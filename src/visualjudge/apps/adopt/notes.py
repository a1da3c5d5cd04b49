"""What a table of verdicts does not say: the order shown, and whose letters its letters are."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from visualjudge.apps.adopt.table import Answered, Table, models_of
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import FAILED, TURNED, Order, Verdict

Judged = Sequence[tuple[Answered, Verdict]]
NO_TRUTH = (
    "truth: no column; accuracy is not measured (--column truth=NAME; without answers, "
    "visualjudge label draws questions for people)"
)
MEANINGS = {"columns": "of the columns (A is model_a)", "shown": "of the order shown (A is first)"}
LEAST_SURE = 3.3
"""Standard errors below 0 of the association of verdicts and truth beyond which letters are said to
have the other meaning: about one in 2,000 tables by chance.
"""


class Lettered(NamedTuple):
    """A verdict given as a letter, for a question whose true answer is an option.

    ``turned``: option B was shown first, in which case the two meanings of a letter differ.
    """

    cluster: str
    turned: bool
    said_a: bool
    truth_a: bool


def other_letters_fit(rows: Sequence[Lettered]) -> bool:
    """Return whether the truth indicates the other meaning of letters: A is said less often when A
    is right than when B is right in rows that showed option B first, but not in other rows.

    The test compares the association within these rows with 0. It does not use accuracy, which is
    also low for a judge that always names the same position. Rows of a cluster count together.
    """
    turned, stored = (
        _association([row for row in rows if row.turned == turned]) for turned in (True, False)
    )
    return turned < -LEAST_SURE and (stored > 0 or all(row.turned for row in rows))


def _association(rows: Sequence[Lettered]) -> float:
    """Return the covariance of verdict and truth, in standard errors."""
    verdicts = sum(row.said_a for row in rows) / max(len(rows), 1)
    truths = sum(row.truth_a for row in rows) / max(len(rows), 1)
    sums: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        sums[row.cluster] += (row.said_a - verdicts) * (row.truth_a - truths)
    spread = math.sqrt(sum(value * value for value in sums.values()))
    return sum(sums.values()) / spread if spread else 0.0


def other_values(judged: Judged, *, letters_turned: bool = False) -> tuple[int, int]:
    """Return the number of replies with a value in the table that cannot be read, and that of
    replies that state another value; with ``letters_turned``, if letters had the other meaning.
    """
    invented = differing = 0
    for row, verdict in judged:
        theirs, ours = str(verdict.extra.get("published_value", FAILED)), str(verdict.value)
        if row.reply.text is not None and theirs != FAILED:
            if letters_turned and row.shown == "BA" and row.lettered:
                theirs = TURNED.get(theirs, theirs)
            invented += ours == FAILED
            differing += ours not in (FAILED, theirs)
    return invented, differing


def unknown_orders(table: Table, judged: Judged) -> Counter[str]:
    """Return the number of answered rows of each judge whose order is unknown."""
    answered = (row for row, verdict in judged if table.pairs and verdict.value != FAILED)
    return Counter(row.judge for row in answered if row.shown is None)


def notes(table: Table, judged: Judged) -> Iterator[str]:
    """Yield a sentence for each fact that the table lacks."""
    columns = table.columns
    unknown = unknown_orders(table, judged).total()
    if unknown:
        every = not any(row.shown for row, _ in judged)
        lacking = "no column" if every else f"{pluralize(unknown, 'row')} without it"
        yield (
            f"order: {lacking}; position bias and swaps are not measured (--column order=NAME; "
            "order=model_a where model_a was always shown first)"
        )
    if table.without_truth:
        yield NO_TRUTH
    reread = sum(row.reply.text is not None for row, _ in judged)
    failed = [row for row, verdict in judged if verdict.value == FAILED and row.reply.text is None]
    if failed:
        yield (
            f"{columns['verdict']}: {pluralize(len(failed), 'row')} without a verdict, which "
            "count as failed replies"
        )
    if unknown and reread:
        yield "replies: read as if model_a was shown first where no order is known"
    if table.apart:
        yield (
            f"{columns['item']}: {pluralize(len(table.apart), 'name')} in several values of "
            f"{columns['group']}, kept apart as different questions, such as {min(table.apart)}"
        )
    lone = sum(row["group"] is None for row in table.rows if "group" in row)
    if 0 < lone < len(table.rows):
        yield (
            f"{columns['group']}: {pluralize(lone, 'row')} without it, whose "
            "questions count as independent cases"
        )
    alike = sum(a is not None and a == b for a, b in map(models_of, table.rows))
    if table.pairs and alike:
        yield (
            f"{columns['model_a']}, {columns['model_b']}: the same source in "
            f"{pluralize(alike, 'row')}, which rank no sources"
        )
    open_order: set[Order | None] = {"BA", None}
    is_open = any(row.shown in open_order and verdict.value != FAILED for row, verdict in judged)
    yield from _of_letters(table, judged, reread > 0, table.pairs and is_open)


def _of_letters(table: Table, judged: Judged, reread: bool, is_open: bool) -> Iterator[str]:
    """Say what letters were taken for; ``is_open``: they could mean something else in some row."""
    now, other = ("shown", "columns") if table.letters_shown else ("columns", "shown")
    lettered = [
        Lettered(row.item.cluster, row.shown == "BA", verdict.value == "A", row.item.answer == "A")
        for row, verdict in judged
        if row.lettered and {verdict.value, row.item.answer} <= {"A", "B"}
    ]
    if reread:
        differing, otherwise = (
            other_values(judged, letters_turned=turned)[1] for turned in (False, True)
        )
        if otherwise < differing:
            yield (
                f"with the letters those {MEANINGS[other]}, another value for "
                f"{otherwise}, not {differing}: --letters {other}"
            )
    elif other_letters_fit(lettered):
        right = [row.said_a == row.truth_a for row in lettered]
        turned = [fits != row.turned for fits, row in zip(right, lettered, strict=True)]
        shares = [f"{100 * sum(hits) / len(hits):.1f} %" for hits in (turned, right)]
        yield (
            f"warning: letters in {table.columns['verdict']} seem to be those {MEANINGS[other]}: "
            f"so read they equal the truth in {shares[0]}, as now read in "
            f"{shares[1]}; --letters {other}"
        )
    elif is_open and any(row.lettered for row, _ in judged):
        yield (
            f"letters in {table.columns['verdict']}: taken as those {MEANINGS[now]}; "
            f"--letters {other} takes them as those {MEANINGS[other]}"
        )
