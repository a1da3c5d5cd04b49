"""The columns of tables of sources (see :mod:`visualjudge.analysis.columns`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from visualjudge.analysis import figure_text, figures as f
from visualjudge.analysis.figure_text import number, p_value
from visualjudge.analysis.source_figures import IN_MATRIX, Control
from visualjudge.analysis.table_layout import Column, Table, declared, figure


def _with_bound(row: f.SourceRow) -> f.Estimate:
    """The strength as reports show it: with the one end that a source without a loss, or without a
    win, has.
    """
    return replace(row.strength, interval=row.strength.interval or row.bound)


SOURCE: Table[f.SourceRow] = Table(
    (
        Column("source", lambda r: r.source, "Source", text=True),
        Column("group", lambda r: r.group),
        Column("component", lambda r: r.component),
        Column(
            "images", lambda r: r.strength.images, "Images", lambda r: number(r.strength.images)
        ),
        *figure(
            "strength", lambda r: r.strength, "Strength", number, ends="ci95", shown=_with_bound
        ),
        Column("bound", lambda r: r.bound),
        *figure("controlled", lambda r: r.controlled, "Controlled", number),
        Column(
            "true_strength",
            lambda r: r.true_strength,
            "By truth",
            lambda r: number(r.true_strength),
        ),
        Column(
            "mean_score",
            lambda r: r.mean_score,
            "True score, asked",
            lambda r: number(r.mean_score),
        ),
        Column("rank", lambda r: r.rank, "Rank"),
        Column(
            "rank_set", lambda r: r.rank_set, "Ranks, 95 %", lambda r: figure_text.ranks(r.rank_set)
        ),
        Column(
            "rank_set_all",
            lambda r: r.rank_set_all,
            "All at once",
            lambda r: figure_text.ranks(r.rank_set_all),
        ),
        Column("true_rank", lambda r: r.true_rank, "Rank by truth"),
        *declared(f.SourceRow),
    )
)

CONTRAST: Table[f.Contrast] = Table(
    (
        Column("group", lambda c: c.group),
        Column("above", lambda c: c.above),
        Column("below", lambda c: c.below),
        *figure("difference", lambda c: c.difference, ends="ci95"),
        Column("images", lambda c: c.difference.images),
        Column("p", lambda c: c.p),
        *declared(f.Contrast),
    )
)

CONTROL: Table[Control] = Table(
    (
        Column("group", lambda c: c.group),
        Column("name", lambda c: c.name),
        *figure("effect", lambda c: c.effect, ends="ci95"),
        Column("games", lambda c: c.effect.n),
    )
)

LEADERBOARD: Table[f.Leaderboard] = Table(
    (
        Column("rows", lambda b: [SOURCE.json(row) for row in b.rows]),
        Column("contrasts", lambda b: [CONTRAST.json(row) for row in b.contrasts]),
        Column("controls", lambda b: [CONTROL.json(row) for row in b.controls]),
        Column("n", lambda b: b.n),
        Column("components", lambda b: b.components),
        Column("regularised", lambda b: b.regularised),
        Column("ties", lambda b: b.ties),
        Column("log_tie", lambda b: b.log_tie),
        Column("dispersion", lambda b: b.dispersion),
        Column(
            "rank_correlation",
            lambda b: (
                None
                if b.spearman is None and b.kendall_tau is None
                else {"spearman": b.spearman, "kendall_tau": b.kendall_tau}
            ),
        ),
        *declared(f.Leaderboard),
    )
)


def contrasts(
    rows: Sequence[f.SourceRow], found: Iterable[f.Contrast]
) -> tuple[list[str], list[list[str]]]:
    """The titles and rows of the matrix "row above column" of the first sources of a group: p, and
    the interval in log odds.
    """
    names = [row.source for row in rows[:IN_MATRIX]]
    cells = {
        (c.above, c.below): f"{p_value(c.p)} ({figure_text.span(c.difference.interval)})"
        for c in found
    }
    table = [[name, *(cells.get((name, other), "") for other in names[1:])] for name in names[:-1]]
    return ["Above \\ below", *names[1:]], table
