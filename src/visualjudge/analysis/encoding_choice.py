"""Which encoding should I use? Encodings compared on the same pairs, with what they cost.

Two encodings of a task are compared over the pairs of annotations that the judge saw in both; images are resampled;
p is adjusted by Holm over all comparisons of that judge and task. The best is recommended, or a cheaper encoding that
is shown to be at most five points behind it (non-inferiority, by the interval of the paired difference). An encoding
under which the judge is not shown to be better than chance is never recommended: choosing among guesses is no choice.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis.bootstrap import Resampling, holm, standard_error, t_interval, t_test
from visualjudge.analysis.cells import pairwise_cells
from visualjudge.records import FloatArray, IntArray

LEVEL = 0.05
MARGIN = 0.05
LEAST_VERDICTS = 20
LEAST_IMAGES = 5
LEAST_COMMON = 10
"""Pairs that an encoding shares with the best, else the two were asked unlike questions."""
CHANCE = 0.5


def _per_pair(table: pl.DataFrame) -> pl.DataFrame:
    """One row a pair of annotations and encoding: mean of right over orders and repeats, mean prompt tokens."""
    return table.group_by("item", "encoding", maintain_order=True).agg(
        pl.col("cluster").first(),
        right=pl.col("right").mean(),
        tokens=pl.col("tokens_in").mean(),
    )


def _wide(pairs: pl.DataFrame, encodings: list[str]) -> tuple[FloatArray, IntArray]:
    """Pairs × encodings of right (NaN = not asked), and the pairs' images."""
    wide = pairs.pivot("encoding", index=["item", "cluster"], values="right", aggregate_function="first")
    return wide.select(encodings).to_numpy().astype(float), wide["cluster"].to_numpy()


def compare_encodings(table: pl.DataFrame, resampling: Resampling) -> list[dict[str, Any]]:
    """Every two encodings of one task: difference in accuracy (first less second) on common pairs, p, p by Holm."""
    pairs = _per_pair(table)
    names = sorted(pairs["encoding"].unique().to_list())
    right, clusters = _wide(pairs, names)
    duels = list(combinations(range(len(names)), 2))
    if not duels:
        return []
    gaps = np.stack([right[:, i] - right[:, j] for i, j in duels], 1)
    common = np.isfinite(gaps)
    sums, counts = (np.zeros((resampling.clusters, len(duels))) for _ in range(2))
    np.add.at(sums, clusters, np.where(common, gaps, 0))
    np.add.at(counts, clusters, common)
    draws = resampling.ratios(sums, counts)
    rows = [_duel_row(names, duel, sums[:, d], counts[:, d], draws[:, d]) for d, duel in enumerate(duels)]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    return rows


def _duel_row(
    names: list[str], duel: tuple[int, int], sums: FloatArray, counts: FloatArray, draws: FloatArray
) -> dict[str, Any]:
    n, images = int(counts.sum()), int((counts > 0).sum())
    gap = float(sums.sum() / n) if n else None
    error = standard_error(draws)
    return {
        "first": names[duel[0]],
        "second": names[duel[1]],
        "pairs": n,
        "images": images,
        "difference": gap,
        "ci95": None if gap is None else t_interval(gap, error, images),
        "p": None if gap is None else t_test(gap, error, images),
    }


def _lead(duels: list[dict[str, Any]], best: str, other: str) -> dict[str, Any] | None:
    """The comparison of ``best`` with ``other``, signed so that a positive difference is the best's lead."""
    for row in duels:
        if {row["first"], row["second"]} == {best, other} and row["pairs"]:
            sign = 1 if row["first"] == best else -1
            ends = sorted(sign * end for end in row["ci95"]) if row["ci95"] else None
            return {"difference": sign * row["difference"], "ci95": ends, "p_holm": row["p_holm"]}
    return None


