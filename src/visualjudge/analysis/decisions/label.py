"""Which items to label next: drawn with known probabilities, more often where the judge is unsure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.items import Items, items, kinds, require_sources
from visualjudge.analysis.decisions.labels import Labels, kind_of, place, read_labels
from visualjudge.analysis.join import Study
from visualjudge.analysis.load import load_study
from visualjudge.analysis.remarks import NO_REMARKS, Remarks, remarks_on
from visualjudge.analysis.statistics import draw, inclusion_probabilities
from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, FloatArray, IntArray
from visualjudge.core.seeding import rng_for

USUAL = 50
"""Items that are drawn where no number is asked for, or all that are left."""
About = tuple[str, str, tuple[str, ...]]
"""Task, image and sources of an item."""


@dataclass(frozen=True)
class Drawn:
    """An item to label: ``name`` (annotation or question), and the probability with which it was drawn.

    ``said``: a label that was there already, which counts with probability 1.
    """

    name: str
    task: str
    image: str
    sources: tuple[str, ...]
    probability: float
    said: str | None = None


@dataclass(frozen=True)
class LabelQueue:
    """``by`` is ``annotation_id`` or ``question_id``. The labels that were there come first."""

    by: str
    items: tuple[Drawn, ...]
    pool: int
    remarks: Remarks = NO_REMARKS

    def table(self) -> pl.DataFrame:
        """The queue as ``visualjudge correct --labels`` reads it, once the empty column is filled in."""
        column = {"annotation_id": "score", "question_id": "answer"}[self.by]
        rows = [(d.name, d.said, repr(d.probability), d.task, d.image, "|".join(d.sources)) for d in self.items]
        names = [self.by, column, "probability", "task", "image_id", "sources"]
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def label(
    runs: Sequence[str | Path],
    n: int | None = None,
    *,
    kind: str | None = None,
    labels: str | Path | None = None,
    dataset: str | Path | None = None,
    seed: int = 0,
) -> LabelQueue:
    """Draw ``n`` items to label; None: 50, or all that are left.

    Parameters
    ----------
    kind
        scoring, pairwise or ranking; None: scoring where the runs hold scores, else pairwise, else ranking.
    labels
        Labels that are there already: their items are not drawn again, and stand in the queue with probability 1.

    Raises
    ------
    DataError
        If a run cannot be read, names no two sources, or holds no item, or fewer than ``n``, without a label.
    """
    return label_study(load_study(runs, dataset=dataset), n, kind=kind, labels=labels, seed=seed)


def label_study(
    study: Study, n: int | None = None, *, kind: str | None = None, labels: str | Path | None = None, seed: int = 0
) -> LabelQueue:
    """:func:`label` on runs that are in memory."""
    known = None if labels is None else read_labels(labels)
    chosen = kind or (kind_of(known, study) if known else _first_kind(study))
    found = require_sources(items(study, chosen))
    heads = _heads(found)
    done = _labelled(found, known, study)[heads]
    open_items = heads[~done]
    many = _number(n, open_items.size)
    chances = inclusion_probabilities(expected_error(found)[open_items], many)
    picked = draw(chances, rng_for(seed, "label", chosen, many), found.source[open_items])
    by = "annotation_id" if chosen == "scoring" else "question_id"
    meta = _meta(study, chosen)
    before = tuple(_drawn(found, row, 1.0, meta, _said(known, found, row)) for row in heads[done].tolist())
    after = tuple(_drawn(found, int(open_items[i]), float(chances[i]), meta) for i in picked)
    return LabelQueue(by, (*before, *after), int(open_items.size), remarks_on(study.runs))


def _number(wanted: int | None, left: int) -> int:
    """How many of the ``left`` items without a label are drawn."""
    if not left:
        raise DataError("every item has a label: nothing is left to draw")
    if wanted is not None and wanted > left:
        raise DataError(f"--n must be at most the {left} items without a label, got {wanted}")
    return min(USUAL, left) if wanted is None else wanted


def _first_kind(study: Study) -> str:
    found = kinds(study)
    if not found:
        raise DataError(
            "the runs must compare at least 2 named sources; import predictions with --source NAME and build again"
        )
    return "scoring" if "scoring" in found else found[0]


def _heads(found: Items) -> IntArray:
    """The first row of every item."""
    return np.sort(np.unique(found.item.to_numpy(), return_index=True)[1])


def expected_error(found: Items) -> FloatArray:
    """How far the judge may be off, up to a factor: its own disagreement, and what its value leaves open.

    A score in the middle of the scale can err by more than one at its end; a verdict of ½ says nothing.
    """
    low, high = (0.0, 10.0) if found.kind == "scoring" else (0.0, 1.0)
    said = found.filled()
    room = np.sqrt(np.maximum((said - low) * (high - said), 0.0))
    doubt = found.spread + 0.25 * room / np.maximum(room.mean(), 1e-9) * max(float(found.spread.mean()), 1e-3)
    absent = ~np.isfinite(found.said)
    return np.asarray(np.where(absent, doubt.max(), doubt))


def _labelled(found: Items, known: Labels | None, study: Study) -> BoolArray:
    if known is None:
        return np.zeros(len(found.item), dtype=bool)
    return np.asarray(np.isfinite(place(known, found, study, "labels").y))


def _said(known: Labels | None, found: Items, row: int) -> str | None:
    if known is None:
        return None
    names = (found.item[row], found.annotation[row])
    return next((known.labels[name].said for name in names if name in known.labels), None)


def _meta(study: Study, kind: str) -> Mapping[str, About]:
    """Task, image and sources of every item."""
    rows = study.questions.filter(pl.col("kind") == kind)
    item = pl.col("id") if kind != "scoring" else pl.col("task") + "/" + pl.col("annotations").list.first()
    table = rows.select(item=item, task="task", image="image", sources="sources").unique("item", keep="first")
    return {name: (task, image, tuple(s or "" for s in sources)) for name, task, image, sources in table.iter_rows()}


def _drawn(
    found: Items,
    row: int,
    probability: float,
    meta: Mapping[str, About],
    said: str | None = None,
) -> Drawn:
    task, image, sources = meta[found.item[row]]
    name = found.annotation[row] if found.kind == "scoring" else found.item[row]
    if found.kind == "scoring" and (found.annotation == name).sum() > 1:
        name = found.item[row]  # several tasks have it
    return Drawn(name, task, image, sources, probability, said)
