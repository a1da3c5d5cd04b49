"""The simulations of the page on the method: do intervals cover, and does the card answer right?

    python benchmarks/method.py [--simulations 400] [--slow 100] [--runs 200]

Writes ``docs/simulations.json``; ``python tools/docs_method.py`` then writes its tables into
``docs/analysis.md``. The designs are those of coverage.py and card.py.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from card import JUDGES, answered, grid
from coverage import tallied
from simulated import SEVEN

from visualjudge import __version__
from visualjudge.core.atomic import write_json
from visualjudge.core.seeding import rng_for

OUT = Path(__file__).parents[1] / "docs/simulations.json"
FIGURES = {
    "accuracy": "accuracy",
    "swap_consistency": "same answer in both orders",
    "right_in_both": "right in both orders",
    "macro": "accuracy, mean over tasks",
    "kappa": "κ with the truth",
    "difference": "difference of two equal judges",
    "lean position": "position bias of a fair judge",
    "alpha": "α of two judges",
    "kendall_tau": "τ-b of rankings",
    "within_image_tau": "τ-b within an image",
    "mae": "mean absolute error of scores",
}
"""Names in coverage.py, and in the table."""


def coverage(simulations: int, slow: int) -> list[dict[str, object]]:
    """For each design, the share of 95 % intervals that hold the true value, by figure."""
    found = []
    for d, design in enumerate(SEVEN):
        _, tally = tallied(d, design, simulations, slow)
        held = {
            title: float(np.mean([row[0] for row in tally.rows[name]]))
            for name, title in FIGURES.items()
            if tally.rows[name]
        }
        print(design.name, held, file=sys.stderr, flush=True)
        found.append({"design": design.name, "covers": held})
    return found


def answers(runs: int) -> list[dict[str, object]]:
    """For each simulated judge and number of images, how often the card says what."""
    found = []
    for kind, deserves, reply in JUDGES:
        for images in (20, 60):
            seen = Counter[str]()
            for run in range(runs):
                rng = rng_for(run, "grid", kind, images)
                pairs = grid(images, rng)
                seen[answered(pairs, *reply(pairs, rng)).verdict] += 1
            shares = {word: seen[word] / runs for word in ("yes", "no", "unclear")}
            print(kind, images, shares, file=sys.stderr, flush=True)
            found.append({"judge": kind, "deserves": deserves, "images": images, **shares})
    return found


def main() -> None:
    """Simulate, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=400, help="of ratios of sums")
    parser.add_argument("--slow", type=int, default=100, help="of all other figures")
    parser.add_argument("--runs", type=int, default=200, help="data sets for each cell of the card")
    chosen = parser.parse_args()
    write_json(
        OUT,
        {
            "version": __version__,
            "date": datetime.now(UTC).date().isoformat(),
            **vars(chosen),
            "coverage": coverage(chosen.simulations, chosen.slow),
            "card": answers(chosen.runs),
        },
    )


if __name__ == "__main__":
    main()
