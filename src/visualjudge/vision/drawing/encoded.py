"""Input and result of an encoding. The rows of encodings are in ``vision/rows.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import RGB, Mask, Pixels, Size

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class Encoded:
    """A prediction as shown to a judge.

    Attributes
    ----------
    image
        H×W×3 uint8 RGB, or None for a text.
    text
        JSON, or None for an image.
    legend
        ``Legend: person = red (#FF0000), …``, or None if colours have no meaning.
    colors
        Label → (r, g, b), or keypoint name → (r, g, b) if parts are coloured; otherwise
        empty.
    """

    image: Pixels | None = None
    text: str | None = None
    legend: str | None = None
    colors: Mapping[str, RGB] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Scene:
    """One prediction on one photograph, as passed to the drawing functions.

    ``image`` is C-contiguous H×W×3 uint8 and must not be written to.
    """

    prediction: Any
    image: Pixels
    classes: tuple[str, ...] | None = None
    expression: str | None = None
    _done: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def once(
        self,
        work: Callable[Concatenate[Scene, P], T],
        *args: P.args,
        **named: P.kwargs,
    ) -> T:
        """Return the result of ``work`` on this scene, computed once and shared by all
        encodings that need it.
        """
        key = work, *args, *named.items()
        if key not in self._done:
            self._done[key] = work(self, *args, **named)
        return cast(T, self._done[key])

    def drawn(self, draw: Draw, style: Any) -> Encoded:
        """Return the result of one encoding; if :meth:`once` has stored it, it is
        removed from there.
        """
        held: Encoded | None = self._done.pop((draw, style), None)
        return held or draw(self, style)

    @property
    def size(self) -> Size:
        """(height, width)."""
        return self.image.shape[0], self.image.shape[1]

    def canvas(self, kind: str) -> Pixels:
        """Return a new array to draw on: a copy of the photograph, or black."""
        return (
            self.image.copy()
            if kind == "overlay"
            else np.zeros_like(self.image)
        )

    @property
    def masks(self) -> Any:
        """The prediction of a segmentation task.

        Raises
        ------
        DataError
            If its masks and the image differ in size.
        """
        masks = self.prediction
        if masks.items and masks.size != self.size:
            raise DataError(
                f"segmentation: masks must match the image size {self.size} (height, "
                f"width), got {masks.size}"
            )
        return masks


Draw = Callable[[Scene, Any], Encoded]


def masks_by_label(scene: Scene) -> dict[str, Mask]:
    """Return the union of the masks of each label, for :meth:`Scene.once`."""
    return scene.masks.by_label()  # type: ignore[no-any-return]
