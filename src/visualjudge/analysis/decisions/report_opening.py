"""The opening of a report: whether these judges may rank models, one sentence per judge, and all
checks side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from visualjudge.analysis import figure_text
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import Card, usual_card
from visualjudge.analysis.decisions.card_page import checks_table, tasks_table
from visualjudge.analysis.rule_text import best_rule
from visualjudge.core.text_tables import Table


@dataclass(frozen=True)
class Opening:
    """The answer of every judge, the table of their checks, their answers by task, and whether the
    questions can be gamed ("" if not).
    """

    sentences: tuple[str, ...]
    table: Table
    tasks: Table | None
    gamed: str


@lru_cache(maxsize=1)
def opening(analysis: Analysis) -> Opening:
    """Return the opening of a report on ``analysis``, for the judges that the report is about."""
    card, shown = usual_card(analysis), analysis.results.shown
    judges = [card.judges[i] for i in shown]
    names = figure_text.names_of([analysis.results.judges[i] for i in shown])
    sentences = tuple(judge.answer for judge in judges)
    checks = checks_table(judges, names)
    return Opening(sentences, checks, tasks_table(judges), gamed(analysis, card))


def gamed(analysis: Analysis, card: Card) -> str:
    """That a rule which never looks at the image reaches the accuracy that a judge must show; empty
    where none does.
    """
    best = best_rule(row for row in analysis.results.leaks if row.scope == "all" and row.flagged)
    if best is None or (best.share.value or 0.0) < card.thresholds.checks["macro_accuracy"].value:
        return ""
    return (
        f"These questions can be gamed: “{best.rule}” is right in "
        f"{figure_text.with_ends(best.share)} of the {best.share.n:,} questions that it can "
        f"decide, without using the image. A similar accuracy of a judge does not "
        f"show that the judge uses the image."
    )
