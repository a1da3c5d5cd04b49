"""Two judges on the questions that both answered, and all judges together.

Sources: McNemar 1947 (here exact: a sign test of the discordant verdicts); Connor 1987 (how many pairs a paired
comparison of proportions needs), widened by the design effect of asking several questions about one image.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from visualjudge.analysis.alpha import Level, alpha, alpha_interval
from visualjudge.analysis.bias import binomial_p
from visualjudge.analysis.bootstrap import Resampling, holm, standard_error, t_interval, t_test
from visualjudge.analysis.cells import cell_sums
from visualjudge.analysis.join import Study

POWER = 0.8
LEVEL = 0.05
LEAST_UNITS = 5
KEYS = ["id", "order", "repeat"]


def verdicts_needed(first_only: float, second_only: float, effect: float = 1.0) -> int | None:
    """Paired verdicts that tell two judges apart at 5 % with power 80 %, given the shares of discordant verdicts.

    Connor's (z_α √(p10 + p01) + z_β √(p10 + p01 − δ²))² / δ², times the design ``effect``; None where δ = 0.
    """
    either, gap = first_only + second_only, first_only - second_only
    if abs(gap) < 1e-12:
        return None
    z_level, z_power = stats.norm.isf(LEVEL / 2), stats.norm.isf(1 - POWER)
    root = z_level * np.sqrt(either) + z_power * np.sqrt(max(0.0, either - gap**2))
    return int(np.ceil((root / gap) ** 2 * effect))


def _common(study: Study, i: int, j: int) -> pl.DataFrame:
    keep = [*KEYS, "right", "text", "cluster"]
    a, b = (study.kind(k, "pairwise").select(keep) for k in (i, j))
    return a.join(b.drop("cluster"), on=KEYS, suffix="_b")


def compare(study: Study, i: int, j: int, resampling: Resampling) -> dict[str, Any]:
    """One entry of ``comparisons``: judges ``i`` and ``j`` on their common pairwise verdicts."""
    both = _common(study, i, j)
    row: dict[str, Any] = {"a": study.runs[i].name, "b": study.runs[j].name, "n": both["id"].n_unique()}
    row |= {"verdicts": both.height, "images": both["cluster"].n_unique()}
    if both.is_empty():
        empty = "accuracy_a accuracy_b difference ci95 p only_a_right only_b_right mcnemar_p needed more_needed"
        return {**row, **dict.fromkeys(empty.split())}
    return {**row, **_paired(both, resampling)}


def _paired(both: pl.DataFrame, resampling: Resampling) -> dict[str, Any]:
    a, b = pl.col("right"), pl.col("right_b")
    gap = a.cast(pl.Int8) - b.cast(pl.Int8)
    cells = cell_sums(both, [], {"n": a.is_not_null(), "gap": gap}, resampling.clusters)
    error = standard_error(resampling.ratios(cells.columns["gap"], cells.columns["n"])[:, 0])
    n, images = both.height, int(cells.images[0])
    only_a, only_b = (int(both.select(expr.sum()).item()) for expr in (a & ~b, b & ~a))
    difference = (only_a - only_b) / n
    plain = ((only_a + only_b) / n - difference**2) / n
    effect = max(1.0, error**2 / plain) if plain > 0 and np.isfinite(error) else 1.0
    needed = verdicts_needed(only_a / n, only_b / n, effect)
    return {
        "accuracy_a": float(both["right"].mean()),  # type: ignore[arg-type]
        "accuracy_b": float(both["right_b"].mean()),  # type: ignore[arg-type]
        "difference": difference,
        "ci95": t_interval(difference, error, images),
        "p": t_test(difference, error, images),
        "only_a_right": only_a,
        "only_b_right": only_b,
        "mcnemar_p": binomial_p(only_a, only_a + only_b) if only_a + only_b else 1.0,
        "design_effect": effect,
        "needed": needed,
        "more_needed": None if needed is None else max(0, needed - n),
    }


def strangers(study: Study) -> list[str]:
    """One line where the runs fall into groups that answered no question in common; else none."""
    groups: list[tuple[set[str], list[str]]] = []
    for run in study.runs:
        ids, names = set(run.verdicts["id"].to_list()), [run.name]
        if not ids:
            continue
        joined = [group for group in groups if not ids.isdisjoint(group[0])]
        groups = [group for group in groups if ids.isdisjoint(group[0])]
        for group in joined:
            ids, names = ids | group[0], [*group[1], *names]
        groups.append((ids, names))
    if len(groups) < 2:
        return []
    told = " | ".join(", ".join(names) for _, names in groups)
    return [f"the runs answer different questions, none in common, and cannot be compared: {told}"]


def comparisons(study: Study, resampling: Resampling) -> list[dict[str, Any]]:
    """Every two judges, p by Holm over all of them."""
    rows = [compare(study, i, j, resampling) for i, j in combinations(range(len(study.runs)), 2)]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    return rows


def _ratings(study: Study, kind: str, value: pl.Expr) -> tuple[Any, Any]:
    """Raters × units of the usable replies, NaN where a judge gave none; and the units' images."""
    parts = [
        study.kind(k, kind).filter(pl.col("parsed")).select(*KEYS, "cluster", value.cast(pl.Float64).alias(f"j{k}"))
        for k in range(len(study.runs))
    ]
    units = pl.concat([part.select(*KEYS, "cluster") for part in parts]).unique(maintain_order=True)
    for part in parts:
        units = units.join(part.drop("cluster"), on=KEYS, how="left", maintain_order="left")
    table = units.select([f"j{k}" for k in range(len(study.runs))]).to_numpy().astype(float).T
    return table, units["cluster"].to_numpy()


def judge_agreement(study: Study) -> list[dict[str, Any]]:
    """Krippendorff's α among the judges: nominal on pairwise letters, interval on scores. Failed replies are gaps."""
    if len(study.runs) < 2:
        return []
    rows = []
    levels: list[tuple[str, Level, pl.Expr]] = [
        ("pairwise", "nominal", pl.col("text") == "A"),
        ("scoring", "interval", pl.col("number")),
    ]
    for kind, level, value in levels:
        ratings, clusters = _ratings(study, kind, value)
        shared = int((np.isfinite(ratings).sum(0) > 1).sum())
        rows.append(
            {
                "kind": kind,
                "level": level,
                "judges": len(study.runs),
                "units": shared,
                "alpha": alpha(ratings, level) if shared >= LEAST_UNITS else None,
                "ci95": alpha_interval(ratings, level, clusters) if shared >= LEAST_UNITS else None,
            }
        )
    return rows
