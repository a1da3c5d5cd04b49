"""The sources as the judge ranks them, beside their ranks by true score.

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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

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
from visualjudge.analysis.fits import Fit, fit, interval
from visualjudge.analysis.source_figures import Control, Leaderboard, SourceRow
from visualjudge.analysis.statistics import correlation
from visualjudge.analysis.statistics.ranks import rank_sets
from visualjudge.analysis.study_table import lead
from visualjudge.analysis.value_and_interval import NOTHING, Ends, Estimate
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
    parts = {name: {name} for _, *pair in edges for name in pair}
    for _, a, b in edges:
        if parts[a] is not parts[b]:
            less, more = sorted((parts[a], parts[b]), key=len)
            more |= less
            parts |= dict.fromkeys(less, more)
    return sorted(sorted(part) for part in {id(part): part for part in parts.values()}.values())


LEADS = {"number of objects": "count", "text length": "text_chars", "file size": "png_bytes"}
LEAST_GAMES = 10
"""Minimum number of games in which a covariate differs, per coefficient of the fit."""
TOO_FEW = "too few games in which a covariate differs"
NEVER_LOST, NEVER_WON = "it never lost", "it never won"
PLAYED = (
    "question",
    "repeat",
    "order",
    "pair",
    "cluster",
    "task",
    "usable",
    "answer",
    "text",
    "sources",
    "annotations",
    "scores",
)
"""Columns of pairwise verdicts that a leaderboard needs."""
EQUAL = 1e-9
"""Strengths that differ by less than this are equal."""
EMPTY = Leaderboard((), 0, 0, False, 0, None, None)


def points(answer: str) -> pl.Expr:
    """Return the points of option A for an answer: 1, 0, or ½ for a tie."""
    return pl.col(answer).replace_strict({"A": 1.0, "B": 0.0}, default=0.5, return_dtype=pl.Float64)


def duels(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row per question (and repeat) between two named sources: task, a, b, the judge's
    outcome for a (1, ½, 0), and whether a was shown first (1, −1, or 0 if both orders were asked or
    the order is not known).
    """
    needed = table.select(
        "question", "repeat", "order", "usable", "cluster", "task", "answer", "text", "sources"
    )
    known = needed.filter(pl.col("usable")).with_columns(
        a=pl.col("sources").list.get(0, null_on_oob=True),
        b=pl.col("sources").list.get(1, null_on_oob=True),
    )
    named = known.filter(
        pl.col("a").is_not_null() & pl.col("b").is_not_null() & (pl.col("a") != pl.col("b"))
    )
    return named.group_by("question", "repeat", maintain_order=True).agg(
        pl.col("task", "a", "b", "cluster", "answer").first(),
        outcome=points("text").mean(),
        shown_first=pl.when(pl.col("order") == "unknown")
        .then(0.0)
        .when(pl.col("order") == "AB")
        .then(1.0)
        .otherwise(-1.0)
        .mean(),
    )


def leads_of(questions: pl.DataFrame) -> pl.DataFrame:
    """Return the difference in each covariate between the two options of a question."""
    pairs = questions.filter(pl.col("kind") == "pairwise")
    return pairs.select("question", *(pl.col(lead(name)) for name in LEADS.values()))


def _true_scores(table: pl.DataFrame, places: pl.DataFrame) -> dict[int, float]:
    """Return the mean score of each place over the distinct annotations in the questions."""
    needed = table.select("pair", "task", "annotations", "sources", "scores")
    firsts = needed.unique("pair", keep="first", maintain_order=True)
    parts = [
        firsts.select(
            annotation=pl.col("annotations").list.get(side),
            task=pl.col("task"),
            source=pl.col("sources").list.get(side),
            score=pl.col("scores").list.get(side),
        )
        for side in (0, 1)
    ]
    seen = (
        pl.concat(parts)
        .filter(pl.col("source").is_not_null())
        .unique(["task", "annotation", "source"], maintain_order=True)
    )
    known = seen.with_columns(place=places_of(seen, places)).drop_nulls("place")
    return dict(
        known.group_by("place", maintain_order=True).agg(pl.col("score").mean()).iter_rows()
    )


