"""What a gate says of answers and scores before and now, over many differences and
tolerances, recorded."""

from __future__ import annotations

import numpy as np
import polars as pl

from recording import check
from visualjudge.apps.gate.check import compared
from visualjudge.apps.gate.score_lock import compared_scores


def _table(images: int, worse: float, asks: int) -> pl.DataFrame:
    rng = np.random.default_rng(images)
    image = np.repeat(np.arange(images), 3)
    before = rng.binomial(asks, 0.8, image.size)
    changed = rng.random(image.size) < worse
    now = np.where(changed, rng.binomial(asks, 0.5, image.size), before)
    columns = {"id": [f"q{k}" for k in range(image.size)], "image": image}
    return pl.DataFrame(columns | {"before": before, "right": now})


def test_answers_and_scores_before_and_now() -> None:
    answers = {
        f"{images}:{worse}:{asks}:{tolerance}": compared(
            _table(images, worse, asks), asks, tolerance
        )
        for images in (1, 2, 3, 4, 9, 10, 11, 40)
        for worse in (0.0, 0.1, 0.5)
        for asks in (1, 2)
        for tolerance in (0.02, 0.1)
    }
    scores = {}
    for images in (1, 2, 3, 4, 9, 10, 11, 40):
        for noise in (0.0, 0.3, 3.0):
            rng = np.random.default_rng(images)
            truth = rng.uniform(0, 10, 2 * images)
            before = np.clip(truth + rng.normal(0, 1, truth.size), 0, 10)
            now = np.clip(before + rng.normal(0, noise, truth.size), 0, 10)
            table = pl.DataFrame(
                {
                    "id": [f"q{k}" for k in range(truth.size)],
                    "image": np.repeat(np.arange(images), 2),
                    "truth": truth,
                    "before": before,
                    "score": now,
                }
            )
            for tolerance in (0.05, 0.5):
                name = f"{images}:{noise}:{tolerance}"
                scores[name] = compared_scores(table, tolerance)
    check("gate", {"answers": answers, "scores": scores}, depth=2)
