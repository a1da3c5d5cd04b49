"""Label tags: words in black or white on a filled rectangle of the class's colour, placed where there is room.

Letters come from DejaVu Sans, which matplotlib ships: Latin, Cyrillic, Greek, Arabic, Hebrew and more, the same on
every machine. A letter it lacks is written as its code point, so that no two labels look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from visualjudge.encoding.canvas import Box, line_width
from visualjudge.encoding.palette import ink_on
from visualjudge.records import RGB, Pixels, Size

_FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
_SMALLEST = 8
_CROWDED = 0.18
"""Share of the picture that all tags together may cover before they are made smaller."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """What a tag belongs to: its words, colour, and box; ``centered``: in the box's middle, else at its corner."""

    label: str
    color: RGB
    box: Box
    centered: bool = False


def draw_tags(pixels: Pixels, anchors: Sequence[Anchor]) -> None:
    """Draw one tag for each anchor onto ``pixels``, whole and inside the picture; none where not even one fits.

    Small objects choose first, as they have the least room to spare; where tags must overlap, theirs is on top.
    """
    size = pixels.shape[0], pixels.shape[1]
    font = _font_size(size, anchors)
    bitmaps = [_fitting(anchor.label, font, size) for anchor in anchors]
    placed: list[tuple[Box, np.ndarray]] = []
    taken = _Taken([anchor.box for anchor, bitmap in zip(anchors, bitmaps, strict=True) if _hidden_by(anchor, bitmap)])
    gap = line_width(size)
    for anchor, bitmap in reversed(list(zip(anchors, bitmaps, strict=True))):
        if bitmap is None:
            continue
        spot = taken.best(_spots(anchor, bitmap.shape, size, gap))
        taken.add(spot)
        placed.append((spot, _colored(anchor, bitmap)))
    for (x1, y1, x2, y2), patch in reversed(placed):
        pixels[y1:y2, x1:x2] = patch


def font_size(size: Size) -> int:
    """Height of the letters in pixels: 2.6 % of the geometric mean of the sides, at least 10."""
    return int(max(10, round(0.026 * float(size[0] * size[1]) ** 0.5)))


def words(label: str) -> str:
    """``label`` as it can be drawn: on one line, a letter that the font lacks as its code point."""
    return " ".join("".join(c if ord(c) in _letters() or c.isspace() else f"<{ord(c):X}>" for c in label).split())


