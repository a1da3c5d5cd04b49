"""Styles of encodings: a frozen dataclass for each way of drawing, used in the
catalogue. Styles of one type are in ``vision/<type>/draw.py``.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol


class Style(Protocol):
    """Any dataclass: the parameters of one drawing function."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TextStyle:
    """JSON text in the form ``layout``."""

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
    """Objects are instances: each has an ``instance_id`` and is not merged with others
    of its label.
    """
    region: bool = False
    """One referred region, numbered 1."""


@dataclass(frozen=True, slots=True)
class ComboStyle:
    """The stems of the text and the image that show one option together."""

    text: str
    pixel: str
