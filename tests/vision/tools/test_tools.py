"""What each tool returns, held against the pixels and records that it was made from."""

from __future__ import annotations

import re
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import visualjudge as vj
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Pixels
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.depth.colormaps import colormap
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.tools.base import (
    LONGEST,
    MEASURED_SIDE,
    Seen,
    Shown,
    Tool,
    fitted,
    region,
)
from visualjudge.vision.tools.general import GAP
from visualjudge.vision.tools.table import TOOLS, check_names, tools_of

RNG = np.random.default_rng(0)
HEIGHT, WIDTH = 60, 80
PHOTO: Pixels = RNG.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
LEFT: Pixels = RNG.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
RIGHT: Pixels = LEFT.copy()
RIGHT[10:14, 20:25] = 255 - RIGHT[10:14, 20:25]


def seen(**more: Any) -> Seen:
    images = {"original": lambda: PHOTO, "A": lambda: LEFT, "B": lambda: RIGHT}
    return Seen(images, letters="AB", **more)


def call(kind: str, name: str, looked_at: Seen, **arguments: Any) -> Shown:
    return tools_of(kind)[name].run(looked_at, **arguments)


def data(record: Any) -> Seen:
    return seen(predictions={"A": lambda: record})


def test_zoom_shows_the_pixels_of_the_box() -> None:
    shown = call("detection", "zoom", seen(), image="original", x0=0, y0=0, x1=WIDTH, y1=HEIGHT)
    enlarged = cv2.resize(PHOTO, None, fx=8, fy=8, interpolation=cv2.INTER_CUBIC)
    assert np.array_equal(shown.images[0], enlarged)
    big = np.tile(PHOTO, (10, 10, 1))
    looked = Seen({"A": lambda: big}, letters="A")
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
        x0, y0, x1, y1 = region(image, *box)
    except DataError:
        assert (
            box[2] <= box[0]
            or box[3] <= box[1]
            or box[0] >= size[1]
            or box[1] >= size[0]
            or min(box[2:]) <= 0
        )
        return
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
    looked = Seen({"A": lambda: LEFT, "B": lambda: small}, letters="AB")
    assert len(call("restoration", "compare", looked, x0=0, y0=0, x1=30, y1=30).images) == 1
    with pytest.raises(DataError, match="the same size"):
        call("restoration", "difference", looked)


