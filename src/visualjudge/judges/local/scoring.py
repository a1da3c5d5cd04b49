"""Score single predictions with boosted oblivious trees, fitted to the least absolute error.

Quality depends on the share of correct items, which is not additive: a repeated box matters more
among two than among twenty. Each tree tests the same few conditions for every prediction (Kohavi
and Li, IJCAI 1995; Prokhorenkova et al., NeurIPS 2018) and adds a shrunken median of the residuals
(Friedman, Annals of Statistics 2001). If the features carry no information, the score is the
overall median.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TREES, DEPTH, RATE = 100, 4, 0.12
CUTS = 15
"""Number of thresholds tried per feature."""
SHARE_OF_FEATURES, SHARE_OF_PREDICTIONS = 0.4, 0.6
"""Shares of features and predictions drawn for each tree."""
SMALL_LEAF = 10.0
"""Number of predictions at which a leaf counts half."""
PER_ITEM = ("sum_", "repeats", "stacked", "labels")
"""Prefixes of the features that are also divided by the number of items."""
Features = Mapping[str, float]
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tree:
    """Features, their thresholds, and 2^n leaves. The answer to condition k is bit k of the leaf's
    index.
    """

    names: tuple[str, ...]
    thresholds: tuple[float, ...]
    leaves: tuple[float, ...]

    def __call__(self, values: Features) -> float:
        """Return the leaf for the result of :func:`with_shares`."""
        place = sum(
            (values.get(name, 0.0) > threshold) << k
            for k, (name, threshold) in enumerate(zip(self.names, self.thresholds, strict=True))
        )
        return self.leaves[place]


def with_shares(features: Features) -> dict[str, float]:
    """Return the features, plus some of them divided by the number of items."""
    count = max(1.0, features.get("count", 1.0))
    shares = {
        f"{name}/count": value / count
        for name, value in features.items()
        if name.startswith(PER_ITEM)
    }
    return {**features, **shares}


def scored(first: float, trees: Iterable[Tree], features: Features) -> float:
    """Return the score of a prediction, 0..10, from a constant and trees."""
    values = with_shares(features)
    return float(np.clip(first + sum(tree(values) for tree in trees), 0, 10))


def fitted(features: Sequence[Features], scores: Sequence[float]) -> tuple[float, tuple[Tree, ...]]:
    """Fit the constant and the trees to predictions with scores of 0..10."""
    rows = [with_shares(row) for row in features]
    names = sorted({name for row in rows for name in row})
    values = np.array([[row.get(name, 0.0) for name in names] for row in rows])
    at = (np.arange(CUTS) + 0.5) / CUTS
    cuts = np.quantile(values, at, axis=0, method="lower").T
    above = (values[:, :, None] > cuts).reshape(len(values), -1).astype(np.float64)
    truth, rng = np.array(scores, dtype=np.float64), np.random.default_rng(0)
    first = float(np.median(truth))
    said, trees = np.full(len(truth), first), []
    for _ in range(TREES):
        used = rng.permutation(len(truth))[: round(SHARE_OF_PREDICTIONS * len(truth)) or 1]
        tried = rng.permutation(len(names))[: round(SHARE_OF_FEATURES * len(names)) or 1]
        columns = (np.sort(tried)[:, None] * CUTS + np.arange(CUTS)).ravel()
        chosen = _questions(above[used][:, columns], np.sign(truth - said)[used])
        asked = columns[chosen]
        place = (above[:, asked].astype(int) << np.arange(DEPTH)).sum(axis=1)
        leaves = [_leaf((truth - said)[used][place[used] == leaf]) for leaf in range(1 << DEPTH)]
        said = said + np.array(leaves)[place]
        feature, cut = np.divmod(asked, CUTS)
        thresholds = [float(f"{cuts[f, c]:.6g}") for f, c in zip(feature, cut, strict=True)]
        trees.append(Tree(tuple(names[f] for f in feature), tuple(thresholds), tuple(leaves)))
    return first, tuple(trees)


def _questions(above: Array, wrong: Array) -> NDArray[np.intp]:
    """Choose columns of n×m answers (0, 1), one by one, that best separate too low scores
    (``wrong`` 1) from too high ones (−1).
    """
    place, chosen = np.zeros(len(wrong), dtype=int), []
    for k in range(DEPTH):
        inside = np.eye(1 << k)[place]
        total, cases = inside.T @ wrong, inside.sum(axis=0)
        right, many = (inside * wrong[:, None]).T @ above, inside.T @ above
        gain = right**2 / np.maximum(many, 1)
        gain += (total[:, None] - right) ** 2 / np.maximum(cases[:, None] - many, 1)
        chosen.append(int(np.argmax(gain.sum(axis=0).round(6))))
        place += above[:, chosen[-1]].astype(int) << k
    return np.array(chosen)


def _leaf(left: Array) -> float:
    """Return a shrunken median of the residuals, to 4 significant digits."""
    if not len(left):
        return 0.0
    return float(f"{RATE * np.median(left) * len(left) / (len(left) + SMALL_LEAF):.4g}")
