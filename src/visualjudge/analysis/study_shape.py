"""The shape of a study: which question its questions and its truth can answer. The
answers to these questions are in ``decisions/``; counts of a study, in
``study_facts.py``.
"""

from collections.abc import Mapping
from typing import Literal

import polars as pl

from visualjudge.analysis.study_table import Study
from visualjudge.core.records import TRUTH

Shape = Literal[
    "named_pairs",
    "scores",
    "unnamed_pairs",
    "no_truth",
    "controlled_errors",
    "probes",
]
CHOOSING: tuple[Shape, ...] = ("unnamed_pairs", "controlled_errors")
"""Shapes whose answer is the share of right choices."""
QUESTIONS: Mapping[Shape, str] = {
    "named_pairs": "May I rank my models?",
    "scores": "May I use the judge’s scores?",
    "unnamed_pairs": "Does the judge choose as the truth does?",
    "no_truth": "Is the judge consistent, and do judges agree?",
    "controlled_errors": "Does the judge see errors?",
    "probes": "Does the judge ignore what must not matter?",
}
"""What is answered, by shape."""


def shape_of(study: Study, run: int) -> Shape:
    """Return the shape of what a run answered.

    Models are named if one question compares two named sources, or named sources of a
    task are scored on the same images. Sources of controlled errors are types and
    severities.
    """
    asked = study.joined[run].select(
        "kind", "task", "cluster", "sources", "error_type"
    )
    if asked.is_empty() and study.runs[run].answered.height:
        return "probes"
    compared = asked.filter(pl.col("kind") != "scoring")
    scored = asked.filter(pl.col("kind") == "scoring")
    if _named(compared) or _scored(scored):
        if not _are_errors(asked):
            return "named_pairs"
        return "controlled_errors" if compared.height else "scores"
    if study.lacks_truth(run):
        return "no_truth"
    return "unnamed_pairs" if compared.height else "scores"


def _are_errors(asked: pl.DataFrame) -> bool:
    """Return whether each source is a type of error with its severity, or the unchanged
    truth, as `perturb` names them."""
    kinds = asked.select("error_type", "sources").unique()
    return all(
        name == TRUTH or str(name).startswith(f"{error} ")
        for error, sources in kinds.iter_rows()
        for name in sources or (None,)
    )


def _named(compared: pl.DataFrame) -> bool:
    """Return whether a question compares two named sources."""
    several = pl.col("sources").list.drop_nulls().list.n_unique() > 1
    return bool(compared.select(several.any()).item())


def _scored(scored: pl.DataFrame) -> bool:
    """Return whether named sources of one task are scored on the same images, of which
    two are the fewest that compare them."""
    named = scored.select(
        "task", "cluster", source=pl.col("sources").list.first()
    ).drop_nulls()
    several = named.group_by("task", "cluster").agg(pl.col("source").n_unique())
    return int((several["source"] > 1).sum()) > 1
