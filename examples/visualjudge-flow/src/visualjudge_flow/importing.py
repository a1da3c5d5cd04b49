"""The importer ``flow``: ``.flo`` and KITTI PNG files, paired with images by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import visualjudge as vj
from visualjudge.core.errors import DataError, Problem
from visualjudge.formats.sample import aligned
from visualjudge.vision.raster.images import image_size
from visualjudge_flow.vectors import Flow, read_flow


def read(task: str, gt: str, pred: str | None, images: str) -> Iterator[vj.Sample | Problem]:
    """A sample for each image; a flow field that is missing or cannot be used is a problem in its
    place.
    """
    for key, image, (truth, found) in aligned(images, gt, gt if pred is None else pred):
        if truth is None or found is None:
            yield Problem(
                Path(image).name,
                key,
                "truth" if truth is None else "prediction",
                f"no flow named {key!r}",
            )
            continue
        try:
            sides = [_checked(path, image_size(image)) for path in (found, truth)]
        except DataError as error:
            yield Problem(Path(image).name, key, "flow", str(error))
            continue
        yield vj.Sample(key, image, *sides, file=found)


def _checked(path: Path, size: tuple[int, int]) -> Flow:
    flow = read_flow(path)
    flow.check(size)
    return flow


ROW = vj.Importer(
    "flow",
    read,
    types=("flow",),
    help="Optical flow: Middlebury .flo or KITTI PNG files, scored by end-point error.",
    example="visualjudge import flow --gt 'flow/*.flo' --pred 'raft/*.flo' --images frames "
    "--source raft --out data",
)