def leaderboard(table: pl.DataFrame, leads: pl.DataFrame | None = None) -> Leaderboard:
    """Return strengths by the judge and by the truth for every source, ranks, and the correlation
    of the judge's order with the true scores.

    If ``components`` is above 1, some sources were never compared in the same tasks, not even
    through others. Strengths are then comparable only within a component, which ``group`` names,
    and there is no overall rank correlation. ``leads`` holds the covariates by question.
    """
    games = duels(table)
    if leads is not None:
        games = games.join(leads, on="question", how="left", maintain_order="left")
    known, places = placed(games.select("task", "a", "b"))
    if len(known) < 2:
        return replace(EMPTY, n=games.height)
    scores = _true_scores(table, places)
    played = games.with_columns(a=places_of(games, places, "a"), b=places_of(games, places, "b"))
    names = sorted({group for group, _ in known})
    boards = []
    for number, name in enumerate(names):
        own = [place for place, (group, _) in enumerate(known) if group == name]
        inside = played.filter(pl.col("a").is_in(own)).with_columns(pl.col("a", "b") - own[0])
        rows = [
            SourceRow(known[place][1], name, number, NOTHING, None, scores.get(place))
            for place in own
        ]
        boards.append(_board(rows, inside))
    ranked = tuple(chain.from_iterable(board.rows for board in boards))
    return Leaderboard(
        ranked,
        games.height,
        len(names),
        any(board.endless for board in boards),
        int((games["outcome"] == 0.5).sum()),
        *(_agreement(ranked) if len(boards) == 1 else (None, None)),
        tuple(chain.from_iterable(board.controls for board in boards)),
    )


@dataclass(frozen=True)
class _Board:
    """One group: its sources in the judge's order, and whether the fit was penalised."""

    rows: tuple[SourceRow, ...]
    endless: bool
    controls: tuple[Control, ...]


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


def _board(rows: list[SourceRow], games: pl.DataFrame) -> _Board:
    """Return the strengths and ranks of ``rows``, the sources of one group, whose indices ``games``
    uses.
    """
    place = {name: games[name].to_numpy().astype(np.int64) for name in ("a", "b")}
    outcome = games["outcome"].to_numpy().astype(float)
    image = renumbered(games["cluster"].to_numpy())[1]
    judged = _Games(place["a"], place["b"], outcome, image, len(rows))
    true = replace(judged, outcome=games.select(points("answer")).to_series().to_numpy())
    found = judged.fit()
    images, effective = judged.images()
    why = _why(judged, images, effective)
    known = np.array([reason in (None, NEVER_LOST, NEVER_WON) for reason in why])
    value, freedom = found.coefficients, np.maximum(effective - 1, 1)
    spread = found.variance(np.eye(value.size))
    met = np.bincount(np.concatenate([judged.a, judged.b]), minlength=value.size)
    estimates = [
        _strength(float(value[i]), float(spread[i]), float(freedom[i]), int(met[i]),
                  int(images[i]), why[i])
        for i in range(value.size)
    ]  # fmt: skip
    apart = np.minimum(freedom[:, None], freedom)
    values = np.where(known, value, np.nan)
    sets = [
        rank_sets(values, found.floored, apart, together=all_at_once)
        for all_at_once in (False, True)
    ]
    every = (1, value.size)
    filled = [
        replace(row, strength=strength, bound=bound, rank_set=alone or every,
                rank_set_all=together or every)
        for row, (strength, bound), alone, together in zip(rows, estimates, *sets, strict=True)
    ]  # fmt: skip
    equal, controls = _with_controls(judged, games, rows[0].group, filled)
    filled = [replace(row, controlled=own) for row, own in zip(filled, equal, strict=True)]
    lost, won = true.never()
    truth = np.where(won, np.inf, np.where(lost, -np.inf, true.fit().coefficients))
    finite = [float(x) if np.isfinite(x) else None for x in truth]
    named = [replace(row, true_strength=x) for row, x in zip(filled, finite, strict=True)]
    ranked = _ranked(named, value, truth)
    return _Board(ranked, found.penalised, controls)


