"""What each tool returns, held against the pixels and records that it was made from."""

from __future__ import annotations

import re
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from visualjudge.core.errors import DataError
from visualjudge.core.records import Pixels
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.depth.colormaps import colormap
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


def call(kind: str, name: str, looked_at: Evidence, **arguments: Any) -> ToolOutput:
    return tools_of(kind)[name].run(looked_at, **arguments)


def data(record: Any) -> Evidence:
    return seen(predictions={"A": lambda: record})


def test_zoom_shows_the_pixels_of_the_box() -> None:
    shown = call("detection", "zoom", seen(), image="original", x0=0, y0=0, x1=WIDTH, y1=HEIGHT)
    enlarged = cv2.resize(PHOTO, None, fx=8, fy=8, interpolation=cv2.INTER_CUBIC)
    assert np.array_equal(shown.images[0], enlarged)
    big = np.tile(PHOTO, (10, 10, 1))
    looked = Evidence({"A": lambda: big}, letters="A")
    shown = call("detection", "zoom", looked, image="A", x0=30.2, y0=11, x1=429.5, y1=401)
    assert np.array_equal(shown.images[0], big[11:401, 30:430])
    assert shown.text == "A: x 30 to 430, y 11 to 401, at its own size"


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


@settings(max_examples=30, deadline=None)
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
    assert np.array_equal(row[:, part.shape[1] + GAP :], fitted(RIGHT[8:16, 18:28])[0])
    assert (row[:, part.shape[1] : part.shape[1] + GAP] == 255).all()


def test_compare_of_options_of_several_sizes() -> None:
    small = np.zeros((20, 20, 3), np.uint8)
    looked = Evidence({"A": lambda: LEFT, "B": lambda: small}, letters="AB")
    assert len(call("restoration", "compare", looked, x0=0, y0=0, x1=30, y1=30).images) == 1


BOXES = Detections((
    Detection("dog", (10, 10, 30, 20), score=0.987),
    Detection("cat", (20, 10, 40, 20), score=0.123),
    Detection("dog", (0, 0, 5, 5)),
))  # fmt: skip


def test_count_counts_by_label() -> None:
    assert call("detection", "count", data(BOXES), option="A").text == "A: 3 items: 1 cat, 2 dog"
    assert call("detection", "count", data(BOXES), option="A", label="dog").text == "A: 2 of 'dog'"
    assert call("detection", "count", data(BOXES), option="A", label="cow").text == "A: 0 of 'cow'"


def test_what_has_no_items_is_not_counted() -> None:
    with pytest.raises(DataError, match="have no items that can be counted"):
        call("detection", "count", data(DepthMap(np.ones((3, 3)))), option="A")


def test_boxes_at_a_point_and_their_overlap() -> None:
    looked = data(BOXES)
    assert (
        call("detection", "value", looked, option="A", x=25, y=15).text
        == "A at (25, 15): 1 dog, 2 cat"
    )
    assert call("detection", "value", looked, option="A", x=30, y=15).text == "A at (30, 15): 2 cat"
    assert (
        call("detection", "value", looked, option="A", x=70, y=15).text == "A at (70, 15): no box"
    )
    both = call("detection", "measure", looked, option="A", item=1, other_item=2).text
    assert "IoU 0.333" in both
    assert "10.0 pixels apart (dx 10.0, dy 0.0)" in both
    assert "20.0×10.0 pixels" in call("detection", "measure", looked, option="A", item=1).text
    with pytest.raises(DataError, match=r"other_item: must be from 1 to 3, got 4"):
        call("detection", "measure", looked, option="A", item=1, other_item=4)


def test_tools_tell_no_confidence() -> None:
    texts = [call("detection", name, data(BOXES), option="A").text for name in ("count", "measure")]
    assert not re.search(r"0?\.987|0?\.123", " ".join(texts))


