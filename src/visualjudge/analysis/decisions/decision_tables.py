"""The decisions as tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from visualjudge.analysis import figure_text
from visualjudge.analysis.figure_text import ranks
from visualjudge.core.text_tables import Table

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.correct import Leaderboard
    from visualjudge.analysis.decisions.published_agreement import PublishedCell


number, span = partial(figure_text.number, digits=3), partial(figure_text.span, digits=3)
"""A number and its interval; a dash stands for a missing one."""


RANKS_NOTE = "Ranks: the ranks that each source may have by itself (95 %)."
GROUPS_NOTE = (
    "Sources are compared only within a group, that is, in tasks that compare the same sources."
)


def leaderboard_table(board: Leaderboard) -> Table:
    """Return a corrected leaderboard."""
    apart = len({row.group for row in board.rows}) > 1
    columns = ["Group"] if apart else []
    columns += ["Source", f"Judge's {board.measure}", "Corrected", "95 %", "Ranks", "Labels"]
    rows = []
    for row in board.rows:
        cells = [row.group] if apart else []
        cells += [
            row.source,
            number(row.naive),
            number(row.corrected),
            span(row.interval),
            ranks(row.rank_set),
        ]
        cells.append(str(row.labels))
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows), leaderboard_notes(board), keys=1 + apart)


def leaderboard_notes(board: Leaderboard) -> tuple[str, ...]:
    """Return notes on the figures, their assumptions, and how many labels a gap needs."""
    scope = (
        f"{figure_text.many(board.labels, 'label')}, {figure_text.many(board.images, 'image')}, λ "
        f"{board.lam:.2f}"
    )
    out = [f"{board.measure} of {len(board.rows)} sources by {board.judge}; {scope}", RANKS_NOTE]
    out += [GROUPS_NOTE] if len({row.group for row in board.rows}) > 1 else []
    for why in sorted({row.why for row in board.rows if row.why}):
        names = ", ".join(row.source for row in board.rows if row.why == why)
        out.append(f"No interval and no ranks: {names} ({why}).")
    for assumption in board.assumptions:
        said = {True: "holds", False: "DOES NOT HOLD", None: "not checked"}[assumption.holds]
        p = "" if assumption.p is None else f", p = {assumption.p:.2g}"
        out.append(f"assumes {assumption.assumes}; check: {assumption.check}: {said}{p}")
    if board.gap is not None:
        out.append(f"a difference of {board.gap:g}: {_needed(board)}")
    return (*out, *board.remarks.lines)


def _needed(board: Leaderboard) -> str:
    if board.labels_for_gap is not None:
        return f"{board.labels_for_gap} labels in all"
    if not _compared(board):
        return "not known: no two compared sources have enough labels"
    return "labels alone do not decide it: more images are needed"


def _compared(board: Leaderboard) -> bool:
    """Return whether two sources of one group have a corrected figure."""
    known = [row.group for row in board.rows if row.corrected is not None]
    return len(set(known)) < len(known)


def published_table(cells: Sequence[PublishedCell]) -> Table:
    """Return cells as published beside the correct figure."""
    rows = tuple(
        (
            cell.dimension,
            cell.rater,
            number(cell.published, digits=4),
            number(cell.mean, digits=4),
            str(len(cell.by_source)),
        )
        for cell in cells
    )
    note = (
        "As published (viescore): tanh of the mean of Spearman's ρ over sources, which is too "
        "small. Mean: the mean of ρ."
    )
    return Table(("Dimension", "Rater", "As published", "Mean", "Sources"), rows, (note,), keys=2)
