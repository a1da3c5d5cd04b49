"""Masks with labels: the instances, the segments or the referred region of an image.
Decoding one mask is in ``raster/masks.py``.

instance ``{"instances": [{"label", "segmentation"}]}`` · semantic ``{"segments":
[{"label", "segmentation"}]}`` or ``{"label_map": "x.png", "classes": {"1": "road"}}`` ·
referring ``{"segmentation"}``. A segmentation is a COCO RLE, a list of COCO polygons,
or the path of a PNG.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError, in_field
from visualjudge.core.records import BoolArray, FloatArray, Mask, Size
from visualjudge.vision import fields
from visualjudge.vision.base import (
    Mark,
    Payload,
    ReadContext,
    WriteContext,
    mark_of,
)
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.raster.images import read_samples, single_channel
from visualjudge.vision.raster.in_memory import rows, shaped
from visualjudge.vision.raster.masks import (
    Budget,
    covered,
    distinct_values,
    mask_from_array,
    mask_from_wire,
    resized_mask,
    rle_of,
)

# Label-map values that mean no class, and the names that they may have.
UNLABELLED = (0, 255)
_NO_CLASS = {"background", "ignore", "unlabeled", "unlabelled", "void"}


@dataclass(frozen=True, eq=False, slots=True)
class Instance:
    """The mask of an object or, in other segmentations, of a segment or region."""

    label: str
    mask: Mask
    score: float | None = None
    iscrowd: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Masks(LabelledItems):
    """The masks of an image of (height, width) ``size``."""

    size: Size
    items: tuple[Instance, ...]

    @property
    def extent(self) -> Size | None:
        return self.size if self.items else None

    def regions(self) -> tuple[Mask, ...]:
        return tuple(item.mask for item in self.items)

    def by_label(self) -> dict[str, Mask]:
        """Return the union of the masks of each label, in order of first occurrence."""
        return {
            label: items[0].mask
            if len(items) == 1
            else mask_from_array(
                covered([item.mask for item in items], self.size)
            )
            for label, items in self.items_by_label().items()
        }

    def marks(self) -> Iterator[Mark]:
        return (
            mark_of(item.label, item.score, item.mask.box)
            for item in self.items
        )

    def coverage(self, size: Size) -> BoolArray:
        return covered(self.regions(), size)

    def scaled(self, size: Size, target: Size) -> Masks:
        return Masks(
            target,
            tuple(
                replace(item, mask=resized_mask(item.mask, target))
                for item in self.items
            ),
        )

    def check(self, size: Size) -> None:
        if self.items:
            fields.check_size("prediction", self.size, size)


def masks_from_label_map(
    values: Any, classes: Mapping[int, str], *, unlabelled: Collection[int]
) -> Masks:
    """Return one segment per class name in an H×W array of class numbers, sorted by
    number.

    Raises
    ------
    DataError
        If a number is neither in ``classes`` nor in ``unlabelled``.
    """
    numbers: dict[str, list[int]] = {}
    for number in distinct_values(values):
        if number in unlabelled:
            continue
        if number not in classes:
            raise DataError(f"label_map: class {number} is not in classes")
        numbers.setdefault(classes[number], []).append(number)
    budget = Budget()
    return Masks(
        values.shape,
        tuple(
            Instance(
                name,
                # np.isin takes eight bytes a pixel
                budget.admit(
                    mask_from_array(
                        reduce(
                            np.logical_or, (values == number for number in own)
                        )
                    )
                ),
            )
            for name, own in numbers.items()
        ),
    )


# ---------------------------------------------------------------- reading


def instances_from_arrays(data: Any) -> Any:
    """Return the payload of ``{"masks": (N, H, W), "labels", "scores"?,
    "classes"?}``."""
    if not isinstance(data, Mapping) or "masks" not in data:
        return data
    masks = shaped(data["masks"], "masks", ("N", "H", "W"), "bool", "biu")
    return {"instances": rows(data, len(masks), segmentation=list(masks))}


def label_map_from_arrays(data: Any) -> Any:
    """Return the payload of an H×W array of class numbers, bare or as ``label_map``."""
    payload = data if isinstance(data, Mapping) else {"label_map": data}
    values = payload.get("label_map")
    return (
        data
        if values is None or isinstance(values, str | Path)
        else {
            **payload,
            "label_map": shaped(values, "label_map", ("H", "W"), "int", "biu"),
        }
    )


def region_from_arrays(data: Any) -> Any:
    """Return the payload of an H×W mask."""
    return (
        data
        if isinstance(data, Mapping)
        else {
            "segmentation": shaped(
                data, "segmentation", ("H", "W"), "bool", "biu"
            )
        }
    )


def read_instances(payload: Payload, reading: ReadContext) -> Masks:
    """Read an instance payload."""
    return _read_items(
        fields.objects(payload, "instances"), "instances", reading
    )


def read_segments(payload: Payload, reading: ReadContext) -> Masks:
    """Read a semantic payload."""
    if "label_map" in payload:
        values = payload["label_map"]
        if not isinstance(values, np.ndarray):
            with in_field("label_map"):
                values = single_channel(
                    read_samples(fields.path(values, reading.root))[0],
                    "colours are no class numbers",
                )
        return masks_from_label_map(
            values, _classes(payload.get("classes")), unlabelled=UNLABELLED
        )
    return _read_items(fields.objects(payload, "segments"), "segments", reading)


def read_region(payload: Payload, reading: ReadContext) -> Masks:
    """Read a referring payload."""
    if "segmentation" not in payload:
        raise DataError("segmentation: the field is missing")
    region = {
        "label": reading.expression or "region",
        "segmentation": payload["segmentation"],
    }
    return _read_items([region], "", reading)


def _read_items(
    items: Sequence[Payload], name: str, reading: ReadContext
) -> Masks:
    read = []
    budget = Budget()
    size = reading.size
    for k, item in enumerate(items):
        where = f"{name}[{k}]" if name else ""
        field = f"{where}.segmentation" if where else "segmentation"
        with in_field(field):
            mask = budget.admit(
                mask_from_wire(item.get("segmentation"), size, reading.root)
            )
        if size is not None and mask.size != size:
            sizes = fields.height_width(mask.size), fields.height_width(size)
            raise DataError(
                f"{field}: mask must match the image size {sizes[1]} (height×width), "
                f"got {sizes[0]}"
            )
        size = mask.size
        read.append(
            Instance(
                fields.label(item, where),
                mask,
                fields.score(item, where),
                fields.crowd(item),
            )
        )
    return Masks(size or (0, 0), tuple(read))


def _classes(classes: Any) -> dict[int, str]:
    if not isinstance(classes, Mapping):
        raise DataError(
            'classes: must be an object of number to name, such as {"1": "road"}'
        )
    try:
        names = {
            int(key): fields.label({"label": classes[key]}, "classes")
            for key in classes
        }
    except ValueError:
        raise DataError(
            'classes: contains a key that is not a number; write {"1": "road"}'
        ) from None
    for number in UNLABELLED:
        if names.get(number, "void").lower() not in _NO_CLASS:
            raise DataError(
                f"classes: {number} means unlabelled, got {names[number]!r}; renumber "
                "the class"
            )
    return names


# ---------------------------------------------------------------- writing, files, size


def write_items(
    name: str, prediction: Masks, _writing: WriteContext
) -> dict[str, Any]:
    """Return the payload of a record, with its items in the field ``name``."""
    return {name: [_item(item) for item in prediction.items]}


def _item(item: Instance) -> dict[str, Any]:
    score = {} if item.score is None else {"score": item.score}
    return {"label": item.label, "segmentation": rle_of(item.mask), **score}


def write_region(prediction: Masks, _writing: WriteContext) -> dict[str, Any]:
    """Return the payload of a referred region."""
    (region,) = prediction.items
    return {"segmentation": rle_of(region.mask)}


def item_files(name: str, payload: Payload) -> Iterator[tuple[str, str]]:
    """Yield (field, path) of each PNG among the items."""
    items = payload.get(name)
    for k, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, Mapping) and isinstance(
            item.get("segmentation"), str
        ):
            yield f"{name}[{k}].segmentation", item["segmentation"]


def segment_files(payload: Payload) -> Iterator[tuple[str, str]]:
    """Yield (field, path) of the label map or of each PNG among the segments."""
    yield from fields.named_file("label_map")(payload)
    yield from item_files("segments", payload)


def told_size(name: str, payload: Payload) -> Size | None:
    """Return the size of the first RLE, array or PNG among the items; polygons do not
    state it."""
    items = payload.get(name) if name else [payload]
    for item in items if isinstance(items, list | tuple) else []:
        form = item.get("segmentation") if isinstance(item, Mapping) else None
        if form is not None and not isinstance(form, list | tuple):
            return mask_from_wire(form).size
    return None


def corners(prediction: Masks) -> FloatArray:
    """Return the corners of the masks' bounding boxes, n×4."""
    return np.array(
        [item.mask.xyxy for item in prediction.items], dtype=np.float64
    ).reshape(-1, 4)
