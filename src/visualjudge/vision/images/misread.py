"""Common mistakes in restored images."""

from __future__ import annotations

from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.rows import Misreading

MISREADINGS = (
    Misreading(
        "channels are blue, green, red",
        lambda found, _truth: WholeImage(found.pixels[:, :, ::-1]),
    ),
)
