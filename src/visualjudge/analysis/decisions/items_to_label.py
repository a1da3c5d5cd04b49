"""Items to label next, drawn at random with equal probabilities: later draws add to earlier ones.

Drawing by the judge's doubt instead would save 10 to 17 % of the variance at best (Zrnic & Candès
2024), and nothing where a judge errs on whole images.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.judged_items import NOUNS, Items, items, kinds, require_sources
from visualjudge.analysis.decisions.label_files import FORMS, of_kind, place, read_labels
from visualjudge.analysis.load import load_study
from visualjudge.analysis.statistics import draw
from visualjudge.analysis.study_table import NO_REMARKS, Remarks, Study, remarks_on
from visualjudge.core.errors import DataError
from visualjudge.core.seeding import rng_for

USUAL = 50
"""Default number of items to draw, or all that remain."""
About = tuple[str, str, tuple[str, ...]]
"""Task, image and sources of an item."""


@dataclass(frozen=True)
class Drawn:
    """An item to label: its ``name`` (annotation or question), and the probability with which it
    was drawn.

    ``said`` is an existing label.
    """

    name: str
    task: str
    image: str
    sources: tuple[str, ...]
    probability: float
    said: str | None = None


@dataclass(frozen=True)
class LabelQueue:
    """The queue of items to label; ``by`` is ``annotation_id`` or ``question_id``. Existing labels
    come first; ``pool`` counts the items without one.
    """

    by: str
    items: tuple[Drawn, ...]
    pool: int
    remarks: Remarks = NO_REMARKS

    def table(self) -> pl.DataFrame:
        """Return the queue as ``visualjudge correct --labels`` reads it, once the empty column is
        filled in.
        """
        columns = {
            self.by: [item.name for item in self.items],
            FORMS[self.by]: [item.said for item in self.items],
            "probability": [repr(item.probability) for item in self.items],
            "task": [item.task for item in self.items],
            "image_id": [item.image for item in self.items],
            "sources": ["|".join(item.sources) for item in self.items],
        }
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def label(
    run: str | Path,
    n: int | None = None,
    *,
    kind: str | None = None,
    labels: str | Path | None = None,
    dataset: str | Path | None = None,
    seed: int = 0,
) -> LabelQueue:
    """Draw ``n`` items to label; None: 50, or all that remain.

    Parameters
    ----------
    kind
        scoring, pairwise or ranking; None: scoring if the run holds scores, else pairwise, else
        ranking.
    labels
        Existing labels, drawn with equal probabilities: their items are not drawn again, and appear
        in the queue.

    Raises
    ------
    DataError
        If a run cannot be read or does not name two sources, if no unlabelled items, or fewer than
        ``n``, remain, or if existing labels were drawn with different probabilities.
    """
    return label_study(load_study([run], dataset=dataset), n, kind=kind, labels=labels, seed=seed)


def label_study(
    study: Study,
    n: int | None = None,
    *,
    kind: str | None = None,
    labels: str | Path | None = None,
    seed: int = 0,
) -> LabelQueue:
    """Run :func:`label` on runs in memory."""
    placed, chosen = None, kind or _first_kind(study)
    if labels is not None:
        chosen, known = of_kind(read_labels(labels), study, kind)
        found = require_sources(items(study, chosen))
        placed = place(known, found, study, "labels")
        if np.unique(placed.probability[np.isfinite(placed.probability)]).size > 1:
            raise DataError(
                f"{labels}: probability must be equal for all labels, to draw more; got several"
            )
    else:
        found = require_sources(items(study, chosen))
    heads = np.sort(np.unique(found.item.to_numpy(), return_index=True)[1])
    done = np.zeros(heads.size, dtype=bool) if placed is None else np.isfinite(placed.y)[heads]
    left = heads[~done]
    many = _number(n, left.size, NOUNS[chosen])
    picked = draw(left.size, many, rng_for(seed, "label", chosen, many), found.source[left])
    rows = np.concatenate([heads[done], left[picked]])
    chance = rows.size / heads.size
    meta, told = _meta(study, chosen), {} if placed is None else placed.said
    drawn = tuple(
        Drawn(_name(found, row), *meta[found.item[row]], chance, told.get(row))
        for row in rows.tolist()
    )
    by = "annotation_id" if chosen == "scoring" else "question_id"
    return LabelQueue(by, drawn, int(left.size), remarks_on(study.runs))


def _number(wanted: int | None, left: int, noun: str) -> int:
    """Return how many of the ``left`` unlabelled items are drawn."""
    if not left:
        raise DataError(f"every {noun} has a label: nothing is left to draw")
    if wanted is not None and wanted > left:
        raise DataError(f"--n must be at most the {left} {noun}s without a label, got {wanted}")
    return min(USUAL, left) if wanted is None else wanted


def _first_kind(study: Study) -> str:
    found = kinds(study)
    if not found:
        raise DataError(
            "the run must compare at least 2 named sources; import predictions with --source "
            "NAME and build again"
        )
    return "scoring" if "scoring" in found else found[0]


def _meta(study: Study, kind: str) -> Mapping[str, About]:
    """Return the task, image and sources of every item."""
    rows = study.questions.filter(pl.col("kind") == kind)
    item = pl.col("id")
    if kind == "scoring":
        item = pl.col("task") + "/" + pl.col("annotations").list.first()
    table = rows.select(item=item, task="task", image="image", sources="sources")
    return {
        name: (task, image, tuple(source or "" for source in sources))
        for name, task, image, sources in table.unique("item", keep="first").iter_rows()
    }


def _name(found: Items, row: int) -> str:
    """Return what the queue calls an item; with its task, if several tasks have the annotation."""
    name = str(found.annotation[row])
    alone = found.kind == "scoring" and (found.annotation == name).sum() == 1
    return name if alone else str(found.item[row])
