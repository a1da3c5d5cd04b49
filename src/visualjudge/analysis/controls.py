"""Strengths of sources at equal covariates, beside the plain ones of the leaderboard.

What else differs between two predictions: the order shown (0 where both orders were asked), the
number of objects, the length of the text, the size of the image file. Differences are divided by
their root mean square, so that an effect is in log odds of a usual difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from visualjudge.analysis.source_figures import Control
from visualjudge.analysis.statistics.bradley_terry import Penalised
from visualjudge.analysis.statistics.controlled import controlled
from visualjudge.analysis.study_table import lead
from visualjudge.analysis.value_and_interval import Ends, Estimate
from visualjudge.core.records import FloatArray

LEADS = {"number of objects": "count", "text length": "text_chars", "file size": "png_bytes"}
LEAST_GAMES = 10
"""Games in which a covariate differs, for each parameter of the model."""
TOO_FEW = "too few games in which a covariate differs"


def leads_of(questions: pl.DataFrame) -> pl.DataFrame:
    """How much more of each covariate the first option of a question has."""
    pairs = questions.filter(pl.col("kind") == "pairwise")
    return pairs.select("question", *(pl.col(lead(name)) for name in LEADS.values()))


def with_controls(
    games: pl.DataFrame, plain: Penalised, group: str, strengths: Sequence[Estimate]
) -> tuple[list[Estimate], tuple[Control, ...]]:
    """Controlled strengths, and the effects of the covariates that differ in enough ``games``.

    ``games``: a, b (numbers of the sources), outcome, cluster, ``shown_first`` and leads;
    ``strengths``: the plain ones, whose reasons for no interval hold here too.
    """
    size = len(strengths)
    found = {"order shown": games["shown_first"].to_numpy().astype(float)}
    for name, feature in LEADS.items():
        if lead(feature) in games.columns:
            found[name] = games[lead(feature)].fill_null(0).to_numpy().astype(float)
    kept: dict[str, tuple[FloatArray, int]] = {}
    for name, values in found.items():
        told = int((values != 0).sum())
        if told >= LEAST_GAMES * (size + len(found)):
            kept[name] = (values / np.sqrt((values**2).sum() / told), told)
    if not kept:
        none = Estimate(None, None, 0, 0, TOO_FEW)
        return [none for _ in strengths], ()
    fit = controlled(
        games["a"].to_numpy(),
        games["b"].to_numpy(),
        games["outcome"].to_numpy(),
        np.stack([values for values, _ in kept.values()], axis=1),
        games["cluster"].to_numpy(),
        size,
        added=plain.added,
    )
    images = games["cluster"].n_unique()
    rows = [
        Estimate(float(value), None if own.why else _ends(ends), own.n, own.images, own.why)
        for value, ends, own in zip(fit.log_strength, fit.strength_ends, strengths, strict=True)
    ]
    effects = tuple(
        Control(group, name, Estimate(float(value), _ends(ends), told, images))
        for (name, (_, told)), value, ends in zip(
            kept.items(), fit.effect, fit.effect_ends, strict=True
        )
    )
    return rows, effects


def _ends(ends: FloatArray) -> Ends:
    return float(ends[0]), float(ends[1])
