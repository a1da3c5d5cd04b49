"""The opening of a report: whether these judges may rank models, one sentence per judge, and all
checks side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from visualjudge.analysis import figure_text
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import Card, JudgeCard, usual_card
from visualjudge.analysis.decisions.card_page import tasks_table
from visualjudge.analysis.decisions.check_figures import shown_value
from visualjudge.analysis.decisions.checks import LABELS, STATES
from visualjudge.analysis.rule_text import best_rule
from visualjudge.core.text_tables import Table

TITLE = "May I rank my models with {}?"


@dataclass(frozen=True)
class Opening:
    """The answer of every judge, the table of their checks, their answers by task, and whether the
    questions can be gamed.
    """

    sentences: tuple[str, ...]
    table: Table
    tasks: Table | None = None
    gamed: str = ""

    @property
    def _tables(self) -> tuple[Table, ...]:
        return (self.table,) if self.tasks is None else (self.table, self.tasks)


@lru_cache(maxsize=1)
def opening(analysis: Analysis) -> Opening:
    """Return the opening of a report on ``analysis``, for the judges that the report is about."""
    shown, card = analysis.results.shown, usual_card(analysis)
    found = opening_of(replace(card, judges=tuple(card.judges[i] for i in shown)))
    columns = ("Check", *figure_text.names_of([analysis.results.judges[i] for i in shown]))
    notes = () if columns == found.table.columns else (figure_text.SETS,)
    table = replace(found.table, columns=columns, notes=notes)
    return replace(found, table=table, gamed=gamed(analysis, card))


def opening_of(card: Card) -> Opening:
    """Return the opening from an existing card."""
    names = [line.name for line in card.judges[0].checks] if card.judges else []
    rows = tuple((LABELS[name], *(_cell(judge, name) for judge in card.judges)) for name in names)
    columns = ("Check", *(judge.judge for judge in card.judges))
    return Opening(
        tuple(judge.answer for judge in card.judges), Table(columns, rows), tasks_table(card)
    )


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


def _cell(judge: JudgeCard, name: str) -> str:
    line = next(line for line in judge.checks if line.name == name)
    return (
        line.said if line.value is None else f"{STATES[line.state]} ({shown_value(line, digits=2)})"
    )
