"""What a prediction says can be read back from what a judge is shown: random masks,
boxes, poses and depth maps.
"""

from __future__ import annotations

import json
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from pycocotools import mask as coco_mask
from scipy import ndimage

from folding import each
from visualjudge import encode, encodings
from visualjudge.core.records import BoolArray, Pixels
from visualjudge.vision.drawing.canvas import line_width
from visualjudge.vision.drawing.palette import color_at
from visualjudge.vision.masks.label_grid import cell_side

SLOW = settings(max_examples=40)
LABELS = st.text(min_size=1, max_size=12).filter(
    lambda s: s.strip() and not any(0xD800 <= ord(c) < 0xE000 for c in s)
)
SIDES = st.integers(1, 70)


def noise(height: int, width: int, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(
        0, 256, (height, width, 3), dtype=np.uint8
    )


@st.composite
def masks(draw: st.DrawFn, most: int = 4) -> tuple[Pixels, list[BoolArray]]:
    height, width = draw(SIDES), draw(SIDES)
    found = draw(
        st.lists(
            hnp.arrays(np.bool_, (height, width)), min_size=0, max_size=most
        )
    )
    return noise(height, width), found


def instances(found: list[BoolArray], label: str = "a") -> dict[str, Any]:
    return {
        "instances": [{"label": label, "segmentation": mask} for mask in found]
    }


@SLOW
@given(masks())
def test_rle_text_decodes_to_the_exact_masks(
    scene: tuple[Pixels, list[BoolArray]],
) -> None:
    image, found = scene
    rows = json.loads(
        encode(
            "instance_segmentation", "text_rle", instances(found), image
        ).text
        or ""
    )
    assert [row["instance_id"] for row in rows] == list(
        range(1, len(found) + 1)
    )
    for row, mask in zip(rows, found, strict=True):
        assert np.array_equal(coco_mask.decode(row["rle"]).astype(bool), mask)


@SLOW
@given(masks(most=3))
def test_overlay_without_tags_and_boxes_reads_back_pixel_by_pixel(
    scene: tuple[Pixels, list[BoolArray]],
) -> None:
    image, found = scene
    shown = encode(
        "instance_segmentation",
        "pixel_ss1_m0_o0_l0_c0_b0",
        instances(found),
        image,
    ).image
    assert shown is not None
    covered = (
        np.any(found, axis=0) if found else np.zeros(image.shape[:2], bool)
    )
    assert np.array_equal(shown[~covered], image[~covered])
    want = 0.5 * image[covered] + 0.5 * np.array(color_at(0))
    assert np.abs(shown[covered] - want).max(initial=0) <= 1


def boxed_only(image: Pixels, mask: BoolArray) -> tuple[BoolArray, Pixels]:
    """Where the box of a mask is, and the image with it."""
    boxed, bare = (
        encode(
            "instance_segmentation",
            f"pixel_ss1_m0_o0_l0_c0_b{k}",
            instances([mask]),
            image,
        )
        for k in (1, 0)
    )
    assert boxed.image is not None and bare.image is not None
    return np.any(boxed.image != bare.image, axis=2), boxed.image


def test_a_box_at_the_image_s_edge_is_drawn_along_it() -> None:
    mask = np.zeros((120, 160), bool)
    mask[:60, :80] = True
    drawn, _ = boxed_only(noise(120, 160), mask)
    assert drawn[0, :80].any() and drawn[:60, 0].any()
    mask = np.ascontiguousarray(mask[::-1, ::-1])
    drawn, _ = boxed_only(noise(120, 160), mask)
    assert drawn[-1, 80:].any() and drawn[60:, -1].any()


def test_a_box_is_dashes_just_outside_the_mask() -> None:
    image, mask = noise(120, 160), np.zeros((120, 160), bool)
    mask[30:90, 40:120] = True
    drawn, shown = boxed_only(image, mask)
    width = line_width((120, 160))
    widths = [line_width((30, longer)) for longer in (63, 64, 624, 626)]
    assert widths == [1, 2, 2, 3]
    ring = np.zeros_like(mask)
    ring[30 - width : 90 + width, 40 - width : 120 + width] = True
    ring &= ~mask
    assert not drawn[~ring].any() and 0.4 < drawn[ring].mean() < 0.8
    assert (shown[drawn] == color_at(0)).all()


@SLOW
@given(masks())
def test_matrix_holds_the_index_that_covers_most_of_each_cell(
    scene: tuple[Pixels, list[BoolArray]],
) -> None:
    image, found = scene
    told = json.loads(
        encode(
            "instance_segmentation", "text_matrix", instances(found), image
        ).text
        or ""
    )
    cell = cell_side(image.shape[:2])  # type: ignore[arg-type]
    bare = ~np.any(found, axis=0) if found else np.ones(image.shape[:2], bool)
    for r, row in enumerate(told["matrix"]):
        for c, index in enumerate(row):
            here = np.s_[r * cell : (r + 1) * cell, c * cell : (c + 1) * cell]
            assert index == int(
                np.argmax(
                    [bare[here].sum(), *(mask[here].sum() for mask in found)]
                )
            )


@SLOW
@given(masks(most=2))
def test_symbols_say_the_same_as_the_matrix(
    scene: tuple[Pixels, list[BoolArray]],
) -> None:
    image, found = scene
    segments = {
        "segments": [
            {"label": f"c{k}", "segmentation": mask}
            for k, mask in enumerate(found)
        ]
    }
    matrix = json.loads(
        encode("semantic_segmentation", "text_matrix", segments, image).text
        or ""
    )["matrix"]
    grid = json.loads(
        encode("semantic_segmentation", "text_subsample", segments, image).text
        or ""
    )["grid"]
    assert [["." if k == 0 else str(k) for k in row] for row in matrix] == [
        list(row) for row in grid
    ]


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.floats(2, 9), st.floats(0.05, 0.6))
def test_polygons_fill_back_to_the_mask_without_its_holes(
    seed: int, sigma: float, share: float
) -> None:
    field = ndimage.gaussian_filter(
        np.random.default_rng(seed).standard_normal((90, 120)), sigma
    )
    mask = field > np.quantile(field, 1 - share)
    rows = json.loads(
        encode(
            "instance_segmentation",
            "text_polygon",
            instances([mask]),
            noise(90, 120),
        ).text
        or ""
    )
    filled = ndimage.binary_fill_holes(mask)
    back = np.zeros(mask.shape, np.uint8)
    for row in rows:
        cv2.fillPoly(back, [np.array(row["polygon"], np.int32)], 1)
    assert (filled & (back > 0)).sum() / (filled | (back > 0)).sum() >= 0.95
    assert (
        len(rows)
        == cv2.connectedComponents(filled.astype(np.uint8), connectivity=8)[0]
        - 1
    )


