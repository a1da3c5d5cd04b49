"""The shape of a study: which question its questions and its truth can answer."""

from collections.abc import Mapping
from typing import Literal

import polars as pl

from visualjudge.analysis.study_table import NO_TYPE, Study

Shape = Literal[
    "named_pairs", "scores", "unnamed_pairs", "no_truth", "controlled_errors"
]
NAMED: tuple[Shape, ...] = ("named_pairs", "controlled_errors")
"""Shapes that compare sources."""
QUESTIONS: Mapping[Shape, str] = {
    "named_pairs": "May I rank my models?",
    "scores": "May I use its scores?",
    "unnamed_pairs": "Does it choose as the truth does?",
    "no_truth": "Is it consistent, and do judges agree?",
    "controlled_errors": "Does it see errors?",
}
"""What is answered, by shape."""


def shape_of(study: Study, run: int) -> Shape:
    """Return the shape of what a run answered.

    Models are named if one question compares two named sources, or two named sources of
    a task are scored. Sources of controlled errors are types and severities.
    """
    asked = study.joined[run].select("kind", "task", "sources", "error_type")
    compared = asked.filter(pl.col("kind") != "scoring")
    scored = asked.filter(pl.col("kind") == "scoring")
    if _named(compared) or _scored(scored):
        return "controlled_errors" if _are_errors(asked) else "named_pairs"
    if study.lacks_truth(run):
        return "no_truth"
    return "unnamed_pairs" if compared.height else "scores"


def _are_errors(asked: pl.DataFrame) -> bool:
    """Return whether each source of a task makes one error, but for the unchanged
    truth, which is compared with several. A model makes errors of many types."""
    errors = asked.select(
        "task", "sources", error=pl.col("error_type").cast(pl.String)
    )
    if not (errors["error"] != NO_TYPE).all():
        return False
    by_source = (
        errors.explode("sources")
        .group_by("task", "sources")
        .agg(several=pl.col("error").n_unique() > 1)
    )
    of_task = by_source.group_by("task").agg(pl.col("several").sum())
    return bool((of_task["several"] <= 1).all())


def _named(compared: pl.DataFrame) -> bool:
    """Return whether a question compares two named sources."""
    several = pl.col("sources").list.drop_nulls().list.n_unique() > 1
    return bool(compared.select(several.any()).item())


def _scored(scored: pl.DataFrame) -> bool:
    """Return whether two named sources of one task are scored."""
    named = scored.select(
        "task", source=pl.col("sources").list.first()
    ).drop_nulls()
    several = named.group_by("task").agg(pl.col("source").n_unique())
    return bool((several["source"] > 1).any())
