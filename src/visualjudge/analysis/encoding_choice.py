"""Which encoding should I use? Compares encodings on the same pairs, together with their costs.

Two encodings of a task are compared over the pairs of annotations that the judge saw in both,
clustered by image; p is adjusted by Holm over all comparisons of that judge and task. If no
encoding is significantly worse than another, the table says that no difference is shown instead of
naming a winner, because the best of six equally good encodings is best by chance.

An encoding is never recommended unless the judge is shown to be better than chance with it. Its
accuracy is biased upwards by the choice; measure it on other images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

from visualjudge.analysis import estimate
from visualjudge.analysis.accuracy_cells import estimate_of, image_sums, known, share_of
from visualjudge.analysis.estimate import gap_ends, gap_p, holm, ratio
from visualjudge.analysis.figures import Encoding, EncodingChoice, EncodingDuel
from visualjudge.core.records import FloatArray, IntArray

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
    """Compare every two columns of ``right``."""
    out = []
    for i, j in combinations(range(len(names)), 2):
        gaps = right[:, i] - right[:, j]
        common = np.isfinite(gaps)
        image = estimate.renumbered(places[common])[1]
        totals = np.bincount(image, gaps[common]).astype(float)
        value, found = ratio(totals, np.bincount(image).astype(float))
        apart, n = np.array([np.abs(gaps[common]).sum()]), int(common.sum())
        cases = np.array([float(n)])
        ends, p = gap_ends(value, found, apart, cases), gap_p(value, found, apart, cases)
        gap = estimate_of(value, found, ends, n)
        out.append(EncodingDuel(names[i], names[j], gap, known(p[0])))
    return out


def _lead(duels: Sequence[EncodingDuel], best: str, other: str) -> EncodingDuel | None:
    """Return the comparison of ``best`` with ``other``, in this order; None without a common
    pair.
    """
    for duel in duels:
        if {duel.first, duel.second} == {best, other} and duel.gap.value is not None:
            return duel if duel.first == best else duel.turned
    return None


def _beats(lead: EncodingDuel | None) -> bool:
    shown = lead is not None and lead.p_holm is not None and lead.p_holm < LEVEL
    return shown and lead is not None and (lead.gap.value or 0.0) > 0


def _standing(lead: EncodingDuel | None) -> str:
    """Return the standing of an encoding behind the best: worse (significantly), equivalent (at
    most 5 points behind, 97.5 % sure), open, or unknown.
    """
    high = None if lead is None or lead.gap.interval is None else lead.gap.interval[1]
    if lead is None or lead.p_holm is None or high is None:
        return "unknown"
    if _beats(lead):
        return "worse"
    return "equivalent" if high <= MARGIN else "open"


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
    rows = []
    for name, share in shares:
        lead = _lead(duels, best, name)
        standing = "best" if name == best else _standing(lead)
        common = None if name == best else lead.gap.n if lead else 0
        rows.append(Encoding(name, share, tokens[name], standing, common, False))
    return rows


def recommend(table: pl.DataFrame, task: str, chance: float = 0.5) -> EncodingChoice:
    """Return the encodings of one judge and task, best first, their comparisons, and the
    recommended one.

    Nothing is recommended if there are fewer than two encodings, if one of them has fewer than 20
    verdicts or 5 images, if no difference is shown, or if the interval of every candidate includes
    ``chance``.
    """
    duels = compare_encodings(table)
    rows = _rows(table, duels)
    good = [row for row in rows if row.standing in ("best", "equivalent", "open")]
    good = [row for row in good if row.share.interval and (row.share.interval[0] or 0) > chance]
    reason = _why_none(rows, good)
    if reason:
        cheapest = _cheapest(rows, good) if reason == NO_DIFFERENCE else None
        return EncodingChoice(task, None, reason, cheapest, tuple(rows), duels)
    best = good[0]
    cheaper = [row for row in good if row.standing == "equivalent" and _cheaper(row, best)]
    chosen = min(cheaper, key=lambda row: (row.tokens or 0.0, row.name)) if cheaper else best
    marked = tuple(replace(row, recommended=row.name == chosen.name) for row in rows)
    return EncodingChoice(task, chosen.name, None, None, marked, duels)


def _why_none(rows: list[Encoding], good: list[Encoding]) -> str | None:
    """Return the reason why no encoding is recommended, or None if one is."""
    if len(rows) == 1:
        return f"only {rows[0].name}"
    asked = all(row.share.n >= LEAST_VERDICTS and row.share.images >= LEAST_IMAGES for row in rows)
    common = [row.common_pairs for row in rows if row.common_pairs is not None]
    if not asked or min(common) < LEAST_COMMON:
        return TOO_FEW
    if not good:
        return f"not significantly better than chance (best: {rows[0].name})"
    return None if any(row.standing == "worse" for row in rows) else NO_DIFFERENCE


def _cheapest(rows: list[Encoding], good: list[Encoding]) -> str | None:
    """Return the encoding with the fewest prompt tokens if all are shown to be at most 5 points
    behind and their costs differ.
    """
    priced = {row.name: row.tokens for row in good if row.tokens is not None}
    level = all(row.standing != "open" for row in good)
    if not level or len(priced) < len(rows) or len(set(priced.values())) < 2:
        return None
    return min(priced, key=lambda name: (priced[name], name))


def _cheaper(row: Encoding, than: Encoding) -> bool:
    return row.tokens is not None and than.tokens is not None and row.tokens < than.tokens
