"""The sources as the judge ranks them.

Strengths are Bradley and Terry's: a logistic regression of each question's points (1, ½ for a tie
or for different answers in the two orders, 0) on the two sources, with errors clustered by image
(:mod:`visualjudge.analysis.fits`). Covariates (order shown, number of objects, text length, file
size) are further regressors of the same fit, which gives the strengths at equal covariates. Failed
replies are left out. Where wins do not bound every strength, the fit is penalised; a source that
never won, or never lost, has a bound on one side and no interval.

Only sources that are compared in the same tasks are ranked against each other, because a source's
mean over one task cannot be compared with another source's mean over another task. Tasks that
compare the same sources are pooled. Sources that are compared in different tasks, or that are not
connected by comparisons even through others, are in separate groups.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse
from scipy.sparse import csgraph

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    all_alike,
    effective_number,
    renumbered,
    sums,
    too_few,
)
from visualjudge.analysis.figures import Leaderboard, SourceRow
from visualjudge.analysis.fits import Fit, fit, interval
from visualjudge.analysis.statistics.ranks import rank_sets
from visualjudge.analysis.study_table import lead
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.records import BoolArray, FloatArray, IntArray

Edge = tuple[str, str, str]


def source_groups(edges: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return the name of the group of each (task, source), from comparisons given as rows with
    ``task``, ``a`` and ``b``.

    A group is named after its tasks. A number is added if those tasks compare several sets of
    sources that never met.
    """
    rows: list[Edge] = (
        edges.select(pl.col("task", "a", "b").cast(pl.String))
        .unique()
        .sort("task", "a", "b")
        .rows()
    )
    sources = defaultdict[str, set[str]](set)
    for task, a, b in rows:
        sources[task] |= {a, b}
    together = defaultdict[frozenset[str], list[str]](list)
    for task, names in sources.items():
        together[frozenset(names)].append(task)
    out: dict[tuple[str, str], str] = {}
    for tasks in together.values():
        parts = _connected([edge for edge in rows if edge[0] in tasks])
        for number, part in enumerate(parts, 1):
            name = " + ".join(tasks) + (f" ({number})" if len(parts) > 1 else "")
            out |= {(task, source): name for task in tasks for source in part}
    return out


def placed(edges: pl.DataFrame) -> tuple[list[tuple[str, str]], pl.DataFrame]:
    """Return all (group, source), sorted, and a table with the index (``place``) of each ``task``
    and ``source`` in that list.
    """
    groups = source_groups(edges)
    known = sorted({(group, source) for (_, source), group in groups.items()})
    place = {pair: k for k, pair in enumerate(known)}
    rows = [(task, source, place[group, source]) for (task, source), group in groups.items()]
    return known, pl.DataFrame(
        rows, {"task": pl.String, "source": pl.String, "place": pl.Int64}, orient="row"
    )


def places_of(rows: pl.DataFrame, places: pl.DataFrame, source: str = "source") -> pl.Series:
    """Return the place of each row's ``task`` and ``source``; null if it has none."""
    each = rows.select(
        pl.col("task").cast(pl.String), pl.col(source).cast(pl.String).alias("source")
    )
    return each.join(places, on=["task", "source"], how="left", maintain_order="left")["place"]


def _connected(edges: list[Edge]) -> list[list[str]]:
    """Return sets of sources that met directly or through others, sorted."""
    names = sorted({name for _, *two in edges for name in two})
    place = {name: k for k, name in enumerate(names)}
    a, b = ([place[edge[side]] for edge in edges] for side in (1, 2))
    met = sparse.csr_array((np.ones(len(a)), (a, b)), (len(names), len(names)))
    parts: dict[int, list[str]] = {}
    for name, part in zip(names, csgraph.connected_components(met, directed=False)[1], strict=True):
        parts.setdefault(int(part), []).append(name)
    return sorted(parts.values())


LEADS = {"number of objects": "count", "text length": "text_chars", "file size": "png_bytes"}
LEAST_GAMES = 10
"""Minimum number of games in which a covariate differs, per coefficient of the fit."""
TOO_FEW = "too few games in which a covariate differs"
NEVER_LOST, NEVER_WON = "it never lost", "it never won"
PLAYED = ("question", "repeat", "order", "cluster", "task", "usable", "text", "sources")
"""Columns of pairwise verdicts that a leaderboard needs."""
EQUAL = 1e-9
"""Strengths that differ by less than this are equal."""


