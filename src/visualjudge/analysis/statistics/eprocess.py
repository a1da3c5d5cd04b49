"""Evidence against "nothing has changed" that stays valid however often one looks.

At each look, the change of every verdict is a number in −1 … 1 with mean 0 where nothing has changed. Betting a share λ
of one's wealth on it, verdict after verdict, gives Π (1 + λx), which is 1 on average: an e-value (Waudby-Smith & Ramdas
2024; Howard, Ramdas, McAuliffe & Sekhon 2021). A weighted mean over several λ, of both signs, is one as well.

All looks are compared with the same first run, so their e-values depend on each other and must not be multiplied. They
are added with weights that sum to 1 over all looks (Vovk & Wang 2021): the sum only grows, and it is at most 1 on
average for ever, so by Markov's inequality it reaches 1/α at any time with a probability of at most α.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from visualjudge.records import FloatArray

BETS = {-0.99: 0.5, -0.4: 0.15, 0.4: 0.1, 0.99: 0.25}
"""How much of the first wealth goes to each bet: most to "worse in every change", as of a judge that repeats itself."""
FIRST = 3
"""Look k has the weight 3 / ((k + 2)(k + 3)): ¼, 3/20, 1/10, …; they sum to 1."""
MOST = 700.0


def e_value(changes: FloatArray) -> float:
    """Evidence of one look; ``changes`` of shape (verdicts,), each −1 … 1. 1 where there are none."""
    x = np.asarray(changes, float)
    return float(sum(part * np.exp(min(np.log1p(bet * x).sum(), MOST)) for bet, part in BETS.items()))


def weight(look: int) -> float:
    """The weight of the ``look``-th look, from 1."""
    return FIRST / ((look + FIRST - 1) * (look + FIRST))


def e_process(looks: Iterable[FloatArray]) -> Sequence[float]:
    """The evidence after each look; nothing has changed: it ever reaches 1/α with a probability of at most α."""
    total, out = 0.0, []
    for k, changes in enumerate(looks, 1):
        total += weight(k) * e_value(changes)
        out.append(total)
    return out