def test_difference_tells_where_and_how_much() -> None:
    shown = call("detection", "difference", seen())
    apart = np.abs(LEFT.astype(int) - RIGHT).max(axis=2)
    assert f"{(apart >= 2).mean():.2%} of the pixels differ" in shown.text
    assert "within x 20 to 25, y 10 to 14" in shown.text
    assert f"by at most {apart.max()} of 255" in shown.text
    assert (shown.images[0].max(axis=2)[: 8 * 8] == 0).all()
    same = call("detection", "difference", seen(), option="A", other_option="A")
    assert same.text == "the images of A and A do not differ"
    assert same.images == ()


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 900), st.integers(1, 3000), st.integers(0, 2**32 - 1))
def test_differences_of_images_of_any_size(high: int, wide: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = np.full((high, wide, 3), 100, np.uint8)
    other = one.copy()
    for _ in range(3):
        other[rng.integers(high), rng.integers(wide), rng.integers(3)] += rng.integers(
            0, 9, dtype=np.uint8
        )
    looked = Seen({"A": lambda: one, "B": lambda: other}, letters="AB")
    shown = call("detection", "difference", looked)
    apart = np.abs(one.astype(int) - other).max(axis=2)
    rows, columns = np.nonzero(apart >= 2)
    if not rows.size:
        assert "do not differ" in shown.text
        return
    assert (
        f"x {columns.min()} to {columns.max() + 1}, y {rows.min()} to {rows.max() + 1},"
        in shown.text
    )
    assert f"{rows.size / apart.size:.2%} of" in shown.text
    assert f"at most {apart.max()} of 255" in shown.text
    assert max(shown.images[0].shape[:2]) <= LONGEST


def test_grid_labels_lines_by_their_place_in_the_image() -> None:
    shown = call("detection", "grid", seen(), image="original", n=4)
    assert "lines at x 20, 40, 60 and y 15, 30, 45" in shown.text
    assert (shown.images[0][:, 20 * 8, :2] == 255).mean() > 0.9


def test_toggle_shows_the_option_over_the_image_or_alone() -> None:
    black = np.zeros_like(LEFT)
    looked = seen(over={"A": lambda: LEFT}, alone={"A": lambda: black})
    over = call("detection", "toggle", looked, option="A", photograph=True)
    alone = call("detection", "toggle", looked, option="A", photograph=False)
    assert np.array_equal(over.images[0], fitted(LEFT)[0])
    assert not alone.images[0].any()
    assert not TOOLS["", "toggle"].applies(seen())


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


def test_a_registered_tool_is_offered() -> None:
    @vj.tool()
    def brightness(looked: Seen, image: str) -> vj.Shown:
        """Tell the mean brightness."""
        return vj.Shown(f"mean {looked.image(image).mean():.1f}")

    vj.register_tool("keypoint", brightness)
    try:
        assert "brightness" in check_names(["all"])
        assert "brightness" not in tools_of("depth")
        assert call("keypoint", "brightness", seen(), image="A").text == f"mean {LEFT.mean():.1f}"
        with pytest.raises(UsageError, match="already registered"):
            vj.register_tool("keypoint", brightness)
    finally:
        TOOLS.remove(("keypoint", "brightness"))


def test_a_tool_that_no_server_takes_is_refused() -> None:
    def nothing(_seen: Seen) -> Shown:
        return Shown("")

    for name in ("", "zoom in", "z" * 65, "zoöm"):
        with pytest.raises(UsageError, match="name must be"):
            Tool(name, "Nothing.", {"type": "object", "properties": {}}, nothing)
    with pytest.raises(UsageError, match="schema must be"):
        Tool("nothing", "Nothing.", {"type": "string"}, nothing)


def test_a_function_says_what_its_tool_takes() -> None:
    def crop(_seen: Seen, image: str, n: int = 2, wide: float | None = None) -> Shown:
        """Show a part.

        Not for the judge.
        """
        return Shown(f"{image} {n} {wide}")

    row = vj.tool(n={"minimum": 2})(crop)
    assert (row.name, row.about) == ("crop", "Show a part.")
    assert row.schema["required"] == ["image"]
    assert row.schema["properties"]["n"] == {"type": "integer", "minimum": 2}
    assert row.schema["properties"]["wide"] == {"type": "number"}
    assert row.schema["properties"]["image"]["type"] == "string"


def test_a_function_that_cannot_be_a_tool_is_refused() -> None:
    def silent(_seen: Seen, image: str) -> Shown:
        return Shown(image)

    def parts(_seen: Seen, boxes: list[int]) -> Shown:
        """Show parts."""
        return Shown(str(boxes))

    with pytest.raises(UsageError, match="tool silent: the docstring must say what it does"):
        vj.tool()(silent)
    with pytest.raises(UsageError, match="tool parts: boxes must be annotated as one of"):
        vj.tool()(parts)


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


def test_keypoints_near_a_point_and_their_distance() -> None:
    points = np.zeros((17, 3))
    points[11], points[13] = (10, 10, 2), (13, 14, 2)
    looked = data(People((Person(points),)))
    assert (
        "left_hip of person 1, 1.0 pixels away"
        in call("keypoint", "value", looked, option="A", x=10, y=11).text
    )
    arguments = {"option": "A", "item": 1, "keypoint": "left_hip", "other_keypoint": "left_knee"}
    assert (
        "5.0 pixels apart (dx 3.0, dy 4.0)" in call("keypoint", "measure", looked, **arguments).text
    )
    with pytest.raises(DataError, match="keypoint: must be one of"):
        call("keypoint", "measure", looked, **{**arguments, "keypoint": "nose"})


@pytest.mark.parametrize("stem", ["plasma", "turbo", "gray"])
def test_nearness_is_read_back_from_the_colours(stem: str) -> None:
    levels = RNG.integers(1, 255, (HEIGHT, WIDTH))
    drawn = colormap(stem)[levels]
    drawn[0, 0] = 0
    looked = Seen({"A": lambda: drawn}, letters="A", encoding=stem)
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


def test_colours_edges_and_sharpness() -> None:
    said = call("restoration", "value", seen(), image="original", x=7, y=9).text
    assert said == f"original at (7, 9): RGB {', '.join(map(str, PHOTO[9, 7].tolist()))}"
    measured = call(
        "restoration", "measure", seen(), image="original", x0=2, y0=3, x1=12, y1=23
    ).text
    assert f"R {PHOTO[3:23, 2:12, 0].mean():.1f} ± {PHOTO[3:23, 2:12, 0].std():.1f}" in measured
    (edges,) = call("restoration", "edges", seen(), image="A").images
    assert edges.shape[2] == 3
    blurred = cv2.GaussianBlur(PHOTO, (0, 0), 2)
    looked = Seen({"A": lambda: PHOTO, "B": lambda: blurred}, letters="AB")
    box = {"x0": 0, "y0": 0, "x1": 50, "y1": 50}
    strength = [
        float(
            call("restoration", "sharpness", looked, image=name, **box)
            .text.split("strength ")[1]
            .split(",")[0]
        )
        for name in "AB"
    ]
    assert strength[0] > 2 * strength[1]


def test_measured_regions_are_bounded() -> None:
    big = np.zeros((10, MEASURED_SIDE + 1, 3), np.uint8)
    with pytest.raises(DataError, match=f"at most {MEASURED_SIDE} pixels"):
        call(
            "restoration", "measure", Seen({"A": lambda: big}), image="A", x0=0, y0=0, x1=9999, y1=9
        )


@pytest.mark.parametrize("row", TOOLS.own.values(), ids=lambda row: row.name)
def test_every_tool_is_described(row: Tool) -> None:
    assert row.about.endswith(".")
    assert re.fullmatch(r"[a-z_]+", row.name)
    assert row.schema["type"] == "object"
    assert set(row.schema["required"]) <= set(row.schema["properties"])
    assert row.schema["additionalProperties"] is False


def test_names_are_checked() -> None:
    assert check_names(["zoom", "zoom", "count"]) == ("zoom", "count")
    assert set(check_names(["all"])) == {name for _, name in TOOLS.own}
    with pytest.raises(Exception, match="got 'zooom'"):
        check_names(["zooom"])
