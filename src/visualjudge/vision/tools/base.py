"""Tools with their input and results."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np

from visualjudge.core.errors import DataError, UsageError, VisualJudgeError
from visualjudge.core.records import Pixels
from visualjudge.vision.base import Prediction

LONGEST = 768
"""Maximum longer side of a returned image in pixels; most providers do not reduce this size."""
MEASURED_SIDE = 640
"""Maximum longer side of a measured region in pixels; larger ones take too long."""
LARGEST_FACTOR = 8
"""Maximum factor by which a region is enlarged."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
Box = tuple[int, int, int, int]
"""x0, y0, x1, y1 in whole pixels; x1 and y1 are one past the last."""

_JSON_TYPES = {"bool": "boolean", "float": "number", "int": "integer", "str": "string"}
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "option": {"description": "Letter of an option."},
    "image": {"description": "original, control, or the letter of an option."},
    "item": {"minimum": 1, "description": "Number of an item, from 1."},
    "other_item": {"minimum": 1, "description": "Number of an item, from 1."},
    "x0": {"description": "Left side in pixels."},
    "y0": {"description": "Top side in pixels."},
    "x1": {"description": "Right side in pixels."},
    "y1": {"description": "Bottom side in pixels."},
}
"""Descriptions of arguments with these names in every tool, in addition to their types."""


@dataclass(frozen=True, eq=False)
class Seen:
    """The data of a question that a judge may see: never a ground truth, a score or a source.

    Images and predictions are read when a tool requests them.

    Attributes
    ----------
    images
        H×W×3 uint8 RGB by name: ``original``, ``control``, and each option by its letter as shown.
    over, alone
        Each option drawn over the original, and on black, for types that have such encodings.
    predictions
        Each option as data, for types whose predictions are not files.
    letters
        Letters of the options, in the order shown.
    encoding
        Stem of the encoding that the question shows.
    """

    images: Mapping[str, Callable[[], Pixels]] = field(default_factory=dict)
    over: Mapping[str, Callable[[], Pixels]] = field(default_factory=dict)
    alone: Mapping[str, Callable[[], Pixels]] = field(default_factory=dict)
    predictions: Mapping[str, Callable[[], Prediction]] = field(default_factory=dict)
    letters: str = ""
    encoding: str = ""

    def image(self, name: str) -> Pixels:
        """Return one image of the question. Raises DataError if none has this name."""
        found: Pixels = _named(self.images, "image", name)
        return found

    def prediction(self, option: str) -> Any:
        """Return one option as data. Raises DataError if none has this letter."""
        return _named(self.predictions, "option", option)

    def layer(self, option: str, *, photograph: bool) -> Pixels:
        """Return one option drawn over the original or on black. Raises DataError if absent."""
        found: Pixels = _named(self.over if photograph else self.alone, "option", option)
        return found


def _named(known: Mapping[str, Callable[[], Any]], field_name: str, name: str) -> Any:
    if name not in known:
        raise DataError(
            f"{field_name}: must be one of {', '.join(known) or '(none)'}, got {name!r}"
        )
    try:
        return known[name]()
    except VisualJudgeError:  # names files and annotations, which judges must not see
        raise DataError(f"{field_name} {name} cannot be read") from None


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """The result of a tool: a text, and images (H×W×3 uint8 RGB)."""

    text: str
    images: tuple[Pixels, ...] = ()


def always(_seen: Seen) -> bool:
    """Return True: the tool applies to every question."""
    return True


