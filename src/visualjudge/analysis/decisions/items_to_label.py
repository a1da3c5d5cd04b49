"""Items to label next: drawn with known probabilities, and more often where the judge is unsure if
that helps.

It helps if the judge errs more on items on which it is unsure. This is estimated from known errors:
against existing labels, or else against the dataset's ground truth. If they show no gain, items are
drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.judged_items import (
    NOUNS,
    Items,
    items,
    kinds,
    require_sources,
)
from visualjudge.analysis.decisions.label_files import Placed, kind_of, place, read_labels
from visualjudge.analysis.load import load_study
from visualjudge.analysis.statistics import (
    Gain,
    draw,
    expected_gain,
    inclusion_probabilities,
    pooled_probabilities,
)
from visualjudge.analysis.study_table import NO_REMARKS, Remarks, Study, remarks_on
from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for

USUAL = 50
"""Default number of items to draw, or all that remain."""
About = tuple[str, str, tuple[str, ...]]
"""Task, image and sources of an item."""


@dataclass(frozen=True)
class Drawn:
    """An item to label: its ``name`` (annotation or question), and the probability with which it
    was drawn.

    ``probability`` is over all rounds, and ``round_probability`` within its own ``round``, among
    the items that remained. ``said`` is an existing label.
    """

    name: str
    task: str
    image: str
    sources: tuple[str, ...]
    probability: float
    round: int
    round_probability: float
    said: str | None = None


@dataclass(frozen=True)
class LabelQueue:
    """The queue of items to label. ``by`` is ``annotation_id`` or ``question_id``. Existing labels
    come first.

    ``gain`` is the expected saving of drawing by the judge's doubt over drawing at random,
    estimated from known errors; None if too few are known. If it is not ``shown``, the items were
    drawn at random.
    """

    by: str
    items: tuple[Drawn, ...]
    pool: int
    gain: Gain | None = None
    remarks: Remarks = NO_REMARKS

    def table(self) -> pl.DataFrame:
        """Return the queue as ``visualjudge correct --labels`` reads it, once the empty column is
        filled in.
        """
        column = {"annotation_id": "score", "question_id": "answer"}[self.by]
        rows = [
            (
                d.name,
                d.said,
                repr(d.probability),
                str(d.round),
                repr(d.round_probability),
                d.task,
                d.image,
                "|".join(d.sources),
            )
            for d in self.items
        ]
        names = [
            self.by,
            column,
            "probability",
            "round",
            "round_probability",
            "task",
            "image_id",
            "sources",
        ]
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
    """Draw ``n`` items to label; None: 50, or all that remain.

    Parameters
    ----------
    kind
        scoring, pairwise or ranking; None: scoring if the runs hold scores, else pairwise, else
        ranking.
    labels
        Existing labels, from any number of rounds: their items are not drawn again, and appear in
        the queue with their probability over all rounds.

    Raises
    ------
    DataError
        If a run cannot be read or does not name two sources, or if no unlabelled items, or fewer
        than ``n``, remain.
    """
    return label_study(load_study(runs, dataset=dataset), n, kind=kind, labels=labels, seed=seed)


def label_study(
    study: Study,
    n: int | None = None,
    *,
    kind: str | None = None,
    labels: str | Path | None = None,
    seed: int = 0,
) -> LabelQueue:
    """Run :func:`label` on runs in memory."""
    known = None if labels is None else read_labels(labels)
    chosen = kind or (kind_of(known, study) if known else _first_kind(study))
    found = require_sources(items(study, chosen))
    placed = None if known is None else place(known, found, study, "labels")
    heads = _heads(found)
    done = np.zeros(heads.size, dtype=bool) if placed is None else np.isfinite(placed.y)[heads]
    open_items = heads[~done]
    many = _number(n, open_items.size, NOUNS[chosen])
    gain, error = _gain(found, placed, heads, many)
    shape = error[~done] if gain is not None and gain.shown else np.ones(open_items.size)
    chances = inclusion_probabilities(shape, many)
    picked = draw(chances, rng_for(seed, "label", chosen, many), found.source[open_items])
    rows = np.concatenate([heads[done], open_items[picked]])
    numbers, own = _rounds(placed, heads[done], chances[picked])
    strata, sizes = _strata(found, heads)
    pooled = pooled_probabilities(own, numbers, strata[rows], sizes)
    own = np.where(np.isfinite(own), own, pooled)
    meta, said = _meta(study, chosen), {} if placed is None else placed.said
    drawn = tuple(
        _drawn(
            found, int(row), meta, (float(chance), int(number), float(alone)), said.get(int(row))
        )
        for row, chance, number, alone in zip(rows, pooled, numbers, own, strict=True)
    )
    by = "annotation_id" if chosen == "scoring" else "question_id"
    return LabelQueue(by, drawn, int(open_items.size), gain, remarks_on(study.runs))


def _rounds(
    placed: Placed | None, done: IntArray, chances: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the round of every item, labelled ones first, and its probability in that round; NaN:
    equal.
    """
    if placed is None:
        return np.ones(chances.size, dtype=np.int64), chances
    before = placed.round[done]
    new = np.full(chances.size, int(before.max(initial=0)) + 1)
    return np.concatenate([before, new]), np.concatenate([placed.drawn[done], chances])


