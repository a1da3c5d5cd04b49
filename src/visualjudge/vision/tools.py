"""Tools that a judge may call before it answers. Which a judge is offered is in
``judges/toolbox.py``.

Those of :data:`GENERAL` are for predictions of all types; a type can have others, or
its own of the same name (:attr:`~visualjudge.vision.rows.PredictionType.tools`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import cv2
import numpy as np

from visualjudge.core.errors import DataError, VisualJudgeError
from visualjudge.core.records import FloatArray, Pixels
from visualjudge.vision.base import Prediction
from visualjudge.vision.raster.overlaps import box_ious

# Maximum longer side of a returned image in pixels; most providers do not reduce this
# size.
LONGEST = 768
# Maximum factor by which a region is enlarged.
LARGEST_FACTOR = 8
# White pixels between two options shown side by side.
GAP = 8
# Maximum number of items listed; the others are only counted.
MOST_LISTED = 60
BOX = ("x0", "y0", "x1", "y1")
ITEM = {
    "type": "integer",
    "minimum": 1,
    "description": "Number of an item, from 1.",
}
# JSON schemas of the arguments that tools take.
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "option": {"type": "string", "description": "Letter of an option."},
    "image": {
        "type": "string",
        "description": "original, control, or the letter of an option.",
    },
    "label": {"type": "string"},
    "item": ITEM,
    "other_item": ITEM,
    "x0": {"type": "number", "description": "Left side in pixels."},
    "y0": {"type": "number", "description": "Top side in pixels."},
    "x1": {"type": "number", "description": "Right side in pixels."},
    "y1": {"type": "number", "description": "Bottom side in pixels."},
}
# x0, y0, x1, y1 in whole pixels; x1 and y1 are one past the last.
Box = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data of a question that a judge may see: never a ground truth, a score or a
    source.

    Images and predictions are read when a tool requests them.

    Attributes
    ----------
    images
        H×W×3 uint8 RGB by name: ``original``, ``control``, and each option by its
        letter as shown.
    predictions
        Each option as data, for types whose predictions are not files.
    letters
        Letters of the options, in the order shown.
    kind
        The row of the predictions' type
        (:class:`~visualjudge.vision.rows.PredictionType`).
    """

    images: Mapping[str, Callable[[], Pixels]] = field(default_factory=dict)
    predictions: Mapping[str, Callable[[], Prediction]] = field(
        default_factory=dict
    )
    letters: str = ""
    kind: Any = None

    def image(self, name: str) -> Pixels:
        """Return one image of the question. Raises DataError if none has this name."""
        return np.asarray(_read(self.images, "image", name))

    def prediction(self, option: str) -> Any:
        """Return one option as data. Raises DataError if none has this letter."""
        return _read(self.predictions, "option", option)


def _read(
    known: Mapping[str, Callable[[], Any]], argument: str, name: str
) -> Any:
    if name not in known:
        raise DataError(
            f"{argument}: must be one of {', '.join(known) or '(none)'}, got {name!r}"
        )
    try:
        return known[name]()
    except (
        VisualJudgeError
    ):  # names files and annotations, which judges must not see
        raise DataError(f"{argument} {name} cannot be read") from None


@dataclass(frozen=True, eq=False, slots=True)
class ToolOutput:
    """The result of a tool: a text, and images (H×W×3 uint8 RGB)."""

    text: str
    images: tuple[Pixels, ...] = ()


