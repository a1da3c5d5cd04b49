"""How encodings look: a frozen dataclass for each way of drawing, held by a row of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol


class Style(Protocol):
    """Any dataclass: the parameters of one drawing function."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class BoxStyle:
    """Coloured boxes; ``canvas``: on the photograph or on black."""

    tags: bool = False
    canvas: Literal["overlay", "black"] = "overlay"


@dataclass(frozen=True, slots=True)
class MaskStyle:
    """Filled masks with tags and dashed boxes."""

    opacity: float = 0.5
    canvas: Literal["overlay", "black"] = "overlay"
    tags: bool = True
    colors: Literal["class", "instance", "random"] = "class"
    boxes: bool = False


@dataclass(frozen=True, slots=True)
class RegionStyle:
    """One region: filled, outlined, or both."""

    fill: bool = True
    contour: bool = False
    opacity: float = 0.5
    canvas: Literal["overlay", "black"] = "overlay"


@dataclass(frozen=True, slots=True)
class GridStyle:
    """The sub-sampled grid as an image."""

    canvas: Literal["overlay", "black"] = "overlay"
    colors: Literal["class", "index"] = "index"
    region: bool = False
    """One referred region, numbered 1."""


@dataclass(frozen=True, slots=True)
class PoseStyle:
    """Keypoints, with or without limbs."""

    limbs: bool = True
    colors: Literal["single", "person", "part"] = "person"
    canvas: Literal["overlay", "black"] = "overlay"


@dataclass(frozen=True, slots=True)
class DepthStyle:
    """A matplotlib colour map, bright or warm = near."""

    colormap: Literal["plasma", "turbo", "gray"]


@dataclass(frozen=True, slots=True)
class ImageStyle:
    """The predicted image itself."""


@dataclass(frozen=True, slots=True)
class TextStyle:
    """A JSON text; ``layout`` names its form."""

    layout: Literal[
        "xyxy", "xywh", "polygon", "rle", "matrix", "subsample", "flat_list", "part_keyed", "coco_list"
    ]  # fmt: skip
    ids: bool = False
    """Objects are instances: each has an ``instance_id``, and none is merged with others of its label."""
    region: bool = False
    """One referred region, numbered 1."""


@dataclass(frozen=True, slots=True)
class ComboStyle:
    """A text and an image of one option: the stems of both."""

    text: str
    pixel: str
