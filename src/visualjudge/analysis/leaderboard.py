"""The sources as the judge ranks them, beside their ranks by true score.

A question asked in both orders with different answers is a tie; a failed reply takes no part. Intervals leave out each
image in turn and count a source's own images (:mod:`visualjudge.analysis.statistics.strengths`). Where a source never
won, or never lost, half a game is added between sources of its group that met, and that source's side of the interval
stays open. Each group of sources is fitted by itself: what is compared elsewhere changes nothing in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import polars as pl

from visualjudge.analysis.figures import NOTHING, Ends, Estimate, Leaderboard, SourceRow
from visualjudge.analysis.groups import placed, places_of
from visualjudge.analysis.statistics import correlation
from visualjudge.analysis.statistics.jackknife import renumbered
from visualjudge.analysis.statistics.strengths import (
    Strengths,
    components,
    davidson,
    open_sides,
    strength_ends,
    with_half_games,
)
from visualjudge.core.records import FloatArray, IntArray

MOST_IMAGES = 1000
"""Above this many images they are dealt to as many groups, each left out whole (Kott 2001)."""
PLAYED = (
    "question",
    "repeat",
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
"""Columns of pairwise verdicts that a leaderboard is made from."""
EQUAL = 1e-9
"""Strengths this near are the same."""
EMPTY = Leaderboard((), 0, 0, False, 0, None, None, None)


@dataclass(frozen=True, eq=False)
class Games:
    """Wins and ties between sources: images × S × S."""

    wins: FloatArray
    ties: FloatArray
    images: IntArray
    """Different images of each source."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Strengths, and what was added so that they are finite."""

    strengths: Strengths
    added: FloatArray


def points(answer: str) -> pl.Expr:
    """What an answer gives option A: 1, 0, or ½ for a tie."""
    return pl.col(answer).replace_strict({"A": 1.0, "B": 0.0}, default=0.5, return_dtype=pl.Float64)


def duels(table: pl.DataFrame) -> pl.DataFrame:
    """One row a question (and repeat) between two named sources: task, a, b, the judge's outcome for a (1, ½, 0)."""
    needed = table.select("question", "repeat", "parsed", "cluster", "task", "answer", "text", "sources")
    known = needed.filter(pl.col("parsed")).with_columns(
        a=pl.col("sources").list.get(0, null_on_oob=True),
        b=pl.col("sources").list.get(1, null_on_oob=True),
    )
    named = known.filter(pl.col("a").is_not_null() & pl.col("b").is_not_null() & (pl.col("a") != pl.col("b")))
    return named.group_by("question", "repeat", maintain_order=True).agg(
        pl.col("task", "a", "b", "cluster", "answer").first(),
        outcome=points("text").mean(),
    )


def games_of(games: pl.DataFrame, size: int) -> Games:
    """Who beat whom on which image; ``a`` and ``b`` are numbers of ``size`` sources."""
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


def fitted(wins: FloatArray, ties: FloatArray, game: float = 1.0) -> Fitted:
    """Strengths of S × S sums; half a game is added where no finite maximum exists. ``game``: what one counts."""
    _, finite = components(wins, ties)
    regular = np.zeros_like(wins) if finite else game * (with_half_games(wins, ties) - wins)
    return Fitted(davidson(wins + regular, ties), regular)


def _true_scores(table: pl.DataFrame, places: pl.DataFrame) -> dict[int, float]:
    """Mean score of each place over the different annotations that were asked about."""
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
    return dict(known.group_by("place", maintain_order=True).agg(pl.col("score").mean()).iter_rows())


def leaderboard(table: pl.DataFrame) -> Leaderboard:
    """Strengths by the judge and by the truth of every source, ranks, and how the judge's order goes with the scores.

    ``components`` > 1: some sources were never compared in the same tasks, not even through others; strengths then
    compare only within a component, which ``group`` names, and neither a rank correlation nor a tie parameter over all
    is given.
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
        rows = [SourceRow(known[place][1], name, number, NOTHING, None, scores.get(place)) for place in own]
        boards.append(_board(rows, inside))
    ties, added = sum(board.ties for board in boards), any(board.added for board in boards)
    log_tie, same = (boards[0].log_tie, boards[0].agreement) if len(boards) == 1 else (None, (None, None))
    ranked = tuple(chain.from_iterable(board.rows for board in boards))
    return Leaderboard(ranked, games.height, len(names), added, ties, log_tie, *same)


@dataclass(frozen=True)
class _Board:
    """One group: its sources by the judge's order, and how that goes with their true scores (ρ and τ-b)."""

    rows: tuple[SourceRow, ...]
    ties: int
    added: bool
    log_tie: float | None
    agreement: tuple[float | None, float | None]


def _board(rows: list[SourceRow], games: pl.DataFrame) -> _Board:
    """The strengths and ranks of ``rows``, the sources that ``games`` number; all of one group."""
    judged = games_of(games, len(rows))
    true = games_of(games.with_columns(outcome=points("answer")), len(rows))
    repeats = games.height / games["question"].n_unique()
    fit = fitted(judged.wins.sum(0), judged.ties.sum(0), repeats)
    by_truth = fitted(true.wins.sum(0), true.ties.sum(0), repeats).strengths.log_strength
    found = zip(rows, _strengths(fit, judged), _bounded(by_truth, true), strict=True)
    filled = [replace(row, strength=own, true_strength=truth) for row, own, truth in found]
    ranked = _ranked(filled, fit.strengths.log_strength, by_truth)
    agreement = _agreement(fit.strengths.log_strength, [row.mean_score for row in rows])
    return _Board(ranked, int(judged.ties.sum() / 2), bool(fit.added.any()), fit.strengths.log_tie, agreement)


def _strengths(fit: Fitted, games: Games) -> list[Estimate]:
    ends = strength_ends(fit.strengths, games.wins, games.ties, fit.added)
    met = (games.wins + np.swapaxes(games.wins, 1, 2) + games.ties).sum((0, 2))
    out = []
    for i, value in enumerate(fit.strengths.log_strength):
        sides: Ends = tuple(float(x) if np.isfinite(x) else None for x in (ends.low[i], ends.high[i]))  # type: ignore[assignment]
        interval = None if ends.why[i] else sides
        out.append(Estimate(float(value), interval, int(met[i]), int(games.images[i]), ends.why[i]))
    return out


def _bounded(strength: FloatArray, games: Games) -> list[float | None]:
    """``strength``; None for a source that never lost, or never won: it has none that is finite."""
    no_low, no_high = open_sides(games.wins.sum(0))
    return [None if a or b else float(x) for a, b, x in zip(no_low, no_high, strength, strict=True)]


def _ranked(rows: list[SourceRow], strength: FloatArray, by_truth: FloatArray) -> tuple[SourceRow, ...]:
    """Rows of one group by the judge's order, with both ranks; sources of equal strength share the best."""

    def rank(values: FloatArray, one: int) -> int:
        return 1 + int((values > values[one] + EQUAL).sum())

    ranked = [replace(row, rank=rank(strength, i), true_rank=rank(by_truth, i)) for i, row in enumerate(rows)]
    return tuple(sorted(ranked, key=lambda row: row.rank))


def _agreement(strength: FloatArray, scores: list[float | None]) -> tuple[float | None, float | None]:
    """Spearman's ρ and Kendall's τ-b of the judge's order and that of the mean true scores; None for fewer than three
    sources.
    """
    if len(scores) < 3 or None in scores:
        return None, None
    mine, true = (np.round(np.array(values, float), 9) for values in (strength, scores))
    return correlation.spearman(mine, true), correlation.kendall(mine, true)
