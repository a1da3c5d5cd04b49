"""A rate from a judge that errs in both directions, corrected by its sensitivity and specificity.

θ = (p + q0 − 1) / (q0 + q1 − 1). The interval counts the uncertainty of p, q0 and q1, each with the
small-sample adjustment of Agresti and Coull, and moves the centre for the curvature of the ratio.

Sources: Rogan & Gladen 1978; Lang & Reiczigel 2014; Lee, Zeng, Jeong, Sohn & Lee 2025, "How to
correctly report LLM-as-a-judge evaluations" (arXiv 2511.21140), with its allocation rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from visualjudge.analysis.statistics.argument_checks import share
from visualjudge.analysis.statistics.tails import norm_isf
from visualjudge.core.errors import UsageError

Interval = tuple[float, float]


@dataclass(frozen=True)
class LeeCorrection:
    """The corrected rate (``value``), beside what the judge said (``naive``). Both 0..1."""

    value: float
    interval: Interval
    naive: float


def lee_correction(p: float, n: int, q0: float, q1: float, m0: int, m1: int) -> LeeCorrection:
    """The true share of positives with a 95 % interval.

    Parameters
    ----------
    p, n
        Share of ``n`` test items that the judge called positive.
    q0, m0
        Specificity: the share of ``m0`` truly negative labelled items that the judge called
        negative.
    q1, m1
        Sensitivity: the share of ``m1`` truly positive labelled items that the judge called
        positive.

    Raises
    ------
    UsageError
        If a share is outside 0..1, a count below 1, or q0 + q1 ≤ 1 (the judge is no better than
        chance, and nothing can be recovered from what it says).
    """
    for name, value in (("p", p), ("q0", q0), ("q1", q1)):
        share(name, value)
    for name, count in (("n", n), ("m0", m0), ("m1", m1)):
        if count < 1:
            raise UsageError(f"{name} must be at least 1, got {count}")
    if q0 + q1 <= 1:
        raise UsageError(f"q0 + q1 must be above 1 (a judge better than chance), got {q0 + q1:g}")
    value = min(1.0, max(0.0, (p + q0 - 1) / (q0 + q1 - 1)))
    return LeeCorrection(value, _interval(p, n, q0, q1, m0, m1), p)


def _interval(p: float, n: int, q0: float, q1: float, m0: int, m1: int) -> Interval:
    z = float(norm_isf(0.025))
    size, size0, size1 = n + z**2, m0 + 2.0, m1 + 2.0
    p, q0, q1 = (n * p + z**2 / 2) / size, (m0 * q0 + 1) / size0, (m1 * q1 + 1) / size1
    power = q0 + q1 - 1
    if power <= 0:  # the adjustment of few labels took away what was better than chance
        return 0.0, 1.0
    rate = (p + q0 - 1) / power
    spread0, spread1 = q0 * (1 - q0) / size0, q1 * (1 - q1) / size1
    centre = rate + 2 * z**2 * (rate * spread1 - (1 - rate) * spread0)
    error = sqrt(p * (1 - p) / size + (1 - rate) ** 2 * spread0 + rate**2 * spread1) / power
    return min(1.0, max(0.0, centre - z * error)), max(0.0, min(1.0, centre + z * error))


def allocate_labels(
    total: int, p: float, q0: float, q1: float, *, pilot: int = 0
) -> tuple[int, int]:
    """How many of ``total`` labels go to items that are truly negative (m0) and positive (m1).

    The allocation makes the interval of :func:`lee_correction` shortest, by q0 and q1 as ``pilot``
    labels of each kind gave them; at least ``pilot`` go to each.

    Raises
    ------
    UsageError
        If a share is outside 0..1, or ``total`` is below twice ``pilot``.
    """
    for name, value in (("p", p), ("q0", q0), ("q1", q1)):
        share(name, value)
    if pilot < 0 or total < max(1, 2 * pilot):
        raise UsageError(f"total must be at least twice pilot, got {total} and {pilot}")
    if p == 0:
        return pilot, total - pilot
    smooth = 1 if pilot else 0
    wrong0, wrong1 = ((max(pilot, 1) * (1 - q) + smooth) for q in (q0, q1))
    ratio = sqrt(wrong0 / max(wrong1, 1e-6))
    positive = round(min(total - pilot, total / (1 + (1 / p - 1) * ratio)))
    positive = max(pilot, positive)
    return total - positive, positive
