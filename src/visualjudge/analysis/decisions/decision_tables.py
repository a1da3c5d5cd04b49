"""The decisions as tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from visualjudge.analysis import figure_text
from visualjudge.core.text_tables import Table

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.published_agreement import PublishedCell


number, span = partial(figure_text.number, digits=3), partial(figure_text.span, digits=3)
"""A number and its interval; a dash stands for a missing one."""


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
