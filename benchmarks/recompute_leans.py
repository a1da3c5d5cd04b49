"""Leanings recomputed for benchmarks/recompute.py, verdict by verdict: a line in each stratum, the
other pairs of the image, and the saddlepoint tail of sign flips.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

Verdict = dict[str, Any]


def width(q: dict[str, Any]) -> float:
    """The margin between the two scores."""
    return float(abs(q["final_scores"][0] - q["final_scores"][1]))


def item(q: dict[str, Any]) -> str:
    """The pair of annotations, whatever their order."""
    return "|".join((q["task"], *sorted(q["annotation_ids"])))


def strata(rows: Sequence[Verdict]) -> dict[tuple[str, str], int]:
    """The part of its task's margins that a pair lies in: up to 5, of at least 24 pairs."""
    by: dict[str, set[tuple[float, str]]] = defaultdict(set)
    for v in rows:
        by[v["q"]["task"]].add((width(v["q"]), item(v["q"])))
    out = {}
    for task, pairs in by.items():
        parts = min(5, max(1, len(pairs) // 24))
        for k, (_, name) in enumerate(sorted(pairs)):
            out[task, name] = k * parts // len(pairs)
    return out


def sides(rows: Sequence[Verdict], feature: str) -> list[tuple[Verdict, bool]]:
    """Usable replies where the feature tells the options apart, and whether more of it is right."""
    out = []
    for v in (v for v in rows if v["parsed"]):
        a_right = v["q"]["answer"] == "A"
        if feature == "position":
            out.append((v, a_right ^ (v["order"] == "BA")))
            continue
        a, b = (option.get(feature) for option in v["q"].get("features") or [{}, {}])
        if a is not None and b is not None and a != b:
            out.append((v, a_right == (a > b)))
    return out


@dataclass(frozen=True)
class Images:
    """What each image adds to the slope, above and below, and what its strata's lines took of
    it.
    """

    top: np.ndarray
    bottom: np.ndarray
    taken: np.ndarray

    def flat_ends(self) -> tuple[float, float] | None:
        """The interval where no image differs from the others."""
        value = self.top.sum() / self.bottom.sum() / 2
        if math.sqrt(((self.top - 2 * value * self.bottom) ** 2).sum()) / self.bottom.sum() > 1e-9:
            return None
        weights = np.abs(self.bottom[np.abs(self.bottom) > 1e-9])
        edge = (1 - 0.025 ** ((weights**2).sum() / weights.sum() ** 2)) / 2
        return max(-0.5, value - edge), min(0.5, value + edge)

    def p(self, preference: float) -> float:
        """Two-sided p that the preference is this."""
        scores = self.top - 2 * preference * self.bottom
        flipped = np.abs(scores / (1 - self.taken))
        seen, u = abs(scores.sum()), flipped[flipped > 1e-12 * max(1.0, flipped.max())]
        if not u.size:
            return 1.0
        least, spread = 2.0 ** (1 - u.size), math.sqrt((u * u).sum())
        if seen >= u.sum() * (1 - 1e-9):
            return min(1.0, least)
        if seen < 1e-3 * spread:
            return float(2 * stats.norm.sf(seen / spread))
        return min(1.0, max(least, 2 * tail(u / spread, seen / spread)))


def tail(u: np.ndarray, x: float) -> float:
    """Lugannani and Rice's tail of Σ ±u beyond x; the saddlepoint by halving."""
    low, high = 0.0, 1.0
    while math.fsum(a * math.tanh(high * a) for a in u) < x:
        high *= 2
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if math.fsum(a * math.tanh(t * a) for a in u) < x else (low, t)
    t = (low + high) / 2
    w = math.sqrt(2 * (t * x - math.fsum(np.logaddexp(t * u, -t * u) - math.log(2))))
    v = t * math.sqrt(math.fsum((a / math.cosh(min(t * a, 300))) ** 2 for a in u))
    return float(stats.norm.sf(w + math.log(v / w) / w))


def by(names: Sequence[Any], values: np.ndarray) -> np.ndarray:
    """The total of each row's name."""
    total: dict[Any, float] = defaultdict(float)
    for name, value in zip(names, values, strict=True):
        total[name] += value
    return np.array([total[name] for name in names])


def line_taken_out(cell: np.ndarray, on: Sequence[np.ndarray], y: np.ndarray) -> np.ndarray:
    """The residuals of a plane on the columns ``on`` in every stratum."""
    out = np.empty(y.size)
    for c in np.unique(cell):
        here = cell == c
        centred = [column[here] - column[here].mean() for column in on]
        design = np.column_stack(
            [np.ones(int(here.sum())), *(c for c in centred if (c**2).sum() > 1e-9)]
        )
        out[here] = y[here] - design @ np.linalg.lstsq(design, y[here], rcond=None)[0]
    return out


def lean(rows: Sequence[Verdict], feature: str) -> tuple[float | None, Images | None]:
    """The preference, and what each image adds to it."""
    cases = sides(rows, feature)
    if not cases or len({more for _, more in cases}) < 2:
        return None, None
    place = strata([v for v, _ in cases])
    names = [(v["q"]["task"], place[v["q"]["task"], item(v["q"])]) for v, _ in cases]
    codes = {name: k for k, name in enumerate(dict.fromkeys(names))}
    cell = np.array([codes[name] for name in names])
    image, pair = [v["image"] for v, _ in cases], [item(v["q"]) for v, _ in cases]
    m = np.array([width(v["q"]) for v, _ in cases])
    on = [m]
    if feature != "position":  # a lean to the place is held apart
        first = np.array(
            [float((v["q"]["answer"] == "A") ^ (v["order"] == "BA")) for v, _ in cases]
        )
        on.append(line_taken_out(cell, on, first))
    y = line_taken_out(cell, on, np.array([float(v["right"]) for v, _ in cases]))
    s = line_taken_out(cell, on, np.array([0.5 if more else -0.5 for _, more in cases]))
    one = np.ones(y.size)

    def others(values: np.ndarray) -> np.ndarray:
        return by(image, values) - by(pair, values)

    both, pairs, own = (y * others(y)).sum(), others(one).sum(), (y * by(pair, y)).sum()
    squares = by(pair, one).sum()
    above, below = y, s
    if pairs > 0 and both > 0 and own > 1e-9 * squares:
        shared = min(both / pairs, own / squares)
        shrunk = 1 / (others(one) + squares / y.size * (own / squares - shared) / shared + 1e-9)
        above = line_taken_out(cell, on, y - shrunk * others(y))
        below = line_taken_out(cell, on, s - shrunk * others(s))
    return images_of(image, cell, on, s, above, below)


def images_of(
    image: Sequence[str],
    cell: np.ndarray,
    on: Sequence[np.ndarray],
    s: np.ndarray,
    above: np.ndarray,
    below: np.ndarray,
) -> tuple[float | None, Images | None]:
    """Sums of each image."""
    names, top, bottom, taken = np.array(image), [], [], []
    centred = [
        column - np.array([column[cell == c].mean() for c in range(cell.max() + 1)])[cell]
        for column in on
    ]
    for name in np.unique(names):
        mine, gone = names == name, 0.0
        for c in np.unique(cell[mine]):
            here, all_of_it = mine & (cell == c), cell == c
            gone += s[here].sum() ** 2 / all_of_it.sum()
            for column in centred:
                squares = (column[all_of_it] ** 2).sum()
                if squares > 1e-9:
                    gone += (s[here] * column[here]).sum() ** 2 / squares
        top.append((s * above)[mine].sum())
        bottom.append((s * below)[mine].sum())
        taken.append(min(0.9, max(0.0, gone / max((s[mine] ** 2).sum(), 1e-9))))
    found = Images(np.array(top), np.array(bottom), np.array(taken))
    if found.bottom.sum() <= 1e-9:
        return None, None
    return float(found.top.sum() / found.bottom.sum() / 2), found
