"""What each tool returns, held against the pixels and records that it was made from."""

from __future__ import annotations

import re
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from folding import each
from visualjudge.core.errors import DataError
from visualjudge.core.records import Pixels
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.predictions import TYPES
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.tools import (
    GAP,
    GENERAL,
    LONGEST,
    Evidence,
    Tool,
    ToolOutput,
    fitted,
    region,
)

RNG = np.random.default_rng(0)
HEIGHT, WIDTH = 60, 80
PHOTO: Pixels = RNG.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
LEFT: Pixels = RNG.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
RIGHT: Pixels = LEFT.copy()
RIGHT[10:14, 20:25] = 255 - RIGHT[10:14, 20:25]


def seen(**more: Any) -> Evidence:
    images = {"original": lambda: PHOTO, "A": lambda: LEFT, "B": lambda: RIGHT}
    return Evidence(images, letters="AB", **more)


def tools_of(kind: str) -> dict[str, Tool]:
    return {tool.name: tool for tool in (*GENERAL, *TYPES[kind].tools)}


def call(
    kind: str, name: str, looked_at: Evidence, **arguments: Any
) -> ToolOutput:
    return tools_of(kind)[name].run(looked_at, **arguments)


def data(record: Any) -> Evidence:
    return seen(predictions={"A": lambda: record}, kind=TYPES["detection"])


def test_zoom_shows_the_pixels_of_the_box() -> None:
    shown = call(
        "detection",
        "zoom",
        seen(),
        image="original",
        x0=0,
        y0=0,
        x1=WIDTH,
        y1=HEIGHT,
    )
    enlarged = cv2.resize(
        PHOTO, None, fx=8, fy=8, interpolation=cv2.INTER_CUBIC
    )
    assert np.array_equal(shown.images[0], enlarged)
    big = np.tile(PHOTO, (10, 10, 1))
    looked = Evidence({"A": lambda: big}, letters="A")
    shown = call(
        "detection", "zoom", looked, image="A", x0=30.2, y0=11, x1=429.5, y1=401
    )
    assert np.array_equal(shown.images[0], big[11:401, 30:430])
    assert shown.text == "A: x 30 to 430, y 11 to 401, at 1 times its size"


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4),
    st.tuples(st.integers(1, 50), st.integers(1, 50)),
)
def test_a_region_is_inside_the_image_and_covers_the_box(
    box: list[float], size: tuple[int, int]
) -> None:
    image = np.zeros((*size, 3), np.uint8)
    try:
        part, (x0, y0, x1, y1) = region(image, *box)
    except DataError:
        assert (
            box[2] <= box[0]
            or box[3] <= box[1]
            or box[0] >= size[1]
            or box[1] >= size[0]
            or min(box[2:]) <= 0
        )
        return
    assert part.shape == (y1 - y0, x1 - x0, 3)
    assert 0 <= x0 < x1 <= size[1]
    assert 0 <= y0 < y1 <= size[0]
    assert x0 <= max(0, box[0]) < x0 + 1
    assert x1 - 1 < min(size[1], box[2]) <= x1


@settings(max_examples=30)
@given(st.integers(1, 2000), st.integers(1, 2000))
def test_shown_images_have_the_proportions_and_are_not_longer_than_the_limit(
    high: int, wide: int
) -> None:
    shown, factor = fitted(np.zeros((high, wide, 3), np.uint8))
    assert max(shown.shape[:2]) <= LONGEST
    assert abs(shown.shape[0] - high * factor) <= 1
    assert abs(shown.shape[1] - wide * factor) <= 1
    assert factor < 1 or factor == int(factor)


def test_compare_shows_both_options_beside_each_other() -> None:
    shown = call("detection", "compare", seen(), x0=18, y0=8, x1=28, y1=16)
    (row,) = shown.images
    part = fitted(LEFT[8:16, 18:28])[0]
    assert np.array_equal(row[:, : part.shape[1]], part)
    assert np.array_equal(
        row[:, part.shape[1] + GAP :], fitted(RIGHT[8:16, 18:28])[0]
    )
    assert (row[:, part.shape[1] : part.shape[1] + GAP] == 255).all()


def test_compare_of_options_of_several_sizes() -> None:
    small = np.zeros((20, 20, 3), np.uint8)
    looked = Evidence({"A": lambda: LEFT, "B": lambda: small}, letters="AB")
    assert (
        len(
            call(
                "restoration", "compare", looked, x0=0, y0=0, x1=30, y1=30
            ).images
        )
        == 1
    )