def test_a_rectangle_has_a_polygon_of_four_vertices() -> None:
    mask = np.zeros((60, 60), bool)
    mask[10:40, 5:50] = True
    rows = json.loads(
        encode(
            "referring_segmentation",
            "text_polygon",
            {"segmentation": mask},
            noise(60, 60),
        ).text
        or ""
    )
    assert sorted(map(tuple, rows[0]["polygon"])) == [
        (5, 10),
        (5, 39),
        (49, 10),
        (49, 39),
    ]


boxes_anywhere = st.tuples(
    *[st.floats(-200, 300)] * 2, *[st.floats(0, 250)] * 2
)


@SLOW
@given(st.lists(boxes_anywhere, max_size=6), SIDES, SIDES)
def test_boxes_change_only_their_borders_and_only_to_their_colour(
    boxes: list[Any], height: int, width: int
) -> None:
    image = noise(height, width)
    detections = [
        {"label": "a", "bbox": [x, y, x + w, y + h]} for x, y, w, h in boxes
    ]
    shown = encode(
        "object_detection", "pixel_s0_m0", {"detections": detections}, image
    ).image
    assert shown is not None
    changed = (shown != image).any(axis=2)
    assert (shown[changed] == color_at(0)).all()
    near = np.zeros((height, width), bool)
    rows, cols, reach = (
        np.arange(height)[:, None],
        np.arange(width)[None],
        line_width((height, width)) + 1,
    )
    for x, y, w, h in boxes:
        x1, y1, x2, y2 = (
            max(0, x),
            max(0, y),
            min(width, x + w),
            min(height, y + h),
        )
        inside = (
            (rows >= y1 - 1) & (rows <= y2) & (cols >= x1 - 1) & (cols <= x2)
        )
        deep = (
            (rows >= y1 + reach)
            & (rows < y2 - reach)
            & (cols >= x1 + reach)
            & (cols < x2 - reach)
        )
        near |= inside & ~deep
    assert not (changed & ~near).any()


