"""Items to label next, drawn at random with equal probabilities: later draws add to
earlier ones. Labels are read in ``label_files.py`` and used in ``correct.py``.

Drawing by the judge's doubt instead would save 10 to 17 % of the variance at best
(Zrnic & Candès 2024), and nothing where a judge errs on whole images.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.judged_items import (
    NOUNS,
    item_of,
    items,
    require_sources,
)
from visualjudge.analysis.decisions.label_files import (
    FORMS,
    of_kind,
    place,
    read_labels,
)
from visualjudge.analysis.score_scale import (
    ZERO_TO_TEN,
    ScoreScale,
    asked_scale,
)
from visualjudge.analysis.study_table import (
    NO_REMARKS,
    Remarks,
    Study,
    remarks_on,
)
from visualjudge.core.errors import DataError, Problem
from visualjudge.core.records import IntArray
from visualjudge.core.seeding import rng_for

USUAL = 50
"""Default number of items to draw, or all that remain."""


@dataclass(frozen=True, eq=False)
class LabelQueue:
    """The queue of items to label; ``by`` is ``annotation_id`` or ``question_id``.
    Existing labels come first in ``rows``; ``drawn`` counts the others, ``pool`` the
    items without a label; ``problems`` are of labels that were left out; scores are
    asked on ``scale``.
    """

    by: str
    rows: pl.DataFrame
    drawn: int
    pool: int
    remarks: Remarks = NO_REMARKS
    problems: tuple[Problem, ...] = ()
    scale: ScoreScale = ZERO_TO_TEN

    def table(self) -> pl.DataFrame:
        """Return the queue as ``visualjudge correct --labels`` reads it, once the empty
        column is filled in.
        """
        return self.rows


def label_study(
    study: Study,
    n: int | None = None,
    *,
    kind: str | None = None,
    labels: str | Path | None = None,
    seed: int = 0,
) -> LabelQueue:
    """Draw ``n`` items to label; None: 50, or all that remain.

    Parameters
    ----------
    kind
        scoring, pairwise or ranking; None: scoring if the run holds scores, else
        pairwise, else ranking.
    labels
        Existing labels, drawn with equal probabilities: their items are not drawn
        again, and appear in the queue.

    Raises
    ------
    DataError
        If the run names one source only, if no unlabelled items, or fewer than ``n``,
        remain, or if existing labels were drawn with different probabilities.
    """
    judged = (
        item
        for item in ("scoring", "pairwise", "ranking")
        if items(study, item, or_unnamed=True).countable
    )
    chosen = kind or next(judged, "scoring")
    known = None
    problems = tuple[Problem, ...]()
    if labels is not None:
        chosen, known = of_kind(read_labels(labels), study, kind)
    result = require_sources(items(study, chosen, or_unnamed=True))
    rows = result.rows.with_columns(
        y=pl.lit(None), label=pl.lit(None, pl.String)
    )
    if known is not None:
        placed, problems = place(known, result, study)
        if placed["probability"].drop_nulls().n_unique() > 1:
            raise DataError(
                f"{labels}: probability must be equal for all labels, to draw more; "
                "got several"
            )
        rows = result.rows.hstack(placed.select("y", "label"))
    once = rows.unique("item", keep="first", maintain_order=True)
    done = once.filter(pl.col("y").is_not_null())
    left = once.filter(pl.col("y").is_null())
    many = min(USUAL, left.height) or USUAL if n is None else n
    if not 0 < many <= left.height:
        raise DataError(
            f"`n` must be at least 1 and at most the {left.height} {NOUNS[chosen]}s without a label, "
            f"got {many}"
        )
    picked = draw(
        left.height,
        many,
        rng_for(seed, "label", chosen, many),
        left["source"].to_numpy(),
    )
    by = "question_id"
    name = pl.col("item")
    if (
        chosen == "scoring"
    ):  # with its task, if several tasks have the annotation
        shared = once.filter(pl.col("annotation").is_duplicated())[
            "annotation"
        ].implode()
        name = (
            pl.when(pl.col("annotation").is_in(shared))
            .then("item")
            .otherwise("annotation")
        )
        by = "annotation_id"
    meta = study.questions.filter(pl.col("kind") == chosen).select(
        "task",
        "image",
        item=item_of(chosen),
        sources=pl.col("sources").cast(pl.List(pl.String)).list.join("|"),
    )
    drawn = pl.concat([done, left[picked]]).select(
        "item",
        name.alias(by),
        pl.col("label").alias(FORMS[by]),
        probability=pl.lit(repr((done.height + many) / once.height)),
    )
    table = drawn.join(
        meta.unique("item", keep="first"), on="item", maintain_order="left"
    )
    queue = table.select(
        pl.exclude("item", "image", "sources"),
        image_id="image",
        sources="sources",
    )
    return LabelQueue(
        by,
        queue.cast(pl.String),
        many,
        left.height,
        remarks_on(study.runs),
        problems,
        asked_scale(study.meta),
    )


def draw(
    size: int, many: int, rng: np.random.Generator, strata: IntArray
) -> IntArray:
    """Return ``many`` of ``size`` indices, each with the probability ``many / size``,
    without replacement (systematic sampling: Madow 1949).

    Items are ordered at random within their stratum, and strata follow one another, so
    each stratum gets its expected number to within one.
    """
    order = np.lexsort((rng.random(size), strata))
    places = (np.arange(many) + rng.random()) * size / many
    return np.sort(order[np.minimum(places.astype(np.int64), size - 1)])
