"""The importer ``flow``: ``.flo`` and KITTI PNG files, paired with images by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import visualjudge as vj
from visualjudge.core.errors import DataError, Problem
from visualjudge.formats.pairing import aligned
from visualjudge.vision.raster.images import image_size
from visualjudge_flow.record import Flow, read_flow


def read(
    task: str, gt: str, pred: str | None, images: str
) -> Iterator[vj.Sample | Problem]:
    """A sample for each image, or a problem if a flow field is missing or cannot be
    used."""
    for key, image, (truth, found) in aligned(
        images, gt, gt if pred is None else pred
    ):
        try:
            real, ours = _flow(truth, image), _flow(found, image)
        except DataError as error:
            yield Problem(Path(image).name, key, "flow", str(error))
        else:
            yield vj.Sample(key, image, ours, real, file=found)


def _flow(path: Path | None, image: Path) -> Flow:
    if path is None:
        raise DataError("no file of this name")
    flow = read_flow(path)
    flow.check(image_size(image))
    return flow


ROW = vj.Importer(
    "flow",
    read,
    types=("flow",),
    help="Optical flow: Middlebury .flo or KITTI PNG files, scored by end-point error.",
    example="visualjudge import flow --gt 'flow/*.flo' --pred 'raft/*.flo' --images "
    "frames "
    "--source raft --out data",
)
