"""The sources as the judge ranks them; see :mod:`visualjudge.analysis.leaderboard`."""

from __future__ import annotations

from visualjudge.analysis.decisions.may_rank_models import rank_sets
from visualjudge.analysis.figures.vocabulary import (
    Column,
    Ends,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    Shown,
    as_named,
    blocks,
    figure,
    grid,
    group_name,
    named,
    number,
    ranks,
)
from visualjudge.analysis.leaderboard import (
    PLAYED,
    Leaderboard,
    SourceRow,
    leaderboard,
)


def _ends(row: SourceRow) -> Ends | None:
    """Return the interval as reports show it. A source without a loss, or without a
    win, has only one end of its interval.
    """
    return row.strength.interval or row.bound


SOURCE = Layout[SourceRow](
    named("source", "Source"),
    *as_named("group", "bound"),
    Column("images", "strength.images", "Images", number),
    *figure(
        "strength", "strength", "Strength", number, ends="ci95", displayed=_ends
    ),
    *figure("controlled", "controlled", "Controlled", number),
    named("rank", "Rank", str),
    named("rank_set", "Ranks, 95 %", ranks),
)
COLUMNS = Layout[Leaderboard](
    blocks("rows", SOURCE), *as_named("n", "regularised")
)


def _rows(judge: JudgeResult) -> Leaderboard:
    played = judge.study.kind(judge.index, "pairwise", PLAYED)
    ranks = rank_sets(judge.study, judge.index)
    return leaderboard(played, judge.study.questions, ranks)


def _section(view: Shown) -> Section:
    return Section(
        "sources",
        "How the judge ranks the sources",
        "A source is a model whose predictions are judged, or a controlled error with "
        "its severity (duplicate 0.50). Its strength shows how often the judge prefers "
        "it: that of a Bradley–Terry model with ties (log odds, mean 0) and Firth’s "
        "penalty; a question answered differently when swapped is a tie. The interval "
        "of a source that never lost, or never won, is open on one side; intervals of "
        "strengths are no tests of differences. Ranks, 95 %: the ranks that the tests "
        "of its pairs leave to a source.",
        [
            grid(SOURCE, rows, title=f"{judge.name}: {group_name(name, 4)}")
            for judge in view.judges
            for name, rows in judge[SOURCES].groups
        ],
        detail=True,
    )


SOURCES = JudgeFigure(
    "leaderboard",
    _rows,
    COLUMNS,
    place=140,
    tables=lambda stored: {"leaderboard": stored["rows"]},
    section=_section,
)
