"""The report in the terminal: whether models can be ranked with the judge, then the headline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visualjudge.analysis import figure_text as words
from visualjudge.analysis.columns import COMPARISON, JUDGE
from visualjudge.analysis.figure_text import NONE
from visualjudge.analysis.figures import JudgeResult, Results
from visualjudge.core.text_tables import Table, folded

TITLE = "How far can the judge be trusted?"
MOST_PAIRS = 15


def text(results: Results, answers: Sequence[str]) -> str:
    """Return the answers, one row for each judge, its biases, and the comparisons."""
    apart = [folded(words.APART)] if words.asked_apart(results.judges) else []
    notes = map(folded, _notes(results.judges))
    opening = [*map(folded, answers), TITLE, *apart]
    return "\n".join([*opening, _headline(results.judges).text(), *notes, *_differences(results)])


def _differences(results: Results) -> list[str]:
    known = [row for row in results.comparisons if row.gap.value is not None]
    rows = tuple(tuple(COMPARISON.cells(row)) for row in known[:MOST_PAIRS])
    note = "p is adjusted by Holm’s method over all comparisons; a missing answer counts as wrong."
    return [Table(tuple(COMPARISON.titles), rows, (note,), keys=2).text()] if rows else []


def _headline(judges: Sequence[JudgeResult]) -> Table:
    names = [judge.name + (" (simulated)" if judge.simulated else "") for judge in judges]
    columns = zip(JUDGE.titles, *(JUDGE.cells(judge) for judge in judges), strict=True)
    kept = [("Judge", *names), *(column for column in columns if set(column[1:]) != {NONE})]
    titles, *rows = zip(*kept, strict=True)
    return Table(titles, tuple(rows))


def _notes(judges: Sequence[JudgeResult]) -> Iterator[str]:
    for judge in judges:
        for line in filter(None, (words.probes(judge), words.photograph(judge))):
            yield f"{judge.name}: {line}"
