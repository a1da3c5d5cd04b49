"""Estimate the calls and cost of a run before it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from visualjudge.dataset.folder import Dataset
from visualjudge.judges.base import Ask
from visualjudge.runs.budget import Prices
from visualjudge.vision.raster.images import image_size

# Characters per token of English and JSON with common byte-pair vocabularies, which is 3 to 4.
CHARS_PER_TOKEN = 3.5
# Side length in pixels of the area that becomes one token in Qwen-VL and several other models.
PATCH = 28
# Upper limit on the tokens that models charge for an image without tiling.
LARGEST_TOKENS = 1600
# Tokens of an answer without reasoning.
REPLY_TOKENS = 8
# Tokens of an answer in JSON after a few sentences of reasons.
REASONED_TOKENS = 120


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