# What a question must have for a tool to be useful.
Need = Literal["predictions", "places", "images", "option images"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a judge can call.

    Attributes
    ----------
    name
        Name by which the judge calls the tool: letters, digits, ``_`` and ``-``.
    about
        Description of the tool for the judge, sent with every request.
    run
        (:class:`Evidence`, **arguments) → :class:`ToolOutput`. Raises DataError if an
        argument is invalid; the judge receives the message.
    needs, may
        Names of the required and of the optional arguments, from :data:`ARGUMENTS` or
        ``rules``.
    on
        What a question must have for the tool.
    rules
        JSON schemas of arguments that :data:`ARGUMENTS` lacks.
    """

    name: str
    about: str
    run: Callable[..., ToolOutput]
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    on: Need = "predictions"
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def applies(self, evidence: Evidence) -> bool:
        """Return whether a question has what the tool needs."""
        if self.on == "option images":
            return len(evidence.letters) > 1 and set(evidence.letters) <= set(
                evidence.images
            )
        if self.on == "places" and (
            evidence.kind is None or evidence.kind.places is None
        ):
            return False
        return bool(
            evidence.images if self.on == "images" else evidence.predictions
        )

    def schema(self, evidence: Evidence) -> dict[str, Any]:
        """Return the JSON schema of the arguments, with the names of a question's
        images and options.
        """
        rules = {
            name: dict(rule)
            for name, rule in {**ARGUMENTS, **self.rules}.items()
        }
        rules["option"]["enum"] = list(evidence.letters)
        rules["image"]["enum"] = list(evidence.images)
        return {
            "type": "object",
            "properties": {
                name: rules[name] for name in (*self.needs, *self.may)
            },
            "required": list(self.needs),
            "additionalProperties": False,
        }


def region(
    image: Pixels, x0: float, y0: float, x1: float, y1: float
) -> tuple[Pixels, Box]:
    """Return the pixels of an H×W×3 image that a box touches, and their box.

    Raises
    ------
    DataError
        If the box has no area inside the image.
    """
    height, width = image.shape[:2]
    left = max(0, int(np.floor(x0)))
    top = max(0, int(np.floor(y0)))
    right = min(width, int(np.ceil(x1)))
    bottom = min(height, int(np.ceil(y1)))
    if right <= left or bottom <= top:
        raise DataError(
            "the box must have x0 < x1 and y0 < y1 and overlap the image of "
            f"{width}×{height} pixels, got {x0:g}, {y0:g}, {x1:g}, {y1:g}"
        )
    return np.ascontiguousarray(image[top:bottom, left:right]), (
        left,
        top,
        right,
        bottom,
    )


def fitted(pixels: Pixels, longest: int = LONGEST) -> tuple[Pixels, float]:
    """Return an image at most ``longest`` pixels long, and the factor by which it was
    enlarged.

    Small images are enlarged by a whole factor (cubic interpolation), and large ones
    are reduced (area averaging).
    """
    longer = max(pixels.shape[:2])
    factor = min(LARGEST_FACTOR, longest // longer) or longest / longer
    width, height = (
        max(1, round(side * factor)) for side in pixels.shape[1::-1]
    )
    return (
        np.asarray(
            cv2.resize(
                pixels,
                (width, height),
                interpolation=cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA,
            ),
            np.uint8,
        ),
        factor,
    )


def zoom(evidence: Evidence, image: str, **corners: float) -> ToolOutput:
    """Return a region of an image from its full resolution, enlarged."""
    part, (x0, y0, x1, y1) = region(evidence.image(image), **corners)
    enlarged, factor = fitted(part)
    text = f"{image}: x {x0} to {x1}, y {y0} to {y1}, at {factor:.3g} times its size"
    return ToolOutput(text, (enlarged,))


def compare(evidence: Evidence, **corners: float) -> ToolOutput:
    """Return the same region of all options side by side."""
    columns = []
    captions = []
    for letter in evidence.letters:
        part, _ = region(evidence.image(letter), **corners)
        image, factor = fitted(part, LONGEST // len(evidence.letters))
        columns.append(image)
        captions.append(f"{letter} at {factor:.3g} times its size")
    height = max(column.shape[0] for column in columns)
    padding = [(0, height - column.shape[0]) for column in columns]
    row = [
        np.pad(column, (below, (0, GAP), (0, 0)), constant_values=255)
        for column, below in zip(columns, padding, strict=True)
    ]
    image = np.ascontiguousarray(np.hstack(row)[:, :-GAP])
    return ToolOutput(f"from left to right: {', '.join(captions)}", (image,))


def count(
    evidence: Evidence, option: str, label: str | None = None
) -> ToolOutput:
    """Return the number of items of an option, by label."""
    prediction = evidence.prediction(option)
    if prediction.count is None:
        raise DataError("the options have no items that can be counted")
    counts = {
        name: len(items) for name, items in prediction.items_by_label().items()
    }
    if label is not None:
        return ToolOutput(f"{option}: {counts.get(label, 0)} of {label!r}")
    listed = ", ".join(
        f"{number} {name}" for name, number in sorted(counts.items())
    )
    text = f"{option}: {sum(counts.values())} items"
    return ToolOutput(f"{text}: {listed}" if listed else text)


def measure(
    evidence: Evidence,
    option: str,
    item: int | None = None,
    other_item: int | None = None,
) -> ToolOutput:
    """Return the places and sizes of an option's items, of one item, or the distance
    and overlap of two.
    """
    record = evidence.prediction(option)
    corners = evidence.kind.places(record)
    if item is None:
        lines = [
            f"{k + 1}: {_size(record, corners, k)}"
            for k in range(min(len(corners), MOST_LISTED))
        ]
        more = (
            [f"and {len(corners) - len(lines)} more"]
            if len(corners) > len(lines)
            else []
        )
        return ToolOutput(
            "\n".join([f"{option}: {len(corners)} items", *lines, *more])
        )
    first = _number(item, len(corners), "item")
    if other_item is None:
        return ToolOutput(
            f"{option} item {item}: {_size(record, corners, first)}"
        )
    second = _number(other_item, len(corners), "other_item")
    dx, dy = (
        corners[second].reshape(2, 2) - corners[first].reshape(2, 2)
    ).mean(axis=0)
    shared = box_ious(corners[[first]], corners[[second]])[0, 0]
    apart = f"centres {np.hypot(dx, dy):.1f} pixels apart (dx {dx:.1f}, dy {dy:.1f})"
    text = (
        f"{option} items {item} and {other_item}: {apart}, IoU of their boxes "
        f"{shared:.3f}"
    )
    return ToolOutput(text)


def _number(stated: int, count: int, argument: str) -> int:
    if not 1 <= stated <= count:
        known = (
            f"from 1 to {count}"
            if count
            else "left out: the option has no items"
        )
        raise DataError(f"{argument}: must be {known}, got {stated}")
    return stated - 1


def _size(record: Any, corners: FloatArray, number: int) -> str:
    x1, y1, x2, y2 = corners[number]
    masks = record.regions()
    area = f", {masks[number].area} of them inside" if masks else ""
    box = (
        f"x {x1:.1f} to {x2:.1f}, y {y1:.1f} to {y2:.1f}, "
        f"{x2 - x1:.1f}×{y2 - y1:.1f} pixels"
    )
    return f"{getattr(record.items[number], 'label', 'item')}, {box}{area}"


GENERAL = (
    Tool(
        "zoom",
        "Show a region of an image from its full resolution, enlarged.",
        zoom,
        ("image", *BOX),
        on="images",
    ),
    Tool(
        "compare",
        "Show the same region of all options side by side.",
        compare,
        BOX,
        on="option images",
    ),
    Tool(
        "count",
        "Count the items of an option, by label.",
        count,
        ("option",),
        ("label",),
    ),
    Tool(
        "measure",
        "List an option's items with their places and sizes; with item, one of them; "
        "with other_item too, the distance of the two and the overlap (IoU) of their "
        "boxes.",
        measure,
        ("option",),
        ("item", "other_item"),
        on="places",
    ),
)
