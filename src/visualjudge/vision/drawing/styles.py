"""Styles of encodings: a frozen dataclass for each way of drawing, used in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol


class Style(Protocol):
    """Any dataclass: the parameters of one drawing function."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TextStyle:
    """A JSON text; ``layout`` names its form."""

    layout: Literal[
        "xyxy",
        "xywh",
        "polygon",
        "rle",
        "matrix",
        "subsample",
        "flat_list",
        "part_keyed",
        "coco_list",
    ]
    ids: bool = False
    """Objects are instances: each has an ``instance_id``, and none is merged with others of its
    label.
    """
    region: bool = False
    """One referred region, numbered 1."""


@dataclass(frozen=True, slots=True)
class ComboStyle:
    """A text and an image of one option: the stems of both."""

    text: str
    pixel: str
