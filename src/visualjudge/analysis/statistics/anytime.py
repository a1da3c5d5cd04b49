"""Evidence on a mean that stays valid however often one looks: bets on values in random order.

Against "the mean of z is at most 0" a gambler stakes a part λ of the wealth on each value, chosen
from the values before it. The wealth Π (1 + λ z) is 1 on average at most, so that by Ville's
inequality it ever reaches 1/α with a probability of at most α: no number of looks changes that.

Sources: Ville 1939; Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by
betting" (the stake is their approximate GRAPA); Ramdas, Grünwald, Vovk & Shafer 2023.
"""

from __future__ import annotations

import numpy as np

from visualjudge.core.records import FloatArray

MOST_STAKE = 0.75
"""Of what a value can cost at most: the wealth never falls below a quarter in one step."""


def log_wealth(values: FloatArray, lowest: float) -> FloatArray:
    """The largest log wealth so far against "the mean is at most 0", after each value: (n, K).

    ``lowest``: the least value there can be, below 0. NaN takes no part.

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
    """What is shown of the means of (n, K) values: 1 above 0, −1 below 0, 0 undecided; (K,).

    ``reach``: the least and the largest value there can be. Each side errs with a probability of at
    most ``alpha`` / 2, however often this is asked while values arrive.
    """
    if not len(values):
        return np.zeros(values.shape[1])
    level = -np.log(alpha / 2)
    above = log_wealth(values, reach[0])[-1] >= level
    below = log_wealth(-values, -reach[1])[-1] >= level
    return np.asarray(above.astype(float) - below.astype(float))
