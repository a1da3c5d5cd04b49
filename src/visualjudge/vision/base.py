"""Methods of every prediction. The parts of a type are in :mod:`visualjudge.vision.rows`."""

from __future__ import annotations

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
    """The mark of an item, with its confidence if it has one."""
    return Mark(label if score is None else f"{label} {score:.2f}", box)


class Prediction:
    """What a model states about one image, typed. Base class of the records of this package.

    The defaults are those of a prediction that has no labelled items and may have any size.
    """

    __slots__ = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that occur, each once, sorted."""
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
        """The items of each label, in their order."""
        return {}

    def only(self, labels: Collection[str]) -> Self:
        """The prediction without the items of other labels; unchanged if items have no labels."""
        return self

    def without_crowds(self) -> Self:
        """The ground truth as a prediction: without items that need not be found."""
        return self

    def regions(self) -> tuple[Mask, ...]:
        """The masks of the items, if they have masks."""
        return ()

    def marks(self) -> Iterator[Mark]:
        """What lies under the pointer in the studio: labelled regions of the image."""
        return iter(())

    def coverage(self, size: Size) -> BoolArray | None:
        """Which pixels of an image of (height, width) ``size`` boxes or masks cover, H×W bool; None
        without boxes or masks.
        """
        return None

    def scaled(self, size: Size, target: Size) -> Self:
        """Return the prediction for its image resized from (height, width) ``size`` to ``target``.

        A prediction without items, marks and extent has no positions, and is returned unchanged.

        Raises
        ------
        DataError
            If it has positions, the sizes differ, and its type does not define this method.
        """
        placed = self.extent or self.count is not None or next(self.marks(), None)
        if size == target or not placed:
            return self
        raise DataError(
            f"prediction: {type(self).__name__} must have a method scaled(size, target), which "
            f"returns it for its image resized from {size[0]}×{size[1]} to {target[0]}×{target[1]}"
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

    ``size`` is the image's (height, width), where known; paths are relative to ``root``;
    ``expression`` is the annotation's referring expression.
    """

    size: Size | None = None
    root: Path | None = None
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The context for writing a payload.

    Files are written to ``root``/``stem`` plus a suffix, and named in the payload relative to
    ``root``; coordinates are rounded to ``digits`` decimals, or not at all where that is None.
    """

    root: Path
    stem: str
    digits: int | None = None
