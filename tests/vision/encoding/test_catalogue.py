"""The table of encodings, and what every row keeps to."""

from __future__ import annotations

import json
from typing import Any

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from folding import each
from visualjudge import encode, encodings
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError
from visualjudge.vision.drawing.context import context_image
from visualjudge.vision.drawing.encoded import Encoded
from visualjudge.vision.drawing.tags import (
    Anchor,
    draw_tags,
    text_bitmap,
    words,
)
from visualjudge.vision.encode import encode_each
from visualjudge.vision.encodings import encoding_named
from visualjudge.vision.masks.label_grid import grid_of
from visualjudge.vision.rows import Encoding
from visualjudge.vision.tasks import TASKS


def test_there_are_53_final_encodings_and_two_extended_ones() -> None:
    shared = {
        (TASKS[row.task].type, row.stem) for row in encodings() if row.is_final
    }
    assert len(shared) == 53
    assert [row.stem for row in encodings() if not row.is_final] == [
        "pixel_ss1_m0_o0_l0_c0_b0",
        "text_subsample",
    ]
    assert all(row.is_final == row.is_base_ablation for row in encodings())


def test_unknown_names_are_a_usage_error_that_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="plasma, turbo, gray"):
        encoding_named("depth_estimation", "viridis")
    with pytest.raises(UsageError, match="unknown task"):
        encodings("depth")