@lru_cache(maxsize=4096)
def text_bitmap(text: str, font: int) -> np.ndarray:
    """Coverage (h×w uint8) of ``text`` on its line: the same height for all words of one size, 0 = tag, 255 = ink."""
    face = _face(font)
    ascent, descent = face.getmetrics()
    pad_x, pad_y = max(2, font // 4), max(1, font // 10)
    width = int(np.ceil(face.getlength(text))) + 2 * pad_x
    top = round(0.16 * ascent)  # room above capitals that only accents use
    picture = Image.new("L", (width, ascent - top + descent + 2 * pad_y))
    ImageDraw.Draw(picture).text((pad_x, pad_y - top), text, fill=255, font=face)
    bitmap = np.asarray(picture)
    bitmap.setflags(write=False)
    return bitmap


def _font_size(size: Size, anchors: Sequence[Anchor]) -> int:
    """The picture's letter size, smaller where so many tags would cover too much of it."""
    font = font_size(size)
    smallest = min(font, max(_SMALLEST, round(0.6 * font)))
    area = sum((len(anchor.label) * 0.6 + 0.5) * 1.3 * font * font for anchor in anchors)
    allowed = _CROWDED * size[0] * size[1]
    return font if area <= allowed else max(smallest, int(font * (allowed / area) ** 0.5))


def _fitting(label: str, font: int, size: Size) -> np.ndarray | None:
    """The label's bitmap no larger than the picture: smaller letters, then fewer; None if not even one fits."""
    text = words(label)
    for smaller in range(font, _SMALLEST - 1, -1):
        bitmap = text_bitmap(text, smaller)
        if bitmap.shape[0] <= size[0] and bitmap.shape[1] <= size[1]:
            return bitmap
    if text_bitmap("x", _SMALLEST).shape[0] > size[0]:
        return None
    for kept in range(min(len(text), size[1]), 0, -1):
        bitmap = text_bitmap(text[:kept] + "…", _SMALLEST)
        if bitmap.shape[1] <= size[1]:
            return bitmap
    return None


def _hidden_by(anchor: Anchor, bitmap: np.ndarray | None) -> bool:
    """Whether a tag of this size could cover half of the object: such a one is kept free of all tags."""
    x1, y1, x2, y2 = anchor.box
    return bitmap is not None and not anchor.centered and (x2 - x1) * (y2 - y1) < 2 * bitmap.size


@lru_cache(maxsize=2048)
def _patch(color: RGB, ink: RGB, shape: tuple[int, int], coverage: bytes) -> np.ndarray:
    table = np.rint(np.linspace(color, ink, 256)).astype(np.uint8)
    return table[np.frombuffer(coverage, np.uint8).reshape(shape)]


def _colored(anchor: Anchor, bitmap: np.ndarray) -> np.ndarray:
    shape = bitmap.shape[0], bitmap.shape[1]
    return _patch(anchor.color, ink_on(anchor.color), shape, bitmap.tobytes())


def _spots(anchor: Anchor, shape: tuple[int, ...], size: Size, gap: int) -> np.ndarray:
    """Places for a tag of ``shape``, best first, (n, 4) int x1 y1 x2 y2, all inside the picture.

    For a box: above its corner, below, inside at the corners, beside; for a centred one: the middle, then around it.
    """
    high, wide = shape
    x1, y1, x2, y2 = anchor.box
    if anchor.centered:
        x, y = (x1 + x2 - wide) // 2, (y1 + y2 - high) // 2
        corners = [
            (x, y),
            *((x + dx * wide // 2, y + dy * (high + 1)) for dy in (-1, 1, -2, 2, -3, 3) for dx in (0, -1, 1)),
        ]
    else:
        above, below, right = y1 - high - gap, y2 + gap, x2 - wide
        corners = [(x1, above), (right, above), (x1, below), (right, below)]
        corners = [(x, y) for x, y in corners if 0 <= y <= size[0] - high]
        inner = [
            (x1 + gap, y1 + gap),
            (right - gap, y1 + gap),
            (x1 + gap, y2 - high - gap),
            (right - gap, y2 - high - gap),
        ]
        beside = [(x2 + gap, y1), (x1 - wide - gap, y1), (x2 + gap, y2 - high), (x1 - wide - gap, y2 - high)]
        beside = [(x, y) for x, y in beside if 0 <= x <= size[1] - wide]
        roomy = x2 - x1 > wide + 4 * gap and y2 - y1 > 3 * high
        corners += inner + beside if roomy else beside + inner
        corners += [(x1, y1 + k * (high + 1)) for k in (-3, 1, -4, 2, -5, 3)]
    spots = np.array(corners)
    spots[:, 0] = np.clip(spots[:, 0], 0, size[1] - wide)
    spots[:, 1] = np.clip(spots[:, 1], 0, size[0] - high)
    return np.concatenate([spots, spots + np.array([wide, high])], axis=1)


class _Taken:
    """The rectangles that tags cover already, and those of objects so small that a tag would hide them."""

    def __init__(self, small: Sequence[Box]) -> None:
        self._boxes = np.array(small, dtype=np.int64).reshape(-1, 4)

    def add(self, box: Box) -> None:
        self._boxes = np.concatenate([self._boxes, [box]])

    def best(self, spots: np.ndarray) -> Box:
        """The first of ``spots`` that touches nothing, else the one that covers least."""
        boxes = self._boxes
        low = np.maximum(spots[:, None, :2], boxes[None, :, :2])
        high = np.minimum(spots[:, None, 2:], boxes[None, :, 2:])
        shared = np.clip(high - low, 0, None).prod(axis=2).sum(axis=1)
        x1, y1, x2, y2 = spots[int(shared.argmin())].tolist()
        return x1, y1, x2, y2


@lru_cache(maxsize=64)
def _face(font: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(_FONT), font, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    """Code points that the font has a glyph for."""
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(str(_FONT)).get_charmap())
