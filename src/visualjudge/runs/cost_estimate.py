"""Estimate the calls and cost of a run before it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from visualjudge.dataset.folder import Dataset
from visualjudge.judges.base import Ask
from visualjudge.runs.budget import Prices
from visualjudge.vision.raster.images import image_size

CHARS_PER_TOKEN = 3.5
"""English and JSON under the usual byte-pair vocabularies: 3 to 4."""
PATCH = 28
"""Pixels a side of what becomes one token in Qwen-VL and in several others."""
LARGEST_TOKENS = 1600
"""No model is charged more for one image without tiling."""
REPLY_TOKENS = 8
"""An answer without reasoning."""
REASONED_TOKENS = 120
"""An answer after a few sentences of reasons, as JSON."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls and images are exact; tokens and cost are estimates."""

    calls: int
    images: int
    different_images: int
    tokens_in: int
    tokens_out: int
    cost: float


def image_tokens(width: int, height: int) -> int:
    """Estimate the tokens of an image."""
    return min(LARGEST_TOKENS, -(-width // PATCH) * -(-height // PATCH))


def estimate(
    dataset: Dataset, asks: Iterable[Ask], prices: Prices, *, reasons: bool = False
) -> Estimate:
    """Count what ``asks`` would send; with ``reasons``, replies give reasons before the answer."""
    sizes: dict[str, int] = {}
    calls = images = tokens = 0
    for ask in asks:
        calls += 1
        images += len(ask.question.images)
        for name in ask.question.images:
            if name not in sizes:
                height, width = image_size(dataset.image(name))
                sizes[name] = image_tokens(width, height)
            tokens += sizes[name]
        tokens += round(len(ask.question.prompt) / CHARS_PER_TOKEN)
    out = (REASONED_TOKENS if reasons else REPLY_TOKENS) * calls
    cost = prices.cost({"prompt_tokens": tokens, "completion_tokens": out})
    return Estimate(calls, images, len(sizes), tokens, out, cost)