def _why(games: _Games, images: IntArray, effective: FloatArray) -> list[str | None]:
    """Explain why a source has no interval, or an open one."""
    few = (images < LEAST_IMAGES) | (effective < 2)
    never_won, never_lost = games.never()
    alike = games.outcome.min() == games.outcome.max() == 0.5
    choices = [few, np.full(few.size, alike), never_lost, never_won]
    found = np.select(choices, [too_few(), all_alike(), NEVER_LOST, NEVER_WON], "")
    return [str(reason) or None for reason in found]


def _strength(
    value: float, variance: float, freedom: float, games: int, images: int, why: str | None
) -> tuple[Estimate, Ends | None]:
    """Return a strength with its interval, or with the finite end of an open one."""
    low, high = interval(value, variance, freedom)
    ends = {None: (low, high), NEVER_LOST: (low, None), NEVER_WON: (None, high)}.get(why)
    open_side = why in (NEVER_LOST, NEVER_WON)
    figure = Estimate(value, None if open_side else ends, games, images, why)
    return figure, ends if open_side else None


def _with_controls(
    judged: _Games, games: pl.DataFrame, group: str, rows: Sequence[SourceRow]
) -> tuple[list[Estimate], tuple[Control, ...]]:
    """Return the strengths at equal covariates, and the effects of the covariates that differ in
    enough games; in log odds per typical (root mean square) difference.
    """
    found = {"order shown": games["shown_first"].to_numpy().astype(float)}
    for name, feature in LEADS.items():
        if lead(feature) in games.columns:
            found[name] = games[lead(feature)].fill_null(0).to_numpy().astype(float)
    told = {name: int((values != 0).sum()) for name, values in found.items()}
    names = [name for name in found if told[name] >= LEAST_GAMES * (len(rows) + len(found))]
    if not names:
        return [Estimate(None, None, 0, 0, TOO_FEW) for _ in rows], ()
    scales = {name: np.sqrt((found[name] ** 2).sum() / told[name]) for name in names}
    fitted = judged.fit(np.stack([found[name] / scales[name] for name in names], axis=1))
    variance = fitted.variance(np.eye(fitted.coefficients.size))
    images, values = fitted.images, fitted.coefficients
    ends = [interval(float(x), float(v), images - 1) for x, v in zip(values, variance, strict=True)]
    strengths = [
        Estimate(float(values[i]), None if row.strength.why else ends[i], row.strength.n,
                 row.strength.images, row.strength.why)
        for i, row in enumerate(rows)
    ]  # fmt: skip
    effects = tuple(
        Control(group, name, Estimate(float(values[k]), ends[k], told[name], images))
        for k, name in enumerate(names, len(rows))
    )
    return strengths, effects


def _ranked(
    rows: list[SourceRow], strength: FloatArray, by_truth: FloatArray
) -> tuple[SourceRow, ...]:
    """Return the rows of one group in the judge's order, with both ranks. Sources of equal strength
    share the best rank.
    """

    def ranks(values: FloatArray) -> IntArray:
        return 1 + values.size - np.searchsorted(np.sort(values), values + EQUAL, side="right")

    both = zip(rows, ranks(strength).tolist(), ranks(by_truth).tolist(), strict=True)
    ranked = [replace(row, rank=mine, true_rank=true) for row, mine, true in both]
    return tuple(sorted(ranked, key=lambda row: row.rank))


def _agreement(rows: Sequence[SourceRow]) -> tuple[float | None, float | None]:
    """Return Spearman's ρ and Kendall's τ-b between the judge's strengths and the mean true scores;
    None for fewer than three sources.
    """
    scores = [row.mean_score for row in rows]
    if len(scores) < 3 or None in scores:
        return None, None
    strengths = [row.strength.value for row in rows]
    mine, true = (np.round(np.array(values, float), 9) for values in (strengths, scores))
    return correlation.spearman(mine, true), correlation.kendall(mine, true)