def test_lone_box_reads_back_from_its_outline() -> None:
    image = np.zeros((200, 300, 3), np.uint8)
    box = {"label": "a", "bbox": [30.4, 40.6, 150.2, 120.7]}
    shown = encode(
        "object_detection", "pixel_s0_m0", {"detections": [box]}, image
    ).image
    assert shown is not None
    ys, xs = np.nonzero(shown.any(axis=2))
    assert (xs.min(), ys.min(), xs.max() + 1, ys.max() + 1) == (
        30,
        41,
        150,
        121,
    )


def test_small_instance_stays_visible_over_large() -> None:
    large, small = np.ones((40, 40), bool), np.zeros((40, 40), bool)
    small[18:22, 18:22] = True
    both = {
        "instances": [
            {"label": "small", "segmentation": small},
            {"label": "large", "segmentation": large},
        ]
    }
    shown = encode(
        "instance_segmentation",
        "pixel_ss1_m0_o1_l1_c0_b1",
        both,
        np.zeros((40, 40, 3), np.uint8),
    )
    assert shown.image is not None
    assert (shown.image[20, 20] == shown.colors["small"]).all()


@SLOW
@given(
    st.lists(
        hnp.arrays(
            np.float64,
            (17, 3),
            elements=st.floats(-50, 150).map(lambda v: round(v, 2)),
        ),
        max_size=3,
    )
)
def test_keypoint_texts_give_the_coordinates_back_to_one_decimal(
    people: list[Any],
) -> None:
    persons = {
        "persons": [{"keypoints": person.ravel().tolist()} for person in people]
    }
    image = noise(100, 100)
    flat = json.loads(
        encode("keypoint", "text_flat_list", persons, image).text or ""
    )
    keyed = json.loads(
        encode("keypoint", "text_part_keyed_json", persons, image).text or ""
    )
    coco = json.loads(
        encode("keypoint", "text_coco_style", persons, image).text or ""
    )
    for k, person in enumerate(people):
        for j, (x, y, v) in enumerate(person.tolist()):
            absent = v <= 0 or (x == 0 and y == 0)
            want = (0.0, 0.0) if absent else (x, y)
            told = [
                (flat[k][j], flat[k][17 + j]),
                tuple(coco[k][3 * j : 3 * j + 2]),
            ]
            told.append(
                (keyed[k]["keypoints"][j]["x"], keyed[k]["keypoints"][j]["y"])
            )
            assert "-0.0" not in map(str, sum(told, ()))
            # (0, 0) means absent, so a joint at the corner, within 0.05, is written 0.1
            # beside it
            exact = 0.1501 if max(x, y) < 0.05 else 0.0501
            for got in told:
                assert got == pytest.approx(want, abs=exact)


def test_absent_keypoint_is_never_drawn_and_limbs_need_both_ends() -> None:
    points = [0.0] * 51
    points[15:18] = [20.0, 20.0, 2]  # left shoulder
    points[21:24] = [80.0, 80.0, 0]  # left elbow: coordinates, but not there
    image = np.zeros((100, 100, 3), np.uint8)
    shown = encode(
        "keypoint",
        "pixel_s1_c0_m0",
        {"persons": [{"keypoints": points}]},
        image,
    ).image
    assert shown is not None
    ys, xs = np.nonzero(shown.any(axis=2))
    assert xs.max() < 30
    assert ys.max() < 30
    assert (shown[20, 20] == (0, 255, 0)).all()


def test_keypoint_at_the_end_of_the_world_draws_the_limb_towards_it() -> None:
    points = [0.0] * 51
    points[15:18] = [50.0, 50.0, 2]
    points[21:24] = [1e13, 50.0, 2]
    image = np.zeros((100, 100, 3), np.uint8)
    shown = encode(
        "keypoint",
        "pixel_s1_c1_m0",
        {"persons": [{"keypoints": points}]},
        image,
    ).image
    assert shown is not None
    assert shown[50, 51:].any(axis=1).all()