def points(answer: str) -> pl.Expr:
    """Return the points of option A for an answer: 1, 0, or ½ for a tie."""
    return pl.col(answer).replace_strict({"A": 1.0, "B": 0.0}, default=0.5, return_dtype=pl.Float64)


def duels(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row per question (and repeat) between two named sources: task, a, b, the judge's
    outcome for a (1, ½, 0), and whether a was shown first (1, −1, or 0 if both orders were asked or
    the order is not known).
    """
    known = table.filter("usable").with_columns(
        a=pl.col("sources").list.get(0, null_on_oob=True),
        b=pl.col("sources").list.get(1, null_on_oob=True),
    )
    first = pl.col("order").replace_strict(
        {"AB": 1.0, "unknown": 0.0}, default=-1.0, return_dtype=pl.Float64
    )
    named = known.filter(pl.col("a") != pl.col("b"))
    return named.group_by("question", "repeat", maintain_order=True).agg(
        pl.col("task", "a", "b", "cluster").first(),
        outcome=points("text").mean(),
        shown_first=first.mean(),
    )


def leads_of(questions: pl.DataFrame) -> pl.DataFrame:
    """Return the difference in each covariate between the two options of a question."""
    pairs = questions.filter(pl.col("kind") == "pairwise")
    return pairs.select("question", *(pl.col(lead(name)) for name in LEADS.values()))


def leaderboard(table: pl.DataFrame, leads: pl.DataFrame | None = None) -> Leaderboard:
    """Return the judge's strength of every source and its possible ranks.

    Strengths are comparable only within a ``group``: sources of several were never compared in the
    same tasks, not even through others. ``leads`` holds the covariates by question.
    """
    games = duels(table)
    if leads is not None:
        games = games.join(leads, on="question", how="left", maintain_order="left")
    known, places = placed(games.select("task", "a", "b"))
    if len(known) < 2:
        return Leaderboard((), games.height, False)
    played = games.with_columns(a=places_of(games, places, "a"), b=places_of(games, places, "b"))
    rows, penalised = list[SourceRow](), False
    for name in sorted({group for group, _ in known}):
        own = [place for place, (group, _) in enumerate(known) if group == name]
        inside = played.filter(pl.col("a").is_in(own)).with_columns(pl.col("a", "b") - own[0])
        board, endless = _board(name, [known[place][1] for place in own], inside)
        rows += board
        penalised |= endless
    return Leaderboard(tuple(rows), games.height, penalised)


@dataclass(frozen=True, eq=False)
class _Games:
    """Games between the sources of one group: indices of the two, the points of the first, the
    image, and covariates by name.
    """

    a: IntArray
    b: IntArray
    outcome: FloatArray
    image: IntArray
    size: int

    @property
    def design(self) -> sparse.csr_array:
        """1 for the first source and −1 for the second, games × sources."""
        game = np.arange(self.a.size)
        signs = np.repeat((1.0, -1.0), self.a.size)
        places = np.tile(game, 2), np.concatenate([self.a, self.b])
        return sparse.csr_array((signs, places), shape=(self.a.size, self.size))

    def fit(self, covariates: FloatArray | None = None) -> Fit:
        """Return the strengths; penalised where the wins do not bound them all."""
        x = self.design if covariates is None else sparse.hstack([self.design, covariates])
        return fit(x, self.outcome, self.image, penalised=not self.bounded)

    @property
    def bounded(self) -> bool:
        """Whether every source has, through others, points from and against every other."""
        won, lost = self.outcome > 0, self.outcome < 1
        ends = [(self.a, self.b, won), (self.b, self.a, lost)]
        first, second = (np.concatenate([end[k][end[2]] for end in ends]) for k in (0, 1))
        links = sparse.csr_array((np.ones(first.size), (first, second)), (self.size, self.size))
        parts, _ = csgraph.connected_components(links, connection="strong")
        return bool(parts == 1)

    def never(self) -> tuple[BoolArray, BoolArray]:
        """Return the sources that never won a point, and those that never lost one."""
        points = np.concatenate([self.outcome, 1 - self.outcome])
        own = np.concatenate([self.a, self.b])
        return sums(own, points, self.size) == 0, sums(own, 1 - points, self.size) == 0

    def images(self) -> tuple[IntArray, FloatArray]:
        """Return the number of images of each source, and Kish's effective number."""
        cell, games = np.unique(
            np.concatenate([self.a, self.b]) + self.size * np.tile(self.image, 2),
            return_counts=True,
        )
        own = cell % self.size
        number = effective_number(games.astype(float), own, self.size)
        return np.bincount(own, minlength=self.size), number


def _board(group: str, names: list[str], games: pl.DataFrame) -> tuple[list[SourceRow], bool]:
    """Return the sources of a group, whose indices ``games`` uses, in the judge's order, and
    whether the fit was penalised.
    """
    a, b = (games[name].to_numpy().astype(np.int64) for name in ("a", "b"))
    outcome = games["outcome"].to_numpy().astype(float)
    judged = _Games(a, b, outcome, renumbered(games["cluster"].to_numpy())[1], len(names))
    found = judged.fit()
    images, effective = judged.images()
    why = _why(judged, images, effective)
    value, freedom = found.coefficients, np.maximum(effective - 1, 1)
    spread = found.variance(np.eye(value.size))
    met = np.bincount(np.concatenate([a, b]), minlength=value.size)
    known = np.array([reason in (None, NEVER_LOST, NEVER_WON) for reason in why])
    apart = np.minimum(freedom[:, None], freedom)
    sets = rank_sets(np.where(known, value, np.nan), found.floored, apart)
    ranks = 1 + value.size - np.searchsorted(np.sort(value), value + EQUAL, side="right")
    equal = _at_equal_covariates(judged, games)
    rows = []
    for i, name in enumerate(names):
        low, high = interval(float(value[i]), float(spread[i]), float(freedom[i]))
        bound = {NEVER_LOST: (low, None), NEVER_WON: (None, high)}.get(why[i] or "")
        counts = (int(met[i]), int(images[i]), why[i])
        strength = Estimate(float(value[i]), None if why[i] else (low, high), *counts)
        told = equal[i]
        controlled = Estimate(None, None, 0, 0, TOO_FEW)
        if told is not None:
            controlled = Estimate(told[0], None if why[i] else told[1], *counts)
        rank_set = sets[i] or (1, value.size)
        rows.append(SourceRow(name, group, strength, int(ranks[i]), bound, rank_set, controlled))
    return sorted(rows, key=lambda row: row.rank), found.penalised


def _why(games: _Games, images: IntArray, effective: FloatArray) -> list[str | None]:
    few = (images < LEAST_IMAGES) | (effective < 2)
    never_won, never_lost = games.never()
    alike = games.outcome.min() == games.outcome.max() == 0.5
    choices = [few, np.full(few.size, alike), never_lost, never_won]
    found = np.select(choices, [too_few(), all_alike(), NEVER_LOST, NEVER_WON], "")
    return [str(reason) or None for reason in found]


def _at_equal_covariates(
    judged: _Games, games: pl.DataFrame
) -> list[tuple[float, tuple[float, float]] | None]:
    """Return the strengths with their intervals in a fit with the covariates that differ in enough
    games, per typical (root mean square) difference; None for all without such a covariate.
    """
    found = [games["shown_first"].to_numpy()]
    found += [games[lead(name)].fill_null(0).to_numpy() for name in LEADS.values()
              if lead(name) in games.columns]  # fmt: skip
    least = LEAST_GAMES * (judged.size + len(found))
    told = [x.astype(float) for x in found if (x != 0).sum() >= least]
    if not told:
        return [None] * judged.size
    scaled = [x / np.sqrt((x**2).sum() / (x != 0).sum()) for x in told]
    fitted = judged.fit(np.stack(scaled, axis=1))
    values, freedom = fitted.coefficients.tolist(), fitted.images - 1
    variance = fitted.variance(np.eye(len(values))).tolist()
    return [(values[i], interval(values[i], variance[i], freedom)) for i in range(judged.size)]
