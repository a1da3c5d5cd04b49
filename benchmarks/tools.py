"""Milliseconds of a call of each tool, on decoded images of two sizes.

Usage: python benchmarks/tools.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np

from visualjudge.core.records import Pixels
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.depth.colormaps import colormap
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.raster.images import png_bytes
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.tools.base import Seen
from visualjudge.vision.tools.table import tools_of

SIZES = {(480, 640): 5.0, (3000, 4000): 30.0}
"""(height, width), and the milliseconds that a call may take."""
ROUNDS = 9


def photographs(height: int, width: int) -> tuple[Pixels, Pixels]:
    """A smooth image with some noise, and the same with a patch changed."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (height // 40 + 1, width // 40 + 1, 3), dtype=np.uint8)
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    image = cv2.add(smooth, rng.integers(0, 12, smooth.shape, dtype=np.uint8))
    other = image.copy()
    other[height // 3 : height // 2, width // 3 : width // 2] //= 2
    return np.asarray(image, np.uint8), np.asarray(other, np.uint8)


def calls(height: int, width: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each tool by type, as a call."""
    image, other = photographs(height, width)
    box = {"x0": width * 0.2, "y0": height * 0.2, "x1": width * 0.2 + 320, "y1": height * 0.2 + 240}
    wide = {"x0": 0, "y0": 0, "x1": width, "y1": height}
    boxes = Detections(tuple(Detection("a", (k, k, k + 30, k + 30)) for k in range(100)))
    mask = np.zeros((height, width), bool)
    mask[height // 4 : height // 2, width // 4 : width // 2] = True
    masks = Masks((height, width), tuple(Instance("a", mask_from_array(mask)) for _ in range(20)))
    depth = colormap("turbo")[image[:, :, 0]]
    images = {"original": lambda: image, "A": lambda: image, "B": lambda: other}

    def run(kind: str, name: str, seen: Seen, **arguments: Any) -> tuple[str, Callable[[], Any]]:
        def call() -> None:
            for shown in tools_of(kind)[name].run(seen, **arguments).images:
                png_bytes(shown)

        return f"{name} ({kind})", call

    layer = {"A": lambda: image}
    seen = Seen(images, layer, layer, {"A": lambda: boxes}, "AB")
    yield run("detection", "zoom", seen, image="original", **box)
    yield "zoom (all of it)", run("detection", "zoom", seen, image="original", **wide)[1]
    yield run("detection", "grid", seen, image="original", n=8)
    yield run("detection", "compare", seen, **box)
    yield "compare (all of it)", run("detection", "compare", seen, **wide)[1]
    yield run("detection", "difference", seen)
    yield run("detection", "toggle", seen, option="A", photograph=False)
    yield run("detection", "count", seen, option="A")
    yield run("detection", "value", seen, option="A", x=5, y=5)
    yield run("detection", "measure", seen, option="A", item=1, other_item=2)
    segmented = Seen(images, predictions={"A": lambda: masks}, letters="AB")
    yield run("instance", "value", segmented, option="A", x=width / 3, y=height / 3)
    yield run("instance", "measure", segmented, option="A", item=1, other_item=2)
    yield "measure (all masks)", run("instance", "measure", segmented, option="A")[1]
    near = Seen({"A": lambda: depth}, letters="A", encoding="turbo")
    yield run("depth", "value", near, option="A", x=5, y=5)
    yield run("depth", "measure", near, option="A", **box)
    yield run("restoration", "value", seen, image="A", x=5, y=5)
    yield run("restoration", "measure", seen, image="A", **box)
    yield run("restoration", "edges", seen, image="A")
    yield run("restoration", "sharpness", seen, image="A", **box)


def milliseconds(call: Callable[[], Any]) -> float:
    """The fastest of some rounds: other programs only add to it."""
    call()
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - begun))
    return min(times)


def main() -> None:
    """Print a line a tool."""
    for (height, width), most in SIZES.items():
        print(f"{width}×{height}, at most {most:g} ms")
        for name, call in calls(height, width):
            took = milliseconds(call)
            print(f"  {name:24} {took:7.2f} ms{'  too slow' if took > most else ''}")


if __name__ == "__main__":
    main()
