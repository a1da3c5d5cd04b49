"""A model of the local judge: for each task a weight a feature, and what turns a difference into a
probability.

The probability that A is better is the logistic of the weighted difference of the options' features
(Bradley and Terry's model with covariates), so that exchanging the options gives exactly one minus
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from visualjudge.core.atomic import write_json
from visualjudge.core.errors import DataError

FORMAT = "visualjudge-local"
VERSION = 2
READABLE = (1, 2)
CLIP = 4.0
"""A difference counts at most this many standard deviations: one odd feature never decides
alone.
"""
SCORING = ("centre", "spread", "score_weights")
MOST_BYTES = 4 << 20
Features = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Weights:
    """The model of one task.

    ``names``, ``scale`` and ``weights`` have one entry a feature; ``temperature`` divides the
    log-odds. Scores have their own ``score_weights``, of features less their ``centre`` over their
    ``spread``; where there are none (files of version 1), quality is the sum by ``weights``.
    ``quality`` and ``score`` are the knots of the isotonic calibration from quality to the 0..10
    scale.
    """

    names: tuple[str, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    temperature: float = 1.0
    quality: tuple[float, ...] = ()
    score: tuple[float, ...] = ()
    centre: tuple[float, ...] = ()
    spread: tuple[float, ...] = ()
    score_weights: tuple[float, ...] = ()

    def log_odds(self, first: Features, second: Features) -> float:
        """Log-odds that ``first`` is the better one; 0 where their features do not differ."""
        apart = [first.get(name, 0.0) - second.get(name, 0.0) for name in self.names]
        units = np.clip(np.array(apart) / np.array(self.scale), -CLIP, CLIP)
        return float(units @ np.array(self.weights)) / self.temperature

    def quality_of(self, features: Features) -> float:
        """Weighted sum of an option's features, on an arbitrary scale."""
        values = np.array([features.get(name, 0.0) for name in self.names])
        if not self.score_weights:
            return float((values / np.array(self.scale)) @ np.array(self.weights))
        units = (values - np.array(self.centre)) / np.array(self.spread)
        return float(np.clip(units, -CLIP, CLIP) @ np.array(self.score_weights))

    def score_of(self, features: Features) -> float | None:
        """Expected score, 0..10; None where the model was trained on comparisons alone."""
        if not self.quality:
            return None
        return float(np.interp(self.quality_of(features), self.quality, self.score))


@dataclass(frozen=True)
class Model:
    """Weights by task, and a card that says what they were trained on."""

    tasks: Mapping[str, Weights]
    card: Mapping[str, Any] = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """Write the model as JSON."""
        tasks = {name: asdict(weights) for name, weights in sorted(self.tasks.items())}
        write_json(
            Path(path),
            {"format": FORMAT, "version": VERSION, "card": dict(self.card), "tasks": tasks},
        )


@cache
def shipped() -> Model:
    """The model of the package, ``--model default``."""
    return load(Path(__file__).with_name("default.vj"))


def load(path: str | Path) -> Model:
    """The model of a file that ``train-local`` or ``distill`` wrote.

    Raises
    ------
    DataError
        If the file is not found, or holds no model.
    """
    place = Path(path)
    if not place.is_file():
        raise DataError(
            f"{place}: no such file; --model must be default or a file that train-local wrote"
        )
    if place.stat().st_size > MOST_BYTES:
        raise DataError(
            f"{place}: must be at most {MOST_BYTES >> 20} MiB to be a model of the local judge"
        )
    try:
        content = orjson.loads(place.read_bytes())
        if content["format"] != FORMAT or content["version"] not in READABLE:
            raise ValueError(
                f"format must be {FORMAT} {VERSION}, got {content['format']} {content['version']}"
            )
        return Model(
            {name: _weights(row) for name, row in content["tasks"].items()}, content.get("card", {})
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{place}: is not a model of the local judge ({error!r:.200}); train it again"
        ) from None


def _weights(row: Mapping[str, Any]) -> Weights:
    names = tuple(str(name) for name in row["names"])
    numbers = {
        part: tuple(float(v) for v in row[part])
        for part in ("scale", "weights", "quality", "score")
    }
    scoring = {part: tuple(float(v) for v in row.get(part, ())) for part in SCORING}
    lengths = {len(names), len(numbers["scale"]), len(numbers["weights"])}
    if len(lengths) > 1 or len(numbers["quality"]) != len(numbers["score"]):
        raise ValueError(
            "names, scale and weights must be of equal length, as must quality and score"
        )
    if {len(values) for values in scoring.values()} not in ({0}, lengths):
        raise ValueError(f"{', '.join(SCORING)} must be as long as names, or empty")
    temperature = float(row["temperature"])
    if (
        not np.isfinite([*chain(*numbers.values(), *scoring.values()), temperature]).all()
        or temperature <= 0
    ):
        raise ValueError("all values must be finite numbers, temperature above 0")
    return Weights(names, temperature=temperature, **numbers, **scoring)
