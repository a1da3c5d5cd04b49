"""From one truth to a group of predictions: one type of error, rising severity, falling score. The
errors: ``vision/<type>/errors.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from visualjudge.core.records import Pixels, Size


@dataclass(frozen=True)
class ErrorScene:
    """What an error may use besides the truth itself.

    ``labels`` are those of the data set, ``size`` is (height, width), ``levels`` the number of
    severities wanted, and ``degraded`` the input of a restoration task, H×W×3 uint8 RGB (or
    smaller, for super-resolution).
    """

    size: Size
    labels: tuple[str, ...] = ()
    levels: int = 5
    degraded: Pixels | None = None
    others: tuple[Any, ...] = ()
    """Other objects' masks on the image, for a referring expression's wrong instance."""

    def wrong_label(self, label: str, rng: np.random.Generator) -> str:
        """Another label of the data set; the same one if there is no other (the caller leaves such
        a group out).
        """
        rest = sorted(set(self.labels) - {label})
        return rest[int(rng.integers(len(rest)))] if rest else label


Perturbation = Callable[[Any, float, ErrorScene, np.random.Generator], Any]


def severities(levels: int) -> tuple[float, ...]:
    """``levels`` severities, evenly spaced, the last one 1."""
    return tuple(round((k + 1) / levels, 4) for k in range(levels))


def counted(severity: float, total: int) -> int:
    """How many of ``total`` items an error of ``severity`` affects: at least one, all at 1."""
    return min(total, max(1, math.ceil(severity * total - 1e-9)))
