"""How often the answer about pairs of models is right, by simulation.

    python benchmarks/answer.py [--sets 400]

Each set is a study: models with mean scores, images with an effect of their own, a
judge that prefers the better prediction with a given chance. Printed by design: how
often the first two models, equal by truth, are called separated; how often a pair that
a favouring judge reverses is called right; the power at the stated resolution; and what
looking again after more images costs.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

import numpy as np

from visualjudge.analysis.separation import Comparisons, PairsOfModels, separate

EQUAL = {
    "3 models, 40 images, 80 %": ((5, 5, 6), 40, 0.8, 0.0),
    "4 models, 100 images, 97 %": ((5, 5, 6, 7), 100, 0.97, 0.0),
    "5 models, 20 images, 70 %, failing images": (
        (5, 5, 5.5, 6, 7),
        20,
        0.7,
        0.2,
    ),
    "10 models, 30 images, 85 %": (
        (5, 5, 5.3, 5.6, 6, 6.3, 6.6, 7, 7.3, 7.6),
        30,
        0.85,
        0.0,
    ),
    "6 models, 400 images, 60 %": ((5, 5, 5.5, 6, 6.5, 7), 400, 0.6, 0.1),
}
RESOLVED = {
    "2 models, 60 images, 85 %": ((5, 5.7), 60, 0.85),
    "3 models, 80 images, 80 %": ((5, 5.7, 7.5), 80, 0.8),
    "4 models, 100 images, 97 %": ((5, 5.4, 6.5, 8), 100, 0.97),
}


def study(
    means: Sequence[float],
    images: int,
    right: float,
    rng: np.random.Generator,
    **drift: float,
) -> PairsOfModels:
    """The answer of one study, ``drift`` as in :func:`drawn`."""
    return separate(drawn(means, images, right, rng, **drift))


def drawn(
    means: Sequence[float],
    images: int,
    right: float,
    rng: np.random.Generator,
    *,
    failing: float = 0.0,
    lifted: float = 0.0,
) -> Comparisons:
    """One study; on a share ``failing`` of the images the judge guesses, and it prefers
    the first model more often by ``lifted``.
    """
    first, second = np.triu_indices(len(means), 1)
    scores = rng.normal(means, 1.5, (images, len(means))) + rng.normal(
        0, 1, (images, 1)
    )
    difference = scores[:, first] - scores[:, second]
    chance = np.where(difference > 0, right, 1 - right)
    chance = np.where(
        rng.random((images, 1)) < failing, 0.5, chance
    ) + lifted * (first == 0)
    return Comparisons(
        tuple(f"m{k}" for k in range(len(means))),
        ("task",) * len(means),
        np.tile(first, images),
        np.tile(second, images),
        np.repeat(np.arange(images), first.size),
        (rng.random(difference.shape) < chance).astype(float).ravel(),
        (difference > 0).astype(float).ravel(),
        difference.ravel(),
    )


def first_images(rows: Comparisons, images: int) -> Comparisons:
    """Return the comparisons on the first so many images."""
    inside = rows.image < images
    columns = (
        getattr(rows, name)[inside]
        for name in (
            *("first", "second", "image"),
            *("judge", "truth", "difference"),
        )
    )
    return Comparisons(rows.names, rows.groups, *columns)


def looked(
    means: Sequence[float], looks: int, sets: int, images: int = 160
) -> tuple[float, float]:
    """Look at a study of three models after every so many images, and stop when the
    first two are separated by the judge. Return how often they are, and how often the
    interval then holds the true win rate, which is that of many images.
    """
    rng = np.random.default_rng(4)
    many = separate(drawn(means, 20_000, 0.8, rng))
    true = _first_two(many)[0]
    separated = held = 0
    for _ in range(sets):
        rows = drawn(means, images, 0.8, rng)
        for look in range(1, looks + 1):
            _, order, ends = _first_two(
                separate(first_images(rows, images * look // looks))
            )
            if order:
                break
        separated += order != 0
        held += ends[0] <= true <= ends[1]
    return separated / sets, held / sets


def _first_two(found: PairsOfModels) -> tuple[float, int, tuple[float, float]]:
    """The judge's win rate of m0 against m1, its sign, its interval."""
    pair = next(p for p in found.pairs if {p.a, p.b} == {"m0", "m1"})
    low, high = pair.judge_ci95 or (0.0, 1.0)
    if pair.a == "m0":
        return pair.judge, pair.judge_order, (low, high)
    return 1 - pair.judge, -pair.judge_order, (1 - high, 1 - low)


def state(found: PairsOfModels) -> str:
    """The state of the first two models."""
    return next(
        pair.state for pair in found.pairs if {pair.a, pair.b} == {"m0", "m1"}
    )


def looks(sets: int) -> None:
    """Print what looking again costs."""
    print("160 images, looked at so often: separated, interval holds, in %")
    for name, means in {
        "equal": (5, 5, 6.5),
        "0.6 points apart": (5.6, 5, 7),
    }.items():
        for count in (1, 2, 4, 8):
            cells = (100 * x for x in looked(means, count, sets))
            print(
                f"  {name}, {count}:",
                *(f"{x:.1f}" for x in cells),
                flush=True,
            )


def main() -> None:
    """Print one line for each design."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--only", choices=["looks"])
    options = parser.parse_args()
    sets = options.sets
    looks(sets)
    if options.only == "looks":
        return
    print("Equal models called separated (at most 5 %)")
    for name, (means, images, right, failing) in EQUAL.items():
        rng = np.random.default_rng(1)
        states = Counter(
            state(study(means, images, right, rng, failing=failing))
            for _ in range(sets)
        )
        print(
            f"  {name}: {100 * (states['right'] + states['wrong']) / sets:.1f} %"
        )
    rng = np.random.default_rng(2)
    states = Counter(
        state(study((5, 5.6, 7), 100, 0.85, rng, lifted=0.35))
        for _ in range(sets)
    )
    print(
        f"A pair that favour reverses called right: {100 * states['right'] / sets:.1f} "
        "% (2.5)"
    )
    print("Power at the stated resolution (72 to 88 %)")
    for name, (means, images, right) in RESOLVED.items():
        rng = np.random.default_rng(3)
        points = [
            study(means, images, right, rng).resolution_points
            for _ in range(60)
        ]
        apart = float(np.mean([point for point in points if point is not None]))
        moved = (means[0], means[0] + apart, *means[2:])
        states = Counter(
            state(study(moved, images, right, rng)) for _ in range(sets)
        )
        print(
            f"  {name}: {apart:.2f} points, {100 * states['right'] / sets:.1f} %"
        )


if __name__ == "__main__":
    main()