def has_data(seen: Seen) -> bool:
    """Return whether the options of a question are available as data."""
    return bool(seen.predictions)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a judge can call.

    Attributes
    ----------
    name
        Name by which the judge calls the tool: letters, digits, ``_`` and ``-``.
    about
        Description of the tool for the judge, sent with every request.
    schema
        JSON schema of the arguments, an object. Properties named ``option``, ``other_option`` and
        ``image`` get the letters and names of the question as their enumeration.
    run
        (data that the judge may see, **arguments) → :class:`Shown`. Raises DataError if an argument
        is invalid; the judge receives the message.
    applies
        Whether the tool is useful for a question.
    """

    name: str
    about: str
    schema: Mapping[str, Any]
    run: Callable[..., Shown]
    applies: Callable[[Seen], bool] = always

    def __post_init__(self) -> None:
        """Check the requirements of servers.

        Raises
        ------
        UsageError
            If the name or the schema cannot be sent.
        """
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"tool: name must be 1 to 64 letters, digits, _ or -, got {self.name[:80]!r}"
            )
        if self.schema.get("type") != "object" or not isinstance(
            self.schema.get("properties"), Mapping
        ):
            raise UsageError(f"tool {self.name}: schema must be that of an object with properties")


def tool(
    *, applies: Callable[[Seen], bool] = always, **rules: Mapping[str, Any]
) -> Callable[[Callable[..., Shown]], Tool]:
    """Return a decorator that turns a function into a tool.

    The tool has the function's name. The first paragraph of its docstring describes the tool to the
    judge. The function's parameters after the first are the arguments: ``str``, ``int``, ``float``
    or ``bool``, optional if they have a default.

    Parameters
    ----------
    applies
        Whether the tool is useful for a question.
    rules
        JSON schema of an argument in addition to its type, such as ``n={"minimum": 2}``.

    Raises
    ------
    UsageError
        If the function has no docstring, or an argument has another type.

    Examples
    --------
    >>> import visualjudge as vj
    >>> @vj.tool()
    ... def size(seen, image: str):
    ...     '''Tell how large an image is.'''
    ...     height, width = seen.image(image).shape[:2]
    ...     return vj.Shown(f"{width}×{height} pixels")
    >>> size.name, size.about
    ('size', 'Tell how large an image is.')
    """

    def made(function: Callable[..., Shown]) -> Tool:
        name = function.__name__
        about = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
        if not about:
            raise UsageError(f"tool {name}: the docstring must say what it does, got none")
        arguments = list(inspect.signature(function).parameters.values())[1:]
        properties = {
            one.name: {
                **_typed(name, one),
                **ARGUMENTS.get(one.name, {}),
                **rules.get(one.name, {}),
            }
            for one in arguments
        }
        required = [one.name for one in arguments if one.default is one.empty]
        schema = {"type": "object", "properties": properties, "required": required}
        return Tool(name, about, {**schema, "additionalProperties": False}, function, applies)

    return made


def _typed(tool_name: str, argument: inspect.Parameter) -> dict[str, str]:
    """Return the JSON type of an argument, whose annotation may be a string."""
    hint = argument.annotation
    hint = (hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))).split(" | ")[0]
    if hint not in _JSON_TYPES:
        raise UsageError(
            f"tool {tool_name}: {argument.name} must be annotated as one of "
            f"{', '.join(_JSON_TYPES)}, got {hint}"
        )
    return {"type": _JSON_TYPES[hint]}


def region(image: Pixels, x0: float, y0: float, x1: float, y1: float) -> Box:
    """Return the pixels of an H×W×3 image that a box touches.

    Raises
    ------
    DataError
        If the box has no area inside the image.
    """
    height, width = image.shape[:2]
    left, top = max(0, int(np.floor(x0))), max(0, int(np.floor(y0)))
    right, bottom = min(width, int(np.ceil(x1))), min(height, int(np.ceil(y1)))
    if right <= left or bottom <= top:
        raise DataError(
            "the box must have x0 < x1 and y0 < y1 and overlap the image of "
            f"{width}×{height} pixels, got {x0:g}, {y0:g}, {x1:g}, {y1:g}"
        )
    return left, top, right, bottom


def pixel(image: Pixels, x: float, y: float) -> tuple[int, int]:
    """Return the column and row of the pixel at (x, y).

    Raises
    ------
    DataError
        If it lies outside the image.
    """
    height, width = image.shape[:2]
    if not (0 <= x < width and 0 <= y < height):
        raise DataError(
            f"x, y: must be inside the image of {width}×{height} pixels, got {x:g}, {y:g}"
        )
    return int(x), int(y)


def cut(image: Pixels, box: Box) -> Pixels:
    """Return the pixels of a box as a view."""
    left, top, right, bottom = box
    return image[top:bottom, left:right]


def measured(image: Pixels, x0: float, y0: float, x1: float, y1: float) -> tuple[Pixels, Box]:
    """Return the pixels of a box small enough to be measured, C-contiguous, and the box.

    Raises
    ------
    DataError
        If the box has no area inside the image, or is larger than :data:`MEASURED_SIDE`.
    """
    box = region(image, x0, y0, x1, y1)
    part = np.ascontiguousarray(cut(image, box))
    height, width = part.shape[:2]
    if max(height, width) > MEASURED_SIDE:
        raise DataError(
            f"the box must be at most {MEASURED_SIDE} pixels wide and high, got {width}×{height}"
        )
    return part, box


def halved(pixels: Pixels, longer: int, longest: int = LONGEST) -> Pixels:
    """Halve an image, or part of an image of length ``longer``, while that is more than twice
    ``longest``.

    Areas of two by two pixels are averaged, which OpenCV does ten times faster than other factors.
    """
    while longer > 2 * longest:
        size = max(1, pixels.shape[1] // 2), max(1, pixels.shape[0] // 2)
        pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
        longer //= 2
    return pixels


def fitted(
    pixels: Pixels, longest: int = LONGEST, *, of: int | None = None
) -> tuple[Pixels, float]:
    """Return an image at most ``longest`` pixels long, and the factor by which it was enlarged.

    Small images are enlarged by a whole factor (cubic interpolation), and large ones are reduced
    (area averaging). ``of`` is the longer side of the image to which the factor refers, if
    ``pixels`` were already halved.
    """
    longer = max(pixels.shape[:2])
    whole = of or longer
    if whole <= longest:
        factor = min(LARGEST_FACTOR, longest // whole)
        size = pixels.shape[1] * factor, pixels.shape[0] * factor
        if factor == 1:
            return np.ascontiguousarray(pixels), 1.0
        resized = cv2.resize(np.ascontiguousarray(pixels), size, interpolation=cv2.INTER_CUBIC)
        return np.asarray(resized, dtype=np.uint8), float(factor)
    height, width = pixels.shape[:2]
    size = max(1, round(width * longest / longer)), max(1, round(height * longest / longer))
    resized = cv2.resize(halved(pixels, longer, longest), size, interpolation=cv2.INTER_AREA)
    return np.asarray(resized, dtype=np.uint8), longest / whole


def told_box(box: Box) -> str:
    """Describe a box in words."""
    return f"x {box[0]} to {box[2]}, y {box[1]} to {box[3]}"


def told_factor(factor: float) -> str:
    """Describe in words how much an image was enlarged or reduced."""
    if factor == 1:
        return "at its own size"
    return f"enlarged {factor:g}×" if factor > 1 else f"reduced to {factor:.0%}"
