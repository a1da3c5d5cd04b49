"""Scores of 5,000 images × 10 objects, and AP beside pycocotools on the same data.

python benchmarks/score.py [--images 5000] [--workers 2]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from visualjudge import score
from visualjudge.core.seeding import rng_for
from visualjudge.vision.predictions import (
    Detection,
    Detections,
    Instance,
    Masks,
)
from visualjudge.vision.raster.masks import mask_from_array, packed_rle
from visualjudge.vision.scoring.average_precision import average_precision

SIZE = (480, 640)
OBJECTS = 10
LABELS = tuple(f"class {k}" for k in range(20))


def boxes_of(image: int) -> tuple[Detections, Detections]:
    """(prediction, truth) of one image: ten boxes, each found again with some error."""
    rng = rng_for(0, "score benchmark", image)
    real, found = [], []
    for _ in range(OBJECTS):
        label = LABELS[int(rng.integers(len(LABELS)))]
        x, y = rng.uniform(0, 500), rng.uniform(0, 350)
        w, h = rng.uniform(20, 130, 2)
        real.append(Detection(label, (x, y, x + w, y + h)))
        dx, dy = rng.normal(0, 6, 2)
        found.append(
            Detection(
                label,
                (x + dx, y + dy, x + w + dx, y + h + dy),
                float(rng.random()),
            )
        )
    return Detections(tuple(found)), Detections(tuple(real))


def masks_of(image: int) -> tuple[Masks, Masks]:
    """The same objects as ellipses."""
    found, real = boxes_of(image)
    return _ellipses(found), _ellipses(real)


def _ellipses(side: Detections) -> Masks:
    rows, cols = np.ogrid[: SIZE[0], : SIZE[1]]
    items = []
    for box in side.items:
        x1, y1, x2, y2 = box.xyxy
        inside = ((cols - (x1 + x2) / 2) * 2 / (x2 - x1)) ** 2 + (
            (rows - (y1 + y2) / 2) * 2 / (y2 - y1)
        ) ** 2 <= 1
        items.append(Instance(box.label, mask_from_array(inside), box.score))
    return Masks(SIZE, tuple(items))


def score_boxes(image: int) -> float:
    """Seconds to score one image's boxes."""
    return _timed("object_detection", *boxes_of(image))


def score_masks(image: int) -> float:
    """Seconds to score one image's masks, from compressed RLE as files hold it."""
    sides = []
    for side in masks_of(image):
        items = [
            {"label": i.label, "segmentation": _text_rle(i), "score": i.score}
            for i in side.items
        ]
        sides.append({"instances": items})
    return _timed("instance_segmentation", *sides)


def _text_rle(item: Instance) -> dict[str, Any]:
    packed = packed_rle(item.mask)
    return {"size": list(item.mask.size), "counts": packed["counts"].decode()}


def _timed(task: str, *pair: Any) -> float:
    start = time.perf_counter()
    score(task, *pair)
    return time.perf_counter() - start


def coco_seconds(
    pairs: list[tuple[Any, Any]], kind: str
) -> tuple[float, float]:
    """(seconds, AP) of pycocotools from records in memory."""
    truths, found = [], []
    for image, (prediction, truth) in enumerate(pairs):
        truths += [
            {
                **_coco(item, image, kind),
                "iscrowd": 0,
                "id": len(truths) + k + 1,
            }
            for k, item in enumerate(truth.items)
        ]
        found += [
            {**_coco(item, image, kind), "score": item.score}
            for item in prediction.items
        ]
    with contextlib.redirect_stdout(io.StringIO()):
        start = time.perf_counter()
        real = COCO()
        real.dataset = {
            "images": [
                {"id": k, "height": SIZE[0], "width": SIZE[1]}
                for k in range(len(pairs))
            ],
            "categories": [
                {"id": k, "name": name} for k, name in enumerate(LABELS)
            ],
            "annotations": truths,
        }
        real.createIndex()
        evaluation = COCOeval(real, real.loadRes(found), kind)
        evaluation.params.areaRng, evaluation.params.areaRngLbl = (
            [[0, 1e10]],
            ["all"],
        )
        evaluation.params.maxDets = [100]
        evaluation.evaluate()
        evaluation.accumulate()
        seconds = time.perf_counter() - start
    precision = evaluation.eval["precision"]
    return seconds, float(precision[precision > -1].mean())


def _coco(item: Any, image: int, kind: str) -> dict[str, Any]:
    record = {"image_id": image, "category_id": LABELS.index(item.label)}
    if kind == "segm":
        return {
            **record,
            "segmentation": packed_rle(item.mask),
            "area": item.mask.area,
        }
    x1, y1, x2, y2 = item.xyxy
    return {
        **record,
        "bbox": [x1, y1, x2 - x1, y2 - y1],
        "area": (x2 - x1) * (y2 - y1),
    }


def ours_seconds(
    task: str, pairs: list[tuple[Any, Any]]
) -> tuple[float, float]:
    """(seconds, AP) of visualjudge."""
    start = time.perf_counter()
    value = average_precision(task, pairs)
    return time.perf_counter() - start, float(value or 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    images = range(options.images)
    with ProcessPoolExecutor(options.workers) as pool:
        for name, one in (("boxes", score_boxes), ("masks", score_masks)):
            busy = sum(pool.map(one, images, chunksize=50))
            print(f"score {name}: {options.images} images × {OBJECTS}: {busy:.1f} s of "
                  "one core, "
                  f"{busy / options.workers:.1f} s on {options.workers}")  # fmt: skip
    for task, kind, make in (
        ("object_detection", "bbox", boxes_of),
        ("instance_segmentation", "segm", masks_of),
    ):
        pairs = [make(image) for image in images[:1000]]
        (theirs, peer), (ours, mine) = (
            coco_seconds(pairs, kind),
            ours_seconds(task, pairs),
        )
        print(f"AP {kind}, {len(pairs)} images: visualjudge {ours:.2f} s (AP "
              f"{mine:.6f}), "
              f"pycocotools {theirs:.2f} s "
              f"(AP {peer:.6f}), ratio {theirs / ours:.1f}×")  # fmt: skip


if __name__ == "__main__":
    main()
