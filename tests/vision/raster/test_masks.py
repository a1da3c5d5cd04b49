"""Masks in, masks out, the same pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from pycocotools import mask as coco_mask

from folding import each
from visualjudge.core.errors import DataError
from visualjudge.vision.drawing.canvas import edge_band
from visualjudge.vision.raster.masks import (
    mask_from_array,
    mask_from_rle,
    mask_from_wire,
    rle_of,
)

MASKS = hnp.arrays(
    np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=20)
)
PATIENT = settings(suppress_health_check=[HealthCheck.too_slow])
"""On a machine that others share."""


@PATIENT
@given(MASKS)
def test_array_and_rle_come_back_exactly(dense: np.ndarray) -> None:
    mask = mask_from_array(dense)
    assert np.array_equal(mask.dense(), dense)
    assert np.array_equal(mask_from_rle(rle_of(mask)).dense(), dense)
    assert mask.area == dense.sum()


@PATIENT
@given(MASKS)
def test_rle_is_that_of_pycocotools(dense: np.ndarray) -> None:
    ours = rle_of(mask_from_array(dense))
    theirs = coco_mask.encode(np.asfortranarray(dense.view(np.uint8)))
    assert ours["counts"].encode() == theirs["counts"]
    assert np.array_equal(coco_mask.decode(ours), dense)


@PATIENT
@given(MASKS)
def test_uncompressed_counts_read_too(dense: np.ndarray) -> None:
    flat = dense.ravel(order="F")
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flat, [2]])))
    counts = np.diff(np.concatenate([[0], edges])).tolist()
    assert np.array_equal(
        mask_from_rle({"size": list(dense.shape), "counts": counts}).dense(),
        dense,
    )


def test_mask_is_kept_as_the_crop_to_its_box() -> None:
    dense = np.zeros((10, 20), dtype=bool)
    dense[3:5, 7:11] = True
    mask = mask_from_array(dense)
    assert mask.crop.shape == (2, 4)
    assert mask.xyxy == (7, 3, 11, 5)


@pytest.mark.parametrize("white", [1, 255])
def test_png_mask_of_two_values_is_where_it_is_the_higher(
    tmp_path: Path, white: int
) -> None:
    values = np.zeros((4, 5), dtype=np.uint8)
    values[1:3, 2] = white
    Image.fromarray(values).save(tmp_path / "m.png")
    assert np.array_equal(
        mask_from_wire("m.png", root=tmp_path).dense(), values > 0
    )


def test_mask_of_more_values_is_cut_at_half_of_the_range(
    tmp_path: Path,
) -> None:
    values = np.zeros((4, 5), dtype=np.uint8)
    values[1, 2], values[2, 2], values[3, 3] = 1, 255, 254
    Image.fromarray(values).save(tmp_path / "m.png")
    assert np.array_equal(
        mask_from_wire("m.png", root=tmp_path).dense(), values > 127
    )


@pytest.mark.parametrize("other", [1, 100])
def test_an_object_and_an_area_to_ignore_are_no_mask(
    other: int, tmp_path: Path
) -> None:
    values = np.zeros((4, 5), dtype=np.uint8)
    values[1, :2], values[2] = other, 255
    Image.fromarray(values).save(tmp_path / "m.png")
    with pytest.raises(
        DataError, match=f"black and white, got the values 0, {other}, 255"
    ):
        mask_from_wire("m.png", root=tmp_path)


def test_an_array_of_two_values_is_the_mask_of_the_higher_as_a_file_is() -> (
    None
):
    values = np.ones((4, 5), dtype=np.uint8)
    values[1:3, 2] = 2
    assert np.array_equal(mask_from_wire(values).dense(), values == 2)
    with pytest.raises(DataError, match="two values"):
        mask_from_wire(np.where(values == 2, 1.0, np.nan))


def test_polygon_covers_what_pycocotools_covers() -> None:
    ring = [2.0, 2.0, 12.0, 2.0, 12.0, 8.0, 2.0, 8.0]
    mask = mask_from_wire([ring], size=(20, 30))
    assert np.array_equal(
        mask.dense(),
        coco_mask.decode(coco_mask.frPyObjects([ring], 20, 30))[:, :, 0],
    )


@each(
    ("segmentation", "reason"),
    [
        ({"size": [4, 4], "counts": [3, 4]}, "size, .*, got 7"),
        ({"size": [4], "counts": [16]}, "size must be"),
        ({"size": [4, 4], "counts": [-1, 17]}, "list of ints"),
        ({"size": [4, 4], "counts": 16}, "str, bytes, or a list of ints"),
        ({"size": [4, 4], "counts": "0"}, "size, .*, got 0"),
        ({"size": [4, 4], "counts": "52X"}, "cut short"),
        ({"size": [4, 4], "counts": "d0L"}, "decoded"),
        ([[1, 2, 3, 4]], "at least 3 points"),
        ([1, 2, 3, 4, 5, 6], "list of polygons"),
        ([[1, 2, 3, 4, 5, float("nan")]], "finite"),
        (7, "COCO RLE"),
        ("missing.png", "no such file"),
    ],
)
def test_malformed_mask_is_named_not_repaired(
    segmentation: Any, reason: str
) -> None:
    with pytest.raises(DataError, match=reason):
        mask_from_wire(segmentation, size=(4, 4))


def test_polygons_without_a_size_ask_for_it() -> None:
    with pytest.raises(DataError, match="size="):
        mask_from_wire([[0, 0, 4, 0, 4, 4]])


@given(st.binary(max_size=30))
def test_any_counts_string_reads_or_is_refused(counts: bytes) -> None:
    try:
        mask = mask_from_rle({"size": [5, 7], "counts": counts})
    except DataError:
        return
    assert mask.size == (5, 7)


def test_a_contour_is_as_wide_as_the_line_on_all_sides() -> None:
    inside = np.zeros((14, 17), np.uint8)
    inside[2:12, 3:15] = 1
    band = edge_band(mask_from_array(inside), 2).dense()
    deep = np.zeros_like(inside)
    deep[4:10, 5:13] = 1
    assert np.array_equal(band, (inside == 1) & (deep == 0))
