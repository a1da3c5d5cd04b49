"""Evidence that remains valid however often it is checked: that a judge has changed, or that a mean
is not 0.

If a judge has not changed, all orders of its runs are equally likely: the only wrong answer out of
four is the last one with a probability of ¼. A look assumes that the judge changed at some run, and
compares the runs since then with those before. For one question with scores x₁ … x_T, of which the
last r came after the change, the evidence is

    exp(η Σ x over the last r) / mean over all choices of r of the T runs of exp(η Σ x over these),

which is 1 on average over all orders of the runs, whatever the question and the judge: an e-value.
For right and wrong answers it is the conditional likelihood ratio of Fisher's noncentral
hypergeometric distribution with odds ratio exp η. The denominator is an elementary symmetric
polynomial. Values of different questions are multiplied; a weighted mean over several η and over
the run that changed the judge is an e-value as well.

The looks are dependent; they are added with weights that sum to 1 (Vovk & Wang 2021). The sum never
decreases and its expectation never exceeds 1, so by Markov's inequality it reaches 1/α at any time
with a probability of at most α.

Sources: Vovk & Wang 2021 (e-values); Ramdas, Grünwald, Vovk & Shafer 2023 (exchangeability); Cox
1970 (the conditional likelihood).

Evidence about a mean comes from bets on values in random order. Against "the mean of z is at most
0", a gambler stakes a fraction λ of the wealth on each value, chosen from the values before it. The
expected wealth Π (1 + λ z) is at most 1, so by Ville's inequality it reaches 1/α at any time with a
probability of at most α, however often it is checked.

Sources: Ville 1939; Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by
betting" (the stake is their approximate GRAPA); Ramdas, Grünwald, Vovk & Shafer 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from scipy.special import logsumexp

from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for

MOST_STAKE = 0.75
"""Maximum stake, as a share of the largest possible loss per value: the wealth never falls below a
quarter in one step.
"""


def log_wealth(values: FloatArray, lowest: float) -> FloatArray:
    """Return the largest log wealth so far against "the mean is at most 0", after each value: (n,
    K).

    ``lowest`` is the smallest possible value, below 0. NaN is ignored.

    Raises
    ------
    ValueError
        If a value is below ``lowest``.
    """
    known = np.isfinite(values)
    z = np.where(known, values, 0.0)
    if lowest >= 0 or (z < lowest - 1e-9).any():
        raise ValueError(f"lowest must be below 0 and below every value, got {lowest:g}")
    count = np.cumsum(known, 0) - known
    before = np.cumsum(z, 0) - z
    mean = before / (count + 1)
    squares = np.cumsum(z**2, 0) - z**2
    variance = (lowest**2 / 4 + np.maximum(squares - count * mean**2, 0)) / (count + 1)
    stake = np.clip(mean / (variance + mean**2), 0.0, MOST_STAKE / -lowest)
    wealth = np.cumsum(np.log1p(stake * z), 0)
    return np.asarray(np.maximum.accumulate(np.maximum(wealth, 0.0), axis=0))


def signs(values: FloatArray, reach: tuple[float, float], alpha: float) -> FloatArray:
    """Return the sign that is established for the means of (n, K) values: 1 above 0, −1 below 0, 0
    undecided; (K,).

    ``reach`` holds the smallest and the largest possible value. Each side errs with a probability
    of at most ``alpha`` / 2, however often this is called while values arrive.
    """
    if not len(values):
        return np.zeros(values.shape[1])
    level = -np.log(alpha / 2)
    above = log_wealth(values, reach[0])[-1] >= level
    below = log_wealth(-values, -reach[1])[-1] >= level
    return np.asarray(above.astype(float) - below.astype(float))


TILTS = {-5.0: 0.35, -1.5: 0.1, -0.5: 0.1, 5.0: 0.1, 1.5: 0.05, 0.5: 0.05}
"""Values of η and their shares of the initial wealth. Most goes to "worse wherever it changes", as
for a judge that repeats itself.
"""
EITHER, EITHER_SHARE = 5.0, 0.25
"""η for a judge that answers differently, better on some questions and worse on others."""
JUST_NOW = 0.5
"""Weight of a change at the last run; the rest is divided equally among earlier runs."""
MOST = 700.0
DRAWS = 200
"""Number of simulations in :func:`power`."""


def e_value(scores: FloatArray) -> float:
    """Return the evidence that the judge changed at one of the runs.

    Parameters
    ----------
    scores
        (questions, runs), oldest run first; 0 … 1, NaN where a run has no reply. The evidence is 1
        if all runs are equal.
    """
    rows, count = _varied(np.asarray(scores, float))
    runs = rows.shape[1]
    ratios = _log_ratios(rows, (*TILTS, EITHER, -EITHER))
    either = np.logaddexp(ratios[-2], ratios[-1]) - np.log(2)
    logs = np.einsum("r,ert->et", count, np.concatenate([ratios[:-2], either[None]]))
    shares = np.array([*TILTS.values(), EITHER_SHARE])
    when = np.full(runs - 1, (1 - JUST_NOW) / max(runs - 2, 1))
    when[-1] = JUST_NOW if runs > 2 else 1.0
    return float(np.exp(min(float(logsumexp(logs, b=shares[:, None] * when)), MOST)))


def _varied(scores: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the rows that differ between runs, each distinct pattern once, and how often it
    occurs.
    """
    known = np.isfinite(scores)
    low, high = (
        edge(np.where(known, scores, fill), axis=1)
        for edge, fill in ((np.min, np.inf), (np.max, -np.inf))
    )
    rows, count = np.unique(np.where(known, scores, -1.0)[high > low], axis=0, return_counts=True)
    return np.where(rows < 0, np.nan, rows), np.asarray(count, dtype=np.int64)