@each(
    "image",
    [
        "photo.png",
        np.zeros((2, 4, 5), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.full((4, 4, 3), 200.0),
        np.zeros((4, 4, 3), np.int64),
    ],
)
def test_an_image_that_is_none_is_refused(image: Any) -> None:
    with pytest.raises(DataError, match="image"):
        encode("object_detection", "text_xyxy", {"detections": []}, image)


def test_encoding_leaves_its_input_alone_and_gives_the_same_twice() -> None:
    image = np.random.default_rng(0).integers(
        0, 256, (50, 60, 3), dtype=np.uint8
    )[:, ::-1]
    before, payload = (
        image.copy(),
        {"detections": [{"label": "a", "bbox": [5, 5, 40, 40]}]},
    )
    first = encode("object_detection", "0305", payload, image)
    second = encode("object_detection", "0305", payload, image)
    assert np.array_equal(image, before)
    assert np.array_equal(first.image, second.image)
    assert first.text == second.text == '[\n{"label":"a","bbox":[5,5,40,40]}\n]'


@pytest.mark.parametrize(
    "task",
    ["instance_segmentation", "referring_segmentation", "depth_estimation"],
)
def test_encodings_made_together_are_those_made_alone(task: str) -> None:
    rng = np.random.default_rng(0)
    image, blob = (
        rng.integers(0, 256, (60, 70, 3), dtype=np.uint8),
        np.zeros((60, 70), bool),
    )
    blob[10:40, 20:50] = True
    payload = {
        "instance_segmentation": {
            "instances": [
                {"label": k, "segmentation": m}
                for k, m in (("a", blob), ("b", ~blob))
            ]
        },
        "referring_segmentation": {"segmentation": blob},
        "depth_estimation": {
            "depth": np.where(blob, 0, rng.uniform(1, 9, blob.shape))
        },
    }[task]
    together = dict(
        encode_each(
            task,
            [row.stem for row in encodings(task)],
            payload,
            image,
            expression="it",
        )
    )
    for stem, found in together.items():
        alone = encode(task, stem, payload, image, expression="it")
        assert (found.text, found.legend, found.colors) == (
            alone.text,
            alone.legend,
            alone.colors,
        )
        assert (found.image is None and alone.image is None) or np.array_equal(
            found.image, alone.image
        )
    combos = [row.style for row in encodings(task) if row.kind == "combo"]
    assert all(
        any(
            together[s].image is together[c.pixel].image
            for s in together
            if s != c.pixel
        )
        for c in combos
    )


def test_list_of_encodings_is_printed_as_json() -> None:
    result = CliRunner().invoke(
        app, ["show", "encodings", "--task", "depth_estimation", "--json"]
    )
    rows = json.loads(result.stdout)
    assert [row["stem"] for row in rows] == ["plasma", "turbo", "gray"]
    assert rows[0]["style"] == {"colormap": "plasma"}


def test_cell_numbers_are_written_in_cells_of_12_pixels_and_more() -> None:
    whole = {"segmentation": np.ones((400, 400), bool)}
    shown = encode(
        "referring_segmentation",
        "pixel_ss0_m1",
        whole,
        np.zeros((400, 400, 3), np.uint8),
        expression="e",
    )
    assert shown.image is not None
    assert {(255, 0, 0), (0, 0, 0), (255, 255, 255)} <= set(
        map(tuple, shown.image.reshape(-1, 3).tolist())
    )
    small = encode(
        "referring_segmentation",
        "pixel_ss0_m1",
        {"segmentation": np.ones((90, 90), bool)},
        np.zeros((90, 90, 3), np.uint8),
    )
    assert small.image is not None
    assert set(map(tuple, small.image.reshape(-1, 3).tolist())) == {(255, 0, 0)}


def test_cells_are_mixed_half_and_half_and_their_numbers_are_not() -> None:
    """1024 pixels are 32 cells of 32; more than one band of rows is mixed."""
    where = np.zeros((1024, 1024), bool)
    where[:, 512:] = True
    black, dark, bright = (
        encode(
            "referring_segmentation",
            name,
            {"segmentation": where},
            np.full((1024, 1024, 3), grey, np.uint8),
            expression="e",
        ).image
        for name, grey in (
            ("pixel_ss0_m1", 0),
            ("pixel_ss0_m0", 0),
            ("pixel_ss0_m0", 200),
        )
    )
    assert black is not None and dark is not None and bright is not None
    assert not black[:, :512].any() and not dark[:, :512].any()
    assert (bright[:, :512] == 200).all()
    cells = black[:, 512:].reshape(32, 32, 16, 32, 3).swapaxes(1, 2)
    assert (cells == cells[0, 0]).all(), "every cell looks alike"
    tile, below, above = (side[:32, 512:544] for side in (black, dark, bright))
    digits = (tile != (255, 0, 0)).any(axis=2)
    assert 0 < digits.mean() < 0.5
    for shown in (below, above):
        assert (shown[digits] == tile[digits]).all()
    mixed = ~digits & (below != above).any(axis=2)
    assert mixed.mean() > 0.3
    assert np.abs(below[mixed] - tile[mixed] / 2.0).max() <= 0.5
    assert np.abs(above[mixed] - tile[mixed] / 2.0 - 100).max() <= 0.5
    for side in (dark, bright):
        rest = side[:, 512:].reshape(32, 32, 16, 32, 3).swapaxes(1, 2)
        assert (rest == rest[0, 0]).all()


def test_a_tie_goes_to_the_lower_index_and_background_wins_its_own() -> None:
    from visualjudge.vision.drawing.encoded import Scene
    from visualjudge.vision.predictions import read_prediction

    half, other = np.zeros((64, 64), bool), np.zeros((64, 64), bool)
    half[:, 0:1] = True  # cells are 2 pixels: half of each in the first column
    other[:, 2:4] = True
    payload = {
        "instances": [
            {"label": k, "segmentation": m}
            for k, m in (("a", other), ("b", other), ("c", half))
        ]
    }
    image = np.zeros((64, 64, 3), np.uint8)
    grid = grid_of(
        Scene(
            read_prediction("instance_segmentation", payload, size=(64, 64)),
            image,
        ),
        merged=False,
    )
    assert grid.index[0, :3].tolist() == [0, 1, 0]


def test_tags_keep_off_each_other_where_there_is_room() -> None:
    pixels = np.zeros((200, 300, 3), np.uint8)
    anchors = [
        Anchor("aa", (255, 0, 0), (50, 90, 150, 150)),
        Anchor("bb", (0, 255, 0), (52, 90, 150, 148)),
    ]
    draw_tags(pixels, anchors)
    alone = []
    for anchor in anchors:
        canvas = np.zeros_like(pixels)
        draw_tags(canvas, [anchor])
        alone.append(int((canvas == anchor.color).all(axis=2).sum()))
    assert [
        int((pixels == anchor.color).all(axis=2).sum()) for anchor in anchors
    ] == alone


def test_letters_the_font_lacks_are_written_as_code_points() -> None:
    assert words("кот\nß") == "кот ß"
    assert words("ཀག") == "<F40><F42>"


@each(
    "label",
    [
        "交通信号灯",
        "信号機ねこ",
        "고양이",
        "قطة",
        "बिल्ली",
        "Кошка",
        "Γάτα",
        "חתול",
    ],
)
def test_words_of_any_script_are_drawn_as_such(label: str) -> None:
    assert words(label) == label
    ink = text_bitmap(label, 24) > 128
    assert ink.sum() > 40
    assert not ink[0].any()
    assert not ink[-1].any()


def test_joined_scripts_are_shaped() -> None:
    """Arabic letters join: the word is narrower than its letters side by side."""
    apart = sum(text_bitmap(letter, 24).shape[1] - 12 for letter in "قطة")
    assert text_bitmap("قطة", 24).shape[1] - 12 < apart


def test_dots_and_limbs_shrink_with_a_small_person() -> None:
    """The 17 points of a person of 25 pixels in a large image stay apart."""
    points = np.zeros((17, 3))
    points[:, 0] = 300 + 6 * (np.arange(17) % 5)
    points[:, 1] = 200 + 6 * (np.arange(17) // 5)
    points[:, 2] = 2
    image = np.zeros((480, 640, 3), np.uint8)
    payload = {"persons": [{"keypoints": points.ravel().tolist()}]}
    shown = encode("keypoint", "pixel_s0_c1_m0", payload, image).image
    assert shown is not None
    count, _ = cv2.connectedComponents((shown > 0).any(axis=2).astype(np.uint8))
    assert count - 1 == 17


@each("shape", [(1, 1), (1, 5), (5, 1)])
def test_a_polygon_has_three_vertices_and_fills_back(
    shape: tuple[int, int],
) -> None:
    mask = np.zeros((40, 40), np.uint8)
    mask[10 : 10 + shape[0], 20 : 20 + shape[1]] = 1
    payload = {"instances": [{"label": "dog", "segmentation": mask}]}
    text = encode(
        "instance_segmentation",
        "text_polygon",
        payload,
        np.zeros((40, 40, 3), np.uint8),
    ).text
    (part,) = json.loads(text or "")
    assert len(part["polygon"]) == 3
    filled = np.zeros((40, 40), np.uint8)
    cv2.fillPoly(filled, [np.array(part["polygon"])], 1)
    assert np.array_equal(filled, mask)


def test_hatching_mixes_every_masked_pixel_and_touches_no_other() -> None:
    image = np.random.default_rng(1).integers(
        0, 256, (60, 80, 3), dtype=np.uint8
    )
    mask = np.zeros((60, 80), bool)
    mask[10:40, 20:60] = True
    shown = context_image(image, mask)
    assert np.array_equal(shown[~mask], image[~mask])
    under = image[mask].astype(float)
    wanted = [
        np.abs(shown[mask] - (under + color) / 2).max(axis=1) <= 1
        for color in ((255, 0, 255), (255, 255, 255))
    ]
    assert (wanted[0] | wanted[1]).all()
    assert wanted[0].any()
    assert wanted[1].any()


@pytest.mark.parametrize(
    "stem", ["text_matrix", "text_subsample", "pixel_ss0_m0", "pixel_ss0_m1"]
)
def test_numbers_of_a_grid_belong_to_the_classes_not_to_the_prediction(
    stem: str,
) -> None:
    """Option A lacks a class that option B has; both number "car" alike."""
    image = np.full((512, 512, 3), 90, np.uint8)

    def legend(labels: list[str]) -> str:
        segments = []
        for k, label in enumerate(labels):
            mask = np.zeros((512, 512), np.uint8)
            mask[k * 128 : (k + 1) * 128] = 1
            segments.append({"label": label, "segmentation": mask})
        classes = ["building", "car", "pedestrian", "road"]
        shown = encode(
            "semantic_segmentation",
            stem,
            {"segments": segments},
            image,
            classes=classes,
        )
        return shown.text or shown.legend or ""

    for text in (
        legend(["road", "car"]),
        legend(["pedestrian", "car", "building"]),
    ):
        assert '"2":"car"' in text or "2 is car" in text
        assert '"1":"road"' not in text


@each("row", encodings("semantic_segmentation"), ids=lambda row: row.stem)
def test_segments_of_one_label_are_encoded_as_their_union(
    row: Encoding,
) -> None:
    """The second cat, and the hole in the first."""
    cats = np.zeros((2, 96, 128), np.uint8)
    cats[0, 8:40, 8:56], cats[0, 16:24, 16:32], cats[1, 56:88, 64:120] = 1, 0, 1
    image = np.random.default_rng(0).integers(
        0, 256, (96, 128, 3), dtype=np.uint8
    )

    def shown(*masks: np.ndarray) -> Encoded:
        segments = [{"label": "cat", "segmentation": mask} for mask in masks]
        return encode("semantic_segmentation", row.stem, {"segments": segments}, image,
                      classes=["cat", "dog"])  # fmt: skip

    apart, united, first = shown(*cats), shown(cats.max(axis=0)), shown(cats[0])
    assert (apart.text, apart.legend) == (united.text, united.legend)
    assert np.array_equal(apart.image, united.image)
    assert apart.text != first.text or not np.array_equal(
        apart.image, first.image
    )


def test_a_referred_region_is_number_one_whatever_else_is_referred_to() -> None:
    mask = np.zeros((512, 512), np.uint8)
    mask[:256] = 1
    image = np.full((512, 512, 3), 90, np.uint8)
    for stem in ("text_matrix", "text_subsample", "pixel_ss0_m0"):
        shown = encode("referring_segmentation", stem, {"segmentation": mask}, image,
                       classes=["another", "the dog"], expression="the dog")  # fmt: skip
        assert '"1":"the dog"' in (shown.text or "") or "1 is the dog" in (
            shown.legend or ""
        )


def test_symbols_close_up_where_there_are_more_classes_than_symbols() -> None:
    mask = np.zeros((64, 64), np.uint8)
    mask[:32] = 1
    classes = [f"class {k:03d}" for k in range(150)]
    payload = {"segments": [{"label": classes[140], "segmentation": mask}]}
    shown = encode("semantic_segmentation", "text_subsample", payload,
                   np.zeros((64, 64, 3), np.uint8), classes=classes)  # fmt: skip
    assert f'"1":"{classes[140]}"' in (shown.text or "")
    assert "#" not in (shown.text or "")
