"""A model of the local judge: for each task, a weight per feature and the conversion to a
probability.

The probability p that A is better is the logistic function of the weighted feature difference (a
Bradley-Terry model with covariates), so swapping the options gives exactly 1 - p.
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
from visualjudge.judges.local.scoring import Features, Tree, scored

FORMAT = "visualjudge-local"
VERSION = 3
READABLE = (1, 2, 3)
CLIP = 4.0
"""Feature differences are clipped to this many standard deviations, so that a single outlier never
decides.
"""
SCORING = ("centre", "spread", "score_weights")
MOST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Weights:
    """The model of one task.

    ``names``, ``scale`` and ``weights`` have one entry per feature; ``temperature`` divides the
    log-odds. A score is ``first`` plus the output of the ``trees``. Files of version 1 and 2 have
    no trees: their scores follow from the sum weighted by ``weights``, or by ``score_weights`` with
    features standardised by ``centre`` and ``spread``; ``quality`` and ``score`` are the knots of
    its isotonic calibration to the 0..10 scale.
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
    first: float = 0.0
    trees: tuple[Tree, ...] = ()

    def log_odds(self, first: Features, second: Features) -> float:
        """Return the log-odds that ``first`` is better; 0 if the features are equal."""
        apart = [first.get(name, 0.0) - second.get(name, 0.0) for name in self.names]
        units = np.clip(np.array(apart) / np.array(self.scale), -CLIP, CLIP)
        return float(units @ np.array(self.weights)) / self.temperature

    def score_of(self, features: Features) -> float | None:
        """Return the expected score, 0..10, or None if the model was trained on comparisons
        only.
        """
        if self.trees:
            return scored(self.first, self.trees, features)
        if not self.quality:
            return None
        values = np.array([features.get(name, 0.0) for name in self.names])
        if self.score_weights:
            units = (values - np.array(self.centre)) / np.array(self.spread)
            quality = np.clip(units, -CLIP, CLIP) @ np.array(self.score_weights)
        else:
            quality = (values / np.array(self.scale)) @ np.array(self.weights)
        return float(np.interp(quality, self.quality, self.score))


@dataclass(frozen=True)
class Model:
    """Weights by task, and a card that describes the training data."""

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
    """Return the built-in model, ``--model default``."""
    return load(Path(__file__).with_name("default.vj"))


def load(path: str | Path) -> Model:
    """Load a model from a file written by ``train-local`` or ``distill``.

    Raises
    ------
    DataError
        If the file does not exist or contains no model.
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
    trees, first = tuple(map(_tree, row.get("trees", ()))), float(row.get("first", 0.0))
    lengths = {len(names), len(numbers["scale"]), len(numbers["weights"])}
    if len(lengths) > 1 or len(numbers["quality"]) != len(numbers["score"]):
        raise ValueError(
            "names, scale and weights must be of equal length, as must quality and score"
        )
    if {len(values) for values in scoring.values()} not in ({0}, lengths):
        raise ValueError(f"{', '.join(SCORING)} must be as long as names, or empty")
    temperature = float(row["temperature"])
    every = [
        *chain(*numbers.values(), *scoring.values(), *(t.thresholds + t.leaves for t in trees)),
        first,
    ]
    if not np.isfinite([*every, temperature]).all() or temperature <= 0:
        raise ValueError("all values must be finite numbers, temperature above 0")
    return Weights(names, temperature=temperature, **numbers, **scoring, first=first, trees=trees)


def _tree(row: Mapping[str, Any]) -> Tree:
    names = tuple(str(name) for name in row["names"])
    thresholds, leaves = (tuple(float(v) for v in row[part]) for part in ("thresholds", "leaves"))
    if len(thresholds) != len(names) or len(leaves) != 1 << len(names):
        raise ValueError("a tree must have one threshold per name, and 2 ** names leaves")
    return Tree(names, thresholds, leaves)
