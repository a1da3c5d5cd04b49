"""What a run will cost, estimated before anything is asked. What was spent is in
``budget.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from visualjudge.dataset.folder import Dataset
from visualjudge.judges.base import Ask
from visualjudge.prompts.rubric import Rubric
from visualjudge.runs.budget import Prices
from visualjudge.vision.raster.images import image_size

# Characters per token of English and JSON with common byte-pair vocabularies, which is
# 3 to 4.
CHARS_PER_TOKEN = 3.5
# Side length in pixels of the area that becomes one token in Qwen-VL and several other
# models.
PATCH = 28
# Upper limit on the tokens that models charge for an image without tiling.
LARGEST_TOKENS = 1600
# Tokens of an answer without reasoning.
REPLY_TOKENS = 8
# Tokens of an answer in JSON after a few sentences of reasons.
REASONED_TOKENS = 120
# Tokens of a criterion's name and value.
CRITERION_TOKENS = 15


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
    dataset: Dataset,
    asks: Iterable[Ask],
    prices: Prices,
    *,
    reasons: bool = False,
    rubric: Rubric | None = None,
) -> Estimate:
    """Count what ``asks`` would send; with ``reasons``, replies give reasons before the
    answer, with a ``rubric`` its criteria too.
    """
    sizes: dict[str, int] = {}
    calls = images = tokens = criteria = 0
    for ask in asks:
        calls += 1
        images += len(ask.question.images)
        for name in ask.question.images:
            if name not in sizes:
                height, width = image_size(dataset.image(name))
                sizes[name] = image_tokens(width, height)
            tokens += sizes[name]
        text = ask.question.prompt
        if rubric is not None:
            text += rubric.text(ask.question)
            criteria += len(rubric.of(ask.question))
        tokens += round(len(text) / CHARS_PER_TOKEN)
    out = (REASONED_TOKENS if reasons else REPLY_TOKENS) * calls
    out += CRITERION_TOKENS * criteria
    return Estimate(
        calls, images, len(sizes), tokens, out, prices.of(tokens, out)
    )
