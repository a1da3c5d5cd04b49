"""What a table of verdicts does not say: the order shown, and whose letters its letters are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from visualjudge.apps.adopt.answers import is_letter
from visualjudge.apps.adopt.table import Answered, Table, models_of
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import FAILED, TURNED, Verdict

Judged = Sequence[tuple[Answered, Verdict]]
NO_TRUTH = (
    "truth: no column; accuracy is not measured (--column truth=NAME; without answers, "
    "visualjudge label draws questions for people)"
)


def other_values(judged: Judged) -> tuple[int, int]:
    """Return the number of replies with a value in the table that cannot be read, and that of
    replies that state another value.
    """
    both = [
        (str(verdict.value), str(verdict.extra.get("published_value", FAILED)))
        for one, verdict in judged
        if one.reply.text is not None
    ]
    both = [(ours, theirs) for ours, theirs in both if theirs != FAILED]
    invented = sum(ours == FAILED for ours, _ in both)
    return invented, sum(ours not in (FAILED, theirs) for ours, theirs in both)


def unknown_orders(table: Table, judged: Judged) -> Counter[str]:
    """Return the number of answered rows of each judge whose order is unknown."""
    answered = (one for one, verdict in judged if table.pairs and verdict.value != FAILED)
    return Counter(one.judge for one in answered if one.shown is None)


def notes(table: Table, judged: Judged) -> Iterator[str]:
    """Yield a sentence for each fact that the table lacks."""
    columns, rows = table.columns, [one.row for one, _ in judged]
    unknown = unknown_orders(table, judged).total()
    if unknown:
        every = not any(one.shown for one, _ in judged)
        lacking = "no column" if every else f"{pluralize(unknown, 'row')} without it"
        yield (
            f"order: {lacking}; position bias and swaps are not measured, and replies are read as "
            "if model_a was shown first (--column order=NAME; order=model_a where it always was)"
        )
    if table.without_truth:
        yield NO_TRUTH
    failed = sum(verdict.value == FAILED and one.reply.text is None for one, verdict in judged)
    if failed:
        yield (
            f"{columns['verdict']}: {pluralize(failed, 'row')} without a verdict, which count as "
            "failed replies"
        )
    if table.in_several:
        yield (
            f"{columns['item']}: {pluralize(len(table.in_several), 'name')} in several values of "
            f"{columns['group']}, kept apart as different questions, such as "
            f"{min(table.in_several)}"
        )
    lone = sum(row["group"] is None for row in rows if "group" in row)
    if 0 < lone < len(rows):
        yield (
            f"{columns['group']}: {pluralize(lone, 'row')} without it, whose questions count as "
            "independent cases"
        )
    alike = sum(a is not None and a == b for a, b in map(models_of, rows))
    if table.pairs and alike:
        yield (
            f"{columns['model_a']}, {columns['model_b']}: the same source in "
            f"{pluralize(alike, 'row')}, which rank no sources"
        )
    yield from _of_letters(table, judged)


def _of_letters(table: Table, judged: Judged) -> Iterator[str]:
    """Say what letters were taken for if they could be those of the order shown, and how often
    each meaning equals the truth.
    """
    column = table.columns.get("verdict")
    lettered = [
        (verdict.value, one)
        for one, verdict in judged
        if table.pairs and one.reply.text is None and is_letter(one.row.get("verdict"))
    ]
    if all(one.shown == "AB" for _, one in lettered):
        return
    known = [
        (value == one.item.answer, one.shown == "BA")
        for value, one in lettered
        if one.shown and one.item.answer in TURNED and value in TURNED
    ]
    fits = ""
    if known:
        here, there = sum(hit for hit, _ in known), sum(hit != turned for hit, turned in known)
        shares = (f"{100 * hits / len(known):.1f} %" for hits in (here, there))
        fits = " (equal to the truth in {}, by the order shown in {})".format(*shares)
    yield (
        f"letters in {column}: taken as those of the columns, A is model_a{fits}; if A is the "
        f"option shown first: --column reply={column}"
    )
