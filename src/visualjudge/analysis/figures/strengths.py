"""The models as the judge ranks them: their strengths and places. Which two of them
differ is tested in ``analysis/separation.py``; the order by win rates is in
``decisions/source_order.py``.

Strengths are Bradley and Terry's: a logistic regression of each question's points (1, ½
for a tie or for different answers in the two orders, 0) on the two sources, with errors
clustered by image (:mod:`visualjudge.analysis.fits`). Covariates (order shown, number
of objects, text length, file size) are further regressors of the same fit, which gives
the strengths at equal covariates. Failed replies are left out. Where wins do not bound
every strength, the fit is penalised; a source that never won, or never lost, has a
bound on one side and no interval.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis.answers import models_of, points
from visualjudge.analysis.decisions.source_order import ranks_of
from visualjudge.analysis.estimate import (
    ALL_ALIKE,
    LEAST_IMAGES,
    renumbered,
    too_few,
)
from visualjudge.analysis.figures.figure_parts import (
    Column,
    Ends,
    Estimate,
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
from visualjudge.analysis.fits import beside, fit, indicator, interval
from visualjudge.analysis.separation import Model, Ranks
from visualjudge.analysis.source_groups import placed, places_of
from visualjudge.analysis.study_table import lead
from visualjudge.core.records import FloatArray


@dataclass(frozen=True)
class SourceRow:
    """One source as ranked by the judge; strengths are log odds with mean 0 in a
    ``group``: the tasks in which it is compared, with a number if their sources fall
    into unconnected sets.

    ``bound`` is the finite end of the interval, at 97.5 %, of a source that never lost,
    or never won; ``rank_set`` has the best and the worst rank that the tests of its
    pairs leave; ``controlled`` is its strength at equal covariates, if it has an
    interval.
    """

    source: str
    group: str
    strength: Estimate
    rank: int
    bound: Ends | None
    rank_set: tuple[int, int]
    controlled: Estimate


@dataclass(frozen=True)
class Leaderboard:
    """The sources by group, strongest first, from ``n`` comparisons. ``regularised``
    states that some sources never lost to the others, or never won, so that the
    likelihood alone has no finite maximum.
    """

    rows: tuple[SourceRow, ...]
    n: int
    regularised: bool

    @property
    def groups(self) -> tuple[tuple[str, tuple[SourceRow, ...]], ...]:
        """Return each group's name and rows. Only the rows of a group have a common
        axis."""
        names = dict.fromkeys(row.group for row in self.rows)
        return tuple(
            (name, tuple(row for row in self.rows if row.group == name))
            for name in names
        )


NEVER_LOST = "it never lost"
NEVER_WON = "it never won"
PLAYED = (
    "question",
    "repeat",
    "order",
    "cluster",
    "task",
    "usable",
    "text",
    "sources",
)
"""Columns of pairwise verdicts that a leaderboard needs."""
COVARIATES = (
    "shown_first",
    lead("count"),
    lead("text_chars"),
    lead("png_bytes"),
)
LEAST_GAMES = 10
"""Minimum number of games in which a covariate differs, per coefficient of the fit."""
TOO_FEW = "too few games in which a covariate differs"
SURE = 1e-6
"""By how much less a covariate may leave a strength determined."""
EQUAL = 1e-9
"""Strengths that differ by less than this are equal."""


def _named(table: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts on two named sources, ``a`` and ``b``."""
    return table.hstack(models_of(table)).drop_nulls(["a", "b"])


