"""What an error function is given besides the truth, and how severe it is to be. The
errors are in ``vision/<type>/errors.py``; groups of severities, in ``groups.py``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from visualjudge.core.records import Pixels, Size

Rng = np.random.Generator


@dataclass(frozen=True)
class ErrorScene:
    """Inputs of an error function besides the truth itself.

    ``labels`` are the labels of the data set, ``size`` is (height, width), ``levels``
    is the number of severities, and ``degraded`` is the input of a restoration task,
    H×W×3 uint8 RGB (or smaller, for super-resolution).
    """

    size: Size
    labels: tuple[str, ...] = ()
    levels: int = 5
    degraded: Pixels | None = None
    others: tuple[Any, ...] = ()
    """Masks of other objects on the image, used as the wrong instance of a referring
    expression."""

    def wrong_label(self, label: str, rng: Rng) -> str:
        """Return another label of the data set, or the same one if there is no other
        (the caller then omits the group).
        """
        rest = sorted(set(self.labels) - {label})
        return rest[int(rng.integers(len(rest)))] if rest else label


Perturbation = Callable[[Any, float, ErrorScene, Rng], Any]


def severities(levels: int) -> tuple[float, ...]:
    """Return ``levels`` evenly spaced severities, the last one 1."""
    return tuple(round((k + 1) / levels, 4) for k in range(levels))


def counted(severity: float, total: int) -> int:
    """Return how many of ``total`` items are affected at ``severity``: at least one,
    all at 1."""
    return min(total, max(1, math.ceil(severity * total - 1e-9)))
