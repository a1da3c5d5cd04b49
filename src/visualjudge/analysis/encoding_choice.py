"""Which encoding should I use? Compares encodings on the same pairs, together with their costs.

Two encodings of a task are compared over the pairs of annotations that the judge saw in both,
clustered by image; p is adjusted by Holm over all comparisons of that judge and task. If no
encoding is significantly worse than another, the table says that no difference is shown instead of
naming a winner, because the best of six equally good encodings is best by chance.

The images are split into two halves. The first half alone decides whether an encoding is
recommended, and which; the accuracy of the recommended encoding comes from the other half.
Otherwise the selection would bias it upwards. An encoding is never recommended unless the first
half shows that the judge is better than chance with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from visualjudge.analysis import estimate
from visualjudge.analysis.accuracy_cells import estimate_of, image_sums, known, share_of
from visualjudge.analysis.estimate import gap_ends, gap_p, holm, ratio
from visualjudge.analysis.figures import Encoding, EncodingChoice, EncodingDuel
from visualjudge.analysis.value_and_interval import NO_SHARE, Share
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for

LEVEL = 0.05
MARGIN = 0.05
LEAST_VERDICTS = 20
LEAST_IMAGES = 5
LEAST_COMMON = 10
"""Minimum number of pairs that an encoding must share with the best one. With fewer, the two were
asked different questions.
"""
NO_DIFFERENCE = "no difference shown"
TOO_FEW = "too few verdicts, or too few on the same pairs"
RIGHT = {"n": pl.col("right").is_not_null(), "right": pl.col("right")}


@dataclass(frozen=True)
class _Lead:
    """The lead of one encoding over another."""

    gap: float
    high: float | None
    p_holm: float | None


def _per_pair(table: pl.DataFrame) -> pl.DataFrame:
    """Return the mean of right over orders and repeats, one row per pair of annotations and
    encoding.
    """
    return table.group_by("pair", "encoding", maintain_order=True).agg(
        pl.col("cluster").first(), right=pl.col("right").mean()
    )


def _wide(pairs: pl.DataFrame, encodings: list[str]) -> tuple[FloatArray, IntArray]:
    """Return right as pairs × encodings (NaN = not asked), and the image of each pair."""
    wide = pairs.pivot(
        "encoding", index=["pair", "cluster"], values="right", aggregate_function="first"
    )
    return wide.select(encodings).to_numpy().astype(float), wide["cluster"].to_numpy()


def compare_encodings(table: pl.DataFrame) -> tuple[EncodingDuel, ...]:
    """Compare every two encodings of one task on their common pairs, with p by Holm."""
    pairs = _per_pair(table)
    names = sorted(pairs["encoding"].unique().to_list())
    right, clusters = _wide(pairs, names)
    places = estimate.renumbered(clusters)[1]
    duels = _duels(names, right, places)
    adjusted = holm([duel.p for duel in duels])
    return tuple(replace(duel, p_holm=p) for duel, p in zip(duels, adjusted, strict=True))


def _duels(names: Sequence[str], right: FloatArray, places: IntArray) -> list[EncodingDuel]:
    """Every two columns of ``right``, all intervals found by the same steps."""
    twos = list(combinations(range(len(names)), 2))
    tops, bottoms, sizes, apart = [_NONE], [_NONE], list[int](), list[float]()
    for i, j in twos:
        gaps = right[:, i] - right[:, j]
        common = np.isfinite(gaps)
        n = np.bincount(places[common])
        held = n > 0
        tops.append(np.asarray(np.bincount(places[common], gaps[common])[held], dtype=float))
        bottoms.append(n[held].astype(float))
        sizes.append(int(held.sum()))
        apart.append(float(np.abs(gaps[common]).sum()))
    column = np.repeat(np.arange(len(twos)), sizes)
    bottom = np.concatenate(bottoms)
    value, found = ratio(np.concatenate(tops), bottom, column, len(twos))
    cases = estimate.sums(column, bottom, len(twos))
    ends = gap_ends(value, found, np.array(apart), cases)
    p = gap_p(value, found, np.array(apart), cases)
    return [
        EncodingDuel(
            names[i],
            names[j],
            estimate_of(value, found, ends, int(cases[k]), k),
            known(p[k]),
        )
        for k, (i, j) in enumerate(twos)
    ]


_NONE = np.empty(0)


def _lead(duels: tuple[EncodingDuel, ...], best: str, other: str) -> _Lead | None:
    """Return the comparison of ``best`` with ``other``. A positive gap means that ``best``
    leads.
    """
    for duel in duels:
        if {duel.first, duel.second} == {best, other} and duel.gap.value is not None:
            ends = duel.gap.interval or (None, None)
            if duel.first == best:
                return _Lead(duel.gap.value, ends[1], duel.p_holm)
            return _Lead(-duel.gap.value, None if ends[0] is None else -ends[0], duel.p_holm)
    return None


def _beats(lead: _Lead | None) -> bool:
    return lead is not None and lead.gap > 0 and lead.p_holm is not None and lead.p_holm < LEVEL


def _standing(duels: tuple[EncodingDuel, ...], best: str, other: str) -> str:
    """Return the standing of ``other``: best, worse (significantly), equivalent (at most 5 points
    behind, 97.5 % sure), open, or unknown.
    """
    if other == best:
        return "best"
    lead = _lead(duels, best, other)
    if lead is None or lead.p_holm is None or lead.high is None:
        return "unknown"
    if _beats(lead):
        return "worse"
    return "equivalent" if lead.high <= MARGIN else "open"


def _common(duels: tuple[EncodingDuel, ...], best: str, other: str) -> int | None:
    """Return the number of pairs that ``other`` shares with ``best``; None for the best itself."""
    return next((duel.gap.n for duel in duels if {duel.first, duel.second} == {best, other}), None)


def _rows(table: pl.DataFrame, duels: tuple[EncodingDuel, ...]) -> list[Encoding]:
    """Return the encodings, most accurate first, and the standing of each relative to the best one
    that no other beats.
    """
    sums = image_sums(table, ["encoding"], RIGHT)
    found = sums.shares("right", "n")
    tokens = dict(table.group_by("encoding").agg(pl.col("tokens_in").mean()).iter_rows())
    shares = [(name, share_of(found, k)) for k, name in enumerate(sums.keys["encoding"].to_list())]
    shares.sort(key=lambda row: (row[1].value or 0.0, row[0]), reverse=True)
    names = [name for name, _ in shares]
    best = next(
        (n for n in names if not any(_beats(_lead(duels, other, n)) for other in names)), names[0]
    )
    return [
        Encoding(
            name,
            share,
            tokens[name],
            _standing(duels, best, name),
            _common(duels, best, name),
            False,
        )
        for name, share in shares
    ]


def recommend(table: pl.DataFrame, task: str, seed: int = 0, chance: float = 0.5) -> EncodingChoice:
    """Return the encodings of one judge and task, best first, their comparisons, and the
    recommended one.

    Nothing is recommended if there are fewer than two encodings, if one of them has fewer than 20
    verdicts or 5 images, if no difference is shown, or if the interval of every candidate includes
    ``chance``.
    """
    duels = compare_encodings(table)
    rows = _rows(table, duels)
    half, held = _halves(table, seed)
    learnt = rows if half.is_empty() or len(rows) == 1 else _rows(half, compare_encodings(half))
    candidates = _candidates(learnt, chance)
    reason = (None if _enough(rows) or len(rows) == 1 else TOO_FEW) or _why_none(learnt, candidates)
    if reason:
        cheapest = _cheapest(rows, _candidates(rows, chance)) if reason == NO_DIFFERENCE else None
        return EncodingChoice(task, None, reason, NO_SHARE, cheapest, tuple(rows), duels)
    chosen = _chosen(candidates)
    marked = tuple(replace(row, recommended=row.name == chosen.name) for row in rows)
    share = _share(held.filter(pl.col("encoding") == chosen.name))
    return EncodingChoice(task, chosen.name, None, share, None, marked, duels)


def _enough(rows: list[Encoding]) -> bool:
    asked = all(row.share.n >= LEAST_VERDICTS and row.share.images >= LEAST_IMAGES for row in rows)
    return asked and all(
        row.common_pairs is None or row.common_pairs >= LEAST_COMMON for row in rows
    )


def _why_none(rows: list[Encoding], candidates: list[Encoding]) -> str | None:
    """Return the reason why no encoding is recommended, or None if one is."""
    if len(rows) == 1:
        return f"only {rows[0].name}"
    if not _enough(rows):
        return TOO_FEW
    if not candidates:
        ends = rows[0].share.interval
        spread = (
            f", 95 % {100 * ends[0]:.1f} to {100 * ends[1]:.1f}"  # type: ignore[operator]
            if ends and None not in ends
            else ""
        )
        return f"not significantly better than chance (best: {rows[0].name}{spread})"
    return None if any(row.standing == "worse" for row in rows) else NO_DIFFERENCE


def _candidates(rows: list[Encoding], chance: float) -> list[Encoding]:
    """Return the encodings that are not significantly worse and whose interval lies above
    ``chance``.
    """
    good = [row for row in rows if row.standing in ("best", "equivalent", "open")]
    return [row for row in good if row.share.interval and (row.share.interval[0] or 0) > chance]


def _cheapest(rows: list[Encoding], candidates: list[Encoding]) -> str | None:
    """Return the encoding with the fewest prompt tokens if all are shown to be at most 5 points
    behind and their costs differ.
    """
    good = [row for row in candidates if row.standing != "open"]
    priced = {row.name: row.tokens for row in good if row.tokens is not None}
    if len(good) < len(rows) or len(priced) < len(rows) or len(set(priced.values())) < 2:
        return None
    return min(priced, key=lambda name: (priced[name], name))


def _halves(table: pl.DataFrame, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the verdicts on the images used to choose, and those on the images used to measure."""
    images = np.unique(table["cluster"].to_numpy())
    half = rng_for(seed, "halves", int(images.size)).permutation(images)[: images.size // 2]
    learn, held = (
        table.filter(pl.col("cluster").is_in(half.tolist()) == side) for side in (True, False)
    )
    return learn, held


def _chosen(pool: list[Encoding]) -> Encoding:
    """Return the best of ``pool``, or the cheapest one that is equivalent to it."""
    best = max(pool, key=lambda row: (row.share.value or 0.0, row.name))
    cheaper = [row for row in pool if row.standing == "equivalent" and _cheaper(row, best)]
    return min(cheaper, key=lambda row: (row.tokens or 0.0, row.name)) if cheaper else best


def _cheaper(row: Encoding, than: Encoding) -> bool:
    return row.tokens is not None and than.tokens is not None and row.tokens < than.tokens


def _share(part: pl.DataFrame) -> Share:
    if part.is_empty():
        return NO_SHARE
    return share_of(image_sums(part, [], RIGHT).shares("right", "n"))
