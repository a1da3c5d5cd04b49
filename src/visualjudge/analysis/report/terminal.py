"""The report in the terminal: may models be ranked with the judge, then the headline."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from visualjudge.analysis import words
from visualjudge.analysis.columns import JUDGE
from visualjudge.analysis.figures import Results
from visualjudge.analysis.words import p_value, percents, points

WIDEST_NAME = 24


def show(results: Results, answers: Sequence[str], console: Console) -> None:
    """Print the answers, one row a judge, what each leans to, and the comparisons."""
    for answer in answers:
        console.print(answer, markup=False, highlight=False, style="bold")
    widest = max((len(judge.name) for judge in results.judges), default=0)
    first = Column("Judge", overflow="fold", min_width=min(widest, WIDEST_NAME))
    table = Table(first, *JUDGE.titles, title="How far can the judge be trusted?", title_justify="left")
    for judge in results.judges:
        name = escape(judge.name) + (" [dim](simulated)[/]" if judge.simulated else "")
        table.add_row(name, *JUDGE.cells(judge))
    console.print(table)
    for judge in results.judges:
        for sentence in filter(None, [words.above(judge), words.failures(judge), *words.leanings(judge)]):
            console.print(f"{judge.name}: {sentence}", markup=False, highlight=False)
    for row in results.comparisons:
        if row.gap.value is not None:
            console.print(
                f"{row.a} minus {row.b}: {points(row.gap.value)} points ({percents(row.gap.interval)}), "
                f"p {p_value(row.p_holm)} on {row.questions} common questions",
                markup=False,
                highlight=False,
            )