@pytest.mark.parametrize("inverse", [False, True])
def test_depth_goes_from_near_to_far_and_invalid_is_black(
    inverse: bool,
) -> None:
    depth = np.linspace(1, 2, 2000).reshape(40, 50)
    depth[0, 0], depth[0, 1], depth[0, 2] = 0, np.nan, np.inf
    payload = {"depth": depth, "inverse": inverse}
    shown = encode("depth_estimation", "gray", payload, noise(40, 50)).image
    assert shown is not None
    assert not shown[0, :3].any()
    bright, dark = (
        (shown[-1, -1, 0], shown[0, 3, 0])
        if inverse
        else (shown[0, 3, 0], shown[-1, -1, 0])
    )
    assert (bright, dark) == (255, 1)  # 0 is a pixel without depth
    low, high = np.percentile(depth[np.isfinite(depth) & (depth != 0)], [2, 98])
    u = np.clip((depth[20, 25] - low) / (high - low), 0, 1)
    assert shown[20, 25, 0] == round(255 * (u if inverse else 1 - u))


def test_constant_depth_is_the_middle_of_the_colour_map() -> None:
    shown = encode(
        "depth_estimation", "gray", {"depth": np.full((4, 5), 3.0)}, noise(4, 5)
    ).image
    assert shown is not None
    assert set(shown.ravel().tolist()) == {128}


EMPTY = {
    "object_detection": {"detections": []},
    "instance_segmentation": {"instances": []},
    "semantic_segmentation": {"segments": []},
    "referring_segmentation": {"segmentation": np.zeros((30, 50), bool)},
    "keypoint": {"persons": []},
}


@each("task", EMPTY)
def test_empty_prediction_leaves_the_photograph_and_gives_valid_json(
    task: str,
) -> None:
    image = noise(30, 50)
    for row in encodings(task):
        shown = encode(task, row.stem, EMPTY[task], image)
        if shown.image is not None:
            assert np.array_equal(shown.image, image) or not shown.image.any()
        if shown.text is not None:
            json.loads(shown.text)


@settings(max_examples=25)
@given(LABELS, st.integers(1, 90), st.integers(1, 90))
def test_any_label_in_any_image_is_tagged_inside_it_or_not_at_all(
    label: str, height: int, width: int
) -> None:
    image = noise(height, width)
    detections = {
        "detections": [{"label": label, "bbox": [1, 1, width, height]}]
    }
    shown = encode("object_detection", "pixel_s1_m0", detections, image)
    assert shown.image is not None
    assert shown.image.shape == image.shape
    assert shown.colors == {label: color_at(0)}
    rows = json.loads(
        encode("object_detection", "text_xyxy", detections, image).text or ""
    )
    assert rows == [{"label": label, "bbox": [1, 1, width, height]}]


def test_three_hundred_instances_of_two_hundred_classes_are_encoded_every_way() -> (
    None
):
    image, found = noise(240, 320), []
    for k in range(300):
        mask = np.zeros((240, 320), bool)
        y, x = 12 * (k // 25), 12 * (k % 25)
        mask[y : y + 10, x : x + 9] = True
        found.append({"label": f"class {k % 200}", "segmentation": mask})
    for row in encodings("instance_segmentation"):
        shown = encode(row.task, row.stem, {"instances": found}, image)
        if shown.colors:
            assert len(set(shown.colors.values())) == 200


@pytest.mark.parametrize("size", [(1, 1), (1, 90), (90, 1), (2, 3)])
def test_images_a_pixel_high_or_wide_are_encoded_every_way(
    size: tuple[int, int],
) -> None:
    image, whole = noise(*size), np.ones(size, bool)
    payloads: dict[str, Any] = {
        "object_detection": {
            "detections": [{"label": "a", "bbox": [-3.0, -3.0, 99.0, 99.0]}]
        },
        "instance_segmentation": instances([whole]),
        "semantic_segmentation": {
            "segments": [{"label": "a", "segmentation": whole}]
        },
        "referring_segmentation": {"segmentation": whole},
        "keypoint": {"persons": [{"keypoints": [0.5, 0.5, 2] * 17}]},
        "depth_estimation": {"depth": np.ones(size)},
    }
    for task, payload in payloads.items():
        for row in encodings(task):
            shown = encode(task, row.stem, payload, image)
            assert shown.image is None or shown.image.shape == image.shape
