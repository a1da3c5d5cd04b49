"""Which encoding should I use? Compares encodings on the same pairs, together with their costs.

Two encodings of a task are compared over the pairs of annotations that the judge saw in both,
clustered by image; p is adjusted by Holm over all comparisons of that judge and task. The best
encoding is the most accurate one that no other beats significantly. It is recommended only if
another is significantly worse, because the best of six equally good encodings is best by chance,
and only if the judge is shown to be better than chance with it. Its accuracy is biased upwards by
the choice; measure it on other images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import polars as pl

from visualjudge.analysis.accuracy_cells import gaps, image_sums
from visualjudge.analysis.estimate import LEVEL, holm
from visualjudge.analysis.figures import Encoding, EncodingChoice, EncodingDuel
from visualjudge.analysis.value_and_interval import Estimate

MARGIN = 0.05
LEAST_VERDICTS = 20
LEAST_COMMON = 10
"""Minimum number of pairs that an encoding must share with the best one. With fewer, the two were
asked different questions.
"""
NO_DIFFERENCE = "no difference shown"
TOO_FEW = "too few verdicts, or too few on the same pairs"
RIGHT = {"n": pl.col("right").is_not_null(), "right": pl.col("right")}


def compare_encodings(table: pl.DataFrame) -> tuple[EncodingDuel, ...]:
    """Compare every two encodings of one task on their common pairs, with p by Holm. A pair counts
    by the mean of its orders and repeats.
    """
    right = table.select(
        "pair", "cluster", "encoding", pl.col("right").cast(pl.Float64)
    )
    wide = right.pivot(
        "encoding", index=["pair", "cluster"], values="right", aggregate_function="mean"
    )
    duels = []
    for first, second in combinations(sorted(table["encoding"].unique().to_list()), 2):
        gap = pl.col(first) - pl.col(second)
        values = {"n": gap.is_not_null(), "gap": gap, "apart": gap.abs()}
        ((figure, p),) = gaps(image_sums(wide.drop_nulls([first, second]), [], values))
        duels.append(EncodingDuel(first, second, figure, p))
    adjusted = holm([duel.p for duel in duels])
    return tuple(
        replace(duel, p_holm=p) for duel, p in zip(duels, adjusted, strict=True)
    )


def _worse(duel: EncodingDuel) -> str:
    """Return the encoding that is significantly less accurate; "" if neither is."""
    if duel.p_holm is None or duel.p_holm >= LEVEL or not duel.gap.value:
        return ""
    return duel.second if duel.gap.value > 0 else duel.first


def recommend(table: pl.DataFrame, task: str, chance: float = 0.5) -> EncodingChoice:
    """Return the encodings of one judge and task, most accurate first, their comparisons, and the
    recommended one, or the reason why there is none.
    """
    duels = compare_encodings(table)
    sums = image_sums(table, ["encoding"], RIGHT)
    found = sums.shares("right", "n")
    tokens = dict(
        table.group_by("encoding").agg(pl.col("tokens_in").mean()).iter_rows()
    )
    names = sums.keys["encoding"].to_list()
    shares = {name: found[k] for k, name in enumerate(names)}
    names.sort(key=lambda name: (shares[name].value or 0.0, name), reverse=True)
    beaten = {_worse(duel) for duel in duels}
    best = next((name for name in names if name not in beaten), names[0])
    sides = [side for duel in duels for side in (duel, duel.turned)]
    apart = {duel.second: duel for duel in sides if duel.first == best}
    rows = tuple(
        Encoding(name, shares[name], tokens[name], _standing(name, best, apart))
        for name in names
    )
    reason = _why_none(rows, shares[best], apart, chance)
    return EncodingChoice(task, None if reason else best, reason, rows, duels)


def _standing(name: str, best: str, apart: Mapping[str, EncodingDuel]) -> str:
    """Return the standing of an encoding behind the best: worse (significantly), equivalent (at
    most 5 points behind, 97.5 % sure), open, or unknown.
    """
    if name == best:
        return "best"
    duel = apart[name]
    if duel.gap.interval is None or duel.p_holm is None:
        return "unknown"
    if _worse(duel) == name:
        return "worse"
    return "equivalent" if (duel.gap.interval[1] or 0.0) <= MARGIN else "open"


def _why_none(
    rows: Sequence[Encoding],
    best: Estimate,
    apart: Mapping[str, EncodingDuel],
    chance: float,
) -> str | None:
    if len(rows) == 1:
        return f"only {rows[0].name}"
    asked = all(row.share.n >= LEAST_VERDICTS and row.share.interval for row in rows)
    if not asked or min(duel.gap.n for duel in apart.values()) < LEAST_COMMON:
        return TOO_FEW
    if best.interval is None or (best.interval[0] or 0.0) <= chance:
        return "not significantly better than chance"
    return None if any(row.standing == "worse" for row in rows) else NO_DIFFERENCE
