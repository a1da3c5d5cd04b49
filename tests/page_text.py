"""The report's page with plain spaces: numbers and their units are kept on one line
there."""

from __future__ import annotations

from visualjudge.analysis import Analysis
from visualjudge.analysis.report.page import html


def page(analysis: Analysis, compare: tuple[int, int] | None = None) -> str:
    """The whole page, as text to look into."""
    return html(analysis, compare).replace("\u00a0", " ")
