"""How often ``visualjudge accept`` keeps its risk, and how much it accepts of what it
could.

    python benchmarks/accepting.py [--studies 400]

Each design draws studies of 400 images with three predictions each (unless it says
otherwise) from a population of which the truth is known, at a risk of 5 %. A study
keeps the risk if, of the population's predictions from the chosen score, at most 5 %
are bad, or if no score is chosen. "Accepts" is the mean share of accepted predictions
over that at the best score.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.stats import norm

from visualjudge.analysis.decisions.accept import (
    Cases,
    chosen_score,
    score_bounds,
)

RISK, POPULATION = 0.05, 100_000


@dataclass(frozen=True)
class Design:
    """A population of predictions and their scores; ``separation`` is in standard
    deviations.

    ``inside`` is the share of the noise that the predictions of an image have in
    common, ``pareto`` the exponent of the images' numbers of predictions (0: all the
    same), ``flattered`` the share of all predictions that are bad and yet have the
    highest score.
    """

    images: int = 400
    predictions: int = 3
    bad: float = 0.3
    separation: float = 2.5
    whole_images: bool = False
    whole_scores: bool = False
    constant: bool = False
    base_rate: float | None = None
    inside: float = 0.3
    pareto: float = 0.0
    harder: float = 0.0
    flattered: float = 0.0

    def draw(self, rng: np.random.Generator, images: int) -> pl.DataFrame:
        """Predictions of as many images: their ``cluster``, ``score`` and ``truth``."""
        sizes = np.full(images, self.predictions)
        if self.pareto:
            sizes = np.minimum(
                np.ceil(rng.pareto(self.pareto, images) + 0.5), 200
            )
        image = np.repeat(np.arange(images), sizes.astype(int))
        size = sizes[image]

        def noise() -> np.ndarray:
            own = np.sqrt(1 - self.inside) * rng.normal(size=image.size)
            return np.sqrt(self.inside) * rng.normal(size=images)[image] + own

        bad = noise() < norm.ppf(self.bad) + self.harder * np.log(size)
        if self.whole_images:
            bad = (rng.random(images) < self.bad)[image]
        score = 5 + 2 * (np.where(bad, -0.5, 0.5) * self.separation + noise())
        score = (
            np.full(image.size, 7.0) if self.constant else np.clip(score, 0, 10)
        )
        flattered = rng.random(image.size) < self.flattered
        score = np.where(
            flattered, 10.0, np.minimum(score, 9.9 if self.flattered else 10)
        )
        bad |= flattered
        score = np.round(score, 0 if self.whole_scores else 3)
        return pl.DataFrame(
            {"cluster": image, "score": score, "truth": np.where(bad, 2.0, 8.0)}
        )


USUAL = Design()
WEAK = replace(USUAL, separation=1.5)
DESIGNS = {
    "usual": USUAL,
    "usual, 4,000 images": replace(USUAL, images=4000),
    "usual, 100 images": replace(USUAL, images=100),
    "rare bad images": replace(
        USUAL, bad=0.04, separation=1.0, whole_images=True
    ),
    "bad images": replace(USUAL, separation=2.0, whole_images=True),
    "few images": replace(USUAL, images=40, bad=0.1, separation=2.0),
    "ties of scores": replace(USUAL, whole_scores=True),
    "ties, 4,000 images": replace(USUAL, images=4000, whole_scores=True),
    "constant judge, 6 % bad": replace(USUAL, constant=True, bad=0.06),
    "perfect judge": replace(USUAL, separation=12.0),
    "base rate 10 %": replace(USUAL, base_rate=0.1),
    "base rate 50 %": replace(USUAL, base_rate=0.5),
    "base rate 50 %, 4,000 images": replace(USUAL, images=4000, base_rate=0.5),
    "knows nothing, 5.5 % bad": replace(USUAL, separation=0.0, bad=0.055),
    "little better than chance": replace(USUAL, separation=0.3, bad=0.08),
    "weak judge": WEAK,
    "weak judge, 4,000 images": replace(WEAK, images=4000),
    "20 predictions an image": replace(USUAL, images=100, predictions=20),
    "one prediction an image": replace(USUAL, predictions=1),
    "images alike": replace(USUAL, inside=0.8),
    "images alike, weak judge": replace(WEAK, inside=0.8),
    "Pareto sizes": replace(USUAL, pareto=1.2),
    "Pareto sizes, large ones harder": replace(
        USUAL, pareto=1.2, bad=0.1, harder=0.3
    ),
    "strictest are bad": replace(USUAL, flattered=0.01, images=1000),
    "strictest are bad, 4,000 images": replace(
        USUAL, flattered=0.015, images=4000
    ),
    "strictest are bad, ties": replace(
        USUAL, flattered=0.015, images=4000, whole_scores=True
    ),
}


def main() -> None:
    """Print a row for each design."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--studies", type=int, default=400)
    studies = options.parse_args().studies
    print(
        "| Design | Keeps the risk | Accepts | Best | No score "
        "|\n|---|---:|---:|---:|---:|"
    )
    for name, design in DESIGNS.items():
        print(f"| {name} | {row(design, studies)} |", flush=True)


def row(design: Design, studies: int) -> str:
    """The cells of one design."""
    rng = np.random.default_rng(0)
    everything = design.draw(rng, POPULATION)
    population = Cases.of(everything, 5.0, design.base_rate)
    order = np.argsort(-population.score, kind="stable")
    score, weight = population.score[order], population.weight[order]
    bad, all_ = np.cumsum(weight * population.bad[order]), np.cumsum(weight)

    def at(threshold: float) -> tuple[float, float]:
        last = np.searchsorted(-score, -threshold, side="right") - 1
        return (
            (0.0, 0.0)
            if last < 0
            else (bad[last] / all_[last], all_[last] / all_[-1])
        )

    tried = [
        at(float(s))
        for s in np.unique(np.quantile(score, np.linspace(0, 1, 500)))
    ]
    best = max([share for risk, share in tried if risk <= RISK], default=0.0)
    kept, accepted, none = 0, 0.0, 0
    for _ in range(studies):
        cases = Cases.of(design.draw(rng, design.images), 5.0, design.base_rate)
        threshold = chosen_score(
            cases, RISK, score_bounds(cases, RISK)
        ).threshold
        risk, share = (0.0, 0.0) if threshold is None else at(threshold)
        none += threshold is None
        kept += risk <= RISK
        accepted += share / studies
    ratio = f"{accepted / best:.0%}" if best else "–"
    return f"{kept / studies:.1%} | {ratio} | {best:.0%} | {none / studies:.0%}"


if __name__ == "__main__":
    main()
