"""The report in the terminal: can models be ranked with the judge, then the headline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visualjudge.analysis import words
from visualjudge.analysis.columns import JUDGE
from visualjudge.analysis.figures import JudgeResult, Results
from visualjudge.analysis.words import p_value, percents, points
from visualjudge.core.tables import Table, folded

TITLE = "How far can the judge be trusted?"


def text(results: Results, answers: Sequence[str]) -> str:
    """The answers, one row per judge, its biases, and the comparisons."""
    apart = [folded(words.APART)] if len(results.groups) > 1 else []
    tables = [_headline(group).text() for group in results.groups]
    return "\n".join([*map(folded, answers), TITLE, *apart, *tables, *map(folded, _notes(results))])


def _headline(judges: Sequence[JudgeResult]) -> Table:
    rows = [(judge.name + (" (simulated)" if judge.simulated else ""), *JUDGE.cells(judge)) for judge in judges]
    return Table(("Judge", *JUDGE.titles), tuple(rows))


def _notes(results: Results) -> Iterator[str]:
    for judge in results.judges:
        for sentence in filter(
            None,
            [
                words.above(judge),
                words.failures(judge),
                *words.leanings(judge),
                words.probes(judge),
                words.photograph(judge),
            ],
        ):
            yield f"{judge.name}: {sentence}"
    for row in results.comparisons:
        if row.gap.value is not None:
            yield (
                f"{row.a} minus {row.b}: {points(row.gap.value)} points ({percents(row.gap.interval)}), "
                f"p {p_value(row.p_holm)} after Holm over all comparisons, on {row.questions} common questions; "
                "no answer counts as wrong"
            )