def test_masks_at_a_pixel_and_their_overlap() -> None:
    one, other = np.zeros((HEIGHT, WIDTH), bool), np.zeros((HEIGHT, WIDTH), bool)
    one[10:20, 10:30] = True
    one[12, 12] = False
    other[10:20, 20:40] = True
    items = tuple(Instance(f"m{k}", mask_from_array(mask)) for k, mask in enumerate((one, other)))
    looked = data(Masks((HEIGHT, WIDTH), items))
    for x, y in ((12, 12), (25, 15), (19, 10), (20, 10), (70, 50), (10.9, 10.9)):
        said = call("instance", "value", looked, option="A", x=x, y=y).text
        for k, mask in enumerate((one, other)):
            assert (f"m{k}" in said) == mask[int(y), int(x)]
    iou = (one & other).sum() / (one | other).sum()
    assert (
        f"IoU {iou:.3f}"
        in call("instance", "measure", looked, option="A", item=1, other_item=2).text
    )
    assert f"{one.sum()} pixels" in call("instance", "measure", looked, option="A", item=1).text
    with pytest.raises(DataError, match="inside the image"):
        call("instance", "value", looked, option="A", x=WIDTH, y=0)


def test_keypoints_near_a_point_and_their_places() -> None:
    points = np.zeros((17, 3))
    points[11], points[13] = (10, 10, 2), (13, 14, 2)
    looked = data(People((Person(points),)))
    assert (
        "left_hip of person 1, 1.0 pixels away"
        in call("keypoint", "value", looked, option="A", x=10, y=11).text
    )
    said = call("keypoint", "measure", looked, option="A", item=1).text
    assert said == "A person 1: left_hip (10.0, 10.0), left_knee (13.0, 14.0)"


@pytest.mark.parametrize("stem", ["plasma", "turbo", "gray"])
def test_nearness_is_read_back_from_the_colours(stem: str) -> None:
    levels = RNG.integers(1, 255, (HEIGHT, WIDTH))
    drawn = colormap(stem)[levels]
    drawn[0, 0] = 0
    looked = Evidence({"A": lambda: drawn}, letters="A", encoding=stem)
    known = {entry: k for k, entry in enumerate(map(tuple, colormap(stem).tolist()))}
    for x, y in ((3, 4), (50, 20), (79, 59)):
        near = known[tuple(drawn[y, x].tolist())] / 255
        found = float(
            call("depth", "value", looked, option="A", x=x, y=y)
            .text.split("nearness ")[1]
            .split()[0]
        )
        assert abs(found - near) <= 2 / 255
    assert "no depth" in call("depth", "value", looked, option="A", x=0, y=0).text or stem == "gray"
    said = call("depth", "measure", looked, option="A", x0=5, y0=5, x1=70, y1=50).text
    part = levels[5:50, 5:70] / 255
    low, high = map(float, re.findall(r"nearness ([\d.]+) to ([\d.]+)", said)[0])
    assert (abs(low - part.min()) < 0.01, abs(high - part.max()) < 0.01) == (True, True)


def test_colours_of_a_pixel_and_a_region() -> None:
    said = call("restoration", "value", seen(), image="original", x=7, y=9).text
    assert said == f"original at (7, 9): RGB {', '.join(map(str, PHOTO[9, 7].tolist()))}"
    measured = call(
        "restoration", "measure", seen(), image="original", x0=2, y0=3, x1=12, y1=23
    ).text
    assert f"R {PHOTO[3:23, 2:12, 0].mean():.1f} ± {PHOTO[3:23, 2:12, 0].std():.1f}" in measured


@pytest.mark.parametrize("kind", TYPES)
def test_every_tool_is_described_and_its_schema_names_what_is_shown(kind: str) -> None:
    evidence = seen()
    for tool in tools_of(kind).values():
        schema = tool.schema(evidence)
        assert tool.about.endswith(".") and re.fullmatch(r"[a-z_]+", tool.name)
        assert set(schema["required"]) <= set(schema["properties"])
        for name, letters in (("image", ["original", "A", "B"]), ("option", ["A", "B"])):
            assert schema["properties"].get(name, {"enum": letters})["enum"] == letters
