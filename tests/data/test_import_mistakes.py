"""An import that scores low names the likely mistake; one that is merely bad, or right,
names none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from commanding import command
from folding import each
from visualjudge.core.errors import PluginError
from visualjudge.data import import_mistakes, importing
from visualjudge.data.import_mistakes import Files, Sides, likely_mistake
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.masks.record import (
    Instance,
    Masks,
    masks_from_label_map,
)
from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.predictions import Prediction
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.rows import Misplacement, Misreading

IMAGES = 8
SIZE = 60, 100
Side = tuple[Prediction, Prediction]


def _boxes(rng: np.random.Generator) -> Detections:
    """Six boxes of three labels on an image of 640 × 480."""
    items = []
    for k in range(6):
        x, y = rng.uniform(40, 420), rng.uniform(20, 300)
        width, height = rng.uniform(40, 200), rng.uniform(30, 150)
        items.append(
            Detection(
                ["cat", "dog", "cow"][k % 3], (x, y, x + width, y + height)
            )
        )
    return Detections(tuple(items))


def _segments(rng: np.random.Generator) -> Masks:
    edges = np.sort(rng.choice(np.arange(10, 90), 3, replace=False))
    values = np.searchsorted(edges, np.arange(SIZE[1])) + 1
    return masks_from_label_map(
        np.tile(values, (SIZE[0], 1)),
        dict(enumerate("abcd", 1)),
        unlabelled=(0,),
    )


def _depth(rng: np.random.Generator) -> DepthMap:
    ramp = np.linspace(1, rng.uniform(5, 20), SIZE[0])[:, None] * np.ones(
        SIZE[1]
    )
    return DepthMap(ramp + rng.uniform(0, 0.2, SIZE))


def _pose(rng: np.random.Generator) -> People:
    points = np.column_stack(
        [rng.uniform(50, 250, 17), rng.uniform(300, 600, 17), np.full(17, 2.0)]
    )
    return People((Person(points, (50, 300, 250, 600), 60_000.0),))


def _restored(rng: np.random.Generator) -> WholeImage:
    small = rng.integers(0, 255, (6, 10, 3), dtype=np.uint8)
    return WholeImage(small.repeat(10, axis=0).repeat(10, axis=1))


def _tried(
    make: Callable[[np.random.Generator], Any], spoil: Callable[[Any], Any]
) -> list[Sides]:
    truths = [make(np.random.default_rng(seed)) for seed in range(IMAGES)]
    return [(spoil(truth), truth) for truth in truths]


def _boxes_as(change: Callable[..., Any]) -> Callable[[Detections], Detections]:
    return lambda found: found.with_items(
        replace(item, xyxy=change(*item.xyxy)) for item in found.items
    )


def _instances(rng: np.random.Generator, least: int) -> Masks:
    dense = np.zeros(SIZE, np.bool_)
    top, left = (2 * int(v) for v in rng.integers(least, 15, 2))
    dense[top : top + 12, left : left + 28] = True
    return Masks(SIZE, (Instance("cat", mask_from_array(dense)),))


def _small_instance(rng: np.random.Generator) -> Masks:
    dense = np.zeros(SIZE, np.bool_)
    top, left = int(rng.integers(2, 10)), int(rng.integers(2, 20))
    dense[top : top + 14, left : left + 26] = True
    return Masks(SIZE, (Instance("cat", mask_from_array(dense)),))


def _masks_as(change: Callable[..., Any]) -> Callable[[Masks], Masks]:
    return lambda found: found.with_items(
        replace(item, mask=mask_from_array(change(item.mask.dense())))
        for item in found.items
    )


MISTAKES = {
    "y before x": (
        "object_detection",
        _boxes,
        _boxes_as(lambda a, b, c, d: (b, a, d, c)),
    ),
    "read as [x, y, width, height]": (
        "object_detection",
        _boxes,
        _boxes_as(lambda a, b, c, d: (a, b, a + c, b + d)),
    ),
    "boxes are [centre x": (
        "object_detection",
        _boxes,
        _boxes_as(
            lambda a, b, c, d: (
                (a + c) / 2,
                (b + d) / 2,
                (a + c) / 2 + c - a,
                (b + d) / 2 + d - b,
            )
        ),
    ),
    "read as [centre x": (
        "object_detection",
        _boxes,
        _boxes_as(
            lambda a, b, c, d: (a - c / 2, b - d / 2, a + c / 2, b + d / 2)
        ),
    ),
    "all coordinates were divided by 1.67": (
        "object_detection",
        _boxes,
        _boxes_as(lambda *box: tuple(v * 0.6 for v in box)),
    ),
    "disparities": (
        "depth_estimation",
        _depth,
        lambda found: DepthMap(1 / found.values),
    ),
    "the image was mirrored": (
        "depth_estimation",
        lambda rng: DepthMap(_depth(rng).values * np.linspace(1, 3, SIZE[1])),
        lambda found: DepthMap(found.values[:, ::-1]),
    ),
    "near and far are exchanged": (
        "depth_estimation",
        lambda rng: DepthMap(rng.uniform(1, 9, SIZE)),
        lambda found: DepthMap(10 - found.values),
    ),
    "values are normalised for each image": (
        "depth_estimation",
        lambda rng: DepthMap(rng.uniform(4, 9, SIZE)),
        lambda found: DepthMap(
            255 * (found.values - found.values.min()) / np.ptp(found.values)
        ),
    ),
    "values are cut at the largest": (
        "depth_estimation",
        lambda rng: DepthMap(rng.uniform(1, 20, SIZE)),
        lambda found: DepthMap(np.minimum(found.values, 8)),
    ),
    "maps are turned by 180 degrees": (
        "depth_estimation",
        lambda rng: DepthMap(rng.uniform(1, 20, SIZE)),
        lambda found: DepthMap(found.values[::-1, ::-1]),
    ),
    "the largest value marks holes": (
        "depth_estimation",
        _depth,
        lambda found: DepthMap(
            np.where(np.arange(SIZE[1]) < SIZE[1] // 3, 99, found.values)
        ),
    ),
    "coordinates are y before x": (
        "instance_segmentation",
        lambda rng: _instances(rng, 5),
        _masks_as(lambda dense: np.pad(dense[:, :60].T, ((0, 0), (0, 40)))),
    ),
    "all coordinates were divided by 2": (
        "instance_segmentation",
        lambda rng: _instances(rng, 5),
        _masks_as(lambda dense: np.pad(dense[::2, ::2], ((0, 30), (0, 50)))),
    ),
    "all coordinates were multiplied by 2": (
        "instance_segmentation",
        _small_instance,
        _masks_as(
            lambda dense: dense.repeat(2, axis=0).repeat(2, axis=1)[:60, :100]
        ),
    ),
    "relative to the box": (
        "keypoint",
        _pose,
        lambda found: People(
            tuple(
                replace(p, keypoints=p.keypoints - [*p.bbox[:2], 0])  # type: ignore[index]
                for p in found.items
            )
        ),
    ),
    "keypoints are exchanged": (
        "keypoint",
        _pose,
        lambda found: People(
            tuple(
                replace(
                    p,
                    keypoints=p.keypoints[
                        [0, *(k + (1 if k % 2 else -1) for k in range(1, 17))]
                    ],
                )
                for p in found.items
            )
        ),
    ),
    "black and white are exchanged": (
        "lowlevel-deblur",
        _restored,
        lambda found: WholeImage(255 - found.pixels),
    ),
    "blue, green, red": (
        "lowlevel-deblur",
        _restored,
        lambda found: WholeImage(found.pixels[:, :, ::-1]),
    ),
}


@each("told", MISTAKES)
def test_a_mistake_is_named(told: str) -> None:
    task, make, spoil = MISTAKES[told]
    found = likely_mistake(task, _tried(make, spoil), {})
    assert found is not None and told in found


@each("told", MISTAKES)
def test_predictions_that_are_right_or_only_bad_are_not_accused(
    told: str,
) -> None:
    task, make, _ = MISTAKES[told]
    assert likely_mistake(task, _tried(make, lambda truth: truth), {}) is None
    others = [
        (make(np.random.default_rng(100 + k)), make(np.random.default_rng(k)))
        for k in range(IMAGES)
    ]
    assert likely_mistake(task, others, {}) is None


def _maps(rng: np.random.Generator, count: int) -> np.ndarray:
    planes = [
        cv2.resize(rng.normal(size=(5, 5)), SIZE[::-1]) for _ in range(count)
    ]
    return np.stack(planes)


def _named_map(values: np.ndarray) -> Masks:
    names = dict(enumerate("abcdef", 1))
    return masks_from_label_map(values, names, unlabelled=(0,))


def test_numbers_of_a_poor_map_that_are_off_by_one_are_named_by_their_pixels() -> (
    None
):
    """Boxes around classes that fill the image say nothing of them."""
    rng = np.random.default_rng(0)
    right, spoilt = [], []
    for _ in range(IMAGES):
        planes = _maps(rng, 6)
        truth = _named_map(planes.argmax(axis=0) + 1)
        poor = (planes + 0.7 * _maps(rng, 6)).argmax(axis=0)
        right.append((_named_map(poor + 1), truth))
        spoilt.append((_named_map((poor + 1) % 6 + 1), truth))
    assert likely_mistake("semantic_segmentation", right, {}) is None
    message = likely_mistake("semantic_segmentation", spoilt, {})
    assert message is not None and "off by one" in message


def test_a_map_of_two_classes_is_not_inverted() -> None:
    rng = np.random.default_rng(0)
    tried = list[Sides]()
    for _ in range(12):
        planes = _maps(rng, 2)
        planes[0] += np.linspace(-1, 1, SIZE[0])[:, None]
        bad = (planes + 3 * _maps(rng, 2)).argmax(axis=0)
        tried.append(
            (_named_map(bad + 1), _named_map(planes.argmax(axis=0) + 1))
        )
    assert likely_mistake("semantic_segmentation", tried, {}) is None


def test_of_two_sides_that_may_be_wrong_alike_both_are_named() -> None:
    """Nobody can tell a mirrored prediction from a mirrored truth."""
    task, make, spoil = MISTAKES["the image was mirrored"]
    files = Files("gt", "pred")
    for tried in (
        _tried(make, spoil),
        [(truth, result) for result, truth in _tried(make, spoil)],
    ):
        message = likely_mistake(task, tried, {}, files=files)
        assert message is not None and message.startswith("pred (or gt):")


def test_dark_images_are_not_inverted() -> None:
    tried = _tried(_restored, lambda found: WholeImage(found.pixels // 255))
    message = likely_mistake("lowlevel-deblur", tried, {})
    assert "black and white" not in (message or "")


def test_predictions_that_belong_to_the_next_image_are_named() -> None:
    truths = [_boxes(np.random.default_rng(seed)) for seed in range(IMAGES)]
    shifted = list(zip(truths[1:], truths[:-1], strict=True))
    found = likely_mistake("object_detection", shifted, {})
    assert found is not None and "belongs to the ground truth after" in found


def test_a_mistake_that_cannot_be_tried_stops_no_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> Any:
        raise PluginError("plug-in x, type detection: KeyError: 'a'")

    row = import_mistakes.type_of("object_detection")
    spoilt = replace(
        row,
        misreadings=(Misreading("boxes are wrong", fails),),
        misplacements=(Misplacement("boxes are wrong", fails),),
    )
    monkeypatch.setattr(import_mistakes, "type_of", lambda _task: spoilt)
    _, make, spoil = MISTAKES["y before x"]
    found = likely_mistake("object_detection", _tried(make, spoil), {})
    assert found is not None and "y before x" in found


@pytest.mark.parametrize("seed", range(4))
def test_a_poor_detector_is_no_mistake_of_size(seed: int) -> None:
    rng, tried = np.random.default_rng(seed), list[Sides]()
    for _ in range(IMAGES):
        truth = _boxes(rng)
        shown = []
        for item in truth.items[: rng.integers(2, 6)]:
            x1, y1, x2, y2 = item.xyxy
            (right, down), size = rng.uniform(0, 0.3, 2), rng.uniform(1, 1.4)
            x1, y1, x2, y2 = (
                x1 + right * (x2 - x1),
                y1 + down * (y2 - y1),
                x1 + (right + size) * (x2 - x1),
                y1 + (down + size) * (y2 - y1),
            )
            shown.append(replace(item, xyxy=(x1, y1, x2, y2)))
        tried.append((Detections(tuple(shown)), truth))
    assert likely_mistake("object_detection", tried, {}) is None


@pytest.mark.parametrize(("spoilt", "factor"), [(0, 2.0), (0, 0.5), (1, 0.5)])
def test_a_scale_is_blamed_on_the_side_that_leaves_or_hardly_fills_the_image(
    tmp_path: Path, spoilt: int, factor: float
) -> None:
    """Halves of one side are doubles of the other: the image decides."""
    photo = tmp_path / "a.png"
    Image.new("RGB", (640, 480)).save(photo)
    tried = []
    for seed in range(IMAGES):
        sides = [_boxes(np.random.default_rng(seed)) for _ in range(2)]
        change = _boxes_as(lambda *box: tuple(v * factor for v in box))
        sides[spoilt] = change(sides[spoilt])
        tried.append((sides[0], sides[1]))
    files = Files("gt.json", "pred.json")
    photos = [photo] * IMAGES
    message = likely_mistake("object_detection", tried, {}, photos, files)
    assert message is not None
    assert message.startswith(["pred.json", "gt.json"][spoilt])


OF_SIZE: dict[str, Callable[..., Any]] = {
    "fractions of a letterboxed image": (
        lambda a, b, c, d: (a, (b + 80) * 0.75, c, (d + 80) * 0.75)
    ),
    "letterboxed to 1024 × 1024": (
        lambda a, b, c, d: (1.6 * a, 1.6 * b + 128, 1.6 * c, 1.6 * d + 128)
    ),
    "the image was mirrored": lambda a, b, c, d: (640 - c, b, 640 - a, d),
    "y is counted from the bottom": lambda a, b, c, d: (a, 480 - d, c, 480 - b),
}


@pytest.mark.parametrize("told", OF_SIZE)
def test_a_mistake_that_the_size_of_the_image_tells_is_named(
    tmp_path: Path, told: str
) -> None:
    photo = tmp_path / "a.png"
    Image.new("RGB", (640, 480)).save(photo)
    tried = _tried(_boxes, _boxes_as(OF_SIZE[told]))
    message = likely_mistake("object_detection", tried, {}, [photo] * IMAGES)
    assert message is not None
    assert told in message


def test_restored_images_that_are_the_degraded_ones_are_named(
    tmp_path: Path,
) -> None:
    tried = []
    photos: list[Path | None] = []
    for seed in range(3):
        clean = _restored(np.random.default_rng(seed))
        degraded = WholeImage(clean.pixels // 2)
        photos.append(tmp_path / f"{seed}.png")
        Image.fromarray(degraded.pixels).save(tmp_path / f"{seed}.png")
        tried.append((degraded, clean))
    message = likely_mistake("lowlevel-deblur", tried, {}, photos)
    assert message is not None and "is it the same file?" in message


def test_other_boxes_of_a_poor_detector_are_not_blamed_on_the_truth(
    tmp_path: Path,
) -> None:
    """Corners read as sizes score higher against a truth that is changed alike, which
    then leaves its images."""
    rng = np.random.default_rng(7)
    tried = []
    for _ in range(12):
        low = rng.uniform(0, 100, (3, 2))
        size = rng.uniform(30, 60, (3, 2))
        near = np.hstack([low, size]) + rng.normal(0, 7, (3, 4))
        read = np.hstack([near[:, :2], 2 * near[:, :2] + near[:, 2:]])
        truth, prediction = (
            Detections(tuple(Detection("box", tuple(row)) for row in rows))
            for rows in (np.hstack([low, low + size]).tolist(), read.tolist())
        )
        tried.append((prediction, truth))
    photo = tmp_path / "photo.png"
    Image.new("RGB", (160, 160)).save(photo)
    told = likely_mistake(
        "object_detection", tried, {}, [photo] * 12, Files("gt.json", "d.json")
    )
    assert not (told or "").startswith("gt.json")


def _found_by_a_poor_detector(rng: np.random.Generator) -> Sides:
    """Half of the objects, some under another class, and as many that are not there."""
    truth = _boxes(rng)
    items = [item for item in truth.items if rng.random() < 0.5]
    items += _boxes(rng).items
    renamed = rng.random(len(items)) < 0.2
    labels = [
        "other" if changed else item.label
        for changed, item in zip(renamed, items, strict=True)
    ]
    scored = [
        replace(item, label=label, score=float(rng.uniform(0.3, 1)))
        for item, label in zip(items, labels, strict=True)
    ]
    return Detections(tuple(scored)), truth


@pytest.mark.parametrize("seed", range(3))
def test_halved_boxes_of_a_poor_detector_are_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    right = [_found_by_a_poor_detector(rng) for _ in range(12)]
    assert likely_mistake("object_detection", right, {}) is None
    halve = _boxes_as(lambda *box: tuple(v / 2 for v in box))
    spoilt = [(halve(result), truth) for result, truth in right]
    message = likely_mistake("object_detection", spoilt, {})
    assert message is not None and "divided by 2" in message


def _halved(people: Any) -> People:
    """People in an image of half the size, seen nearly where they are."""
    rng = np.random.default_rng(1)
    return People(
        tuple(
            replace(
                person,
                keypoints=(
                    person.keypoints + rng.normal(0, 9, (17, 3)) * [1, 1, 0]
                )
                * [0.5, 0.5, 1],
            )
            for person in people.items
        )
    )


@pytest.mark.parametrize(
    ("task", "make", "spoil", "told"),
    [
        (
            "semantic_segmentation",
            _segments,
            _masks_as(lambda dense: dense[:, ::-1]),
            "mirrored",
        ),
        ("keypoint", _pose, _halved, "divided by 2"),
    ],
)
def test_the_side_that_is_wrong_is_blamed(
    task: str, make: Any, spoil: Any, told: str
) -> None:
    message = likely_mistake(task, _tried(make, spoil), {})
    assert message is not None and told in message
    assert message.startswith("predictions")


def test_noise_is_no_exchange_of_near_and_far() -> None:
    rng = np.random.default_rng(0)
    for _ in range(12):
        tried = list[Sides]()
        for _ in range(IMAGES):
            depths = cv2.resize(rng.uniform(2, 20, (6, 8)), (80, 60))
            noise = np.exp(rng.normal(0, 0.6, depths.shape))
            tried.append((DepthMap(depths * noise), DepthMap(depths)))
        assert likely_mistake("depth_estimation", tried, {}) is None


PLACED: dict[str, Callable[..., Any]] = {
    "height], and coordinates refer to an image of 100 × 100": (
        lambda a, b, c, d: (a / 6.4, b / 4.8, (a + c) / 6.4, (b + d) / 4.8)
    ),
    "turned by 180": lambda a, b, c, d: (640 - c, 480 - d, 640 - a, 480 - b),
    "multiplied by 3": lambda *box: tuple(v * 3 for v in box),
    "moved by 40 pixels to the right": (
        lambda a, b, c, d: (a + 40, b, c + 40, d)
    ),
}


@each("told", PLACED)
def test_places_of_another_form_size_or_origin_are_named(told: str) -> None:
    with TemporaryDirectory() as folder:
        photo = Path(folder) / "a.png"
        Image.new("RGB", (640, 480)).save(photo)
        tried = _tried(_boxes, _boxes_as(PLACED[told]))
        message = likely_mistake(
            "object_detection", tried, {}, [photo] * IMAGES
        )
    assert message is not None and told in message


def test_predictions_in_no_order_and_of_one_class_are_named() -> None:
    truths = [_boxes(np.random.default_rng(seed)) for seed in range(IMAGES)]
    order = [3, 0, 6, 1, 7, 2, 5, 4]
    found = likely_mistake(
        "object_detection",
        [(truths[k], truth) for k, truth in zip(order, truths, strict=True)],
        {},
    )
    assert found is not None and "belong to other images" in found
    one = [
        truth.with_items(replace(item, label="cat") for item in truth.items)
        for truth in truths
    ]
    found = likely_mistake(
        "object_detection", list(zip(one, truths, strict=True)), {}
    )
    assert found is not None and "one class, cat" in found


def test_few_large_images_are_kept_for_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve of 12 megapixels took gigabytes."""
    tried: list[int] = []
    monkeypatch.setattr(importing, "MOST_PIXELS", 2 * 24 * 32)
    monkeypatch.setattr(
        importing,
        "likely_mistake",
        lambda _task, sides, *_: tried.append(len(sides)),
    )
    for name in ("gt", "lq", "net"):
        (tmp_path / name).mkdir()
        for k in range(5):
            Image.new("RGB", (32, 24), (k, 0, 0)).save(
                tmp_path / name / f"{k}.png"
            )
    places = [str(tmp_path / name) for name in ("lq", "gt", "net", "data")]
    words = "import pairs --task lowlevel-deblur --source net --images {} --gt {} --pred {} --out {}"
    command(*words.format(*places).split())
    assert tried == [2]
