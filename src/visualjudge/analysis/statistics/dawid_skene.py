"""Truth from several raters who err: Dawid and Skene's model, by EM.

P(rater r says l | truth k) = confusion[r, k, l], P(truth k) = prior[k]; raters err independently
given the truth. EM starts at the share of raters who gave each label (the majority), and maximises
the likelihood. Source: Dawid & Skene 1979, "Maximum likelihood estimation of observer error-rates
using the EM algorithm".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, IntArray

STEPS, CLOSE = 1000, 1e-10
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """``posterior`` (N, K) of each item's truth, ``prior`` (K,), ``confusion`` (R, K, K).

    A row of a truth that a rater never met is even. ``log_likelihood`` is that of the last step.
    """

    posterior: FloatArray
    prior: FloatArray
    confusion: FloatArray
    log_likelihood: float
    steps: int

    @property
    def right(self) -> FloatArray:
        """How often each rater names the truth, (R,)."""
        return np.asarray(np.einsum("k,rkk->r", self.prior, self.confusion))


def majority(labels: IntArray, classes: int) -> FloatArray:
    """The share of the raters of each item who gave each label, (N, K); even where nobody did."""
    votes = np.stack([(labels == k).sum(0) for k in range(classes)], axis=1).astype(float)
    total = votes.sum(1, keepdims=True)
    return np.asarray(np.where(total > 0, votes / np.maximum(total, 1), 1 / classes))


def dawid_skene(
    labels: IntArray,
    classes: int,
    *,
    weights: FloatArray | None = None,
    start: FloatArray | None = None,
    steps: int = STEPS,
) -> DawidSkene:
    """Fit (R, N) labels, 0 … ``classes`` − 1, −1 where a rater gave none.

    Parameters
    ----------
    weights
        How often each item counts, (N,); default: once.
    start
        First posterior, (N, K); default: :func:`majority`.
    steps
        At most so many steps; it ends where no posterior moves by 1e-10.

    Raises
    ------
    UsageError
        If there is no label, or one is not a class.
    """
    if not labels.size or (labels >= classes).any() or (labels < -1).any() or (labels < 0).all():
        raise UsageError(f"labels must be 0 to {classes - 1}, or -1, and not all -1")
    said = np.stack([labels == k for k in range(classes)], axis=2).astype(float)  # R × N × K
    count = np.ones(labels.shape[1]) if weights is None else np.asarray(weights, float)
    posterior = majority(labels, classes) if start is None else np.asarray(start, float)
    taken = 0
    for _ in range(steps):
        taken += 1
        prior, confusion = _raters(posterior * count[:, None], said)
        by_rater = said @ np.log(np.maximum(confusion, TINY)).transpose(0, 2, 1)
        logs = np.log(np.maximum(prior, TINY)) + by_rater.sum(0)
        top = logs.max(1, keepdims=True)
        each = np.exp(logs - top)
        total = each.sum(1, keepdims=True)
        moved = float(np.abs(each / total - posterior).max())
        posterior = each / total
        if moved < CLOSE:
            break
    likelihood = float((count * (np.log(total) + top)[:, 0]).sum())
    prior, confusion = _raters(posterior * count[:, None], said)
    return DawidSkene(posterior, prior, confusion, likelihood, taken)


def _raters(posterior: FloatArray, said: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The prior and the confusion matrices at a posterior."""
    met = posterior.T @ said
    total = met.sum(2, keepdims=True)
    confusion = np.where(total > 0, met / np.maximum(total, TINY), 1 / met.shape[2])
    return posterior.sum(0) / posterior.sum(), confusion
