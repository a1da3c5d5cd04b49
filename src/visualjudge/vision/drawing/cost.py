"""Cost of an encoding: bytes, characters, and tokens by the rules of three providers.

Token counts are estimates by the providers' published rules, for comparing encodings; invoices also
include the surrounding prompt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from visualjudge.core.records import Size

CHARS_PER_TOKEN = {"openai": 4.0, "gemini": 4.0, "qwen": 3.5}
"""Characters per token of English or JSON, by the providers' rules of thumb.

OpenAI: "What are tokens and how to count them" (help centre): 4. Gemini API, "Understand and count
tokens": 4. Qwen (Model Studio, billing notes): 3 to 4.
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes of the PNG, characters, and estimated tokens by provider (of image, text and legend
    together).
    """

    png_bytes: int
    text_chars: int
    legend_chars: int
    tokens: Mapping[str, int]


def vision_tokens(size: Size | None) -> dict[str, int]:
    """Return the tokens of an image of (height, width) ``size`` by provider; zeros without an
    image.
    """
    if size is None:
        return {"openai": 0, "gemini": 0, "qwen": 0}
    return {"openai": openai_tokens(size), "gemini": gemini_tokens(size), "qwen": qwen_tokens(size)}


def text_tokens(text: str, provider: str) -> int:
    """Estimate the tokens of ``text`` from its characters by the provider's rule of thumb."""
    return math.ceil(len(text) / CHARS_PER_TOKEN[provider])


def openai_tokens(size: Size) -> int:
    """Return the tokens of GPT-4o at ``detail: high``: 85 plus 170 for each 512-pixel tile.

    Source: OpenAI API guide "Images and vision", section on calculating costs: the image is scaled
    down to fit 2048×2048, then down so that its shorter side is 768, and covered with tiles of
    512×512.
    """
    height, width = (float(v) for v in size)
    shrink = min(1.0, 2048 / max(height, width))
    height, width = height * shrink, width * shrink
    shrink = min(1.0, 768 / min(height, width))
    height, width = height * shrink, width * shrink
    return 85 + 170 * math.ceil(round(height, 6) / 512) * math.ceil(round(width, 6) / 512)


def gemini_tokens(size: Size) -> int:
    """Return the tokens of Gemini 2: 258 up to 384×384, otherwise 258 per tile.

    Source: Gemini API guide "Image understanding", section on token calculation: crop unit =
    floor(min(width, height) / 1.5), clipped to 256..768; tiles = product of the image's sides
    divided by the crop unit, each rounded up.
    """
    height, width = size
    if height <= 384 and width <= 384:
        return 258
    unit = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return 258 * math.ceil(width / unit) * math.ceil(height / unit)


def qwen_tokens(size: Size) -> int:
    """Return the tokens of Qwen2-VL and Qwen2.5-VL: one per 28×28 pixels, and two delimiters.

    Source: ``smart_resize`` of transformers' ``Qwen2VLImageProcessor`` with its default limits:
    sides rounded to multiples of 28, the area clipped to 56·56..28·28·1280 pixels.
    """
    height, width = size
    factor, least, most = 28, 56 * 56, 28 * 28 * 1280
    rows, cols = (max(factor, round(side / factor) * factor) for side in (height, width))
    if rows * cols > most:
        beta = math.sqrt(height * width / most)
        rows, cols = (
            max(factor, math.floor(side / beta / factor) * factor) for side in (height, width)
        )
    elif rows * cols < least:
        beta = math.sqrt(least / (height * width))
        rows, cols = (math.ceil(side * beta / factor) * factor for side in (height, width))
    return rows * cols // factor**2 + 2
