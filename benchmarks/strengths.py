"""Strengths of sources: how often their intervals, differences and rank sets hold the truth.

``python benchmarks/strengths.py --runs 400`` prints a table in Markdown. Two generators, both with
Bradley and Terry's model as their margin, so that the strengths are known:

- *copied*: each two sources that meet on an image have one outcome there, which each of their games
  copies with a given probability and draws anew otherwise;
- *utilities*: on each image every source has its strength plus a Gumbel draw (Yellott 1977), and
  its games compare these; a game draws anew with a given probability.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.statistics.bradley_terry import dispersion, drawn, penalised, standing
from visualjudge.core.seeding import rng_for


@dataclass(frozen=True)
class Design:
    """``strengths`` of the sources; ``games`` of random pairs on each of ``images``; ``alike``: how
    much they share.
    """

    name: str
    strengths: tuple[float, ...]
    images: int
    games: int
    alike: float = 0.0


EVEN = (1.5, 0.5, -0.5, -1.5)
TOP = (4.0, 0.6, 0.0, -0.6)
LOW = (0.8, 0.3, -0.2, -0.7, -4.5)
BOTH = (4.0, 0.8, 0.2, -0.2, -0.8, -4.0)
SAME = (0.0,) * 5
TWINS = (1.2, 1.19, 0.01, 0.0, -1.19, -1.2)

DESIGNS = (
    Design("4 sources", EVEN, 20, 6),
    Design("one at the top", TOP, 20, 6),
    Design("one at the top, alike", TOP, 20, 12, 0.7),
    Design("one at the top, sparse", TOP, 50, 1),
    Design("one at the bottom", LOW, 20, 8),
    Design("top and bottom", BOTH, 20, 8),
    Design("5 equal sources", SAME, 20, 8),
    Design("near ties", TWINS, 20, 8),
)


def outcomes(design: Design, kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Wins (images × S × S), and how many different images show each source."""
    theta, size = np.array(design.strengths), len(design.strengths)
    shape = (design.images, design.games)
    first = rng.integers(0, size, shape)
    second = (first + rng.integers(1, size, shape)) % size
    low, high = np.minimum(first, second), np.maximum(first, second)
    image = np.repeat(np.arange(design.images)[:, None], design.games, 1)
    fresh = rng.random(shape) >= design.alike
    if kind == "copied":
        shared = rng.random((design.images, size, size))[image, low, high]
        won = np.where(fresh, rng.random(shape), shared) < 1 / (
            1 + np.exp(theta[high] - theta[low])
        )
    else:
        utility = theta + rng.gumbel(size=(design.images, size))
        own = utility[image, low] > utility[image, high]
        won = np.where(fresh, rng.logistic(size=shape) < theta[low] - theta[high], own)
    wins = np.zeros((design.images, size, size))
    np.add.at(wins, (image, np.where(won, low, high), np.where(won, high, low)), 1)
    return wins, ((wins + np.swapaxes(wins, 1, 2)).sum(2) > 0).sum(0)


@dataclass
class Seen:
    """Counts over replications."""

    held: list[float]
    told: list[float]
    extreme: list[bool]
    gaps: list[float]
    alone: list[float]
    together: list[bool]
    error: list[np.ndarray]


def simulate(design: Design, kind: str, runs: int) -> Seen:
    """``runs`` replications."""
    theta = np.array(design.strengths) - np.mean(design.strengths)
    better = (theta[None, :] > theta[:, None] + 1e-9).sum(1)
    worse = (theta[None, :] < theta[:, None] - 1e-9).sum(1)
    seen = Seen([], [], [], [], [], [], [])
    upper = np.triu_indices(theta.size, 1)
    for run in range(runs):
        rng = rng_for(run, design.name, kind, design.images)
        wins, images = outcomes(design, kind, rng)
        ties = np.zeros_like(wins)
        total, none = wins.sum(0), np.zeros(wins.shape[1:])
        if not ((total + total.T).sum(1) > 0).all():
            continue
        first = penalised(total, none)
        fit = penalised(total, none, dispersion(first, wins, ties))
        found = standing(fit, wins, ties, images, drawn(fit, wins, ties, rng))
        known = np.isfinite(found.low) & np.isfinite(found.high)
        inside = (found.low <= theta) & (theta <= found.high)
        seen.held.append(inside[known].sum())
        seen.told.append(known.sum())
        seen.extreme.append(bool((total.sum(1) == 0).any() or (total.sum(0) == 0).any()))
        gap = (theta[:, None] - theta[None, :])[upper]
        ends = found.below[upper], found.above[upper]
        both = np.isfinite(ends[0])
        seen.gaps.append(((ends[0] <= gap) & (gap <= ends[1]))[both].mean())
        sets = [
            np.array([row or (1, theta.size) for row in rows])
            for rows in (found.alone, found.together)
        ]
        holds = [(rows[:, 0] <= theta.size - worse) & (rows[:, 1] >= 1 + better) for rows in sets]
        seen.alone.append(float(holds[0].mean()))
        seen.together.append(bool(holds[1].all()))
        seen.error.append(fit.log_strength - theta)
    return seen


def percent(top: float, bottom: float) -> str:
    """A share in per cent."""
    return f"{100 * top / bottom:.1f}" if bottom else ""


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=400)
    options.add_argument("--only", default="")
    chosen = options.parse_args()
    print("| design | images × games | generator | strengths | where one never lost or won "
          "(runs) | differences | "
          "rank sets | all at once | bias, largest |")  # fmt: skip
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for design in DESIGNS:
        for kind in ("copied", "utilities"):
            if chosen.only not in design.name:
                continue
            seen = simulate(design, kind, chosen.runs)
            held, told, extreme = np.array(seen.held), np.array(seen.told), np.array(seen.extreme)
            ends = percent(held[extreme].sum(), told[extreme].sum()) + f" ({extreme.sum()})"
            bias = np.abs(np.mean(seen.error, 0)).max()
            print(f"| {design.name} | {design.images} × {design.games} | {kind} | "
                  f"{percent(held.sum(), told.sum())} | "
                  f"{ends} | {100 * np.mean(seen.gaps):.1f} | {100 * np.mean(seen.alone):.1f} | "
                  f"{100 * np.mean(seen.together):.1f} | {bias:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
