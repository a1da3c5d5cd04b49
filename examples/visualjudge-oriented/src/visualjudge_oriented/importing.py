"""The importer ``dota``: a text file for each image, with four corners and a label a
line (Xia et al., CVPR 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import visualjudge as vj
from visualjudge.core.errors import DataError, Problem
from visualjudge.formats.pairing import aligned
from visualjudge.vision import fields
from visualjudge_oriented.record import OrientedBoxes, box_around

HEADS = ("imagesource:", "gsd:")


def read(
    task: str, gt: str, pred: str | None, images: str
) -> Iterator[vj.Sample | Problem]:
    """A sample for each image; where ``pred`` has no file for one, nothing was found on
    it."""
    for key, image, (truth, found) in aligned(
        images, gt, gt if pred is None else pred
    ):
        if truth is None:
            yield Problem(
                Path(image).name, key, "truth", f"no file named {key!r} in {gt}"
            )
            continue
        try:
            real = boxes(truth, scored=False)
            ours = (
                real.without_crowds()
                if pred is None
                else boxes(found, scored=True)
            )
        except DataError as error:
            yield Problem(Path(image).name, key, "boxes", str(error))
            continue
        yield vj.Sample(
            key, image, ours, real, labels=real.without_crowds().labels
        )


def boxes(path: Path | None, *, scored: bool) -> OrientedBoxes:
    """The boxes of a file; the tenth word is the confidence where ``scored``, else
    whether the object is difficult.
    """
    lines = (
        []
        if path is None
        else path.read_text("utf-8", errors="replace").splitlines()
    )
    items = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or line.lower().startswith(HEADS):
            continue
        if len(words) not in (9, 10):
            raise DataError(
                f"{path}: line {number}: must have 8 coordinates, a label and a "
                "number, got "
                f"{len(words)} words"
            )
        values = [
            _number(word, f"{path}: line {number}")
            for word in (*words[:8], *words[9:])
        ]
        last = values[8] if len(values) > 8 else None
        rest = {"score": last} if scored else {"iscrowd": bool(last)}
        items.append(
            box_around(np.reshape(values[:8], (4, 2)), label=words[8], **rest)
        )
    return OrientedBoxes(tuple(items))


def _number(word: str, where: str) -> float:
    try:
        return fields.number(float(word), where, largest=1e6)
    except ValueError:
        raise DataError(f"{where}: must be a number, got {word!r}") from None


ROW = vj.Importer(
    "dota",
    read,
    types=("oriented",),
    help="Oriented boxes in DOTA's labelTxt: four corners, a label, and difficult or "
    "the "
    "confidence.",
    example="visualjudge import dota --gt labelTxt --pred results --images images "
    "--source model "
    "--out data",
)
