"""Whether verdicts agree with the truth of their own rows. They do not where two tables
were joined with rows shifted, or where letters or a scale are reversed. What the cells
mean is decided in ``meaning.py``.

What chance does is measured on the table itself: how far verdicts agree with the truths
of rows farther off, which are as often A, and sorted alike. Only differences within the
rows of a model, or of a pair of models, count: a judge that favours a model is no
mistake of a table.
"""

from collections.abc import Sequence

import numpy as np

from visualjudge.analysis.figure_text import percent
from visualjudge.apps.adopt.meaning import Answered
from visualjudge.core.records import Answer, FloatArray, IntArray

NEAR = 3
"""Rows by which tables are shifted: by a header, a title, an index from 1."""
MOST = 50
"""Rows by which truths are moved to see what chance does."""
FEWEST = 30
"""Verdicts, and truths, that differ from the others of their models; with fewer,
nothing is told."""
FAR = 4.5
BY_CHANCE = 2.0
"""Standard deviations of agreement by chance from which rows belong to each other, and
up to which they do not."""
TINY = 1e-9
LETTERS = {"A": 1.0, "B": -1.0}
"""What letters count; a tie lies between."""


def misfit(judged: Sequence[Answered]) -> str | None:
    """Return how the usable verdicts of a judge fit the truths of other rows, or the
    opposite of their own, as a sentence; None if neither is far from chance.
    """
    items = {entry.item.key: entry.item for entry in judged}
    place = {key: k for k, key in enumerate(items)}
    models = [
        str([option.source for option in item.options])
        for item in items.values()
    ]
    cells = np.unique(models, return_inverse=True)[1]
    rows = np.array([place[entry.item.key] for entry in judged])
    said = _numbers([entry.verdict.value for entry in judged])
    truths = _numbers([item.answer for item in items.values()])
    shift = _shift(_within(said, cells[rows]), _within(truths, cells), rows)
    if shift is None:
        return None
    pairs = judged[0].item.kind == "pairwise"
    moved = np.roll(truths, -shift) if shift else -truths
    before, after = (
        f"equal in {percent(float(np.mean(said == true[rows])), 0)}"
        if pairs
        else f"correlation {np.corrcoef(said, true[rows])[0, 1]:.2f}"
        for true in (truths, moved)
    )
    if not shift:
        return (
            f"{before}, with the truth reversed {after}; are letters, columns or the "
            "scale reversed, as of ranks, or does it judge against the truth?"
        )
    return (
        f"{before}, with the truth of the row {abs(shift)} "
        f"{'below' if shift > 0 else 'above'} {after}; are the rows of two tables "
        "shifted against each other?"
    )


def _numbers(answers: Sequence[Answer]) -> FloatArray:
    return np.array(
        [
            LETTERS.get(answer, 0.0) if isinstance(answer, str) else answer
            for answer in answers
        ]
    )


def _within(values: FloatArray, cells: IntArray) -> FloatArray:
    """Return how far values lie from the mean of their cell."""
    means = np.bincount(cells, values) / np.maximum(np.bincount(cells), 1)
    return values - means[cells]


def _shift(said: FloatArray, truths: FloatArray, rows: IntArray) -> int | None:
    """Return by how many rows truths lie too far down; 0 if they are reversed, None if
    neither is sure. ``rows`` are the truths of verdicts.
    """
    differing = min(
        np.count_nonzero(np.abs(side) > TINY) for side in (said, truths)
    )
    if differing < FEWEST:
        return None
    most = min(MOST, (len(truths) - 1) // 2)
    lags = np.arange(-most, most + 1)
    fits = np.array([said @ np.roll(truths, -lag)[rows] for lag in lags])
    chance = fits[np.abs(lags) > NEAR]
    far = (fits - chance.mean()) / max(chance.std(), TINY)
    best = far[np.abs(lags) <= NEAR].argmax() - NEAR
    own = far[most]
    if own <= -FAR:
        return 0
    return int(best) if own < BY_CHANCE and far[most + best] >= FAR else None
