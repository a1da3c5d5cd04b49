"""The sources as the judge ranks them, together with their ranks by true score. The model is in
``statistics/bradley_terry.py``.

A question answered differently in the two orders is a tie; failed replies are excluded. Strengths
are penalised; intervals, differences and ranks come from weighted resamples of the images
(:mod:`visualjudge.analysis.statistics.bradley_terry`). A source that never won, or never lost, has
a bound on one side and no interval. Each group of sources is fitted on its own, so comparisons
elsewhere do not affect it.

Only sources that are compared in the same tasks are ranked against each other, because a source's
mean over one task cannot be compared with another source's mean over another task. Tasks that
compare the same sources are pooled. Sources that are compared in different tasks, or that are not
connected by comparisons even through others, are in separate groups.

Controlled strengths, at equal covariates, are given next to the plain ones. Covariates are other
differences between two predictions: the order shown (0 if both orders were asked), the number of
objects, the length of the text and the size of the image file. Differences are divided by their
root mean square, so that an effect is in log odds per typical difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise

import numpy as np
import polars as pl

from visualjudge.analysis.estimate import renumbered
from visualjudge.analysis.source_figures import IN_MATRIX, Contrast, Control, Leaderboard, SourceRow
from visualjudge.analysis.statistics import correlation
from visualjudge.analysis.statistics.bradley_terry import (
    NEVER_LOST,
    NEVER_WON,
    Penalised,
    Standing,
    components,
    dispersion,
    drawn,
    never,
    penalised,
    standing,
)
from visualjudge.analysis.statistics.bradley_terry_many import (
    Duels,
    ManyStrengths,
    many_strengths,
    strengths_alone,
)
from visualjudge.analysis.value_and_interval import NOTHING, Ends, Estimate
from visualjudge.core.records import BoolArray, FloatArray, IntArray
from visualjudge.core.seeding import rng_for

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


MANY = 100
"""With more sources than this in a group, only pairs that met are considered."""
MOST_IMAGES = 1000
"""Maximum number of jackknife groups. If there are more images, they are dealt to this many groups,
and each group is left out as a whole (Kott 2001).
"""
PLAYED = (
    "question",
    "repeat",
    "order",
    "pair",
    "cluster",
    "task",
    "parsed",
    "answer",
    "text",
    "sources",
    "annotations",
    "scores",
)
"""Columns of pairwise verdicts that a leaderboard needs."""
EQUAL = 1e-9
"""Strengths that differ by less than this are equal."""
EMPTY = Leaderboard((), 0, 0, False, 0, None, None, None)


@dataclass(frozen=True, eq=False)
class Games:
    """Wins and ties between sources: images × S × S."""

    wins: FloatArray
    ties: FloatArray
    images: IntArray
    """Number of distinct images per source."""


def points(answer: str) -> pl.Expr:
    """Return the points of option A for an answer: 1, 0, or ½ for a tie."""
    return pl.col(answer).replace_strict({"A": 1.0, "B": 0.0}, default=0.5, return_dtype=pl.Float64)


def duels(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row per question (and repeat) between two named sources: task, a, b, the judge's
    outcome for a (1, ½, 0), and whether a was shown first (1, −1, or 0 if both orders were asked or
    the order is not known).
    """
    needed = table.select(
        "question", "repeat", "order", "parsed", "cluster", "task", "answer", "text", "sources"
    )
    known = needed.filter(pl.col("parsed")).with_columns(
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


def games_of(games: pl.DataFrame, size: int) -> Games:
    """Count wins and ties on each image; ``a`` and ``b`` are indices of ``size`` sources."""
    a, b = (games[side].to_numpy() for side in "ab")
    outcome = games["outcome"].to_numpy()
    image, each = renumbered(games["cluster"].to_numpy())
    row = each % MOST_IMAGES
    wins, ties = (np.zeros((min(image.size, MOST_IMAGES), size, size)) for _ in range(2))
    won, lost = outcome > 0.5, outcome < 0.5
    np.add.at(wins, (row[won], a[won], b[won]), 1)
    np.add.at(wins, (row[lost], b[lost], a[lost]), 1)
    level = ~won & ~lost
    for x, y in ((a, b), (b, a)):
        np.add.at(ties, (row[level], x[level], y[level]), 1)
    pairs, _ = renumbered(np.concatenate([a * image.size + each, b * image.size + each]))
    return Games(wins, ties, np.bincount(pairs // image.size, minlength=size))


def fitted(games: Games, repeats: float) -> Penalised:
    """Fit strengths. The penalty is multiplied by the dispersion of the games, which is at least
    ``repeats``.
    """
    wins, ties = games.wins.sum(0), games.ties.sum(0)
    first = penalised(wins, ties, repeats)
    return penalised(wins, ties, dispersion(first, games.wins, games.ties, repeats))


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


def leaderboard(table: pl.DataFrame, seed: int = 0) -> Leaderboard:
    """Return strengths by the judge and by the truth for every source, ranks, and the correlation
    of the judge's order with the true scores.

    If ``components`` is above 1, some sources were never compared in the same tasks, not even
    through others. Strengths are then comparable only within a component, which ``group`` names,
    and there is no overall rank correlation or tie parameter. ``seed`` seeds the draws for
    intervals, differences and ranks.
    """
    games = duels(table)
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
        boards.append(_board(rows, inside, seed))
    ties, endless = sum(board.ties for board in boards), any(board.endless for board in boards)
    log_tie, same = (
        (boards[0].log_tie, boards[0].agreement) if len(boards) == 1 else (None, (None, None))
    )
    ranked = tuple(chain.from_iterable(board.rows for board in boards))
    contrasts = tuple(chain.from_iterable(board.contrasts for board in boards))
    together = boards[0].dispersion if len(boards) == 1 else None
    return Leaderboard(
        ranked,
        games.height,
        len(names),
        endless,
        ties,
        log_tie,
        *same,
        contrasts,
        together,
        tuple(chain.from_iterable(board.controls for board in boards)),
    )


@dataclass(frozen=True)
class _Board:
    """One group: its sources in the judge's order, and the correlation of that order with their
    true scores (ρ and τ-b).
    """

    rows: tuple[SourceRow, ...]
    contrasts: tuple[Contrast, ...]
    ties: int
    endless: bool
    log_tie: float | None
    agreement: tuple[float | None, float | None]
    dispersion: float
    controls: tuple[Control, ...] = ()


def _board(rows: list[SourceRow], games: pl.DataFrame, seed: int) -> _Board:
    """Return the strengths and ranks of ``rows``, the sources of one group, whose indices ``games``
    uses.
    """
    if len(rows) > MANY:
        return _board_of_many(rows, games, seed)
    judged = games_of(games, len(rows))
    true = games_of(games.with_columns(outcome=points("answer")), len(rows))
    repeats = games.height / games["question"].n_unique()
    fit, truth = fitted(judged, repeats), fitted(true, repeats)
    draws = drawn(
        fit, judged.wins, judged.ties, rng_for(seed, "strengths", len(rows), judged.wins.shape[0])
    )
    sure = standing(fit, judged.wins, judged.ties, judged.images, draws)
    met = (judged.wins + np.swapaxes(judged.wins, 1, 2) + judged.ties).sum((0, 2))
    filled = _filled(rows, fit.log_strength, met, judged.images, sure)
    ranked = _by_truth(filled, fit.log_strength, _bounded(truth.log_strength, true))
    _, finite = components(judged.wins.sum(0), judged.ties.sum(0))
    agreement = _agreement(fit.log_strength, [row.mean_score for row in rows])

    def difference(i: int, j: int) -> tuple[float, float, float]:
        return float(sure.below[i, j]), float(sure.above[i, j]), float(sure.p[i, j])

    contrasts = _contrasts(ranked, filled, fit.log_strength, difference)
    return _Board(
        ranked,
        contrasts,
        int(judged.ties.sum() / 2),
        not finite,
        fit.log_tie,
        agreement,
        fit.dispersion,
    )


def _board_of_many(rows: list[SourceRow], games: pl.DataFrame, seed: int) -> _Board:
    """Like :func:`_board`, for many sources of which few pairs met."""
    judged, true = (
        duels_of(games, len(rows)),
        duels_of(games.with_columns(outcome=points("answer")), len(rows)),
    )
    seen = np.unique(np.concatenate([judged.a, judged.b]) + len(rows) * np.tile(judged.image, 2))
    images = np.bincount(seen % len(rows), minlength=len(rows))
    repeats = games.height / games["question"].n_unique()
    found = many_strengths(
        judged, repeats, images, rng_for(seed, "strengths", len(rows), len(np.unique(judged.image)))
    )
    truth, never_won, never_lost = strengths_alone(true, repeats)
    met = np.bincount(np.concatenate([judged.a, judged.b]), minlength=len(rows))
    filled = _filled(rows, found.log_strength, met, images, found)
    ranked = _by_truth(filled, found.log_strength, _open_ended(truth, never_won, never_lost))
    ties = int((judged.outcome == 0.5).sum())
    contrasts = _contrasts(ranked, filled, found.log_strength, found.difference)
    agreement = _agreement(found.log_strength, [row.mean_score for row in rows])
    return _Board(
        ranked, contrasts, ties, found.endless, found.log_tie, agreement, found.dispersion
    )


def duels_of(games: pl.DataFrame, size: int) -> Duels:
    """Return the winner on each image, game by game; ``a`` and ``b`` are indices of ``size``
    sources.
    """
    _, image = renumbered(games["cluster"].to_numpy())
    outcome = games["outcome"].to_numpy()
    said = np.where(outcome > 0.5, 1.0, np.where(outcome < 0.5, 0.0, 0.5))
    return Duels(image, games["a"].to_numpy(), games["b"].to_numpy(), said, size)


def _by_truth(
    filled: list[SourceRow], strength: FloatArray, by_truth: FloatArray
) -> tuple[SourceRow, ...]:
    """Return the rows with their strengths by truth, ranked."""
    told = zip(filled, np.where(np.isfinite(by_truth), by_truth, np.nan).tolist(), strict=True)
    return _ranked(
        [replace(row, true_strength=None if np.isnan(x) else x) for row, x in told],
        strength,
        by_truth,
    )


def _filled(
    rows: list[SourceRow],
    value: FloatArray,
    met: IntArray,
    images: IntArray,
    sure: Standing | ManyStrengths,
) -> list[SourceRow]:
    """Return ``rows`` with their strengths by the judge and their rank sets."""
    out = []
    for i, row in enumerate(rows):
        ends = _ends(sure.low[i], sure.high[i])
        interval = None if None in ends else ends
        strength = Estimate(float(value[i]), interval, int(met[i]), int(images[i]), sure.why[i])
        bound = None if interval or ends == (None, None) else ends
        out.append(
            replace(
                row,
                strength=strength,
                bound=bound,
                rank_set=sure.alone[i],
                rank_set_all=sure.together[i],
            )
        )
    return out


def _ends(low: float, high: float) -> Ends:
    """Convert the ends of an interval; NaN means an open side."""
    return (float(low) if np.isfinite(low) else None, float(high) if np.isfinite(high) else None)


def _contrasts(
    ranked: tuple[SourceRow, ...],
    rows: list[SourceRow],
    value: FloatArray,
    difference: Callable[[int, int], tuple[float, float, float]],
) -> tuple[Contrast, ...]:
    """Compare every two of the first sources of a group, and beyond those each source with the
    next. The one that the judge ranks higher comes first.
    """
    place = {row.source: i for i, row in enumerate(rows)}
    out = []
    for first, second in chain(
        combinations(ranked[:IN_MATRIX], 2), pairwise(ranked[IN_MATRIX - 1 :])
    ):
        i, j = place[first.source], place[second.source]
        below, above, p = difference(i, j)
        low, high = _ends(below, above)
        open_side = {first.strength.why, second.strength.why} & {NEVER_LOST, NEVER_WON}
        ends = None if low is None else (low, None if open_side else high)
        why = next((row.strength.why for row in (first, second) if row.strength.why), None)
        images = min(first.strength.images, second.strength.images)
        figure = Estimate(float(value[i] - value[j]), ends, 0, images, None if ends else why)
        out.append(
            Contrast(first.group, first.source, second.source, figure, None if np.isnan(p) else p)
        )
    return tuple(out)


def _bounded(strength: FloatArray, games: Games) -> FloatArray:
    """Return ``strength``, set to infinity for sources that never lost or never won, so that all of
    these are equal.
    """
    return _open_ended(strength, *never(games.wins.sum(0), games.ties.sum(0)))


def _open_ended(strength: FloatArray, never_won: BoolArray, never_lost: BoolArray) -> FloatArray:
    return np.where(never_lost, np.inf, np.where(never_won, -np.inf, strength))


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


def _agreement(
    strength: FloatArray, scores: list[float | None]
) -> tuple[float | None, float | None]:
    """Return Spearman's ρ and Kendall's τ-b between the judge's strengths and the mean true scores;
    None for fewer than three sources.
    """
    if len(scores) < 3 or None in scores:
        return None, None
    mine, true = (np.round(np.array(values, float), 9) for values in (strength, scores))
    return correlation.spearman(mine, true), correlation.kendall(mine, true)
