"""Mistakes of newcomers whose cause is named, and not only the place where reading
fails."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from visualjudge.core.errors import DataError, UsageError
from visualjudge.data import import_mistakes
from visualjudge.data.import_mistakes import check_forms, likely_mistake
from visualjudge.data.importing import import_source
from visualjudge.formats.coco import coco
from visualjudge.formats.samples import Sample
from visualjudge.formats.voc import voc
from visualjudge.formats.yolo import yolo
from visualjudge.vision.masks.record import masks_from_label_map
from visualjudge.vision.misplacements import fitted_scales
from visualjudge.vision.predictions import (
    DepthMap,
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    Person,
    WholeImage,
)
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.score import score

SIZE = (60, 80)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images" / "val"
    folder.mkdir(parents=True)
    for k in range(4):
        Image.new("RGB", SIZE[::-1], (k, 9, 9)).save(folder / f"i{k}.png")
    return folder


def _truth(folder: Path, ids: list[int]) -> Path:
    path = folder / "gt.json"
    content = {
        "images": [{"id": k, "file_name": f"i{k}.png"} for k in range(4)],
        "annotations": [
            {
                "id": k,
                "image_id": k,
                "category_id": ids[k % len(ids)],
                "bbox": [5, 5, 20, 20],
            }
            for k in range(4)
        ],
        "categories": [{"id": k, "name": f"class {k}"} for k in ids],
    }
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("ids", "stated"),
    [
        ([1, 3, 7], [1, 2, 3]),
        ([1, 3, 7], [0, 1, 2]),
        ([1, 2, 3], [0, 1, 2]),
        ([0, 1, 2], [1, 2, 3]),
    ],
)
def test_places_of_categories_are_not_read_as_ids(
    tmp_path: Path, images: Path, ids: list[int], stated: list[int]
) -> None:
    gt = _truth(tmp_path, ids)
    rows = [
        {
            "image_id": k,
            "category_id": stated[k % 3],
            "bbox": [5, 5, 20, 20],
            "score": 0.5,
        }
        for k in range(4)
    ]
    pred = tmp_path / "pred.json"
    pred.write_text(json.dumps(rows))
    with pytest.raises(DataError, match=f"{stated[0]} to {stated[2]} .*places"):
        list(coco("object_detection", gt, pred, images))


def test_places_of_images_are_not_read_as_ids(
    tmp_path: Path, images: Path
) -> None:
    gt = _truth(tmp_path, [1])
    content = json.loads(gt.read_text())
    for row in content["images"]:
        row["id"] += 7
    gt.write_text(json.dumps(content))
    rows = [
        {"image_id": k, "category_id": 1, "bbox": [5, 5, 20, 20]}
        for k in range(4)
    ]
    pred = tmp_path / "pred.json"
    pred.write_text(json.dumps(rows))
    with pytest.raises(DataError, match=r"image_id: 0 to 3 .*places"):
        list(coco("object_detection", gt, pred, images))


def _boxes(change: Any) -> list[Any]:
    generator = np.random.default_rng(3)
    sides = []
    for _ in range(8):
        corners = generator.uniform(5, 30, (3, 2))
        boxes = np.hstack([corners, corners + generator.uniform(8, 28, (3, 2))])
        sides.append(
            tuple(
                Detections(
                    tuple(
                        Detection("car", tuple(f(*box)), 0.5) for box in boxes
                    )
                )
                for f in (change, lambda *box: box)
            )
        )
    return sides


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda x, y, u, v: (x, y, x + v - y, y + u - x),
            "width and height are exchanged",
        ),
        (
            lambda x, y, u, v: (
                y / 0.06,
                x / 0.08,
                (y + v) / 0.06,
                (x + u) / 0.08,
            ),
            "boxes are [y1, x1, y2, x2] and were read as [x, y, width, height], and "
            "coordinates refer to an image of 1000 × 1000",
        ),
        (
            lambda x, y, u, v: (
                x / 0.08,
                y / 0.06,
                (x + u) / 0.08,
                (y + v) / 0.06,
            ),
            "boxes are [x1, y1, x2, y2] and were read as [x, y, width, height], and "
            "coordinates refer to an image of 1000 × 1000",
        ),
    ],
)
def test_forms_of_boxes_are_named(
    images: Path, change: Any, reason: str
) -> None:
    path = images / "i0.png"
    mistake = likely_mistake("object_detection", _boxes(change), {}, [path] * 8)
    assert mistake is not None and reason in mistake


def _poses(change: Any) -> list[Any]:
    generator = np.random.default_rng(4)
    sides = []
    for _ in range(8):
        points = generator.uniform((0, 0, 2), (80, 60, 2), (17, 3))
        points[:, 2] = 2
        sides.append(
            tuple(
                People(
                    (Person(side, (0.0, 0.0, 80.0, 60.0), None, False, None),)
                )
                for side in (change(points), points)
            )
        )
    return sides


MPII = [16, 14, 12, 11, 13, 15, 0, 0, 0, 0, 10, 8, 6, 5, 7, 9, 0]
HUMAN36M = [0, 12, 14, 16, 11, 13, 15, 0, 0, 0, 0, 5, 7, 9, 6, 8, 10]
OPENPOSE = [0, 6, 8, 10, 5, 7, 9, 12, 14, 16, 11, 13, 15, 2, 1, 4, 3]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda points: points[OPENPOSE], "order of OpenPose"),
        (lambda points: points[MPII], "order of MPII"),
        (lambda points: points[HUMAN36M], "order of Human3.6M"),
        (lambda points: points.T.reshape(-1, 3), "all x stand before all y"),
        (
            lambda points: np.abs(points - [80, 0, 0]),
            "the image was mirrored",
        ),
    ],
)
def test_orders_of_keypoints_are_named(
    images: Path, change: Any, reason: str
) -> None:
    path = images / "i0.png"
    mistake = likely_mistake("keypoint", _poses(change), {}, [path] * 8)
    assert mistake is not None and reason in mistake


@pytest.mark.parametrize("moved", [True, False])
def test_moved_label_maps_are_named_and_poor_ones_are_not(
    images: Path, moved: bool
) -> None:
    generator = np.random.default_rng(4)
    sides: list[Any] = []
    for _ in range(8):
        grids = generator.integers(1, 4, (2, 6, 8))
        truth, other = (
            np.kron(grid, np.ones((10, 10), np.int64)) for grid in grids
        )
        ours = np.roll(truth, (7, 12), (0, 1)) if moved else other
        sides.append(
            tuple(
                masks_from_label_map(
                    side, {1: "road", 2: "sky", 3: "car"}, unlabelled=()
                )
                for side in (ours, truth)
            )
        )
    path = images / "i0.png"
    mistake = likely_mistake(
        "semantic_segmentation", sides, {}, [path] * len(sides)
    )
    assert ("masks are moved" in (mistake or "")) is moved
    assert moved or mistake is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda pixels: pixels[:, ::-1], "mirrored"),
        (lambda pixels: pixels[::-1], "upside down"),
        (lambda pixels: pixels[::-1, ::-1], "turned by 180"),
        (lambda pixels: 255 - pixels, "black and white are exchanged"),
    ],
)
def test_turned_and_inverted_restorations_are_named(
    change: Any, reason: str
) -> None:
    generator = np.random.default_rng(5)
    truths = [
        generator.integers(0, 256, (40, 50, 3)).astype(np.uint8)
        for _ in range(6)
    ]
    pairs = [
        (WholeImage(np.ascontiguousarray(change(pixels))), WholeImage(pixels))
        for pixels in truths
    ]
    mistake = likely_mistake("lowlevel-denoise", pairs, {})
    assert mistake is not None and reason in mistake


def test_predictions_are_blamed_where_either_side_may_be_misread() -> None:
    generator = np.random.default_rng(6)
    pairs = []
    for _ in range(8):
        depth = generator.uniform(2, 20, (30, 40))
        near = 1 - (depth - depth.min()) / np.ptp(depth)
        pairs.append((DepthMap(near), DepthMap(depth)))
    mistake = likely_mistake("depth_estimation", pairs, {})
    assert mistake is not None
    assert mistake.startswith("predictions") and "near and far" in mistake


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "it is empty"), ("file,x1,y1\na,1,2", "begins with 'file,x1,y1")],
)
def test_what_is_no_json_is_named(
    tmp_path: Path, images: Path, text: str, reason: str
) -> None:
    pred = tmp_path / "pred.json"
    pred.write_text(text)
    with pytest.raises(DataError, match=reason):
        list(coco("object_detection", _truth(tmp_path, [1]), pred, images))


def test_fractions_are_no_polygon(tmp_path: Path, images: Path) -> None:
    pred = tmp_path / "pred.json"
    ring = [0.1, 0.1, 0.5, 0.1, 0.5, 0.6]
    rows = [
        {"image_id": 0, "category_id": 1, "segmentation": [ring], "score": 0.5}
    ]
    pred.write_text(json.dumps(rows))
    gt = _truth(tmp_path, [1])
    content = json.loads(gt.read_text())
    for row in content["annotations"]:
        row["segmentation"] = [[5, 5, 25, 5, 25, 25]]
    gt.write_text(json.dumps(content))
    problems = [
        str(item) for item in coco("instance_segmentation", gt, pred, images)
    ]
    assert any(
        "multiply them by the image's width" in text for text in problems
    )


@pytest.mark.parametrize("level", ["", "labels", "images/val"])
def test_labels_in_another_folder_are_pointed_at(
    tmp_path: Path, images: Path, level: str
) -> None:
    labels = tmp_path / "labels" / "val"
    labels.mkdir(parents=True)
    (tmp_path / "README.txt").write_text("of the data set")
    for k in range(4):
        (labels / f"i{k}.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    names = tmp_path / "classes.csv"
    names.write_text("id,name\n0,car\n")
    for sides in (tmp_path / level, labels), (labels, tmp_path / level):
        with pytest.raises(UsageError, match=r"there is .*labels/val/i0\.txt"):
            list(yolo("object_detection", *sides, images, names))
    shutil.rmtree(labels)


def test_expressions_shifted_by_one_are_named() -> None:
    sides = []
    for k in range(12):
        size = SIZE if k % 4 else SIZE[::-1]
        dense = np.zeros(size, np.bool_)
        top, left = 17 * k % 50, 23 * k % 50
        dense[top : top + 9, left : left + 9] = True
        sides.append(Masks(size, (Instance("it", mask_from_array(dense)),)))
    pairs = [
        (Masks(truth.size, sides[k - 1].items), truth)
        for k, truth in enumerate(sides)
        if sides[k - 1].size == truth.size
    ]
    reason = likely_mistake("referring_segmentation", pairs, {})
    assert reason is not None and "belongs to the ground truth" in reason


def test_depth_that_scores_well_but_is_mirrored_is_named() -> None:
    generator = np.random.default_rng(4)
    across, down = np.linspace(-1, 1, 40), np.linspace(-2, 2, 30)[:, None]
    pairs = []
    for _ in range(8):
        depth = 10 + 1.5 * across + down + generator.uniform(0, 0.2, (30, 40))
        pairs.append((DepthMap(depth[:, ::-1]), DepthMap(depth)))
    scores = [score("depth_estimation", *pair) for pair in pairs]
    assert 7 < np.mean(scores) < 9.3
    mistake = likely_mistake("depth_estimation", pairs, {})
    assert mistake is not None and "mirrored" in mistake


def test_inverted_masks_at_wrong_places_are_not_blamed_on_the_truth() -> None:
    def small(left: int) -> Any:
        dense = np.zeros(SIZE, np.bool_)
        dense[10:22, left : left + 14] = True
        return dense

    pairs = [
        tuple(
            Masks(SIZE, (Instance("cat", mask_from_array(dense)),))
            for dense in (~small(5 + k), small(40 + 2 * k))
        )
        for k in range(8)
    ]
    assert "inverted" not in str(
        likely_mistake("instance_segmentation", pairs, {})
    )


def test_places_in_a_crop_are_named_and_no_other_cause_beside_them(
    tmp_path: Path,
) -> None:
    generator = np.random.default_rng(8)
    for noise_of, told in ((0.03, "-0.12 of the width"), (0.25, None)):
        pairs, paths = [], []
        for k in range(12):
            width, height = ((640, 480), (480, 640), (320, 240))[k % 3]
            paths.append(tmp_path / f"{k}.png")
            Image.new("RGB", (width, height)).save(paths[-1])
            boxes = generator.uniform(0.15, 0.6, (5, 2)) * [width, height]
            sizes = generator.uniform(0.1, 0.35, (5, 2)) * [width, height]
            truth = np.hstack([boxes, boxes + sizes])
            noise = generator.normal(0, noise_of, (5, 2)) * sizes
            moved = np.tile(noise - [width / 8, height / 8], 2)
            pairs.append(
                tuple(
                    Detections(
                        tuple(
                            Detection("cat", tuple(corners))
                            for corners in side.tolist()
                        )
                    )
                    for side in (truth + moved, truth)
                )
            )
        mistake = likely_mistake("object_detection", pairs, {}, paths)
        assert (mistake is None) if told is None else (told in str(mistake))


def test_predictions_of_several_classes_are_not_said_to_have_one() -> None:
    def cats(*labels: str) -> Detections:
        places = ((10.0, 10.0, 30.0, 30.0), (50.0, 10.0, 70.0, 40.0))
        return Detections(tuple(map(Detection, labels, places)))

    far = Detection("kite", (2.0, 40.0, 20.0, 58.0))
    pairs = [
        (cats("cat", "cat").with_items([*cats("cat", "cat").items, far]), truth)
        for truth in [cats("dog", "cow")] * 8
    ]
    assert "have one class" not in str(
        likely_mistake("object_detection", pairs, {})
    )


def test_all_known_sizes_near_a_fitted_one_are_tried() -> None:
    """A poor model leaves open whether its image had 1000 or 1024 pixels."""
    sizes = np.tile([640.0, 480.0, 640.0, 480.0], (9, 1))
    truth = np.random.default_rng(5).uniform(10, 200, (9, 2))
    corners = np.hstack([truth, truth + 100])
    told = [
        m.told for m in fitted_scales(corners / sizes * 1012, corners, sizes)
    ]
    assert {
        f"coordinates refer to an image of {n} × {n}" for n in (1000, 1024)
    } < {*told}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"columns": ["image"], "data": [["a.png"]], "nrows": 1}, "CSV"),
        ({"samples": [{"filepath": "a.png"}]}, "COCODetectionDataset"),
        ({"classes": ["cat"], "labels": {"a": []}}, "COCODetectionDataset"),
    ],
)
def test_forms_that_are_not_read_name_the_one_to_export(
    content: Any, told: str, images: Path
) -> None:
    path = images / "labels.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=told):
        list(coco("object_detection", path, None, images))


def test_the_few_images_that_were_not_refused_explain_nothing(
    images: Path, tmp_path: Path
) -> None:
    """Of boxes given by their centre most have a width below their x; what is left is
    no sample."""
    for folder, box in (("gt", (40, 20, 60, 40)), ("pred", (50, 30, 20, 20))):
        (tmp_path / folder).mkdir()
        for k in range(4):
            low = (1, 1, 20, 20) if folder == "pred" and not k else box
            tags = zip(("xmin", "ymin", "xmax", "ymax"), low, strict=True)
            inner = "".join(f"<{tag}>{value}</{tag}>" for tag, value in tags)
            (tmp_path / folder / f"i{k}.xml").write_text(
                "<annotation><object><name>cat</name>"
                f"<bndbox>{inner}</bndbox></object></annotation>"
            )
    done = import_source(
        tmp_path / "data",
        "object_detection",
        voc("object_detection", tmp_path / "gt", tmp_path / "pred", images),
        source="m",
    )
    assert len(done.problems) == 3 and done.mistake is None


def test_boxes_of_fractions_read_as_percent_are_refused() -> None:
    corners = np.array([[0.1, 0.2, 5.0, 4.0]] * 6)
    sides = Detections(
        tuple(Detection("cat", tuple(row)) for row in corners.tolist())
    )
    assert (corners[:, 2:] <= 0.015 * np.array([640, 480])).all()
    sample = Sample("a", Path("a.png"), sides, sides)
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(DataError, match="multiply them by 100"),
    ):
        patch.setattr(import_mistakes, "image_size", lambda _path: (480, 640))
        check_forms("object_detection", [sample])


@pytest.mark.parametrize(
    ("truth", "prediction", "told"),
    [
        ("pred", "gt", True),
        ("gt", "pred", False),
        ("pred/gt", "pred/a", False),
        ("a", "gt", False),
    ],
)
def test_names_that_say_the_other_side_are_told(
    truth: str,
    prediction: str,
    told: bool,
    tmp_path: Path,
    recwarn: pytest.WarningsRecorder,
) -> None:
    Image.new("RGB", (80, 60)).save(tmp_path / "a.png")
    box = Detections((Detection("cat", (1.0, 2.0, 30.0, 40.0)),))
    import_source(
        tmp_path / "data",
        "object_detection",
        [Sample("a", tmp_path / "a.png", box, box)],
        source="m",
        files=import_mistakes.Files(truth, prediction),
    )
    assert any("exchanged" in str(row.message) for row in recwarn) == told


@pytest.mark.parametrize(
    ("places", "reason"),
    [
        ([(7, 7), (20, 21), (30, 30), (9, 9), (40, 40), (3, 3)], "x equals y"),
        ([(0, 0)] * 6, "upper left corner"),
        ([(0, 0), (20, 4), (30, 9), (9, 40), (4, 30), (3, 3)], None),
    ],
)
def test_where_all_polygons_lie_tells_their_form(
    images: Path, places: list[tuple[int, int]], reason: str | None
) -> None:
    boxes = [
        Detection("cat", (x, y, x + 12.0 + k, y + 12.0 + k), None)
        for k, (x, y) in enumerate(places)
    ]
    truth = Detections((Detection("cat", (9.0, 20.0, 30.0, 30.0), None),))
    sample = Sample(
        "i0", images / "i0.png", Detections(tuple(boxes)), truth=truth
    )
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always")
        check_forms("object_detection", [sample])
    told = " ".join(str(item.message) for item in noticed)
    assert told == "" if reason is None else reason in told
