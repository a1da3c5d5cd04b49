"""Sets of possible ranks of systems, from estimates of all systems and their joint
error.

A system ranks below those that are above it by more than chance, and above those that
are below it by more than chance; the ranks between remain possible. Each set contains
its system's rank with a probability of 95 %. A set misses only if a difference is
decided in the wrong direction, and at most one direction of each comparison is wrong.
So at most S - 1 of the 2 (S - 1) one-sided hypotheses about a system are true, and
Holm's steps start at 5 % / (S - 1) one-sided (Shaffer 1986); two-sided steps would miss
half as often as stated. If systems are truly equal, any order of them is correct.

Sources: Mogstad, Romano, Shaikh & Wilhelm 2024, "Inference for ranks"; Holm 1979;
Shaffer 1986, "Modified sequentially rejective multiple test procedures".
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from visualjudge.analysis.estimate import LEVEL
from visualjudge.core.records import FloatArray, IntArray

RankSet = tuple[int, int]


def rank_sets(
    values: ArrayLike,
    covariance: ArrayLike,
    freedom: ArrayLike,
    groups: IntArray | None = None,
) -> tuple[RankSet | None, ...]:
    """Return the best and the worst rank (1 = highest value) of each of S systems
    within its group.

    A set is None if the system's value is NaN or the system is alone in its group. A
    system with value NaN may have any rank, which widens the sets of the others. A
    difference without spread decides nothing.

    Parameters
    ----------
    values
        (S,) estimates; NaN if unknown.
    covariance
        (S, S) of the estimates.
    freedom
        Degrees of freedom of the differences: one number, or (S, S).
    groups
        (S,) group numbers; None: one group.
    """
    means = np.asarray(values, float)
    spread = np.asarray(covariance, float)
    free = np.broadcast_to(np.asarray(freedom, float), spread.shape)
    group = np.zeros(means.size, dtype=np.int64) if groups is None else groups
    variance = np.diag(spread)[:, None] + np.diag(spread)[None, :] - 2 * spread
    sets: list[RankSet | None] = []
    for i in range(means.size):
        beside = (group == group[i]) & (np.arange(means.size) != i)
        if not np.isfinite(means[i]) or not beside.any():
            sets.append(None)
            continue
        others = np.flatnonzero(np.isfinite(means) & beside)
        differ = _decided(
            means[others] - means[i], variance[others, i], free[others, i]
        )
        above = int((differ > 0).sum())
        below = int((differ < 0).sum())
        sets.append((1 + above, int(beside.sum()) + 1 - below))
    return tuple(sets)


def _decided(
    difference: FloatArray, variance: FloatArray, freedom: FloatArray
) -> FloatArray:
    """Return +1 where a difference is significantly positive, −1 where negative, 0
    where open, by Shaffer's steps over all of them, one-sided: a wrong direction is the
    only error.
    """
    known = (variance > 1e-18) & (freedom > 0)
    safe = np.where(known, variance, 1.0)
    p = np.where(
        known,
        special.stdtr(
            np.maximum(freedom, 1), -np.abs(difference) / np.sqrt(safe)
        ),
        1.0,
    )
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = steps
    return np.where(adjusted < LEVEL, np.sign(difference), 0.0)
