"""The report in the terminal: can models be ranked with the judge, then the headline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visualjudge.analysis import words
from visualjudge.analysis.columns import JUDGE
from visualjudge.analysis.figures import Results
from visualjudge.analysis.words import p_value, percents, points
from visualjudge.tables import Table, folded


def text(results: Results, answers: Sequence[str]) -> str:
    """The answers, one row per judge, its biases, and the comparisons."""
    rows = []
    for judge in results.judges:
        name = judge.name + (" (simulated)" if judge.simulated else "")
        rows.append((name, *JUDGE.cells(judge)))
    table = Table(("Judge", *JUDGE.titles), tuple(rows), tuple(_notes(results)), "How far can the judge be trusted?")
    return "\n".join([*map(folded, answers), table.text()])


def _notes(results: Results) -> Iterator[str]:
    for judge in results.judges:
        for sentence in filter(None, [words.above(judge), words.failures(judge), *words.leanings(judge)]):
            yield f"{judge.name}: {sentence}"
    for row in results.comparisons:
        if row.gap.value is not None:
            yield (
                f"{row.a} minus {row.b}: {points(row.gap.value)} points ({percents(row.gap.interval)}), "
                f"p {p_value(row.p_holm)} after Holm, on {row.questions} common questions"
            )