def _log_ratios(rows: FloatArray, etas: Sequence[float]) -> FloatArray:
    """Return the log e-value of each η, pattern (R,) and first changed run 1 … T − 1: (E, R, T −
    1).
    """
    size = len(etas), *rows.shape
    present = np.broadcast_to(np.isfinite(rows), size).reshape(-1, rows.shape[1])
    logs = (np.array(etas)[:, None, None] * np.nan_to_num(rows)).reshape(present.shape)
    after = np.cumsum(present[:, ::-1], axis=1)[:, ::-1][:, 1:]
    tilted = np.cumsum(logs[:, ::-1], axis=1)[:, ::-1][:, 1:]
    found = tilted - np.take_along_axis(_log_means(logs, present), after, axis=1)
    return np.asarray(found.reshape(*size[:2], rows.shape[1] - 1))


def _log_means(logs: FloatArray, present: np.ndarray) -> FloatArray:
    """Return the log of the mean of Π w over all choices of r of the present runs, with w =
    exp(logs), by r: (R, T + 1).
    """
    size, runs = logs.shape
    found = np.full((size, runs + 1), -np.inf)
    found[:, 0] = 0.0
    taken, r = np.zeros((size, 1)), np.arange(1, runs + 1)
    for k in range(runs):
        taken += 1
        with np.errstate(divide="ignore"):
            stay = np.log(np.maximum(taken - r, 0) / taken) + found[:, 1:]
            join = np.log(np.minimum(r, taken) / taken) + found[:, :-1] + logs[:, k : k + 1]
        grown = np.where(r <= taken, np.logaddexp(stay, join), -np.inf)
        kept = present[:, k : k + 1]
        found[:, 1:] = np.where(kept, grown, found[:, 1:])
        taken -= ~kept
    return found


def weight(look: int) -> float:
    """Return the weight of the ``look``-th look, from 1: ½, 1/6, 1/12, …; the weights sum to 1."""
    return 1 / (look * (look + 1))


def e_process(scores: FloatArray) -> Sequence[float]:
    """Return the evidence after each run but the first. If nothing has changed, it reaches 1/α at
    any time with a probability of at most α.

    ``scores``: as for :func:`e_value`.
    """
    looks = range(1, scores.shape[1])
    return list(accumulate(weight(look) * e_value(scores[:, : look + 1]) for look in looks))


def power(
    scores: FloatArray, drop: float, runs: int, level: float, *, seed: int = 0
) -> Sequence[float]:
    """Return the probability of an alarm within 1, 2 … ``runs`` further runs if the judge now
    answers worse.

    Computed by simulation. ``scores`` are those observed so far. Each question keeps its accuracy,
    except for questions drawn at random that are wrong from now on: as many as lower the mean by
    ``drop`` (0 … 1).
    """
    rng = rng_for(seed, "power of drift", *scores.shape)
    seen = scores[np.isfinite(scores).any(axis=1)]
    right, before = np.nanmean(seen, axis=1), (e_process(seen) or [0.0])[-1]
    lost = min(1.0, drop / max(float(right.mean()), drop))
    alarms = np.zeros(runs)
    for _ in range(DRAWS):
        now = np.where(rng.random(right.size) < lost, 0.0, right)
        later = (rng.random((runs, right.size)) < now).astype(float).T
        alarms += _evidence_later(before, seen, later) >= 1 / level
    return [float(share) for share in alarms / DRAWS]


def _evidence_later(before: float, seen: FloatArray, later: FloatArray) -> FloatArray:
    whole, start = np.hstack([seen, later]), seen.shape[1]
    looks = range(start, whole.shape[1])
    return before + np.cumsum([weight(look) * e_value(whole[:, : look + 1]) for look in looks])