def _standing(duels: list[dict[str, Any]], best: str, other: str) -> str:
    """best, worse (beyond chance), equivalent (at most 5 points behind, 97.5 % sure), open, or unknown."""
    if other == best:
        return "best"
    lead = _lead(duels, best, other)
    if lead is None or lead["p_holm"] is None or lead["ci95"] is None:
        return "unknown"
    if lead["p_holm"] < LEVEL and lead["difference"] > 0:
        return "worse"
    return "equivalent" if lead["ci95"][1] <= MARGIN else "open"


def recommend(table: pl.DataFrame, resampling: Resampling) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The encodings of one judge and task, best first, and their comparisons.

    Recommended is the best, or the cheapest in prompt tokens of those shown to be at most 5 points behind it
    (``standing`` "equivalent"): an encoding that too little data cannot tell from the best ("open") is never preferred
    for its price. Nothing is recommended among fewer than two encodings, where one of them has fewer than 20 verdicts
    or 5 images, or where the interval of every one that could be recommended reaches down to 50 %.
    """
    duels = compare_encodings(table, resampling)
    shares = table.group_by("encoding", maintain_order=True).agg(
        n=pl.len(),
        images=pl.col("cluster").n_unique(),
        accuracy=pl.col("right").mean(),
        tokens=pl.col("tokens_in").mean(),
    )
    rows = shares.sort(["accuracy", "encoding"], descending=[True, False]).to_dicts()
    spreads = {cell["encoding"]: cell["ci95"] for cell in pairwise_cells(table, ["encoding"], resampling)}
    best = _unbeaten(rows, duels)
    for row in rows:
        row["standing"] = _standing(duels, best, row["encoding"])
        row["common_pairs"] = _common(duels, best, row["encoding"])
        row["ci95"] = spreads[row["encoding"]]
    chosen = _chosen(rows) if _enough(rows) else None
    for row in rows:
        row["recommended"] = row is chosen
    return rows, duels


def _unbeaten(rows: list[dict[str, Any]], duels: list[dict[str, Any]]) -> str:
    """The most accurate encoding that none beats, beyond chance, on the pairs that both were asked about.

    Raw accuracy alone would prefer the encoding that was asked the easier questions.
    """
    for row in rows:
        leads = [_lead(duels, other["encoding"], row["encoding"]) for other in rows if other is not row]
        if not any(lead and lead["difference"] > 0 and (lead["p_holm"] or 0) < LEVEL for lead in leads):
            return str(row["encoding"])
    return str(rows[0]["encoding"])


def _common(duels: list[dict[str, Any]], best: str, other: str) -> int | None:
    """Pairs that ``other`` shares with ``best``; None for the best itself."""
    return next((row["pairs"] for row in duels if {row["first"], row["second"]} == {best, other}), None)


def _enough(rows: list[dict[str, Any]]) -> bool:
    asked = all(row["n"] >= LEAST_VERDICTS and row["images"] >= LEAST_IMAGES for row in rows)
    alike = all(row["common_pairs"] is None or row["common_pairs"] >= LEAST_COMMON for row in rows)
    return len(rows) > 1 and asked and alike


def _chosen(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The best or a cheaper equivalent, among those whose interval lies above chance."""
    above = [row for row in rows if row["ci95"] and row["ci95"][0] > CHANCE]
    good = [row for row in above if row["standing"] in ("best", "equivalent")]
    if not good:
        return None
    priced = all(row["tokens"] is not None for row in good)
    best = next((row for row in good if row["standing"] == "best"), good[0])
    return min(good, key=lambda row: (row["tokens"], -row["accuracy"])) if priced else best


def why_none(rows: list[dict[str, Any]]) -> str:
    """Why no encoding of ``rows`` (as :func:`recommend` gives them) is recommended."""
    if len(rows) == 1:
        return f"only {rows[0]['encoding']}"
    if not _enough(rows):
        return "too few verdicts, or too few on the same pairs"
    best = rows[0]
    spread = f", 95 % {100 * best['ci95'][0]:.1f} to {100 * best['ci95'][1]:.1f}" if best["ci95"] else ""
    return f"not shown to be better than chance (best: {best['encoding']}{spread})"
