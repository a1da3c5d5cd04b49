"""The report's headline in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from visualjudge.analysis.report import words
from visualjudge.analysis.report.words import number, p_value, percent, percents, points

WIDEST_NAME = 24
_COLUMNS = ("Judge", "Pairs", "Right", "95 %", "Failed", "Said A", "Swap", "τ-b", "ρ")


def show(metrics: Mapping[str, Any], console: Console) -> None:
    """Print one row a judge, what each leans to, and the comparisons."""
    widest = max((len(judge["judge"]) for judge in metrics["judges"]), default=0)
    first = Column(_COLUMNS[0], overflow="fold", min_width=min(widest, WIDEST_NAME))
    table = Table(first, *_COLUMNS[1:], title="How far can the judge be trusted?", title_justify="left")
    for judge in metrics["judges"]:
        p = judge["pairwise"]
        name = escape(judge["judge"]) + (" [dim](simulated)[/]" if judge["simulated"] else "")
        cells = [
            number(p["n"]),
            percent(p["accuracy"]),
            percents(p["ci95"]),
            words.failed(judge),
            percent(p["answered_a"]),
        ]
        rest = [
            percent(p["swap_consistency"]),
            number(judge["ranking"]["kendall_tau"]),
            number(judge["scoring"]["spearman"]),
        ]
        table.add_row(name, *cells, *rest)
    console.print(table)
    for judge in metrics["judges"]:
        notes = [words.failures(judge), words.one_place(judge), *words.leanings(judge)]
        for sentence in filter(None, notes):
            console.print(f"{judge['judge']}: {sentence}", markup=False, highlight=False)
    for row in metrics["comparisons"]:
        if row["difference"] is not None:
            console.print(
                f"{row['a']} minus {row['b']}: {points(row['difference'])} points ({percents(row['ci95'])}), "
                f"p {p_value(row['p_holm'])} on {row['n']} common questions",
                markup=False,
                highlight=False,
            )