def duels(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row per question (and repeat) between two named sources: task, a, b,
    the judge's outcome for a (1, ½, 0), and whether a was shown first (1, −1; 0 in both
    orders or unknown).
    """
    first = {"AB": 1.0, "unknown": 0.0}
    read = _named(table).filter("usable")
    return read.group_by("question", "repeat", maintain_order=True).agg(
        pl.col("task", "a", "b", "cluster").first(),
        outcome=points("text").mean(),
        shown_first=pl.col("order")
        .replace_strict(first, default=-1.0, return_dtype=pl.Float64)
        .mean(),
    )


def leaderboard(
    table: pl.DataFrame, questions: pl.DataFrame, ranks: Mapping[Model, Ranks]
) -> Leaderboard:
    """Return the judge's strength of every source, and its ``ranks``; without them, by
    strength.

    Strengths are comparable only within a ``group``: sources of several were never
    compared in the same tasks, not even through others. ``questions`` hold the
    covariates.
    """
    leads = questions.select(
        "question", *(set(COVARIATES) & set(questions.columns))
    )
    games = duels(table).join(
        leads, on="question", how="left", maintain_order="left"
    )
    # groups are those of all questions, as in the pairs of models
    known, places = placed(_named(table).select("task", "a", "b"))
    played = games.with_columns(
        a=places_of(games, places, "a"), b=places_of(games, places, "b")
    )
    rows = list[SourceRow]()
    penalised = False
    met = sorted({*played["a"], *played["b"]})
    for name in sorted({known[place][0] for place in met}):
        own = [place for place in met if known[place][0] == name]
        inside = played.filter(pl.col("a").is_in(own)).with_columns(
            pl.col("a", "b").replace_strict(own, range(len(own)))
        )
        names = [known[place][1] for place in own]
        board, endless = _board(name, names, inside, ranks)
        rows += board
        penalised |= endless
    return Leaderboard(tuple(rows), games.height, penalised)


def _board(
    group: str,
    names: list[str],
    games: pl.DataFrame,
    ranks: Mapping[Model, Ranks],
) -> tuple[list[SourceRow], bool]:
    """Return the sources of a group, whose indices ``games`` uses, in the judge's
    order, and whether the fit was penalised, as it is where the wins do not bound every
    strength.
    """
    a, b = (games[name].to_numpy().astype(np.int64) for name in ("a", "b"))
    outcome = games["outcome"].to_numpy().astype(float)
    image = games["cluster"].to_numpy()
    first, second = (indicator(side, len(names)) for side in (a, b))
    played = first - second
    penalised = not _bounded(first, second, outcome)
    fitted = equal = fit(played, outcome, image, penalised=penalised)
    if covariates := _covariates(games, len(names)):
        design = beside(played, *covariates)
        equal = fit(design, outcome, image, penalised=penalised)
    at = equal.coefficients
    reach = equal.variance(np.eye(len(names), len(names) + len(covariates)))
    known, of_image = renumbered(image)
    games_of = np.zeros((known.size, len(names)))
    for side in (a, b):
        np.add.at(games_of, (of_image, side), 1)
    met = games_of.sum(0)
    images = (games_of > 0).sum(0)
    effective = met**2 / (games_of**2).sum(0)
    won = first.T @ outcome + second.T @ (1 - outcome)
    few = (images < LEAST_IMAGES) | (effective < 2)
    alike = outcome.min() == outcome.max() == 0.5
    choices = [few, np.full(few.size, alike), won == met, won == 0]
    why = np.select(choices, [too_few(), ALL_ALIKE, NEVER_LOST, NEVER_WON], "")
    value = fitted.coefficients
    freedom = np.maximum(effective - 1, 1)
    spread = fitted.variance(np.eye(value.size))
    out = []
    for i, name in enumerate(names):
        low, high = interval(
            float(value[i]), float(spread[i]), float(freedom[i])
        )
        reason = str(why[i]) or None
        bound = {NEVER_LOST: (low, None), NEVER_WON: (None, high)}.get(
            reason or ""
        )
        ends = None if reason else (low, high)
        strength = Estimate(
            float(value[i]), ends, int(met[i]), int(images[i]), reason
        )
        controlled = Estimate(None, None, 0, 0, reason or TOO_FEW)
        if (
            covariates
            and not reason
            and equal.determined[i] > fitted.determined[i] - SURE
        ):
            ends = interval(float(at[i]), float(reach[i]), float(freedom[i]))
            controlled = Estimate(
                float(at[i]), ends, int(met[i]), int(images[i])
            )
        above = int((value > value[i] + EQUAL).sum())
        own = ranks.get((group, name), (1 + above, 1, value.size))
        out.append(
            SourceRow(name, group, strength, own[0], bound, own[1:], controlled)
        )
    return sorted(out, key=lambda row: row.rank), fitted.penalised


def _covariates(games: pl.DataFrame, sources: int) -> list[FloatArray]:
    """Return the covariates that differ in enough games, per typical (root mean square)
    difference, (games, 1) each.
    """
    result = (
        games[name].fill_null(0) for name in COVARIATES if name in games.columns
    )
    least = LEAST_GAMES * (sources + len(COVARIATES))
    covariates = [
        x.to_numpy().astype(float) for x in result if (x != 0).sum() >= least
    ]
    return [x[:, None] / np.sqrt((x[x != 0] ** 2).mean()) for x in covariates]


def _bounded(first: Any, second: Any, outcome: FloatArray) -> bool:
    """Return whether every source has, through others, points from and against every
    other."""
    won = outcome > 0
    lost = outcome < 1
    links = first[won].T @ second[won] + second[lost].T @ first[lost]
    reached = np.eye(links.shape[0]) + links
    for _ in range(links.shape[0].bit_length()):
        reached = np.sign(reached @ reached)
    return bool(reached.all())


def _ends(row: SourceRow) -> Ends | None:
    """Return the interval as reports show it. A source without a loss, or without a
    win, has only one end of its interval.
    """
    return row.strength.interval or row.bound


SOURCE = Layout[SourceRow](
    named("source", "Model"),
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
    ranks = ranks_of(judge.study, judge.index)
    return leaderboard(played, judge.study.questions, ranks)


def _section(view: Shown) -> Section:
    return Section(
        "sources",
        "How the judge ranks the models",
        "Strength: of a Bradley–Terry model with ties (log odds, mean 0); controlled: at "
        "equal order, text length, file size and number of objects. Rank: by win rate; "
        "ranks, 95 %: those that the tests of pairs leave to a model.",
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
