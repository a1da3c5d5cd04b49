"""Label tags: words in black or white on a filled rectangle of the class's colour,
placed where there is room. Lines and fills are in ``canvas.py``.

Glyphs come from :mod:`~visualjudge.vision.drawing.fonts`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from visualjudge.core.records import RGB, Pixels, Size
from visualjudge.vision.drawing.canvas import Box, line_width
from visualjudge.vision.drawing.fonts import face, runs
from visualjudge.vision.drawing.palette import ink_on

_SMALLEST = 8
_COARSE = 640
# Share of the image that all tags together may cover before they are made smaller.
_CROWDED = 0.18


Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Anchor:
    """The object of a tag: its label, colour and box. ``centered`` places the tag in
    the middle of the box instead of at a corner.
    """

    label: str
    color: RGB
    box: Box
    centered: bool = False


def draw_tags(pixels: Pixels, anchors: Sequence[Anchor]) -> None:
    """Draw a tag for each anchor onto ``pixels``, entirely inside the image; skip tags
    for which not even one letter fits.

    Small objects are placed first, because they have the least room; where tags must
    overlap, theirs are on top.
    """
    size = pixels.shape[0], pixels.shape[1]
    font = _font_size(size, anchors)
    lines = [
        (anchor, *line)
        for anchor in anchors
        if (line := _fitting(anchor.label, font, size)) is not None
    ]
    patches = [
        (anchor, _patch(text, letters, anchor.color))
        for anchor, text, letters in lines
    ]
    taken = _Taken(size)
    gap = line_width(size)
    for anchor, patch in patches:
        if _hidden_by(anchor, patch):
            taken.add(anchor.box)
    placed = []
    for anchor, patch in reversed(patches):
        x, y = taken.best(_spots(anchor, patch.shape, size, gap), patch.shape)
        taken.add(
            (
                x,
                y,
                x + patch.shape[1],
                y + patch.shape[0],
            )
        )
        placed.append((x, y, patch))
    for x, y, patch in reversed(placed):
        pixels[y : y + patch.shape[0], x : x + patch.shape[1]] = patch


def words(label: str) -> str:
    """Return ``label`` as drawn: on one line, with code points in place of letters that
    no font has.
    """
    return " ".join("".join(run.text for run in runs(label)).split())


@lru_cache(maxsize=4096)
def text_bitmap(text: str, font: int) -> np.ndarray:
    """Return the coverage (h×w uint8) of ``text`` on one line: 0 = tag, 255 = ink.

    All texts of one size have the same height, unless glyphs of another font extend
    beyond it.
    """
    ascent, descent = face(0, font, False).getmetrics()
    pad_x = max(2, font // 4)
    pad_y = max(1, font // 10)
    top = ascent - round(
        0.16 * ascent
    )  # room above capitals that only accents use
    parts = [(run, face(run.font, font, run.shaped)) for run in runs(text)]
    beyond = [
        face_of_run.getbbox(run.text, anchor="ls")
        for run, face_of_run in parts
        if run.font or run.shaped
    ]
    top = max([top, *(int(np.ceil(-box[1])) for box in beyond)])
    descent = max([descent, *(int(np.ceil(box[3])) for box in beyond)])
    width = (
        int(
            np.ceil(
                sum(
                    face_of_run.getlength(run.text)
                    for run, face_of_run in parts
                )
            )
        )
        + 2 * pad_x
    )
    image = Image.new("L", (width, top + descent + 2 * pad_y))
    x = float(pad_x)
    for run, face_of_run in parts:
        ImageDraw.Draw(image).text(
            (x, pad_y + top),
            run.text,
            fill=255,
            font=face_of_run,
            anchor="ls",
        )
        x += face_of_run.getlength(run.text)
    bitmap = np.asarray(image)
    bitmap.setflags(write=False)
    return bitmap


def _font_size(size: Size, anchors: Sequence[Anchor]) -> int:
    """Return the letter size for the image, reduced if the tags would cover too much of
    it."""
    # 2.6 % of the geometric mean of the sides
    font = int(max(10, round(0.026 * float(size[0] * size[1]) ** 0.5)))
    smallest = min(font, max(_SMALLEST, round(0.6 * font)))
    area = sum(
        (len(anchor.label) * 0.6 + 0.5) * 1.3 * font * font
        for anchor in anchors
    )
    allowed = _CROWDED * size[0] * size[1]
    return (
        font
        if area <= allowed
        else max(smallest, int(font * (allowed / area) ** 0.5))
    )


@lru_cache(maxsize=4096)
def _fitting(label: str, font: int, size: Size) -> tuple[str, int] | None:
    """Return the text and letter size of a label that fit the image: first smaller
    letters, then a shorter text; None if not even one letter fits."""
    text = words(label)
    for smaller in range(font, _SMALLEST - 1, -1):
        bitmap = text_bitmap(text, smaller)
        if bitmap.shape[0] <= size[0] and bitmap.shape[1] <= size[1]:
            return text, smaller
    if text_bitmap("x", _SMALLEST).shape[0] > size[0]:
        return None
    for length in range(
        min(len(text), size[1]),
        0,
        -1,
    ):
        shorter = text[:length] + "…"
        if text_bitmap(shorter, _SMALLEST).shape[1] <= size[1]:
            return shorter, _SMALLEST
    return None


def _hidden_by(anchor: Anchor, patch: np.ndarray) -> bool:
    """Return whether a tag of this size could cover half of the object, which is then
    kept free of tags."""
    x1, y1, x2, y2 = anchor.box
    return (
        not anchor.centered
        and (x2 - x1) * (y2 - y1) < 2 * patch.shape[0] * patch.shape[1]
    )


@lru_cache(maxsize=512)
def _patch(text: str, font: int, color: RGB) -> np.ndarray:
    """Return the tag's pixels, h×w×3 uint8: mixtures of its colour with black or
    white."""
    table = np.rint(np.linspace(color, ink_on(color), 256)).astype(np.uint8)
    patch: np.ndarray = table[text_bitmap(text, font)]
    patch.setflags(write=False)
    return patch


def _spots(
    anchor: Anchor,
    shape: tuple[int, ...],
    size: Size,
    gap: int,
) -> Iterator[Point]:
    """Return positions (x, y) for the corner of a tag of ``shape`` inside the image,
    best first. For a box: above its corners, below, inside at the corners, beside; for
    a centred tag: the middle, then around it."""
    high, wide = shape[:2]
    corners = (
        _around_middle(anchor.box, high, wide)
        if anchor.centered
        else _around_box(anchor.box, high, wide, size, gap)
    )
    right = size[1] - wide
    bottom = size[0] - high
    return ((min(max(x, 0), right), min(max(y, 0), bottom)) for x, y in corners)


def _around_middle(box: Box, high: int, wide: int) -> Iterator[Point]:
    x = (box[0] + box[2] - wide) // 2
    y = (box[1] + box[3] - high) // 2
    yield x, y
    rows = (-1, 1, -2, 2, -3, 3)
    yield from (
        (x + dx * wide // 2, y + dy * (high + 1))
        for dy in rows
        for dx in (0, -1, 1)
    )


def _around_box(
    box: Box,
    high: int,
    wide: int,
    size: Size,
    gap: int,
) -> Iterator[Point]:
    x1, y1, x2, y2 = box
    above = y1 - high - gap
    below = y2 + gap
    right = x2 - wide
    yield from (
        (x, y)
        for y in (above, below)
        if 0 <= y <= size[0] - high
        for x in (x1, right)
    )
    inner = [
        (x, y)
        for y in (y1 + gap, y2 - high - gap)
        for x in (x1 + gap, right - gap)
    ]
    beside = [
        (x, y)
        for y in (y1, y2 - high)
        for x in (x2 + gap, x1 - wide - gap)
        if 0 <= x <= size[1] - wide
    ]
    roomy = x2 - x1 > wide + 4 * gap and y2 - y1 > 3 * high
    yield from inner + beside if roomy else beside + inner
    yield from ((x1, y1 + k * (high + 1)) for k in (-3, 1, -4, 2, -5, 3))


class _Taken:
    """Areas that tags must avoid: other tags, and objects so small that a tag would
    hide them.

    They are stored as a coarse map of the image, so that the cost of a lookup does not
    grow with the number of tags.
    """

    def __init__(self, size: Size) -> None:
        self._step = max(1, max(size) // _COARSE)
        self._map = np.zeros(
            (size[0] // self._step + 1, size[1] // self._step + 1),
            dtype=np.bool_,
        )

    def add(self, box: Box) -> None:
        self._map[self._window(*box)] = True

    def best(
        self,
        spots: Iterable[Point],
        shape: tuple[int, ...],
    ) -> Point:
        """Return the first of ``spots`` that covers nothing, otherwise the one that
        covers least.
        """
        least = -1
        best = (0, 0)
        for x, y in spots:
            covered = int(
                np.count_nonzero(
                    self._map[
                        self._window(
                            x,
                            y,
                            x + shape[1],
                            y + shape[0],
                        )
                    ]
                )
            )
            if covered == 0:
                return x, y
            if least < 0 or covered < least:
                least = covered
                best = (x, y)
        return best

    def _window(
        self,
        x1: int,
        y1: int,
        x2: int,
        y2: int,
    ) -> tuple[slice, slice]:
        step = self._step
        return slice(max(0, y1) // step, -(-y2 // step)), slice(
            max(0, x1) // step, -(-x2 // step)
        )