def _strata(found: Items, heads: IntArray) -> tuple[IntArray, IntArray]:
    """Return the stratum of every row (the source of a score, else the task), and the items of each
    stratum.
    """
    strata = found.source if found.kind == "scoring" else found.task
    return strata, np.bincount(strata[heads], minlength=int(strata.max()) + 1)


def _gain(
    found: Items, placed: Placed | None, heads: IntArray, n: int
) -> tuple[Gain | None, FloatArray]:
    """Return the saving of drawing ``n`` of all items by the judge's doubt, and the expected error
    of each item.
    """
    y = found.truth if placed is None else np.where(np.isfinite(placed.y), placed.y, found.truth)
    known = np.isfinite(y)
    if not known.any():
        return None, np.ones(heads.size)
    weights = np.ones(y.size)
    if placed is not None and not np.isfinite(found.truth).any():
        weights = 1 / np.where(np.isfinite(placed.probability), placed.probability, 1.0)
    squares = _residuals(found, np.where(known, y, 0.0), known * weights) ** 2
    doubt = expected_error(found) ** 2
    level, slope = _line(doubt[known], squares[known], weights[known])
    error = np.sqrt(level + slope * doubt)[heads]
    place_of = {found.item[int(row)]: i for i, row in enumerate(heads)}
    item = np.array([place_of[name] for name in found.item])
    chances = inclusion_probabilities(error, n)[item]
    count = np.bincount(found.source, minlength=len(found.names))[found.source]
    each = (squares / count**2, chances, np.full(item.size, n / heads.size), found.image, weights)
    gain = expected_gain(*(values[known] for values in each))
    answers = found.item.filter(pl.Series(known)).n_unique()
    return None if gain is None else replace(gain, items=answers), error


def _line(x: FloatArray, y: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Fit the level and the slope of ``y`` by ``x``, both at least 0: doubt alone does not tell how
    large errors are.
    """
    share = weights / weights.sum()
    middle, height = float(share @ x), float(share @ y)
    spread = float(share @ (x - middle) ** 2)
    slope = (
        max(0.0, float(share @ ((x - middle) * (y - height))) / spread) if spread > 1e-12 else 0.0
    )
    level = max(0.0, height - slope * middle)
    return (level, slope if level > 0 else height / middle) if height > 0 else (1.0, 0.0)


def _residuals(found: Items, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the residuals of y − λ · judge about their means by source, for (R,) rows; λ in 0..1
    minimises their squares.
    """
    size = len(found.names)
    total = np.maximum(np.bincount(found.source, weights, size), 1e-12)

    def centred(values: FloatArray) -> FloatArray:
        return np.asarray(
            values - (np.bincount(found.source, values * weights, size) / total)[found.source]
        )

    truth, said = centred(y), centred(found.filled())
    below = float((weights * said) @ said)
    lam = float(np.clip((weights * truth) @ said / below, 0, 1)) if below > 0 else 0.0
    return truth - lam * said


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
            "the runs must compare at least 2 named sources; import predictions with --source "
            "NAME and build again"
        )
    return "scoring" if "scoring" in found else found[0]


def _heads(found: Items) -> IntArray:
    """Return the first row of every item."""
    return np.sort(np.unique(found.item.to_numpy(), return_index=True)[1])


def expected_error(found: Items) -> FloatArray:
    """Return how far the judge may be off, up to a factor: its own disagreement, and the
    uncertainty that its value implies.

    A score in the middle of the scale can err by more than one at its end; a verdict of ½ is
    uninformative.
    """
    low, high = (0.0, 10.0) if found.kind == "scoring" else (0.0, 1.0)
    said = found.filled()
    room = np.sqrt(np.maximum((said - low) * (high - said), 0.0))
    doubt = found.spread + 0.25 * room / np.maximum(room.mean(), 1e-9) * max(
        float(found.spread.mean()), 1e-3
    )
    absent = ~np.isfinite(found.said)
    return np.asarray(np.where(absent, doubt.max(), doubt))


def _meta(study: Study, kind: str) -> Mapping[str, About]:
    """Return the task, image and sources of every item."""
    rows = study.questions.filter(pl.col("kind") == kind)
    item = (
        pl.col("id")
        if kind != "scoring"
        else pl.col("task") + "/" + pl.col("annotations").list.first()
    )
    table = rows.select(item=item, task="task", image="image", sources="sources").unique(
        "item", keep="first"
    )
    return {
        name: (task, image, tuple(s or "" for s in sources))
        for name, task, image, sources in table.iter_rows()
    }


def _drawn(
    found: Items,
    row: int,
    meta: Mapping[str, About],
    chance: tuple[float, int, float],
    said: str | None,
) -> Drawn:
    """Return one drawn item; ``chance`` holds the probability over all rounds, the round, and the
    probability within it.
    """
    task, image, sources = meta[found.item[row]]
    name = found.annotation[row] if found.kind == "scoring" else found.item[row]
    if found.kind == "scoring" and (found.annotation == name).sum() > 1:
        name = found.item[row]  # the same name occurs in several tasks
    return Drawn(name, task, image, sources, *chance, said)
