"""The palette: 32 named colours, generated colours beyond these, and legends. Colours
of depth are in ``vision/depth/colormaps.py``.

The colours were chosen from matplotlib's CSS4 and xkcd names to maximize the smallest
CIEDE2000 difference between any two, for normal vision (at half weight) and for
protanopia, deuteranopia and tritanopia (Machado, Oliveira & Fernandes 2009, severity
1). Each colour is the one farthest from all earlier ones, so that the first few differ
most; the seven dark ones (relative luminance below 0.1) come last, because a
half-transparent dark fill is hard to see on black. ``tests/vision/encoding/test_palette.py``
checks the figures.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from visualjudge.core.records import RGB, FloatArray
from visualjudge.core.seeding import rng_for

PALETTE: tuple[tuple[str, RGB], ...] = (
    ("red", (255, 0, 0)),
    ("bright aqua", (11, 249, 234)),
    ("iris", (98, 88, 196)),
    ("neon yellow", (207, 255, 4)),
    ("blue green", (19, 126, 109)),
    ("light salmon", (254, 169, 147)),
    ("lilac", (196, 142, 253)),
    ("deep pink", (255, 20, 147)),
    ("light blue", (149, 208, 252)),
    ("turquoise blue", (6, 177, 196)),
    ("sandy brown", (196, 166, 97)),
    ("hazel", (142, 118, 24)),
    ("cool blue", (73, 132, 184)),
    ("dark rose", (181, 72, 93)),
    ("teal green", (37, 163, 111)),
    ("clay", (182, 106, 80)),
    ("carnation", (253, 121, 143)),
    ("khaki", (240, 230, 140)),
    ("yellow green", (160, 191, 22)),
    ("bright violet", (173, 10, 253)),
    ("pink purple", (219, 75, 218)),
    ("reddish pink", (254, 44, 84)),
    ("light seafoam", (160, 254, 191)),
    ("bubblegum pink", (254, 131, 204)),
    ("light green", (97, 225, 96)),
    ("brown", (101, 55, 0)),
    ("dark purple", (117, 25, 115)),
    ("medium blue", (0, 0, 205)),
    ("bordeaux", (123, 0, 44)),
    ("deep teal", (0, 85, 90)),
    ("cobalt", (30, 72, 143)),
    ("red brown", (165, 42, 42)),
)

GREEN: RGB = (0, 255, 0)
BLACK: RGB = (0, 0, 0)
WHITE: RGB = (255, 255, 255)

_MIN_CHROMA = 60
_CANDIDATES = 4096
_RANDOM_APART = 260.0
_RANDOM_CHROMA = 120


def color_at(number: int) -> RGB:
    """Return colour ``number`` (from 0) of the palette; beyond its end a generated
    colour, distinct from all earlier ones.
    """
    return (
        PALETTE[number][1] if number < len(PALETTE) else _generated(number)[-1]
    )


def name_at(number: int) -> str:
    """Return the name of :func:`color_at`; a generated colour is named after the
    nearest palette colour.
    """
    return (
        PALETTE[number][0]
        if number < len(PALETTE)
        else f"{_nearest_name(color_at(number))} {number // len(PALETTE) + 1}.{number % len(PALETTE) + 1}"
    )


def random_color_at(number: int) -> RGB:
    """Return colour ``number`` of a random sequence with a fixed seed, distinct from
    all earlier ones.
    """
    return _random_colors(-(-(number + 1) // 64) * 64)[number]


def random_name_at(number: int) -> str:
    """Return a name for :func:`random_color_at`: that of the nearest palette colour,
    with the number to make it unique.
    """
    return f"{_nearest_name(random_color_at(number))} {number + 1}"


def class_order(
    classes: Iterable[str] | None, labels: Sequence[str]
) -> list[str]:
    """Return the order in which labels get colours: ``classes``, then the other labels,
    sorted."""
    ordered = dict.fromkeys(classes or ())
    return [
        *ordered,
        *sorted(set(labels).difference(ordered)),
    ]


def label_colors(
    classes: Iterable[str] | None,
    labels: Sequence[str],
    color: Callable[[int], RGB] = color_at,
    name: Callable[[int], str] = name_at,
) -> tuple[dict[str, RGB], str | None]:
    """Return the colour of each of ``labels``, in their order, and the legend that
    names the colours.

    The colour of a label in ``classes`` depends only on ``classes``.
    """
    place = {
        label: number
        for number, label in enumerate(class_order(classes, labels))
    }
    colors = {label: color(place[label]) for label in dict.fromkeys(labels)}
    return colors, legend_of(
        colors, {label: name(place[label]) for label in colors}
    )


@lru_cache(maxsize=4096)
def hex_of(color: RGB) -> str:
    """Format ``(230, 25, 75)`` as ``"#E6194B"``."""
    return "#{:02X}{:02X}{:02X}".format(*color)


def legend_of(
    colors: Mapping[str, RGB], names: Mapping[str, str]
) -> str | None:
    """Return ``Legend: person = red (#FF0000), dog = …``, or None if no colour needs a
    name."""
    return (
        None
        if not colors
        else "Legend: "
        + ", ".join(
            (
                f"{label} = {names[label]} ({hex_of(color)})"
                for label, color in colors.items()
            )
        )
    )


@lru_cache(maxsize=4096)
def ink_on(color: RGB) -> RGB:
    """Return black or white, whichever has the higher contrast ratio on ``color`` (WCAG
    2.1, relative luminance).
    """
    linear = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
        for v in (c / 255 for c in color)
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return (
        BLACK
        if (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05)
        else WHITE
    )


@lru_cache(maxsize=1)
def _candidates() -> FloatArray:
    """Return saturated colours, (n, 3) float, drawn with a fixed seed."""
    drawn = rng_for(0, "palette candidates").integers(0, 256, (_CANDIDATES, 3))
    return np.asarray(
        drawn[np.ptp(drawn, axis=1) >= _MIN_CHROMA],
        dtype=np.float64,
    )


@lru_cache(maxsize=512)
def _generated(number: int) -> tuple[RGB, ...]:
    return _farthest(-(-(number + 1) // 64) * 64)[: number + 1]


@lru_cache(maxsize=8)
def _farthest(count: int) -> tuple[RGB, ...]:
    """Return the palette, then ``count - 32`` candidates, each the farthest in RGB from
    all earlier colours, some 3,000 of which differ."""
    chosen = [color for _, color in PALETTE]
    pool = _candidates()
    nearest = np.full(len(pool), np.inf)
    for color in chosen:
        nearest = np.minimum(
            nearest,
            np.abs(pool - color).sum(axis=1),
        )
    while len(chosen) < count:
        best = int(nearest.argmax())
        red, green, blue = (int(v) for v in pool[best])
        chosen.append((red, green, blue))
        nearest = np.minimum(
            nearest,
            np.abs(pool - pool[best]).sum(axis=1),
        )
    return tuple(chosen)


@lru_cache(maxsize=8)
def _random_colors(count: int) -> tuple[RGB, ...]:
    """Return the first ``count`` random colours, with a minimum distance that shrinks
    if it cannot be kept."""
    rng = rng_for(0, "random class colours")
    chosen: list[RGB] = []
    drawn: list[list[int]] = []
    apart = _RANDOM_APART
    misses = 0
    while len(chosen) < count:
        if not drawn:
            drawn = rng.integers(0, 256, (1024, 3)).tolist()[::-1]
        red, green, blue = drawn.pop()
        strong = max(red, green, blue) - min(red, green, blue) >= _RANDOM_CHROMA
        if strong and all(
            abs(red - r) + abs(green - g) + abs(blue - b) >= max(apart, 1)
            for r, g, b in chosen
        ):
            chosen.append((red, green, blue))
            misses = 0
        elif (misses := misses + 1) > 200:
            apart = apart * 0.8
            misses = 0
    return tuple(chosen)


@lru_cache(maxsize=4096)
def _nearest_name(color: RGB) -> str:
    colors = np.array(
        [c for _, c in PALETTE],
        dtype=np.float64,
    )
    return PALETTE[int(((colors - color) ** 2).sum(axis=1).argmin())][0]
