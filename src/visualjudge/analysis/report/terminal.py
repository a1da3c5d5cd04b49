"""The report in the terminal: whether models can be ranked with the judge, then the
headline. The card is in ``card.py``; the page, in ``page.py``.
"""

from collections.abc import Sequence

from visualjudge.analysis.figure_text import lower_first
from visualjudge.analysis.report.headline import headline_columns
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.table_layout import grid
from visualjudge.core.text_tables import folded

TITLE = "How far can the judge be trusted?"


def text(analysis: Analysis, answers: Sequence[str]) -> str:
    """Return the answers, one row for each judge, what its figures say, and the
    comparisons."""
    table = grid(headline_columns(analysis), analysis.judges)
    parts = [*map(folded, answers), TITLE, table.text()]
    parts += [
        folded(f"{judge.name}: {lower_first(line)}")
        for judge in analysis.judges
        for line in judge.sentences
    ]
    for figure in analysis.of_study:
        parts += [table.text() for table in figure.printed(analysis)]
    return "\n".join(parts)
