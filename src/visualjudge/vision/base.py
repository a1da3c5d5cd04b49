"""Base class of predictions. The parts of a type are in :mod:`visualjudge.vision.rows`.
Predictions that are lists of items derive from ``items.py``; the table of types is in
``predictions.py``.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, Mask, Pixels, Size, Xyxy

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled region: (left, top, right, bottom) in pixels of the image."""

    label: str
    box: Xyxy


def mark_of(label: str, score: float | None, box: Xyxy) -> Mark:
    """Return the mark of an item, with its confidence if it has one."""
    return Mark(label if score is None else f"{label} {score:.2f}", box)


class Prediction:
    """Typed output of a model for one image; base class of the records of this package.

    The defaults suit a prediction without labelled items that may have any size.
    """

    __slots__ = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The distinct labels, sorted."""
        return ()

    @property
    def count(self) -> int | None:
        """Number of items (boxes, masks, persons); None for types without items."""
        return None

    @property
    def extent(self) -> Size | None:
        """(height, width) of the image as stated by the prediction itself, or None."""
        return None

    @property
    def image(self) -> Pixels | None:
        """The prediction itself if it is an image: H×W×3 uint8 RGB."""
        return None

    def items_by_label(self) -> dict[str, list[Any]]:
        """Return the items of each label, in their order."""
        return {}

    def only(self, labels: Collection[str]) -> Self:
        """Return the prediction without items of other labels; unchanged if items have
        no labels.
        """
        return self

    def without_crowds(self) -> Self:
        """Return the ground truth as a prediction, without items that need not be
        found."""
        return self

    def regions(self) -> tuple[Mask, ...]:
        """Return the masks of the items, if they have masks."""
        return ()

    def marks(self) -> Iterator[Mark]:
        """Return the labelled regions of the image that the studio shows under the
        pointer."""
        return iter(())

    def coverage(self, size: Size) -> BoolArray | None:
        """Return the pixels of an image of (height, width) ``size`` that boxes or masks
        cover, H×W bool; None without boxes or masks.
        """
        return None

    def scaled(self, size: Size, target: Size) -> Self:
        """Return the prediction for its image resized from (height, width) ``size`` to
        ``target``.

        A prediction without items, marks and extent has no positions, and is returned
        unchanged.

        Raises
        ------
        DataError
            If it has positions, the sizes differ, and its type does not define this
            method.
        """
        placed = (
            self.extent or self.count is not None or next(self.marks(), None)
        )
        if size == target or not placed:
            return self
        raise DataError(
            f"prediction: {type(self).__name__} must have a method scaled(size, "
            f"target), which returns it for its image resized from {size[0]}×{size[1]} "
            f"to {target[0]}×{target[1]}"
        )

    def check(self, size: Size) -> None:
        """Check the prediction against the (height, width) of its image.

        Raises
        ------
        DataError
            If it does not fit; the message begins with the field.
        """


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The context for reading a payload.

    ``size`` is the image's (height, width), if known; paths are relative to ``root``;
    ``expression`` is the annotation's referring expression.
    """

    size: Size | None = None
    root: Path | None = None
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The context for writing a payload.

    Files are written to ``root``/``stem`` plus a suffix, and named in the payload
    relative to ``root``; coordinates are rounded to ``digits`` decimals, or not rounded
    if it is None.
    """

    root: Path
    stem: str
    digits: int | None = None
