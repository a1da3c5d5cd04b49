"""What a table of verdicts does not say: the order shown, and whose letters its letters are."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from visualjudge.apps.adopt.table import Answered, Table, models_of
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import FAILED, TURNED, Order, Verdict

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
    if not rows:
        return 0.0
    verdicts = sum(row.said_a for row in rows) / len(rows)
    truths = sum(row.truth_a for row in rows) / len(rows)
    sums: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        sums[row.cluster] += (row.said_a - verdicts) * (row.truth_a - truths)
    spread = math.sqrt(sum(value * value for value in sums.values()))
    return sum(sums.values()) / spread if spread else 0.0


@dataclass(slots=True)
class Evidence:
    """What the rows of a table show of it: counts of replies that were read again, of answered
    rows by judge and order, and of letters.
    """

    reread: int = 0
    invented: int = 0
    differing: int = 0
    differing_otherwise: int = 0
    """Number that would differ if letters had the other meaning."""
    failed: int = 0
    of_order: Counter[tuple[str, Order | None]] = field(default_factory=Counter)
    lettered: int = 0
    letters: list[Lettered] = field(default_factory=list)

    def add(self, table: Table, row: Answered, verdict: Verdict) -> None:
        """Count a row and its verdict."""
        if row.reply.text is not None:
            theirs, ours = verdict.extra["published_value"], str(verdict.value)
            self.reread += 1
            self.invented += ours == FAILED != theirs
            self.differing += FAILED not in (ours, theirs) and ours != theirs
            other = TURNED.get(theirs, theirs) if row.shown == "BA" and row.lettered else theirs
            self.differing_otherwise += FAILED not in (ours, other) and ours != other
        elif verdict.value == FAILED:
            self.failed += 1
        if not table.pairs or verdict.value == FAILED:
            return
        self.of_order[row.judge, row.shown] += 1
        self.lettered += row.lettered
        truth = row.asked.item.answer
        if row.lettered and {verdict.value, truth} <= {"A", "B"}:
            cluster = row.asked.item.cluster
            self.letters.append(
                Lettered(cluster, row.shown == "BA", verdict.value == "A", truth == "A")
            )

    def of(self, order: Order | None) -> int:
        """Return the number of answered rows with this order."""
        return sum(count for (_, shown), count in self.of_order.items() if shown == order)


def notes(table: Table, seen: Evidence) -> Iterator[str]:
    """Yield a sentence for each fact that the table lacks."""
    unknown = seen.of(None)
    columns: Mapping[str, str] = table.columns
    if unknown:
        every = unknown == seen.of_order.total()
        lacking = "no column" if every else f"{pluralize(unknown, 'row')} without it"
        yield (
            f"order: {lacking}; position bias and swaps are not measured (--column order=NAME; "
            "order=model_a where model_a was always shown first)"
        )
    if table.without_truth:
        yield NO_TRUTH
    if seen.failed:
        yield (
            f"{columns['verdict']}: {pluralize(seen.failed, 'row')} without a verdict, which "
            "count as failed replies"
        )
    if unknown and seen.reread:
        yield "replies: read as if model_a was shown first where no order is known"
    if table.apart:
        yield (
            f"{columns['item']}: {pluralize(len(table.apart), 'name')} in several values of "
            f"{columns['group']}, kept apart as different questions, such as {min(table.apart)}"
        )
    grouped = [row["group"] is not None for row in table.rows if "group" in row]
    if any(grouped) and not all(grouped):
        yield (
            f"{columns['group']}: {pluralize(grouped.count(False), 'row')} without it, whose "
            "questions count as independent cases"
        )
    alike = sum(a is not None and a == b for a, b in map(models_of, table.rows))
    if table.pairs and alike:
        yield (
            f"{columns['model_a']}, {columns['model_b']}: the same source in "
            f"{pluralize(alike, 'row')}, which rank no sources"
        )
    yield from _of_letters(table, seen, seen.of("BA") or unknown)


def _of_letters(table: Table, seen: Evidence, open_rows: int) -> Iterator[str]:
    """Say what letters were taken for; ``open_rows``: in which they could mean something else."""
    now, other = ("shown", "columns") if table.letters_shown else ("columns", "shown")
    if seen.reread:
        if seen.differing_otherwise < seen.differing:
            yield (
                f"with the letters those {MEANINGS[other]}, another value for "
                f"{seen.differing_otherwise}, not {seen.differing}: --letters {other}"
            )
    elif other_letters_fit(seen.letters):
        right = [row.said_a == row.truth_a for row in seen.letters]
        otherwise = [fits != row.turned for fits, row in zip(right, seen.letters, strict=True)]
        yield (
            f"warning: letters in {table.columns['verdict']} seem to be those {MEANINGS[other]}: "
            f"so read they equal the truth in {_share(otherwise)}, as now read in "
            f"{_share(right)}; --letters {other}"
        )
    elif seen.lettered and open_rows:
        yield (
            f"letters in {table.columns['verdict']}: taken as those {MEANINGS[now]}; "
            f"--letters {other} takes them as those {MEANINGS[other]}"
        )


def _share(hits: Sequence[bool]) -> str:
    return f"{100 * sum(hits) / len(hits):.1f} %"
