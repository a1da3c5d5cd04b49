"""How often ``visualjudge gate check`` breaks without cause, and how often it finds a
worse judge.

    python benchmarks/gating.py [--checks 400]

A lock of 100 images with two pairs each is checked against a judge that answers anew:
each question has a chance of a right answer of its own, drawn around the image's. In
"worse" designs the judge answers one question in so many as a coin does. Each question
is asked once, or three times both times (``--set repeats=3``). The tolerance is the
default of 10 points.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
import polars as pl

from visualjudge.apps.gate.check import compared

IMAGES, PAIRS, TOLERANCE = 100, 2, 0.1


def table(
    rng: np.random.Generator,
    sure: float,
    loss: float,
    images: int,
    steady: float,
    asks: int,
) -> pl.DataFrame:
    """Right answers before and now. ``sure``: the mean chance of a right answer;
    ``loss``: its change, in share; ``steady``: how far the chances of single questions
    are from ½.
    """
    image = np.repeat(np.arange(images), PAIRS)
    chance = rng.beta(4 * sure, 4 * (1 - sure), images)[image]
    chance = np.clip(
        0.3 * chance + 0.7 * rng.beta(8 * sure, 8 * (1 - sure), image.size),
        0,
        1,
    )
    often = chance**steady / (chance**steady + (1 - chance) ** steady)
    worse = often - loss * np.sign(often - 0.5) * (often > 0.5) / np.mean(
        often > 0.5
    )
    before, now = (rng.binomial(asks, np.clip(p, 0, 1)) for p in (often, worse))
    named = [str(k) for k in image]
    return pl.DataFrame({"image": named, "before": before, "right": now})


def main() -> None:
    """Print a row for each design."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--checks", type=int, default=400)
    checks = options.parse_args().checks
    print(
        "| Accuracy | Same again | Loss, points | Images | Asked | Holds | Broken | "
        "Can't tell |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    shapes = (
        (0.0, 100, 1),
        (0.1, 100, 1),
        (0.0, 100, 3),
        (0.1, 100, 3),
        (0.1, 200, 1),
    )
    designs = [
        (sure, steady, *shape)
        for shape in (*shapes, (0.2, 100, 1))
        for steady in (12.0, 3.0)
        for sure in (0.65, 0.75)
    ]
    for sure, steady, loss, images, asks in designs:
        rng = np.random.default_rng(1)
        states: Counter[str] = Counter()
        accuracy, same = 0.0, 0.0
        for _ in range(checks):
            rows = table(rng, sure, loss, images, steady, asks)
            accuracy += rows["before"].to_numpy().mean() / asks / checks
            same += (rows["before"] == rows["right"]).to_numpy().mean() / checks
            states[compared(rows, asks, TOLERANCE).state] += 1
        cells = (
            f"{states[name] / checks:.1%}"
            for name in ("holds", "broken", "can't tell")
        )
        row = (
            f"{accuracy:.0%}",
            f"{same:.0%}",
            f"{100 * loss:g}",
            f"{images}",
            f"{asks}",
            *cells,
        )
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
