"""What files of tools hold beside plain boxes, kind by kind: the right value in every
importer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest
from openpyxl import Workbook

from corpus.workspace import dump, photo
from visualjudge.core.errors import DataError, Problem
from visualjudge.core.workbooks import workbook_rows
from visualjudge.formats.coco import coco
from visualjudge.formats.depth_maps import depth_maps
from visualjudge.formats.hugging_face import hugging_face
from visualjudge.formats.label_maps import label_maps
from visualjudge.formats.labelling_tools import shapes
from visualjudge.formats.outputs import outputs, warn_of_range
from visualjudge.formats.pairing import file_below
from visualjudge.formats.referring import referring
from visualjudge.formats.samples import Sample, Samples
from visualjudge.formats.tables import read_table
from visualjudge.formats.voc import voc
from visualjudge.formats.yolo import yolo
from visualjudge.vision.poses.skeleton import KEYPOINT_NAMES

WIDTH, HEIGHT = 160, 120
BOX = [20.0, 30.0, 90.0, 80.0]
CORNERS = [[20, 30], [90, 30], [90, 80], [20, 80]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    photo(tmp_path / "images/a.png", size=(WIDTH, HEIGHT))
    return tmp_path


def boxes(found: Samples) -> list[list[float]]:
    (sample,) = found
    assert isinstance(sample, Sample), sample
    return [list(item.xyxy) for item in sample.truth.items]  # type: ignore[union-attr]


def problem(found: Samples) -> str:
    (told,) = found
    assert isinstance(told, Problem)
    return str(told)


def labelme(home: Path, *given: dict[str, Any]) -> Samples:
    dump(
        home / "gt/a.json",
        {"shapes": [{"label": "cow", **one} for one in given]},
    )
    return shapes(
        "object_detection", home / "gt", None, home / "images", "labelme"
    )


def cvat(
    home: Path, *given: dict[str, Any], names: Sequence[str] = ("a",)
) -> Samples:
    items = [{"id": name, "annotations": given} for name in names]
    labels = {"label": {"labels": [{"name": "cow"}]}}
    dump(home / "gt.json", {"categories": labels, "items": items})
    return shapes(
        "object_detection", home / "gt.json", None, home / "images", "cvat"
    )


def studio(
    home: Path, *given: dict[str, Any], address: str = "a.png"
) -> Samples:
    dump(
        home / "gt.json",
        [{"data": {"image": address}, "annotations": list(given)}],
    )
    return shapes(
        "object_detection",
        home / "gt.json",
        None,
        home / "images",
        "label-studio",
    )


def region(kind: str = "rectanglelabels", **value: Any) -> dict[str, Any]:
    place = {"x": 12.5, "y": 25, "width": 43.75, "height": 100 * 50 / HEIGHT}
    return {
        "id": "r",
        "type": kind,
        "value": {**place, "rectanglelabels": ["cow"], **value},
    }


def coco_file(home: Path, *given: dict[str, Any]) -> Samples:
    rows = [
        {"id": k, "image_id": 1, "category_id": 1, **one}
        for k, one in enumerate(given)
    ]
    images = [{"id": 1.0, "file_name": "a.png"}]
    content = {
        "images": images,
        "annotations": rows,
        "categories": [{"id": 1, "name": "cow"}],
    }
    dump(home / "gt.json", content)
    return coco("object_detection", home / "gt.json", None, home / "images")


def voc_files(
    home: Path, *given: str, names: Sequence[str] = ("a",)
) -> Samples:
    for name in names:
        dump(
            home / f"gt/{name}.xml",
            f"<annotation>{''.join(given)}</annotation>",
        )
    return voc("object_detection", home / "gt", None, home / "images")


def voc_object(xmin: int | str, **more: str) -> str:
    fields = "".join(f"<{name}>{text}</{name}>" for name, text in more.items())
    sides = zip(
        ("xmin", "ymin", "xmax", "ymax"), (xmin, 31, 90, 80), strict=True
    )
    box = "".join(f"<{name}>{value}</{name}>" for name, value in sides)
    return f"<object><name>cow</name>{fields}<bndbox>{box}</bndbox></object>"


def yolo_files(
    home: Path, line: str, task: str = "object_detection", shape: str = ""
) -> Samples:
    dump(home / "data.yaml", f"names: [cow]\n{shape}")
    dump(home / "gt/a.txt", line)
    return yolo(task, home / "gt", None, home / "images", home / "data.yaml")


def rows_of(
    home: Path, task: str = "object_detection", **objects: Any
) -> Samples:
    cell = {"bytes": (home / "images/a.png").read_bytes(), "path": "a.png"}
    rows = pl.DataFrame([{"image": cell, **objects}])
    features = {
        "objects": {"feature": {"_type": "ClassLabel", "names": ["cow", "dog"]}}
    }
    told = json.dumps({"info": {"features": features}})
    rows.write_parquet(home / "rows.parquet", metadata={"huggingface": told})
    return hugging_face(
        task, str(home / "rows.parquet"), None, home / "scratch"
    )


def test_a_rectangle_of_four_corners_is_its_hull(home: Path) -> None:
    for kind, points in (
        ("rectangle", CORNERS),
        ("rotation", CORNERS),
        ("rectangle", CORNERS[::2]),
    ):
        assert boxes(labelme(home, {"shape_type": kind, "points": points})) == [
            BOX
        ]


def test_a_turned_box_is_the_box_around_it(home: Path) -> None:
    turned, around = [40, 40, 80, 20], [[70.0, 10.0, 90.0, 90.0]]
    more = {"rotation": 90.0}
    one = {"type": "bbox", "bbox": turned, "label_id": 0, "attributes": more}
    assert boxes(cvat(home, one)) == around
    assert (
        boxes(coco_file(home, {"bbox": turned, "attributes": more})) == around
    )
    ((left, top, right, bottom),) = boxes(
        studio(home, {"result": [region(rotation=90)]})
    )
    found = [right, top, left, bottom]  # about its first corner
    np.testing.assert_allclose(found, [20, 30, -30, 100])


def test_shapes_of_one_group_are_one_object(home: Path) -> None:
    parts = [[20, 30], [40, 30], [40, 80]], [[70, 30], [90, 30], [90, 80]]
    assert boxes(
        labelme(home, *({"points": part, "group_id": 0} for part in parts))
    ) == [BOX]
    flat = ({"points": [v for point in part for v in point]} for part in parts)
    rows = [
        {**one, "type": "polygon", "label_id": 0, "group": 3} for one in flat
    ]
    assert boxes(cvat(home, *rows)) == [BOX]
    assert len(boxes(cvat(home, *({**row, "group": 0} for row in rows)))) == 2


def test_of_several_annotators_the_one_marked_right_counts(home: Path) -> None:
    skipped, done = (
        {"was_cancelled": True, "result": []},
        {"result": [region()]},
    )
    other = {"result": [region(x=0)], "ground_truth": False}
    assert boxes(studio(home, skipped, done)) == [BOX]
    assert boxes(studio(home, other, {**done, "ground_truth": True})) == [BOX]
    assert "one marked as ground truth, got 2" in problem(
        studio(home, other, done)
    )
    with pytest.warns(UserWarning, match="nobody has finished this task"):
        assert not list(studio(home, skipped))


def test_what_is_no_shape_is_passed_over(home: Path) -> None:
    choice = {"type": "choices", "value": {"choices": ["good"]}}
    result = [region(), choice, {"type": "relation"}]
    assert boxes(
        studio(home, {"result": result}, address="/data?d=x/a.png")
    ) == [BOX]
    tag = {"type": "label", "label_id": 0}
    gone = {
        "type": "bbox",
        "bbox": [1, 1, 2, 2],
        "label_id": 0,
        "attributes": {"outside": True},
    }
    assert boxes(cvat(home, tag, gone)) == []


def test_two_records_of_one_image_name_both(home: Path) -> None:
    with pytest.raises(DataError, match=r"item x/a and .*item y/a"):
        list(cvat(home, names=("x/a", "y/a")))
    with pytest.raises(DataError, match=r"gt/a.xml and .*gt/b.xml"):
        list(voc_files(home, "<filename>a.png</filename>", names=("a", "b")))


def test_a_number_of_no_class_is_refused(home: Path) -> None:
    for number in (-1, -100, 2, None):
        told = problem(
            rows_of(
                home,
                objects=[{"bbox": [1.0, 2.0, 3.0, 4.0], "category": number}],
            )
        )
        assert f"0 to 1, got {number}" in told
    assert "0 to 0, got -1" in problem(
        cvat(home, {"type": "bbox", "label_id": -1})
    )
    assert "0 to 0, got -1" in problem(yolo_files(home, "-1 .5 .5 .1 .1"))


@pytest.mark.parametrize(
    "box", [[1.0, None, 3.0, 4.0], "1 2 3 4", {"x": 1.0}, None]
)
def test_a_box_of_another_form_is_one_record(home: Path, box: Any) -> None:
    assert "row 0: objects[0]: bbox" in problem(
        rows_of(home, objects=[{"bbox": box, "category": 0}])
    )


def test_a_damaged_image_is_one_record(home: Path) -> None:
    dump(home / "images/a.png", "no image")
    assert "row 0: image" in problem(
        rows_of(home, objects=[{"bbox": [1.0] * 4, "category": 0}])
    )


@pytest.mark.parametrize(
    ("text", "crowd"), [("0", False), ("1", True), ("false", False)]
)
def test_flags_may_be_text(home: Path, text: str, crowd: bool) -> None:
    for found in (
        coco_file(home, {"bbox": [1, 2, 3, 4], "iscrowd": text}),
        voc_files(home, voc_object(21, difficult=text)),
        labelme(home, {"points": CORNERS, "difficult": text}),
    ):
        (sample,) = found
        assert sample.truth.items[0].iscrowd is crowd  # type: ignore[union-attr]
    assert "must be 0 or 1, got 'maybe'" in problem(
        coco_file(home, {"bbox": [1, 2, 3, 4], "iscrowd": "maybe"})
    )


def test_the_numbers_of_a_tracker_are_no_confidences(home: Path) -> None:
    tail = "0 .5 .5 .25 .5"
    for line, scores in (
        (f"{tail} 1\n{tail} 2", [None, None]),
        (f"{tail} .9 1\n{tail} .8 1", [0.9, 0.8]),
        (f"{tail} .9", [0.9]),
    ):
        (sample,) = yolo_files(home, line)
        assert [item.score for item in sample.truth.items] == scores  # type: ignore[union-attr]
    assert "confidence: must be from 0 to 1, got 7.5" in problem(
        yolo_files(home, f"{tail} 7.5")
    )


def test_results_of_poses_need_no_visibility(home: Path) -> None:
    seen = [float(v) for k in range(17) for v in (20 + k, 30 + k, 2)]
    row = {
        "image_id": 1,
        "category_id": 1,
        "keypoints": seen,
        "bbox": [20, 30, 70, 50],
    }
    list(coco_file(home, {**row, "area": 99}))
    dump(
        home / "pred.json",
        [{**row, "score": 0.9, "keypoints": [0.0, 0.0, 0.0, *seen[3:]]}],
    )
    hidden = json.loads((home / "pred.json").read_text("utf-8"))
    hidden[0]["keypoints"][2::3] = [0] * 17
    dump(home / "pred.json", hidden)
    (sample,) = coco(
        "keypoint", home / "gt.json", home / "pred.json", home / "images"
    )
    assert isinstance(sample, Sample)
    (person,) = sample.prediction.items  # type: ignore[attr-defined]
    assert person.present.tolist() == [False] + [True] * 16


def test_a_pose_has_a_box_and_keypoints(home: Path) -> None:
    line = f"0 .34375 .458333 .4375 .416667 {'.5 .5 2 ' * 17}"
    shape = "kpt_shape: [17, 3]"
    np.testing.assert_allclose(
        boxes(yolo_files(home, line, shape=shape)), [BOX], atol=1e-3
    )
    (sample,) = yolo_files(home, line, "keypoint", shape)
    (person,) = sample.truth.items  # type: ignore[union-attr]
    assert person.keypoints[0].tolist() == [80, 60, 2]


def test_a_voc_box_at_zero_counts_from_zero(home: Path) -> None:
    assert boxes(voc_files(home, voc_object(21))) == [BOX]
    with pytest.warns(UserWarning, match="counted from 0 in all files"):
        assert boxes(voc_files(home, voc_object(0))) == [
            [0.0, 31.0, 90.0, 80.0]
        ]


@pytest.mark.parametrize("first", ["0.000", "0.4"])
def test_a_voc_box_below_one_counts_from_zero(home: Path, first: str) -> None:
    with pytest.warns(UserWarning, match="counted from 0 in all files"):
        assert boxes(voc_files(home, voc_object(first))) == [
            [float(first), 31.0, 90.0, 80.0]
        ]


def test_an_image_of_voc_is_found_whatever_its_suffix(home: Path) -> None:
    photo(home / "images/b.BMP", size=(WIDTH, HEIGHT))
    (home / "images/a.png").unlink()
    size = "<size><width>0</width><height>0</height></size>"
    named = f"<filename>b.jpg</filename>{size}{voc_object(21)}"
    assert boxes(voc_files(home, named, names=("b",))) == [BOX]


def test_sixteen_bits_of_colour_are_read_whole(home: Path) -> None:
    values = np.full((HEIGHT, WIDTH), 300, np.uint16)
    values[:5] = 44
    cv2.imwrite(str(home / "a.png"), np.dstack([values] * 3))
    dump(home / "classes.txt", "\n".join(f"class{k}" for k in range(301)))
    made, images = str(home / "a.png"), str(home / "images/a.png")
    (sample,) = label_maps(
        "semantic_segmentation", made, None, images, home / "classes.txt"
    )
    assert sample.truth.labels == ("class300", "class44")  # type: ignore[union-attr]
    (depth,) = depth_maps(
        "depth_estimation", made, None, images, gt_scale="1/100"
    )
    assert sorted(np.unique(depth.truth.values).tolist()) == [0.44, 3.0]  # type: ignore[union-attr]


@pytest.mark.parametrize("largest", [65535, 1e10, np.finfo(np.float32).max])
def test_the_largest_value_of_a_patch_is_a_hole(
    home: Path, largest: float
) -> None:
    values = np.full((HEIGHT, WIDTH), 5000.5, np.float32)
    values[:5] = largest
    np.save(home / "a.npy", values)
    made, images = str(home / "a.npy"), str(home / "images/a.png")
    with pytest.warns(UserWarning, match="800 of 19200 pixels are"):
        (sample,) = depth_maps(
            "depth_estimation", made, None, images, gt_scale="1/1000"
        )
    assert isinstance(sample, Sample) and sample.file is None
    assert sample.truth.valid.sum() == 19200 - 800  # type: ignore[union-attr]


def test_labels_beside_their_photographs_are_read(home: Path) -> None:
    dump(
        home / "images/a.json",
        {"shapes": [{"label": "cow", "points": CORNERS}]},
    )
    found = shapes(
        "object_detection", home / "images", None, home / "images", "labelme"
    )
    assert boxes(found) == [BOX]


@pytest.mark.parametrize("kind", [int, float])
def test_corners_of_a_data_set_may_be_whole_numbers(
    home: Path, kind: type
) -> None:
    rows_of(home, objects={"bbox": [[kind(v) for v in BOX]], "category": [0]})
    found = hugging_face(
        "object_detection",
        str(home / "rows.parquet"),
        None,
        home / "scratch",
        box_format="xyxy",
    )
    assert boxes(found) == [BOX]


def test_crowds_and_class_names_of_a_data_set_are_read(home: Path) -> None:
    rows_of(
        home,
        objects={
            "bbox": [BOX, BOX],
            "category": ["dog", "cow"],
            "iscrowd": [0, 1],
        },
    )
    (sample,) = hugging_face(
        "object_detection", str(home / "rows.parquet"), None, home / "scratch"
    )
    assert isinstance(sample, Sample) and sample.truth is not None
    assert sample.truth.without_crowds().labels == ("dog",)
    rows_of(home, objects={"bbox": [BOX], "category": ["7"]})
    told = problem(
        hugging_face(
            "object_detection",
            str(home / "rows.parquet"),
            None,
            home / "scratch2",
        )
    )
    assert "category: must be the number of a class name, 0 to 1, got 7" in told


@pytest.mark.parametrize(
    "file", ["comp4_det_test_traffic_light", "comp4_det_test_cow", "det_cow"]
)
def test_the_class_of_results_of_voc_may_hold_underscores(
    home: Path, file: str
) -> None:
    list(voc_files(home, voc_object(21)))
    dump(home / f"pred/{file}.txt", "a 0.9 21 31 90 80")
    (sample,) = voc(
        "object_detection", home / "gt", home / "pred", home / "images"
    )
    assert isinstance(sample, Sample)
    assert sample.prediction.labels == (
        file.removeprefix("comp4_det_test_").removeprefix("det_"),
    )


def test_a_mask_of_black_and_white_is_told(home: Path) -> None:
    values = np.zeros((HEIGHT, WIDTH), np.uint8)
    values[:5] = 255
    cv2.imwrite(str(home / "a.png"), values)
    dump(home / "classes.txt", "background\nforeground")
    made, images = str(home / "a.png"), str(home / "images/a.png")
    with pytest.warns(UserWarning, match=r"a\.png: has only 0 and 255"):
        list(
            label_maps(
                "semantic_segmentation",
                made,
                None,
                images,
                home / "classes.txt",
            )
        )


@pytest.mark.parametrize("more", [" 0.3", " 0.3 0.9", " .5" * 34])
def test_lines_of_yolo_with_more_numbers_are_told(
    home: Path, more: str
) -> None:
    line = f"0 0.34375 0.45833333 0.4375 0.41666667{more}\n"
    with pytest.warns(
        UserWarning, match="numbers follow each class, .* angles are not read"
    ):
        list(yolo_files(home, line * 2))


def test_a_region_of_two_labels_is_refused(home: Path) -> None:
    told = problem(
        studio(home, {"result": [region(rectanglelabels=["cow", "dog"])]})
    )
    assert "a region must have one label, 'r' has ['cow', 'dog']" in told


def test_two_masks_of_one_expression_are_refused(home: Path) -> None:
    mask = {"segmentation": [[20, 30, 90, 30, 90, 80]]}
    dump(
        home / "gt.json",
        [{"image": "a.png", "expression": "cow", "key": "1", **mask}],
    )
    dump(home / "pred.json", [{"key": "1", **mask}] * 2)
    with pytest.raises(DataError, match="row 2: key '1' must occur once"):
        list(
            referring(
                "referring_segmentation",
                home / "gt.json",
                home / "pred.json",
                home / "images",
            )
        )


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_a_header_that_names_a_column_twice_is_refused(
    tmp_path: Path, suffix: str
) -> None:
    rows = [["item", "score", "score"], ["q1", 3, 9]]
    file = tmp_path / f"votes.{suffix}"
    if suffix == "csv":
        file.write_text(
            "".join(",".join(map(str, row)) + "\n" for row in rows), "utf-8"
        )
    else:
        book = Workbook()
        for row in rows:
            book.active.append(row)  # type: ignore[union-attr]
        book.save(file)
    with pytest.raises(
        DataError, match="must name a column once, got item, score, score"
    ):
        read_table(file) if suffix == "csv" else workbook_rows(file)


@pytest.mark.parametrize(
    ("ratings", "range_"),
    [
        ((0.2, 0.9), "0 1"),
        ((3.33, 4.67), "1 5"),
        ((1, 4, 7), "1 7"),
        ((2, 7), ""),
        ((3, 9), ""),
    ],
)
def test_ratings_that_look_like_another_scale_are_told(
    ratings: tuple[float, ...], range_: str, recwarn: pytest.WarningsRecorder
) -> None:
    warn_of_range("t.csv", ratings, (0, 10))
    assert [
        f"`score_range` {range_}," in str(one.message) for one in recwarn
    ] == ([True] if range_ else [])


def test_blanks_around_names_make_no_other_class_or_source(home: Path) -> None:
    dump(home / "gt/a.json", {"shapes": [{"label": "cow ", "points": CORNERS}]})
    (sample,) = shapes(
        "object_detection", home / "gt", None, home / "images", "labelme"
    )
    assert isinstance(sample, Sample) and sample.prediction.labels == ("cow",)
    dump(home / "t.csv", "output,prompt,score,source\na.png,a cow ,7,sdxl \n")
    (sample,) = outputs(
        "generation_t2i", str(home / "t.csv"), None, home / "images"
    )
    assert isinstance(sample, Sample) and (sample.source, sample.prompt) == (
        "sdxl",
        "a cow",
    )


def test_a_corner_moved_to_the_edge_is_a_warning(home: Path) -> None:
    with pytest.warns(
        UserWarning, match=r"a\.txt: line 1: corners outside the image"
    ):
        found = boxes(yolo_files(home, "0 0.5 0.5 1.04 0.5 1.04 0.9 0.5 0.9"))
    assert found == [[80.0, 60.0, 160.0, 108.0]]


def test_classes_without_names_are_a_warning(home: Path) -> None:
    cell = {"bytes": (home / "images/a.png").read_bytes(), "path": "a.png"}
    objects = {"bbox": [BOX], "category": [3]}
    rows = pl.DataFrame([{"image": cell, "objects": objects}])
    rows.write_parquet(home / "bare.parquet")
    with pytest.warns(UserWarning, match="classes are numbers"):
        list(
            hugging_face(
                "object_detection", str(home / "bare.parquet"), None, home / "x"
            )
        )


def test_numbers_joined_to_names_of_the_ground_truth_are_a_warning(
    home: Path,
) -> None:
    list(rows_of(home, objects={"bbox": [BOX], "category": [1]}))
    cell = {"bytes": (home / "images/a.png").read_bytes(), "path": "a.png"}
    objects = {"bbox": [BOX], "category": [1], "score": [0.9]}
    rows = pl.DataFrame([{"image": cell, "objects": objects}])
    rows.write_parquet(home / "pred.parquet")
    ours = [str(home / name) for name in ("rows.parquet", "pred.parquet")]
    with pytest.warns(
        UserWarning, match=r"pred\.parquet: row 0: classes are numbers"
    ):
        (sample,) = hugging_face("object_detection", *ours, home / "x")
    assert isinstance(sample, Sample)
    assert sample.prediction.labels == ("dog",)


def test_a_line_that_is_no_numbers_is_shown(home: Path) -> None:
    told = problem(yolo_files(home, "cow 0.5 0.5 0.1 0.1"))
    assert "coordinates separated by spaces, got 'cow 0.5 0.5 0.1 0.1'" in told


def joints(home: Path, names: Sequence[str], *, own: bool = False) -> Samples:
    """Poses whose keypoints are named; ``own``: by the file of predictions alone."""
    numbers = [float(v) for k in range(17) for v in (5 + k, 9 + 2 * k, 2)]
    by_name = dict(
        zip(KEYPOINT_NAMES, np.reshape(numbers, (17, 3)).tolist(), strict=True)
    )
    other = [v for name in names for v in by_name.get(name.lower(), [1, 1, 2])]

    def content(keypoints: list[float], named: bool) -> dict[str, Any]:
        more = {"keypoints": names} if named else {}
        return {
            "images": [{"id": 1, "file_name": "a.png"}],
            "categories": [{"id": 1, "name": "person", **more}],
            "annotations": [
                {
                    "id": 1,
                    "image_id": 1,
                    "category_id": 1,
                    "keypoints": keypoints,
                }
            ],
        }

    gt, pred = home / "gt.json", home / "pred.json"
    dump(gt, content(numbers if own else other, not own))
    dump(
        pred,
        content(other, True)
        if own
        else [content(other, True)["annotations"][0]],
    )
    return coco("keypoint", gt, pred, home / "images")


@pytest.mark.parametrize("own", [False, True])
def test_keypoints_are_read_by_the_names_of_their_file(
    home: Path, own: bool
) -> None:
    names = [name.title() for name in reversed(KEYPOINT_NAMES)]
    (sample,) = joints(home, names, own=own)
    assert isinstance(sample, Sample)
    for side in (sample.truth, sample.prediction):
        (person,) = side.items  # type: ignore[union-attr]
        assert person.keypoints[:, 0].tolist() == [5 + k for k in range(17)]


def test_names_of_another_skeleton_are_refused_and_foreign_ones_told(
    home: Path,
) -> None:
    with pytest.raises(DataError, match="left_eye must occur once, got pelvis"):
        (*_,) = joints(
            home, ["pelvis" if "left_eye" in n else n for n in KEYPOINT_NAMES]
        )
    with pytest.warns(UserWarning, match="'k0': no name is one of COCO's"):
        (*_,) = joints(home, [f"k{k}" for k in range(17)])


def test_keypoints_of_yolo_are_read_by_kpt_names(home: Path) -> None:
    turned = list(reversed(range(17)))
    places = [f"{(k + 1) / 20} 0.5" if k != 4 else "0 0" for k in turned]
    points = " ".join(places)
    (home / "gt").mkdir()
    (home / "gt/a.txt").write_text(f"0 .5 .5 .9 .9 {points}\n")
    names = "".join(f"    - {KEYPOINT_NAMES[k]}\n" for k in turned)
    classes = home / "data.yaml"
    classes.write_text(
        f"names: [person]\nkpt_shape: [17, 2]\nkpt_names:\n  0:\n{names}"
    )
    (sample,) = yolo("keypoint", home / "gt", None, home / "images", classes)
    assert isinstance(sample, Sample)
    (person,) = sample.truth.items  # type: ignore[union-attr]
    wanted = [[WIDTH * (k + 1) / 20, HEIGHT / 2, 2] for k in range(17)]
    wanted[4] = [0, 0, 0]
    np.testing.assert_allclose(person.keypoints, wanted)


def test_two_images_of_one_file_are_refused(home: Path) -> None:
    row = {"image_id": 1, "category_id": 1, "bbox": [20, 30, 70, 50]}
    list(coco_file(home, row))
    content = json.loads((home / "gt.json").read_text("utf-8"))
    content["images"].append({**content["images"][0], "id": 99})
    dump(home / "gt.json", content)
    samples = coco("object_detection", home / "gt.json", None, home / "images")
    message, _ = sorted(map(str, samples), key=len)
    assert "is that of image 1 too" in message


def test_two_label_files_of_one_image_are_told(home: Path) -> None:
    samples = yolo_files(home, "0 .5 .5 .1 .1")
    (home / "gt/A.txt").write_text("0 .5 .5 .9 .9")
    problems = [row for row in samples if isinstance(row, Problem)]
    assert "a.txt is read for" in str(*problems)


def test_a_value_far_beyond_all_others_is_told(home: Path) -> None:
    values = np.full((HEIGHT, WIDTH), 3.0)
    values[:20] = 80
    np.save(home / "a.npy", values)
    where = str(home / "a.npy"), None, str(home / "images/a.png")
    with pytest.warns(UserWarning, match="3200 pixels are 80, far beyond"):
        list(depth_maps("depth_estimation", *where))


@pytest.mark.parametrize(("largest", "stated"), [(65504, True), (90, False)])
def test_depths_too_large_for_their_type_are_told_and_a_sky_is_not(
    home: Path, largest: float, stated: bool, recwarn: pytest.WarningsRecorder
) -> None:
    values = np.linspace(1, largest, HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
    values[:20] = np.inf
    np.save(home / "a.npy", values)
    where = str(home / "a.npy"), None, str(home / "images/a.png")
    list(depth_maps("depth_estimation", *where))
    assert any("are infinite" in str(one.message) for one in recwarn) is stated


@pytest.mark.parametrize(("value", "stated"), [(1, True), (9, False)])
def test_unlabelled_pixels_that_the_class_table_names_are_told(
    home: Path, value: int, stated: bool, recwarn: pytest.WarningsRecorder
) -> None:
    made, images = str(home / "a.png"), str(home / "images/a.png")
    cv2.imwrite(made, np.full((HEIGHT, WIDTH), 2, np.uint8))
    dump(home / "classes.csv", "id,name\n1,road\n2,sky\n")
    table, task = home / "classes.csv", "semantic_segmentation"
    list(label_maps(task, made, None, images, table, unlabelled=[value]))
    assert any("1 (road)" in str(one.message) for one in recwarn) is stated


@pytest.mark.parametrize(
    ("column", "scores", "limits", "words"),
    [
        ("score", (1, 5), (0, 100), "in the lowest tenth"),
        ("score", (1, 50), (0, 100), None),
        ("score", (0, 0), (0, 100), None),
        ("LPIPS", (0.2, 0.6), (0, 1), "better the lower"),
        ("clip", (0.2, 0.6), (0, 1), None),
    ],
)
def test_scores_that_do_not_fit_their_range_or_rule_are_told(
    home: Path,
    column: str,
    scores: tuple[float, float],
    limits: tuple[float, float],
    words: str | None,
    recwarn: pytest.WarningsRecorder,
) -> None:
    rows = "".join(f"a.png,p{k},{v}\n" for k, v in enumerate(scores))
    dump(home / "t.csv", f"output,prompt,{column}\n{rows}")
    table = str(home / "t.csv"), "m", home / "images"
    list(outputs("generation_t2i", *table, limits, [column]))
    assert [words in str(one.message) for one in recwarn if words] == [
        True
    ] * bool(words)
    assert len(recwarn) == bool(words)


def test_a_folder_that_a_file_names_in_vain_is_told(home: Path) -> None:
    row = {"image_id": 1, "category_id": 1, "bbox": [20, 30, 70, 50]}
    list(coco_file(home, row))
    text = (home / "gt.json").read_text("utf-8")
    for folder in ("val/", "val\\\\"):
        (home / "gt.json").write_text(
            text.replace('"a.png"', f'"{folder}a.png"')
        )
        samples = coco(
            "object_detection", home / "gt.json", None, home / "images"
        )
        assert "; there is " in problem(samples)
    (home / "images/val").mkdir()
    photo(home / "images/val/a.png", size=(WIDTH, HEIGHT))
    assert boxes(
        coco("object_detection", home / "gt.json", None, home / "images")
    )


def test_a_file_two_folders_below_is_named(tmp_path: Path) -> None:
    photo(tmp_path / "val/flux/1.png", size=(WIDTH, HEIGHT))
    for name in ("1.png", "flux/1.png"):
        with pytest.raises(DataError, match=r"; there is .*val/flux/1\.png"):
            file_below(tmp_path, name)


def test_a_box_under_one_pixel_high_is_read(home: Path) -> None:
    found = yolo_files(home, "0 0.5 0.5 0.5 0.001")
    ((_, top, _, bottom),) = boxes(found)
    assert 0 < bottom - top < 1
