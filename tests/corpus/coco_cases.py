"""COCO, LVIS and panoptic files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from corpus.workspace import (
    HEIGHT,
    WIDTH,
    Case,
    Json,
    coco_files,
    coco_gt,
    coco_pred,
    coco_words,
    dump,
    gray,
    photo,
    region,
    rle,
    truncated,
)

BOXES, MASKS, POSES = "object_detection", "instance_segmentation", "keypoint"


def first(gt: Json) -> Json:
    return gt["annotations"][0]


GT: dict[str, Any] = {
    "gt is an array": lambda g, p, r: (g["annotations"], p),
    "gt is a number": lambda g, p, r: (7, p),
    "gt is not JSON": lambda g, p, r: ("{", p),
    "gt is empty": lambda g, p, r: ("", p),
    "gt is cut short": lambda g, p, r: ('{"images": [', p),
    "gt without images": lambda g, p, r: g.pop("images"),
    "gt images is null": lambda g, p, r: g.update(images=None),
    "gt without annotations": lambda g, p, r: g.pop("annotations"),
    "gt without categories": lambda g, p, r: g.pop("categories"),
    "category without name": lambda g, p, r: g.update(categories=[{"id": 1}]),
    "category name is empty": lambda g, p, r: g.update(
        categories=[{"id": 1, "name": " "}, {"id": 2, "name": "dog"}]
    ),
    "two categories of one name": lambda g, p, r: g.update(
        categories=[{"id": 1, "name": "a"}, {"id": 2, "name": "a"}]
    ),
    "two categories of one id": lambda g, p, r: g.update(
        categories=[{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]
    ),
    "category id is a list": lambda g, p, r: g.update(
        categories=[{"id": [1], "name": "a"}]
    ),
    "image without id": lambda g, p, r: g["images"][0].pop("id"),
    "image id occurs twice": lambda g, p, r: g["images"].append(
        dict(g["images"][0])
    ),
    "image without file name": lambda g, p, r: g["images"][0].pop("file_name"),
    "image file is not there": lambda g, p, r: g["images"][0].update(
        file_name="b.png"
    ),
    "image width is another": lambda g, p, r: g["images"][0].update(
        width=WIDTH + 1
    ),
    "image height is another": lambda g, p, r: g["images"][0].update(height=5),
    "image sides are exchanged": lambda g, p, r: g["images"][0].update(
        width=HEIGHT, height=WIDTH
    ),
    "image entry is a number": lambda g, p, r: g.update(images=[7]),
    "image is a text": lambda g, p, r: dump(r / "images/a.png", "no image"),
    "image is cut short": lambda g, p, r: truncated(r / "images/a.png"),
    "image is empty": lambda g, p, r: (r / "images/a.png").write_bytes(b""),
    "image is a folder": lambda g, p, r: g["images"][0].update(file_name="."),
    "annotation is a text": lambda g, p, r: g.update(annotations=["box"]),
    "annotation without image": lambda g, p, r: first(g).pop("image_id"),
    "annotation image is null": lambda g, p, r: first(g).update(image_id=None),
    "annotation image is a list": lambda g, p, r: first(g).update(image_id=[7]),
    "annotation category unknown": lambda g, p, r: first(g).update(
        category_id=9
    ),
    "annotation category is null": lambda g, p, r: first(g).update(
        category_id=None
    ),
    "annotation without bbox": lambda g, p, r: first(g).pop("bbox"),
    "annotation bbox has three numbers": lambda g, p, r: first(g).update(
        bbox=[1, 2, 3]
    ),
    "annotation bbox is a text": lambda g, p, r: first(g).update(
        bbox="1 2 3 4"
    ),
    "annotation bbox has a text": lambda g, p, r: first(g).update(
        bbox=[1, 2, "3", 4]
    ),
    "annotation bbox is nested": lambda g, p, r: first(g).update(
        bbox=[[1, 2, 3, 4]]
    ),
    "annotation width is negative": lambda g, p, r: first(g).update(
        bbox=[9, 2, -3, 4]
    ),
    "annotation bbox is NaN": lambda g, p, r: (g_nan(g), p),
    "gt boxes are normalised": lambda g, p, r: [
        a.update(bbox=[0.1, 0.2, 0.4, 0.5]) for a in g["annotations"]
    ],
    "gt boxes are corners": lambda g, p, r: [
        a.update(bbox=[9, 6, 19, 9]) for a in g["annotations"]
    ],
    "gt and predictions exchanged": lambda g, p, r: exchanged(g, p),
}
PRED: dict[str, Any] = {
    "pred is an object": lambda g, p, r: (g, {"boxes": p}),
    "pred is a number": lambda g, p, r: (g, 1),
    "pred is not JSON": lambda g, p, r: (g, "[{]"),
    "pred is empty": lambda g, p, r: (g, ""),
    "pred row is a list": lambda g, p, r: (g, [[7, 1, 2, 3, 4]]),
    "pred without image": lambda g, p, r: p[0].pop("image_id"),
    "pred of an unknown image": lambda g, p, r: p[0].update(image_id=8),
    "pred image id is a text": lambda g, p, r: p[0].update(image_id="seven"),
    "pred without category": lambda g, p, r: p[0].pop("category_id"),
    "pred category unknown": lambda g, p, r: p[0].update(category_id=0),
    "pred category is a list": lambda g, p, r: p[0].update(category_id=[1]),
    "pred category is true": lambda g, p, r: p[0].update(category_id=None),
    "pred without bbox": lambda g, p, r: p[0].pop("bbox"),
    "pred height is negative": lambda g, p, r: p[1].update(bbox=[1, 1, 4, -1]),
    "pred bbox has five numbers": lambda g, p, r: p[1].update(
        bbox=[1, 1, 4, 1, 1]
    ),
    "pred bbox has null": lambda g, p, r: p[1].update(bbox=[1, 1, None, 1]),
    "pred score is a text": lambda g, p, r: p[0].update(score="0.9"),
    "pred score is true": lambda g, p, r: p[0].update(score=True),
    "pred boxes are normalised": lambda g, p, r: [
        q.update(bbox=[0.1, 0.2, 0.4, 0.5]) for q in p
    ],
    "pred boxes are corners": lambda g, p, r: [
        q.update(bbox=[9, 6, 19, 9]) for q in p
    ],
}
SEGMENTS: dict[str, Any] = {
    "mask is missing": lambda g, p, r: p[0].pop("segmentation"),
    "mask is null": lambda g, p, r: p[0].update(segmentation=None),
    "mask is a number": lambda g, p, r: p[0].update(segmentation=5),
    "mask is of another size": lambda g, p, r: p[0].update(
        segmentation=rle(np.ones((4, 4)))
    ),
    "mask sides are exchanged": lambda g, p, r: p[0].update(
        segmentation=rle(region().T)
    ),
    "rle counts are too few": lambda g, p, r: p[0].update(
        segmentation={"size": [10, 20], "counts": [5]}
    ),
    "rle counts are too many": lambda g, p, r: p[0].update(
        segmentation={"size": [10, 20], "counts": [300]}
    ),
    "rle count is negative": lambda g, p, r: p[0].update(
        segmentation={"size": [10, 20], "counts": [-1, 201]}
    ),
    "rle count is a fraction": lambda g, p, r: p[0].update(
        segmentation={"size": [10, 20], "counts": [0.5, 199.5]}
    ),
    "rle counts are a number": lambda g, p, r: p[0].update(
        segmentation={"size": [10, 20], "counts": 200}
    ),
    "rle size is a text": lambda g, p, r: p[0].update(
        segmentation={"size": "10x20", "counts": [200]}
    ),
    "rle size has three numbers": lambda g, p, r: p[0].update(
        segmentation={"size": [10, 20, 3], "counts": [200]}
    ),
    "rle size is nought": lambda g, p, r: p[0].update(
        segmentation={"size": [0, 20], "counts": []}
    ),
    "rle text is nonsense": lambda g, p, r: p[0].update(
        segmentation={"size": [10, 20], "counts": "~~~~"}
    ),
    "rle text is cut short": lambda g, p, r: p[0].update(
        segmentation={"size": [10, 20], "counts": "d"}
    ),
    "rle text is empty": lambda g, p, r: p[0].update(
        segmentation={"size": [10, 20], "counts": ""}
    ),
    "polygon is flat": lambda g, p, r: p[0].update(
        segmentation=[1, 1, 5, 1, 5, 5]
    ),
    "polygon has two points": lambda g, p, r: p[0].update(
        segmentation=[[1, 1, 5, 5]]
    ),
    "polygon has an odd count": lambda g, p, r: p[0].update(
        segmentation=[[1, 1, 5, 1, 5, 5, 2]]
    ),
    "polygon has a text": lambda g, p, r: p[0].update(
        segmentation=[[1, 1, 5, 1, 5, "5"]]
    ),
    "polygon is of points": lambda g, p, r: p[0].update(
        segmentation=[[[1, 1], [5, 1], [5, 5]]]
    ),
    "polygon list has a number": lambda g, p, r: p[0].update(
        segmentation=[[1, 1, 5, 1, 5, 5], 3]
    ),
    "gt mask is missing": lambda g, p, r: first(g).pop("segmentation"),
}
KEYPOINTS: dict[str, Any] = {
    "keypoints are missing": lambda g, p, r: p[0].pop("keypoints"),
    "keypoints are fifty": lambda g, p, r: p[0].update(
        keypoints=p[0]["keypoints"][:-1]
    ),
    "keypoints have a text": lambda g, p, r: p[0].update(keypoints=["1"] * 51),
    "keypoints are nested": lambda g, p, r: p[0].update(
        keypoints=[[1, 2, 2]] * 17
    ),
    "keypoints have null": lambda g, p, r: p[0].update(keypoints=[None] * 51),
    "gt keypoints are missing": lambda g, p, r: first(g).pop("keypoints"),
    "gt person box is bad": lambda g, p, r: first(g).update(bbox=[1, 2, 3]),
}


def g_nan(gt: Json) -> Json:
    first(gt)["bbox"] = [float("nan"), 2, 3, 4]
    return gt


def exchanged(gt: Json, pred: Json) -> tuple[Json, Json]:
    rows = [
        {key: value for key, value in row.items() if key != "score"}
        for row in gt["annotations"]
    ]
    return {**gt, "annotations": pred}, rows


def cases() -> Iterator[Case]:
    tables = ((GT, BOXES), (PRED, BOXES), (SEGMENTS, MASKS), (KEYPOINTS, POSES))
    for table, task in tables:
        for name, change in table.items():
            yield Case(f"coco: {name}", coco_files(change), coco_words(task))
    plain = coco_files(lambda g, p, r: None)
    options = {
        "no such images folder": ("--images", "{}/none"),
        "no such gt": ("--gt", "{}/none.json"),
        "no such pred": ("--pred", "{}/none.json"),
        "gt is a folder": ("--gt", "{}/images"),
        "unknown task": ("--task", "flying"),
        "a task of another format": ("--task", "depth_estimation"),
        "two predictions for one source": ("--pred", "{}/pred.json"),
        "class of interest is nowhere": ("--class-of-interest", "cta"),
        "exif is unknown": ("--exif", "maybe"),
        "score-at is unknown": ("--score-at", "best"),
        "score-at and min-score": (
            "--score-at",
            "best-f1",
            "--min-score",
            "0.5",
        ),
        "top-k is nought": ("--top-k", "0"),
    }
    for name, more in options.items():
        words = coco_words(BOXES)
        for key, value in zip(more[::2], more[1::2], strict=True):
            if key in words and name != "two predictions for one source":
                place = words.index(key) + 1
                words = (*words[:place], value, *words[place + 1 :])
            else:
                words = (*words, key, value)
        yield Case(f"coco options: {name}", plain, words)
    unscored = coco_files(lambda g, p, r: p[0].pop("score"))
    yield Case(
        "coco options: min-score without scores",
        unscored,
        coco_words(BOXES, "--min-score", "0.3"),
    )
    yield Case(
        "coco: turned image, size of the stored frame",
        _turned,
        coco_words(BOXES),
    )
    yield Case("coco: two folders, one name", _two_folders, coco_words(BOXES))
    yield from _panoptic_cases()


def _turned(root: Path) -> None:
    coco_files(lambda g, p, r: None)(root)
    exif = bytes.fromhex(
        "4578696600004d4d002a00000008000101120003000000010006000000000000"
    )
    photo(root / "images/a.jpg", exif=exif)
    gt = coco_gt()
    gt["images"][0]["file_name"] = "a.jpg"
    dump(root / "gt.json", gt)


def _two_folders(root: Path) -> None:
    coco_files(lambda g, p, r: None)(root)
    photo(root / "images/b/a.png", seed=1)
    gt = coco_gt()
    gt["images"].append({**gt["images"][0], "id": 8, "file_name": "b/a.png"})
    gt["annotations"].append({**gt["annotations"][0], "id": 9, "image_id": 8})
    dump(root / "gt.json", gt)
    pred = coco_pred()
    dump(root / "pred.json", [*pred, {**pred[0], "image_id": 8}])


def _panoptic(change: Any) -> Any:
    def make(root: Path) -> None:
        photo(root / "images/a.png")
        ids = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        ids[:, :10, 0], ids[:, 10:, 0] = 1, 2
        gray(root / "gt/a.png", ids)
        segments = [
            {"id": 1, "category_id": 1, "iscrowd": 0},
            {"id": 2, "category_id": 2, "iscrowd": 0},
        ]
        gt = {
            **coco_gt(),
            "annotations": [
                {"image_id": 7, "file_name": "a.png", "segments_info": segments}
            ],
        }
        change(gt, root)
        dump(root / "gt.json", gt)

    return make


def _panoptic_cases() -> Iterator[Case]:
    words = (
        "import",
        "coco",
        "--task",
        "semantic_segmentation",
        "--gt",
        "{}/gt.json",
        "--gt-pngs",
        "{}/gt",
        "--images",
        "{}/images",
        "--source",
        "truth",
        "--out",
        "{}/data",
    )
    table: dict[str, Any] = {
        "png is not there": lambda g, r: (r / "gt/a.png").unlink(),
        "png is a text": lambda g, r: dump(r / "gt/a.png", "no"),
        "png is of another size": lambda g, r: gray(
            r / "gt/a.png", np.zeros((4, 4, 3), np.uint8)
        ),
        "segment is not in the png": lambda g, r: first(g)[
            "segments_info"
        ].append({"id": 5, "category_id": 1}),
        "segment category unknown": lambda g, r: first(g)["segments_info"][
            0
        ].update(category_id=5),
        "segments are a number": lambda g, r: first(g).update(segments_info=3),
        "segment is a number": lambda g, r: first(g).update(segments_info=[3]),
        "two annotations of an image": lambda g, r: g["annotations"].append(
            first(g)
        ),
    }
    for name, change in table.items():
        yield Case(f"panoptic: {name}", _panoptic(change), words)
    no_folder = tuple(word if word != "{}/gt" else "{}/none" for word in words)
    yield Case(
        "panoptic: no such folder of pngs",
        _panoptic(lambda g, r: None),
        no_folder,
    )
    bare = tuple(word for word in words if word not in ("--gt-pngs", "{}/gt"))
    yield Case("panoptic: no gt-pngs given", _panoptic(lambda g, r: None), bare)
