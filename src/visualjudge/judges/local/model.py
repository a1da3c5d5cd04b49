"""A model of the local judge: for each task, a weight per feature and the conversion to
a probability.

The probability p that A is better is the logistic function of the weighted feature
difference (a Bradley-Terry model with covariates), so swapping the options gives
exactly 1 - p.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Fields
from visualjudge.vision.view import Features

FORMAT = "visualjudge-local"
VERSION = 4
CLIP = 4.0
"""Feature differences are clipped to this many standard deviations, so that a single
outlier never decides.
"""


@dataclass(frozen=True, slots=True)
class Weights:
    """The model of one task: ``names``, ``scale`` and ``weights`` have one entry per
    feature; ``temperature`` divides the log-odds.
    """

    names: tuple[str, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    temperature: float = 1.0

    def log_odds(self, first: Features, second: Features) -> float:
        """Return the log-odds that ``first`` is better; 0 if the features are equal."""
        apart = [
            first.get(name, 0.0) - second.get(name, 0.0) for name in self.names
        ]
        units = np.clip(np.array(apart) / np.array(self.scale), -CLIP, CLIP)
        return float(units @ np.array(self.weights)) / self.temperature


@dataclass(frozen=True)
class Model:
    """Weights by task, and a card that describes the training data."""

    tasks: Mapping[str, Weights]
    card: Fields = field(default_factory=dict)


@cache
def shipped() -> Model:
    """Return the built-in model, ``--model default``."""
    return load(Path(__file__).with_name("default.vj"))


def load(path: str | Path) -> Model:
    """Load a model from a file that ``tools/train_local.py`` or an earlier version
    wrote.

    Raises
    ------
    DataError
        If the file does not exist or contains no model.
    """
    place = Path(path)
    if not place.is_file():
        raise DataError(
            f"{place}: no such file; `model` must be default or a model file (.vj)"
        )
    content = jsons.read(place, "model", "; train it again")
    try:
        if (
            content["format"] != FORMAT
            or not 1 <= content["version"] <= VERSION
        ):
            raise ValueError(
                f"format must be {FORMAT} {VERSION}, got {content['format']} "
                f"{content['version']}"
            )
        return Model(
            {name: _weights(row) for name, row in content["tasks"].items()},
            content.get("card", {}),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{place}: is not a model of the local judge ({error!r:.200}); train it "
            "again"
        ) from None


def _weights(row: Fields) -> Weights:
    names = tuple(str(name) for name in row["names"])
    scale, weights = (
        tuple(float(v) for v in row[part]) for part in ("scale", "weights")
    )
    temperature = float(row["temperature"])
    if not len(names) == len(scale) == len(weights):
        raise ValueError("names, scale and weights must be of equal length")
    if (
        not np.isfinite([*scale, *weights, temperature]).all()
        or temperature <= 0
    ):
        raise ValueError(
            "all values must be finite numbers, temperature above 0"
        )
    return Weights(names, scale, weights, temperature)
