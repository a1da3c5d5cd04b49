"""The palette: distinct for all eyes, stable under the classes given, endless."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from skimage.color import deltaE_ciede2000, rgb2lab

from visualjudge.vision.drawing.palette import (
    PALETTE,
    color_at,
    hex_of,
    ink_on,
    label_colors,
    legend_of,
    name_at,
    random_color_at,
)
from visualjudge.vision.encode import encode

# Machado, Oliveira & Fernandes 2009, severity 1, on linear RGB.
SIMULATED = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}


def least_difference(vision: str, count: int) -> float:
    srgb = np.array([color for _, color in PALETTE[:count]]) / 255
    linear = np.where(
        srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4
    )
    seen = np.clip(linear @ np.asarray(SIMULATED[vision]).T, 0, 1)
    back = np.where(
        seen <= 0.0031308, seen * 12.92, 1.055 * seen ** (1 / 2.4) - 0.055
    )
    lab = rgb2lab(back[None])[0]
    return min(
        float(deltaE_ciede2000(a, b)) for a, b in itertools.combinations(lab, 2)
    )


@pytest.mark.parametrize(
    ("vision", "of_8", "of_32"),
    [
        ("normal", 24, 12.5),
        ("protanopia", 9.5, 6),
        ("deuteranopia", 16, 6),
        ("tritanopia", 15, 6),
    ],
)
def test_palette_colours_differ_for_all_eyes(
    vision: str, of_8: float, of_32: float
) -> None:
    assert least_difference(vision, 8) >= of_8
    assert least_difference(vision, 32) >= of_32


def test_palette_has_32_saturated_colours_with_names_of_their_own() -> None:
    assert (
        len({name for name, _ in PALETTE})
        == len({color for _, color in PALETTE})
        == 32
    )
    assert min(max(color) - min(color) for _, color in PALETTE) >= 40


def test_colours_past_the_end_are_distinct_saturated_and_named() -> None:
    colors = [color_at(k) for k in range(400)]
    assert len(set(colors)) == 400
    assert min(max(c) - min(c) for c in colors) >= 40
    assert len({name_at(k) for k in range(400)}) == 400


def test_random_colours_are_distinct_and_no_palette_colours() -> None:
    colors = [random_color_at(k) for k in range(200)]
    assert len(set(colors)) == 200
    assert not set(colors) & {color for _, color in PALETTE}


def test_a_label_keeps_its_colour_whatever_else_is_predicted() -> None:
    classes = ["cat", "dog", "bird"]
    alone, beside = (
        label_colors(classes, labels)[0]["bird"]
        for labels in (["bird"], ["dog", "bird", "cat"])
    )
    assert alone == beside == color_at(2)


def test_labels_outside_the_classes_come_after_them_sorted() -> None:
    assert label_colors(["cat"], ["zebra", "cat", "ape"])[0] == {
        "zebra": color_at(2),
        "cat": color_at(0),
        "ape": color_at(1),
    }


def test_without_classes_the_sorted_labels_give_the_order() -> None:
    assert label_colors(None, ["b", "a"])[0] == {
        "b": color_at(1),
        "a": color_at(0),
    }


def test_legend_names_each_colour_and_its_hex_code() -> None:
    labels = ["dog", "cat"]
    _, legend = label_colors(None, labels)
    assert legend == "Legend: dog = bright aqua (#0BF9EA), cat = red (#FF0000)"
    assert legend_of({}, {}) is None


def test_hex_and_ink() -> None:
    assert hex_of((230, 25, 75)) == "#E6194B"
    assert ink_on((255, 255, 0)) == (0, 0, 0)
    assert ink_on((0, 0, 205)) == (255, 255, 255)


def test_the_combo_of_instances_colours_each_instance_without_a_legend() -> (
    None
):
    halves = [np.zeros((40, 60), dtype=bool) for _ in range(2)]
    halves[0][5:35, 5:25] = halves[1][5:35, 35:55] = True
    items = [{"label": "person", "segmentation": half} for half in halves]
    prediction = {"instances": items}
    shown = encode(
        "instance_segmentation",
        "1742",
        prediction,
        np.zeros((40, 60, 3), np.uint8),
    )
    assert shown.legend is None and not shown.colors
    assert (
        shown.image is not None
        and (shown.image[20, 15] != shown.image[20, 45]).any()
    )
