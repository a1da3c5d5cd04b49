"""The score of one image with many boxes, at doubled sizes: seconds, memory, and the exponent of
each doubling.

python benchmarks/matching.py [--largest 64000]

Boxes have sides of 8 to 64 pixels. "spread": the image grows with the boxes, as in aerial images;
"dense": all of them are in 2000 × 2000 pixels.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from visualjudge.core.seeding import rng_for
from visualjudge.vision.predictions import Detection, Detections
from visualjudge.vision.score import score

SMALLEST = 4000


def sides_of(count: int, frame: float) -> tuple[Detections, Detections]:
    """(prediction, truth): each box found again with an error of some pixels."""
    rng = rng_for(0, "matching benchmark", count)
    sides = np.exp(rng.uniform(np.log(8), np.log(64), (count, 2)))
    corner = rng.uniform(0, frame, (count, 2))
    truth = np.concatenate([corner, corner + sides], axis=1)
    found = truth + np.tile(rng.normal(0, 3, (count, 2)), 2)
    return _boxes(found), _boxes(truth)


def _boxes(corners: np.ndarray) -> Detections:
    return Detections(
        tuple(Detection("car", (x1, y1, x2, y2), 0.5) for x1, y1, x2, y2 in corners.tolist())
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=64_000)
    largest = parser.parse_args().largest
    for kind in ("spread", "dense"):
        count, before = SMALLEST, 0.0
        while count <= largest:
            pair = sides_of(count, 2000 if kind == "dense" else 2000 * (count / SMALLEST) ** 0.5)
            start = time.process_time()
            value = score("object_detection", *pair)
            seconds = time.process_time() - start
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            exponent = f"{np.log2(seconds / before):.2f}" if before else "–"
            print(
                f"{kind} {count}: {seconds:.2f} s, exponent {exponent}, peak {memory} MB, score "
                f"{value}",
                flush=True,
            )
            count, before = 2 * count, seconds


if __name__ == "__main__":
    main()
