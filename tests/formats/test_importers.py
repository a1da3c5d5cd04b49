"""Each format read from files of a few records, whose right reading is known by
hand."""

from __future__ import annotations

import json
import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from visualjudge.core.errors import DataError, Problem, UsageError
from visualjudge.data.import_mistakes import Files, check_forms
from visualjudge.formats.coco import coco
from visualjudge.formats.depth_maps import depth_maps
from visualjudge.formats.hugging_face import hugging_face
from visualjudge.formats.image_pairs import image_pairs
from visualjudge.formats.label_maps import label_maps
from visualjudge.formats.outputs import given_score, outputs
from visualjudge.formats.pairing import files_by_key
from visualjudge.formats.referring import referring
from visualjudge.formats.samples import Sample
from visualjudge.formats.tables import class_table, read_table
from visualjudge.formats.voc import voc
from visualjudge.formats.yolo import yolo
from visualjudge.vision.raster.images import read_rgb, write_png

WIDTH, HEIGHT = 20, 10


def photo(
    path: Path, size: tuple[int, int] = (WIDTH, HEIGHT), value: int = 90
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (value, 10, 10)).save(path)
    return path


def gray(path: Path, values: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(values).save(path)
    return path


def dump(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def ground_truth(
    tmp_path: Path, annotations: list[dict], **image: object
) -> Path:
    photo(tmp_path / "images" / "a.png")
    record = {
        "id": 7,
        "file_name": "a.png",
        "width": WIDTH,
        "height": HEIGHT,
        **image,
    }
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    return dump(
        tmp_path / "gt.json",
        {
            "images": [record],
            "categories": categories,
            "annotations": annotations,
        },
    )


def box(category: int, *xywh: float, **extra: object) -> dict:
    return {"image_id": 7, "category_id": category, "bbox": list(xywh), **extra}


def only(found: object) -> Sample:
    (sample,) = list(found)  # type: ignore[call-overload]
    assert isinstance(sample, Sample), str(sample)
    return sample


def problem(found: object) -> Problem:
    (told,) = [item for item in found if isinstance(item, Problem)]  # type: ignore[attr-defined]
    return told


class TestCoco:
    def test_boxes_become_corners_and_categories_names(
        self, tmp_path: Path
    ) -> None:
        gt = ground_truth(
            tmp_path, [box(1, 2, 3, 4, 5), box(2, 0, 0, 9, 9, iscrowd=1)]
        )
        pred = dump(tmp_path / "pred.json", [box(2, 1, 1, 2, 2, score=0.5)])
        sample = only(coco("object_detection", gt, pred, tmp_path / "images"))
        assert sample.image_id == "a" and sample.labels == ("cat", "dog")
        assert [(i.label, i.xyxy, i.iscrowd) for i in sample.truth.items] == [
            ("cat", (2, 3, 6, 8), False),
            ("dog", (0, 0, 9, 9), True),
        ]
        assert [
            (i.label, i.xyxy, i.score) for i in sample.prediction.items
        ] == [("dog", (1, 1, 3, 3), 0.5)]

    def test_without_results_the_truth_is_the_prediction_but_for_crowds(
        self, tmp_path: Path
    ) -> None:
        gt = ground_truth(
            tmp_path, [box(1, 2, 3, 4, 5), box(2, 0, 0, 9, 9, iscrowd=1)]
        )
        sample = only(coco("object_detection", gt, None, tmp_path / "images"))
        assert [i.label for i in sample.prediction.items] == ["cat"]

    def test_instances_from_polygons_and_uncompressed_rle(
        self, tmp_path: Path
    ) -> None:
        rle = {"size": [HEIGHT, WIDTH], "counts": [0, 30, 170]}
        rows = [
            box(1, 0, 0, 1, 1, segmentation=[[0, 0, 4, 0, 4, 4, 0, 4]]),
            box(2, 0, 0, 3, 10, segmentation=rle),
        ]
        sample = only(
            coco(
                "instance_segmentation",
                ground_truth(tmp_path, rows),
                None,
                tmp_path / "images",
            )
        )
        assert [i.mask.area for i in sample.truth.items] == [16, 30]

    def test_a_persons_area_is_the_field_with_or_without_a_segmentation(
        self, tmp_path: Path
    ) -> None:
        points = [float(v) for k in range(17) for v in (k, k, 2)]
        row = box(
            1,
            0,
            0,
            9,
            9,
            keypoints=points,
            area=33.0,
            segmentation=[[0, 0, 4, 0, 4, 4]],
        )
        bare = {**row, "segmentation": None}
        del bare["segmentation"]
        sample = only(
            coco(
                "keypoint",
                ground_truth(tmp_path, [row, bare]),
                None,
                tmp_path / "images",
            )
        )
        assert [person.area for person in sample.truth.items] == [33.0, 33.0]

    def test_lvis_leaves_out_what_was_not_looked_for(
        self, tmp_path: Path
    ) -> None:
        gt = ground_truth(
            tmp_path,
            [box(1, 2, 3, 4, 5)],
            neg_category_ids=[],
            not_exhaustive_category_ids=[],
            file_name=None,
            coco_url="http://images.cocodataset.org/val2017/a.png",
        )
        pred = dump(
            tmp_path / "pred.json",
            [box(2, 1, 1, 2, 2, score=0.5), box(1, 2, 3, 4, 5, score=0.9)],
        )
        sample = only(coco("object_detection", gt, pred, tmp_path / "images"))
        assert [i.label for i in sample.prediction.items] == ["cat"]

    def test_lvis_does_not_score_a_class_whose_instances_are_not_all_marked(
        self, tmp_path: Path
    ) -> None:
        gt = ground_truth(
            tmp_path,
            [box(1, 2, 3, 4, 5)],
            neg_category_ids=[2],
            not_exhaustive_category_ids=[1],
        )
        assert (
            only(coco("object_detection", gt, None, tmp_path / "images")).labels
            == ()
        )

    @pytest.mark.parametrize(
        ("row", "field", "words"),
        [
            (
                box(9, 0, 0, 1, 1),
                "category_id",
                "must be a category of gt.json, such as 1 (cat), got 9",
            ),
            (box(1, 0, 0, -1, 1), "bbox", "negative"),
            (box(1, 0, 0, float("nan"), 1), "bbox", "finite"),
            ({"image_id": 7, "category_id": 1}, "bbox", "got None"),
        ],
    )
    def test_a_bad_truth_is_told_and_its_image_left_out(
        self, tmp_path: Path, row: dict, field: str, words: str
    ) -> None:
        told = problem(
            coco(
                "object_detection",
                ground_truth(tmp_path, [row]),
                None,
                tmp_path / "images",
            )
        )
        assert (told.file, told.record, told.field) == (
            "gt.json",
            "annotations[0]",
            field,
        )
        assert words in told.reason

    @pytest.mark.parametrize("name", ["a", "a.png", "0012", 12])
    def test_results_may_name_the_file_of_their_image(
        self, tmp_path: Path, name: object
    ) -> None:
        """As Ultralytics does, with a number where the name is one."""
        stem = "a" if str(name).startswith("a") else "0012"
        gt = ground_truth(
            tmp_path, [box(1, 2, 3, 4, 5)], file_name=f"{stem}.png"
        )
        images = tmp_path / "images"
        (images / "a.png").rename(images / f"{stem}.png")
        row = {**box(1, 2, 3, 4, 5, score=0.5), "image_id": name}
        pred = dump(tmp_path / "pred.json", [row])
        sample = only(coco("object_detection", gt, pred, images))
        assert len(sample.prediction.items) == 1

    def test_a_result_on_an_unknown_image_is_told(self, tmp_path: Path) -> None:
        pred = dump(
            tmp_path / "pred.json",
            [{**box(1, 0, 0, 1, 1, score=1), "image_id": 8}],
        )
        told = problem(
            coco(
                "object_detection",
                ground_truth(tmp_path, []),
                pred,
                tmp_path / "images",
            )
        )
        assert told.field == "image_id" and "such as 7, got 8" in told.reason

    def test_a_size_that_is_not_the_images_is_told(
        self, tmp_path: Path
    ) -> None:
        told = problem(
            coco(
                "object_detection",
                ground_truth(tmp_path, [], width=21),
                None,
                tmp_path / "images",
            )
        )
        assert (
            told.field == "width"
            and "must match a.png, 10×20, got 10×21" in told.reason
        )

    def test_a_file_that_is_not_json_is_one_line_with_its_line_number(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "gt.json").write_text("{\n oh")
        with pytest.raises(DataError, match=r"gt\.json: line 2: is not JSON"):
            list(coco("object_detection", tmp_path / "gt.json", None, tmp_path))


def test_panoptic_segments_of_a_class_join_and_only_things_are_instances(
    tmp_path: Path,
) -> None:
    ids = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
    ids[:, :5, 0], ids[:, 5:8, 1], ids[:2, 10:12, 2] = 3, 1, 1
    gray(tmp_path / "png" / "a.png", ids)
    segments = [
        {"id": 3, "category_id": 1},
        {"id": 256, "category_id": 1},
        {"id": 65536, "category_id": 2, "iscrowd": 0},
    ]
    gt = ground_truth(
        tmp_path,
        [{"image_id": 7, "file_name": "a.png", "segments_info": segments}],
    )
    content = json.loads(gt.read_text())
    content["categories"][1]["isthing"] = "0"  # as text, like other flags
    dump(gt, content)
    read = [
        only(
            coco(task, gt, None, tmp_path / "images", gt_pngs=tmp_path / "png")
        )
        for task in ("semantic_segmentation", "instance_segmentation")
    ]
    assert [(i.label, i.mask.area) for i in read[0].truth.items] == [
        ("cat", 80),
        ("dog", 4),
    ]
    assert [(i.label, i.mask.area) for i in read[1].truth.items] == [
        ("cat", 50),
        ("cat", 30),
    ]
    del content["annotations"][0]["segments_info"][0]
    dump(gt, content)
    read = coco(
        "semantic_segmentation",
        gt,
        None,
        tmp_path / "images",
        gt_pngs=tmp_path / "png",
    )
    assert "segments_info: 3 of a.png is missing" in str(problem(read))


@pytest.mark.parametrize(("area", "told"), [(50, 0), (None, 0), (49, 1)])
def test_areas_of_segments_tell_the_pngs_of_another_file(
    tmp_path: Path,
    area: int | None,
    told: int,
    recwarn: pytest.WarningsRecorder,
) -> None:
    ids = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
    ids[:, :5, 0] = 3
    gray(tmp_path / "png" / "a.png", ids)
    segment = {"id": 3, "category_id": 1}
    segments = [segment if area is None else {**segment, "area": area}]
    row = {"image_id": 7, "file_name": "a.png", "segments_info": segments}
    gt = ground_truth(tmp_path, [row])
    only(
        coco(
            "semantic_segmentation",
            gt,
            None,
            tmp_path / "images",
            gt_pngs=tmp_path / "png",
        )
    )
    texts = [str(warning.message) for warning in recwarn]
    assert (
        sum("are these the PNGs of this file" in text for text in texts) == told
    )


class TestVoc:
    def xml(self, tmp_path: Path, objects: str) -> Path:
        photo(tmp_path / "images" / "a.jpg")
        folder = tmp_path / "xml"
        folder.mkdir()
        (folder / "a.xml").write_text(
            f"<annotation><filename>a.jpg</filename>{objects}</annotation>"
        )
        return folder

    def test_pixels_count_from_one_and_difficult_objects_need_not_be_found(
        self, tmp_path: Path
    ) -> None:
        bndbox = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>5</ymax></bndbox>"
        gt = self.xml(
            tmp_path,
            f"<object><name>cat</name>{bndbox}</object>"
            f"<object><name>dog</name><difficult>1</difficult>{bndbox}</object>",
        )
        pred = tmp_path / "results"
        pred.mkdir()
        (pred / "comp4_det_val_cat.txt").write_text("a 0.75 1 2 4 5\n")
        sample = only(voc("object_detection", gt, pred, tmp_path / "images"))
        assert [(i.xyxy, i.iscrowd) for i in sample.truth.items] == [
            ((0, 1, 4, 5), False),
            ((0, 1, 4, 5), True),
        ]
        assert [
            (i.label, i.xyxy, i.score) for i in sample.prediction.items
        ] == [("cat", (0, 1, 4, 5), 0.75)]

    def test_a_corner_that_is_no_number_is_told(self, tmp_path: Path) -> None:
        gt = self.xml(
            tmp_path,
            "<object><name>cat</name><bndbox><xmin>x</xmin></bndbox></object>",
        )
        told = problem(voc("object_detection", gt, None, tmp_path / "images"))
        assert (
            str(told)
            == "a.xml: object 1: bndbox.xmin: must be a number, got 'x'"
        )

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_entities_are_refused_whatever_the_encoding(
        self, tmp_path: Path, encoding: str
    ) -> None:
        gt = self.xml(tmp_path, "")
        text = (
            f"<?xml version='1.0' encoding='{encoding}'?><!DOCTYPE a [<!ENTITY b "
            "'c'>]><annotation>&b;</annotation>"
        )
        (gt / "a.xml").write_bytes(text.encode(encoding))
        assert (
            "must not declare entities"
            in problem(
                voc("object_detection", gt, None, tmp_path / "images")
            ).reason
        )


class TestYolo:
    def labels(self, tmp_path: Path, text: str) -> tuple[Path, Path]:
        photo(tmp_path / "images" / "a.png")
        (tmp_path / "labels").mkdir()
        (tmp_path / "labels" / "a.txt").write_text(text)
        (tmp_path / "data.yaml").write_text("names:\n  0: cat\n  1: dog\n")
        return tmp_path / "labels", tmp_path / "data.yaml"

    def test_shares_become_pixels_and_a_last_number_is_the_confidence(
        self, tmp_path: Path
    ) -> None:
        gt, names = self.labels(tmp_path, "1 0.5 0.5 0.2 0.4 0.9\n")
        sample = only(
            yolo("object_detection", gt, None, tmp_path / "images", names)
        )
        (item,) = sample.truth.items
        assert (item.label, item.score) == ("dog", 0.9)
        assert item.xyxy == pytest.approx((8, 3, 12, 7))

    def test_a_polygon_is_a_mask(self, tmp_path: Path) -> None:
        gt, names = self.labels(tmp_path, "0 0 0 0.5 0 0.5 0.5 0 0.5\n")
        sample = only(
            yolo("instance_segmentation", gt, None, tmp_path / "images", names)
        )
        assert sample.truth.items[0].mask.area == 50

    def test_no_file_means_no_object(self, tmp_path: Path) -> None:
        gt, names = self.labels(tmp_path, "0 0.5 0.5 0.1 0.1\n")
        (tmp_path / "pred").mkdir()
        sample = only(
            yolo(
                "object_detection",
                gt,
                tmp_path / "pred",
                tmp_path / "images",
                names,
            )
        )
        assert sample.prediction.items == ()

    def test_an_unknown_class_is_told(self, tmp_path: Path) -> None:
        gt, names = self.labels(tmp_path, "5 0.5 0.5 0.1 0.1\n")
        told = problem(
            yolo("object_detection", gt, None, tmp_path / "images", names)
        )
        assert (
            str(told)
            == "a.txt: line 1: class: must be the number of a class name, 0 to 1, got 5"
        )

    def test_a_confidence_in_the_second_place_is_told(
        self, tmp_path: Path
    ) -> None:
        gt, names = self.labels(tmp_path, "0 0.5 0.5 0.2 0.4\n")
        (tmp_path / "pred").mkdir()
        (tmp_path / "pred" / "a.txt").write_text(
            "0 0.91 0.5 0.5 0.2 0.4\n1 0.97 0.2 0.2 0.3 0.3\n"
        )
        with pytest.raises(
            DataError, match=r"confidence must be the last number of a line"
        ):
            list(
                yolo(
                    "object_detection",
                    gt,
                    tmp_path / "pred",
                    tmp_path / "images",
                    names,
                )
            )

    @pytest.mark.parametrize("train", [0, "0"])
    def test_a_class_table_with_two_numberings_is_refused(
        self, train: Any, tmp_path: Path
    ) -> None:
        rows = [{"name": "road", "id": 7, "trainId": train}]
        (tmp_path / "c.json").write_text(json.dumps(rows))
        with pytest.raises(
            DataError,
            match="row 1: id and trainId must be the same, got 7 and 0",
        ):
            class_table(tmp_path / "c.json")

    @pytest.mark.parametrize("name", ["images/a.png", "images"])
    def test_an_image_or_a_folder_as_class_names_is_told(
        self, name: str, tmp_path: Path
    ) -> None:
        gt, _ = self.labels(tmp_path, "0 0.5 0.5 0.2 0.4\n")
        with pytest.raises(
            UsageError, match="`classes` must be a file of class names"
        ):
            list(
                yolo(
                    "object_detection",
                    gt,
                    None,
                    tmp_path / "images",
                    tmp_path / name,
                )
            )
        with pytest.raises(
            UsageError, match="`classes` must be a file of class names"
        ):
            class_table(tmp_path / name)

    def test_a_folder_without_images_is_told(self, tmp_path: Path) -> None:
        gt, names = self.labels(tmp_path, "0 0.5 0.5 0.2 0.4\n")
        with pytest.raises(
            UsageError,
            match=r"images: must be a folder of images, got none in .*",
        ):
            list(yolo("object_detection", tmp_path / "images", None, gt, names))

    def test_names_as_a_list_or_lines(self, tmp_path: Path) -> None:
        (tmp_path / "list.yaml").write_text("names: [cat, dog]\n")
        (tmp_path / "names.txt").write_text("cat\ndog\n")
        assert (
            class_table(tmp_path / "list.yaml")
            == class_table(tmp_path / "names.txt")
            == {0: "cat", 1: "dog"}
        )


class TestLabelMaps:
    def test_zero_is_a_class_where_the_table_names_it(
        self, tmp_path: Path
    ) -> None:
        photo(tmp_path / "images" / "a.png")
        values = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
        values[:, :3], values[0, 0] = 1, 255
        gray(tmp_path / "gt" / "a.png", values)
        (tmp_path / "names.txt").write_text("sky\nroad\n")
        read = label_maps(
            "semantic_segmentation",
            f"{tmp_path}/gt",
            None,
            f"{tmp_path}/images",
            tmp_path / "names.txt",
        )
        assert [(i.label, i.mask.area) for i in only(read).truth.items] == [
            ("sky", 170),
            ("road", 29),
        ]

    def test_an_empty_line_of_the_names_is_counted(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "names.txt").write_text("sky\n\nroad\n\n")
        table = {0: "sky", 2: "road"}
        assert class_table(tmp_path / "names.txt") == table

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    def test_a_byte_order_mark_is_no_part_of_a_name(
        self, tmp_path: Path, encoding: str
    ) -> None:
        (tmp_path / "names.txt").write_text("person\ncar\n", encoding)
        assert class_table(tmp_path / "names.txt") == {0: "person", 1: "car"}
        (tmp_path / "table.csv").write_text("id,name\n7,person\n", encoding)
        assert class_table(tmp_path / "table.csv") == {7: "person"}

    def test_a_text_in_another_encoding_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "names.txt").write_text("löwe\n", "latin-1")
        with pytest.raises(
            DataError,
            match="must be UTF-8, got an invalid byte at 1; save it as UTF-8",
        ):
            class_table(tmp_path / "names.txt")

    def test_a_value_outside_the_table_is_told(self, tmp_path: Path) -> None:
        photo(tmp_path / "images" / "a.png")
        gray(
            tmp_path / "gt" / "a.png",
            np.full((HEIGHT, WIDTH), 9, dtype=np.uint8),
        )
        table = dump(tmp_path / "classes.json", {"1": "road"})
        read = label_maps(
            "semantic_segmentation",
            f"{tmp_path}/gt",
            None,
            f"{tmp_path}/images",
            table,
        )
        assert (
            "1 value not in the class table, such as 9; name it"
            in problem(read).reason
        )

    @pytest.mark.parametrize(
        ("channels", "colours", "told"),
        [
            (
                3,
                256 * 256,
                "got 3 that differ .*; `gt` and `pred` take label maps, `images` ph",
            ),
            (1, 256, "values not in the class table, .* `images` photographs"),
        ],
    )
    def test_a_photograph_in_the_place_of_a_label_map_is_told(
        self, channels: int, colours: int, told: str, tmp_path: Path
    ) -> None:
        drawn = np.random.default_rng(0).integers(
            0, 256, (min(colours, 999), channels)
        )
        places = np.arange(40 * 60).reshape(40, 60) % len(drawn)
        photo(tmp_path / "images" / "a.png", (60, 40))
        gray(
            tmp_path / "gt" / "a.png", drawn[places].squeeze().astype(np.uint8)
        )
        table = dump(tmp_path / "classes.json", {"1": "road"})
        read = label_maps(
            "semantic_segmentation",
            f"{tmp_path}/gt",
            None,
            f"{tmp_path}/images",
            table,
        )
        found = problem(read)
        assert found.field == "truth" and re.search(told, found.reason), found

    def test_a_name_is_the_part_before_the_semicolon_where_that_is_unique(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "table.csv"
        path.write_text(
            "Idx,Ratio,Name\n1,0.1,person;individual\n2,0.1,car;auto\n"
        )
        assert class_table(path) == {1: "person", 2: "car"}
        path.write_text(
            "Idx,Ratio,Name\n1,0.1,car;auto\n2,0.1,car;railcar\n3,0.1,bus;coach\n"
        )
        assert class_table(path) == {1: "car;auto", 2: "car;railcar", 3: "bus"}


class TestDepth:
    def test_scale_and_inverse_go_into_the_payload(
        self, tmp_path: Path
    ) -> None:
        photo(tmp_path / "rgb" / "a.png")
        gt = gray(
            tmp_path / "gt" / "a_depth.png",
            np.full((HEIGHT, WIDTH), 512, dtype=np.uint16),
        )
        np.save(tmp_path / "a.npy", np.ones((HEIGHT, WIDTH), dtype=np.float32))
        read = depth_maps(
            "depth_estimation",
            f"{gt.parent}/*_depth.png",
            f"{tmp_path}/a.npy",
            f"{tmp_path}/rgb",
            gt_scale="1/256",
            pred_scale="2",
            pred_inverse=True,
        )
        sample = only(read)
        assert sample.truth.values[0, 0] == 2 and not sample.truth.inverse
        assert (
            sample.extra == {"scale": 2.0, "inverse": True}
            and sample.prediction.inverse
        )

    def test_a_pfm_is_written_anew(self, tmp_path: Path) -> None:
        photo(tmp_path / "a.png")
        values = np.arange(1, HEIGHT * WIDTH + 1, dtype="<f4").reshape(
            HEIGHT, WIDTH
        )
        (tmp_path / "a.pfm").write_bytes(
            b"Pf\n20 10\n-1.0\n" + values[::-1].tobytes()
        )
        sample = only(
            depth_maps(
                "depth_estimation",
                f"{tmp_path}/a.pfm",
                None,
                f"{tmp_path}/a.png",
            )
        )
        assert sample.file is None and np.array_equal(
            sample.truth.values, values
        )

    @pytest.mark.parametrize(("share", "refused"), [(1.0, True), (0.5, False)])
    def test_depths_below_zero_are_told(
        self,
        share: float,
        refused: bool,
        tmp_path: Path,
        recwarn: pytest.WarningsRecorder,
    ) -> None:
        photo(tmp_path / "a.png")
        truth = np.ones((HEIGHT, WIDTH))
        truth[0] = 2.0
        np.save(tmp_path / "a.npy", truth)
        np.save(
            tmp_path / "b.npy",
            np.where(np.arange(WIDTH) < share * WIDTH, -2.0, truth),
        )
        files = (f"{tmp_path}/{name}" for name in ("a.npy", "b.npy", "a.png"))
        (found,) = depth_maps("depth_estimation", *files)
        if refused:
            assert isinstance(found, Problem) and found.field == "prediction"
            assert (
                "b.npy: must contain depths above 0, got none; negate the values"
                in found.reason
            )
        else:
            assert "b.npy: depth must be above 0" in str(
                recwarn.pop(UserWarning).message
            )

    def test_of_several_arrays_the_one_called_depth_is_read(
        self, tmp_path: Path
    ) -> None:
        photo(tmp_path / "a.png")
        depth = np.full((HEIGHT, WIDTH), 3.0)
        np.savez(tmp_path / "a.npz", confidence=depth * 0, depth=depth)
        files = f"{tmp_path}/a.npz", None, f"{tmp_path}/a.png"
        assert (
            only(depth_maps("depth_estimation", *files)).truth.values[0, 0] == 3
        )
        np.savez(tmp_path / "a.npz", conf=depth * 0, metres=depth)
        told = problem(depth_maps("depth_estimation", *files))
        assert (
            "must contain one array, or one called depth, got conf, metres"
            in told.reason
        )

    def test_another_size_is_told(self, tmp_path: Path) -> None:
        photo(tmp_path / "a.png")
        np.save(tmp_path / "a.npy", np.ones((4, 4)))
        told = problem(
            depth_maps(
                "depth_estimation",
                f"{tmp_path}/a.npy",
                None,
                f"{tmp_path}/a.png",
            )
        )
        assert "a.npy: must be 10×20, got 4×4" in told.reason

    @pytest.mark.parametrize("scale", ["0", "-1", "x", "1/0"])
    def test_a_scale_is_a_number_above_zero(self, scale: str) -> None:
        with pytest.raises(UsageError, match="scale"):
            list(
                depth_maps(
                    "depth_estimation", "gt", None, "rgb", gt_scale=scale
                )
            )


class TestImages:
    def test_triplets_pair_by_what_the_star_stands_for(
        self, tmp_path: Path
    ) -> None:
        for key in "ab":
            for kind in ("lq", "out", "hq"):
                photo(tmp_path / f"{key}_{kind}.png")
        sides = [f"{tmp_path}/*_{kind}.png" for kind in ("lq", "out", "hq")]
        assert [s.image_id for s in image_pairs("lowlevel-deblur", *sides)] == [
            "a_lq",
            "b_lq",
        ]  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("wider", "remedy"),
        [(0, "seem to be swapped"), (1, "`resize_pred`")],
    )
    def test_the_image_that_has_another_size_is_named(
        self, tmp_path: Path, wider: int, remedy: str
    ) -> None:
        widths = {"lq": WIDTH + wider, "out": WIDTH, "hq": WIDTH + 1}
        for kind, width in widths.items():
            photo(tmp_path / kind / "a.png", (width, HEIGHT))
        told = problem(
            image_pairs(
                "lowlevel-deblur",
                *(f"{tmp_path}/{kind}" for kind in ("lq", "hq", "out")),
            )
        )
        assert (told.field, told.reason.split(";")[0]) == (
            "restored",
            f"a.png must be {HEIGHT}×{WIDTH + 1}, got {HEIGHT}×{WIDTH} (height×width)",
        )
        assert remedy in told.reason

    @pytest.mark.parametrize("grey", [True, False])
    def test_restored_images_without_colours_are_told(
        self, tmp_path: Path, grey: bool
    ) -> None:
        pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        pixels[:, :5, 0] = 200
        for kind in ("lq", "hq", "out"):
            (tmp_path / kind).mkdir()
            image = Image.fromarray(pixels)
            if kind == "out" and grey:
                image = image.convert("L")
            image.save(tmp_path / kind / "a.png")
        sides = (f"{tmp_path}/{kind}" for kind in ("lq", "hq", "out"))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            list(image_pairs("lowlevel-deblur", *sides))
        told = ["has no colours" in str(entry.message) for entry in caught]
        assert told == [True] * grey

    def test_outputs_of_one_prompt_share_an_image_id(
        self, tmp_path: Path
    ) -> None:
        for name in "ab":
            photo(tmp_path / f"{name}.png")
        table = tmp_path / "t.csv"
        table.write_text("output,score,prompt\na.png,1,a cat\nb.png,2,a cat\n")
        first, second = outputs("generation_t2i", str(table), "m", tmp_path)
        assert isinstance(first, Sample) and isinstance(second, Sample)
        assert first.image_id == second.image_id and first.key != second.key
        assert (first.final_score, second.final_score) == (1, 2)

    def test_a_missing_output_is_told_and_the_others_come(
        self, tmp_path: Path
    ) -> None:
        photo(tmp_path / "b.png")
        table = tmp_path / "t.jsonl"
        table.write_text(
            '{"output": "a.png", "score": 1, "prompt": "x"}\n{"output": "b.png", '
            '"score": 1, '
            '"prompt": "x"}\n'
        )
        first, second = outputs("generation_t2i", str(table), "m", tmp_path)
        assert (
            isinstance(first, Problem)
            and first.record == "row 1"
            and first.field == "output"
        )
        assert isinstance(second, Sample)

    @pytest.mark.parametrize("value", ["", None, "high", "nan", 11, -1])
    def test_a_score_is_a_number_in_its_range(self, value: object) -> None:
        with pytest.raises(DataError, match="score"):
            given_score(value, (0, 10))


class TestReferring:
    def test_refs_point_to_instances_and_predictions_to_sentences(
        self, tmp_path: Path
    ) -> None:
        region = {"size": [HEIGHT, WIDTH], "counts": [0, 30, 170]}
        instances = ground_truth(
            tmp_path, [box(1, 0, 0, 3, 10, id=11, segmentation=region)]
        )
        refs = dump(
            tmp_path / "refs.json",
            [
                {
                    "ref_id": 5,
                    "ann_id": 11,
                    "sentences": [{"sent_id": 50, "sent": "the left cat"}],
                }
            ],
        )
        pred = dump(
            tmp_path / "pred.json",
            [
                {
                    "sent_id": 50,
                    "segmentation": {**region, "counts": [30, 30, 140]},
                }
            ],
        )
        sample = only(
            referring(
                "referring_segmentation",
                refs,
                pred,
                tmp_path / "images",
                instances,
            )
        )
        assert (
            sample.prompt == "the left cat"
            and sample.key == "50"
            and sample.image_id == "a"
        )
        assert (
            sample.truth.items[0].mask.left == 0
            and sample.prediction.items[0].mask.left == 3
        )

    def test_a_box_is_a_region_only_where_told(self, tmp_path: Path) -> None:
        photo(tmp_path / "a.png")
        gt = dump(
            tmp_path / "gt.json",
            {
                "image": "a.png",
                "objects": [
                    {
                        "object_id": "x",
                        "expressions": ["sky"],
                        "bbox": [0, 0, 5, 4],
                    }
                ],
            },
        )
        assert (
            "`boxes`"
            in problem(
                referring("referring_segmentation", gt, None, tmp_path)
            ).reason
        )
        sample = only(
            referring("referring_segmentation", gt, None, tmp_path, boxes=True)
        )
        assert sample.truth.items[0].mask.area == 20

    def test_an_expression_without_a_prediction_is_told(
        self, tmp_path: Path
    ) -> None:
        photo(tmp_path / "a.png")
        row = {
            "image": "a.png",
            "expression": "sky",
            "segmentation": [[0, 0, 4, 0, 4, 4]],
        }
        told = problem(
            referring(
                "referring_segmentation",
                dump(tmp_path / "gt.json", [row]),
                dump(tmp_path / "pred.json", []),
                tmp_path,
            )
        )
        assert told.field == "prediction"


def test_two_files_of_one_name_are_not_chosen_between(tmp_path: Path) -> None:
    photo(tmp_path / "a.png")
    photo(tmp_path / "a.jpg")
    with pytest.raises(
        DataError, match=r"a.jpg and .*a.png: two files of the name"
    ):
        files_by_key(tmp_path)


def test_a_star_spans_folders(tmp_path: Path) -> None:
    photo(tmp_path / "city" / "x_img.png")
    assert list(files_by_key(f"{tmp_path}/*_img.png")) == ["city_x"]


@pytest.mark.parametrize("scenes", ["*", "**"])
def test_several_stars_pair_and_name_the_frames_of_scenes(
    tmp_path: Path, scenes: str
) -> None:
    rng = np.random.default_rng(0)
    for scene in ("1", "2"):
        for side in ("blur", "sharp", "sharp/old"):
            folder = tmp_path / scene / side
            folder.mkdir(parents=True)
            write_png(
                folder / "0000.png", rng.integers(0, 256, (12, 12, 3), np.uint8)
            )
    images, gt = (
        f"{tmp_path}/{scenes}/{side}/*.png" for side in ("blur", "sharp")
    )
    samples = list(image_pairs("lowlevel-deblur", images, gt))
    assert [sample.image_id for sample in samples] == ["1_0000", "2_0000"]
    for sample in samples:
        clean = read_rgb(str(sample.image).replace("blur", "sharp"))
        assert np.array_equal(sample.truth.pixels, clean)


def test_a_row_with_another_number_of_cells_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1\n")
    with pytest.raises(DataError, match="row 2"):
        read_table(path)


def test_keypoints_that_are_shares_are_told(tmp_path: Path) -> None:
    pose = box(1, 0, 0, 9, 9, keypoints=[0.25, 0.5, 2] * 17)
    found = list(
        coco(
            "keypoint",
            ground_truth(tmp_path, [pose]),
            None,
            tmp_path / "images",
        )
    )
    with pytest.raises(
        DataError,
        match=r"gt.json: truth: must be in pixels; .* look normalised",
    ):
        check_forms("keypoint", found, Files("gt.json"))


def test_a_data_set_that_is_not_on_disk_or_has_no_images_is_told(
    tmp_path: Path,
) -> None:
    read = partial(
        hugging_face,
        "object_detection",
        pred=None,
        scratch=tmp_path / "scratch",
    )
    with pytest.raises(
        UsageError,
        match=r"cppe-5 is not a Hugging Face data set: .*save_to_disk",
    ):
        list(read(str(tmp_path / "cppe-5")))
    pl.DataFrame({"text": ["a"]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        DataError, match="must have a column 'image', got text; `column` maps"
    ):
        list(read(str(tmp_path / "a.parquet")))


def test_a_panoptic_png_with_a_palette_or_transparency_is_read_by_its_colours(
    tmp_path: Path,
) -> None:
    """Tools that optimize PNGs store few colours as a palette."""
    ids = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
    ids[:, :5, 0], ids[:, 5:8, 1] = 3, 1
    colours = Image.fromarray(ids)
    segments = [{"id": 3, "category_id": 1}, {"id": 256, "category_id": 2}]
    row = {"image_id": 7, "file_name": "a.png", "segments_info": segments}
    gt = ground_truth(tmp_path, [row])
    (tmp_path / "png").mkdir()
    for stored in (colours.quantize(4), colours.convert("RGBA")):
        stored.save(tmp_path / "png" / "a.png")
        read = coco(
            "semantic_segmentation",
            gt,
            None,
            tmp_path / "images",
            gt_pngs=tmp_path / "png",
        )
        assert [(i.label, i.mask.area) for i in only(read).truth.items] == [
            ("cat", 50),
            ("dog", 30),
        ]


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_a_panoptic_png_of_one_channel_has_the_ids_themselves(
    tmp_path: Path, kind: type[np.unsignedinteger[Any]]
) -> None:
    ids = np.zeros((HEIGHT, WIDTH), kind)
    largest = int(np.iinfo(kind).max)
    ids[:, :5], ids[:, 5:8] = 3, largest
    segments = [{"id": 3, "category_id": 1}, {"id": largest, "category_id": 2}]
    row = {"image_id": 7, "file_name": "a.png", "segments_info": segments}
    gt = ground_truth(tmp_path, [row])
    (tmp_path / "png").mkdir()
    Image.fromarray(ids).save(tmp_path / "png" / "a.png")
    read = coco(
        "semantic_segmentation",
        gt,
        None,
        tmp_path / "images",
        gt_pngs=tmp_path / "png",
    )
    assert [(i.label, i.mask.area) for i in only(read).truth.items] == [
        ("cat", 50),
        ("dog", 30),
    ]


@pytest.mark.parametrize("size", [(WIDTH, HEIGHT), (HEIGHT, WIDTH)])
def test_corners_read_as_sizes_are_noticed_in_wide_and_in_tall_images(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    wide, high = size
    corners = [(k, 1, wide - 1, high - 1) for k in range(4, 9)]
    right = [box(1, x, y, x2 - x, y2 - y) for x, y, x2, y2 in corners]
    wrong = [box(1, *four) for four in corners]
    for name, boxes in (("right", right), ("wrong", wrong)):
        home = tmp_path / name
        gt = ground_truth(home, boxes, width=wide, height=high)
        photo(home / "images" / "a.png", size)
        found = list(coco("object_detection", gt, None, home / "images"))
        if name == "right":
            check_forms("object_detection", found, Files("gt.json"))
            continue
        with pytest.raises(DataError, match="5 of 5 extend beyond their image"):
            check_forms("object_detection", found, Files("gt.json"))