BOXES = Detections((
    Detection("dog", (10, 10, 30, 20), score=0.987),
    Detection("cat", (20, 10, 40, 20), score=0.123),
    Detection("dog", (0, 0, 5, 5)),
))  # fmt: skip


def test_count_counts_by_label() -> None:
    assert (
        call("detection", "count", data(BOXES), option="A").text
        == "A: 3 items: 1 cat, 2 dog"
    )
    assert (
        call("detection", "count", data(BOXES), option="A", label="dog").text
        == "A: 2 of 'dog'"
    )
    assert (
        call("detection", "count", data(BOXES), option="A", label="cow").text
        == "A: 0 of 'cow'"
    )


def test_what_has_no_items_is_not_counted() -> None:
    with pytest.raises(DataError, match="have no items that can be counted"):
        call("detection", "count", data(DepthMap(np.ones((3, 3)))), option="A")


def test_places_of_boxes_and_their_overlap() -> None:
    looked = data(BOXES)
    both = measured("detection", BOXES, item=1, other_item=2)
    assert (
        both
        == "A items 1 and 2: centres 10.0 pixels apart (dx 10.0, dy 0.0), IoU of their "
        "boxes 0.333"
    )
    one = "dog, x 10.0 to 30.0, y 10.0 to 20.0, 20.0×10.0 pixels"
    assert measured("detection", BOXES, item=1) == f"A item 1: {one}"
    assert measured("detection", BOXES).startswith(
        f"A: 3 items\n1: {one}\n2: cat"
    )
    with pytest.raises(
        DataError, match=r"other_item: must be from 1 to 3, got 4"
    ):
        call("detection", "measure", looked, option="A", item=1, other_item=4)


def measured(kind: str, record: Any, **items: int) -> str:
    looked = seen(predictions={"A": lambda: record}, kind=TYPES[kind])
    return call(kind, "measure", looked, option="A", **items).text


def test_tools_tell_no_confidence() -> None:
    texts = (
        call("detection", "count", data(BOXES), option="A").text,
        measured("detection", BOXES),
    )
    assert not re.search(r"0?\.987|0?\.123", " ".join(texts))


def test_places_of_masks_and_their_overlap() -> None:
    one, other = (
        np.zeros((HEIGHT, WIDTH), bool),
        np.zeros((HEIGHT, WIDTH), bool),
    )
    one[10:20, 10:30] = True
    one[12, 12] = False
    other[10:20, 20:40] = True
    items = tuple(
        Instance(f"m{k}", mask_from_array(mask))
        for k, mask in enumerate((one, other))
    )
    masks = Masks((HEIGHT, WIDTH), items)
    assert "IoU of their boxes 0.333" in measured(
        "instance", masks, item=1, other_item=2
    )
    assert "20.0×10.0 pixels, 199 of them inside" in measured(
        "instance", masks, item=1
    )


def test_places_of_people() -> None:
    points = np.zeros((17, 3))
    points[11], points[13] = (10, 10, 2), (13, 14, 2)
    people = People((Person(points), Person(points + np.array([3, 4, 0]))))
    assert "item, x 10.0 to 13.0, y 10.0 to 14.0" in measured(
        "keypoint", people, item=1
    )
    told = measured("keypoint", people, item=1, other_item=2)
    assert (
        told
        == "A items 1 and 2: centres 5.0 pixels apart (dx 3.0, dy 4.0), IoU of their "
        "boxes 0.000"
    )


def test_only_what_has_places_is_measured() -> None:
    tool = tools_of("depth")["measure"]
    records = {"A": lambda: DepthMap(np.ones((3, 3)))}
    assert not tool.applies(seen(predictions=records, kind=TYPES["depth"]))
    assert not tool.applies(seen(predictions=records))


@each("kind", TYPES)
def test_every_tool_is_described_and_its_schema_names_what_is_shown(
    kind: str,
) -> None:
    evidence = seen()
    for tool in tools_of(kind).values():
        schema = tool.schema(evidence)
        assert tool.about.endswith(".") and re.fullmatch(r"[a-z_]+", tool.name)
        assert set(schema["required"]) <= set(schema["properties"])
        for name, letters in (
            ("image", ["original", "A", "B"]),
            ("option", ["A", "B"]),
        ):
            assert (
                schema["properties"].get(name, {"enum": letters})["enum"]
                == letters
            )
