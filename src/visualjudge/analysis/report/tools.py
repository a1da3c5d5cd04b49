"""Judging with tools beside judging without: gain by margin, tools called, cost of an answer."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from visualjudge.analysis.accuracy_cells import MARGIN_LABELS, margin_bin
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.report.paired import gap_of
from visualjudge.analysis.report.readings import rough_points, rough_share
from visualjudge.analysis.tool_use import answer_cost, by_size, tool_use
from visualjudge.analysis.value_and_interval import Share
from visualjudge.core.text_tables import Table

USE = (
    "Tools on pairwise questions. A judge calls tools where it is unsure: the shares do not say "
    "what a tool does."
)
COST = "Cost of a right answer, all turns included."
GAIN = "Gain by margin, in points: the second judge less the first."
GAIN_BY_SIZE = "Gain by size, the share of the image that the options cover (their mean)."


def tool_tables(analysis: Analysis, runs: tuple[int, int]) -> list[Table]:
    """Tables of two judges; none where neither called a tool."""
    study = analysis.study
    used = [(study.runs[k].name, row) for k in runs for row in tool_use(study, k)]
    if not used:
        return []
    tools = [
        (
            name,
            row.tool,
            row.calls,
            row.failed,
            row.verdicts,
            _share(row.right),
            _share(row.right_without),
        )
        for name, row in used
    ]
    costs = [
        (cost.judge, cost.right, cost.calls, _figure(cost.tokens, 0), _figure(cost.seconds, 2))
        for cost in (answer_cost(study, k) for k in runs)
    ]
    margins = [(label, margin_bin() == label) for label in MARGIN_LABELS]
    sizes = [(label, pl.col("question").is_in(found)) for label, found in by_size(study).items()]
    titles = ("Judge", "Tool", "Calls", "Failed", "Verdicts", "Right with it", "Right without")
    return [
        _table(USE, titles, tools, texts=2),
        _table(
            COST,
            ("Judge", "Right", "Tool calls", "Tokens each", "Seconds each"),
            costs,
            texts=1,
        ),
        _gains(GAIN, "Margin", analysis, runs, margins),
        _gains(GAIN_BY_SIZE, "Share of the image", analysis, runs, sizes),
    ]


def _gains(
    title: str,
    first: str,
    analysis: Analysis,
    runs: tuple[int, int],
    parts: Sequence[tuple[str, pl.Expr]],
) -> Table:
    gaps = [(label, gap_of(analysis, *runs, part)) for label, part in parts]
    rows = [(label, gap.n, rough_points(gap)) for label, gap in gaps if gap.value is not None]
    return _table(title, (first, "Verdicts", "Gain"), rows, texts=1)


def tool_lines(analysis: Analysis, runs: tuple[int, int]) -> list[str]:
    """The same for a terminal."""
    return [f"{table.text()}\n" for table in tool_tables(analysis, runs) if table.rows]


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, texts: int
) -> Table:
    cells = tuple(tuple(map(str, row)) for row in rows)
    numeric = tuple(place >= texts for place in range(len(columns)))
    return Table(tuple(columns), cells, title=title, numeric=numeric)


def _share(share: Share) -> str:
    return rough_share(share) or "–"


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
