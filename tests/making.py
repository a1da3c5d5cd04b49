"""Small data folders for tests and benchmarks: real photographs, seeded predictions,
all tasks.

``make_folder(root)`` is enough for most; ``detection_folder(root, scores)`` makes the
smallest one there is. ``python tests/making.py FOLDER`` makes the data that
docs/prompts are built from.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import skimage.data

from visualjudge.core.records import BoolArray, Pixels
from visualjudge.core.seeding import rng_for
from visualjudge.vision.raster.images import write_png
from visualjudge.vision.raster.masks import mask_from_array, rle_of
from visualjudge.vision.rows import Task
from visualjudge.vision.tasks import TASKS

LABELS = ("person", "dog", "car", "traffic light")
STUFF = ("road", "sky", "grass", "building")
ERRORS = ("localization", "missed", "boundary")
PHOTOGRAPHS = ("astronaut", "coffee", "chelsea", "rocket")
Json = dict[str, Any]
Rng = np.random.Generator


def make_folder(
    root: Path,
    *,
    tasks: Sequence[str] = tuple(TASKS),
    images: int = 2,
    annotations: int = 3,
    size: tuple[int, int] = (72, 96),
    seed: int = 7,
    objects: int = 3,
) -> Path:
    """A data folder with ``images`` images a task and one group of ``annotations``
    each, with distinct scores.

    ``size`` is (height, width); perception tasks share their photographs. Returns
    ``root``.
    """
    for name in ("annotations", "images", "photos", "preds"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for task in tasks:
        _task_files(root, TASKS[task], images, annotations, size, seed, objects)
    return root


def detection_folder(
    root: Path, scores: Sequence[float], **fields: Any
) -> Path:
    """One image and one detection annotation for each of ``scores``; ``fields`` go into
    every record.
    """
    for name in ("annotations", "images"):
        (root / name).mkdir(parents=True, exist_ok=True)
    write_png(root / "photo.png", photograph(0, (48, 64)))
    write_records(
        root,
        "object_detection",
        [detection(k, score, **fields) for k, score in enumerate(scores)],
    )
    (root / "images/object_detection.json").write_text(
        '{"photo": {"file": "photo.png"}}'
    )
    return root


def detection(number: int, score: float, **fields: Any) -> Json:
    """A valid record of object detection for the image ``photo``."""
    box = [5.0 + number % 20, 6.0, 30.0 + number % 20, 40.0]
    return {
        "annotation_id": f"a{number:02d}",
        "image_id": "photo",
        "task": "object_detection",
        "class_of_interest": ["dog"],
        "error_type": None,
        "prompt": None,
        "prediction": {"detections": [{"label": "dog", "bbox": box}]},
        "final_score": score,
        **fields,
    }


def write_records(root: Path, task: str, records: Sequence[Json]) -> None:
    """Write the annotations file of ``task``."""
    path = root / "annotations" / f"{task}_annotations.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(records)))


@functools.cache
def photograph(number: int, size: tuple[int, int]) -> Pixels:
    """A real photograph, resized to (height, width) ``size``; every ``number`` is
    another image."""
    image = getattr(skimage.data, PHOTOGRAPHS[number % len(PHOTOGRAPHS)])()
    turned = np.roll(image, number * 37, axis=1)
    resized = cv2.resize(turned, size[::-1], interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(resized, dtype=np.uint8)


def blob(rng: Rng, size: tuple[int, int]) -> BoolArray:
    """An ellipse somewhere inside."""
    height, width = size
    canvas = np.zeros(size, np.uint8)
    center = (
        int(rng.integers(width // 4, 3 * width // 4)),
        int(rng.integers(height // 4, 3 * height // 4)),
    )
    axes = (
        int(rng.integers(width // 12, width // 5)),
        int(rng.integers(height // 12, height // 5)),
    )
    cv2.ellipse(canvas, center, axes, float(rng.uniform(0, 180)), 0, 360, 1, -1)
    return canvas > 0


def _task_files(
    root: Path,
    task: Task,
    images: int,
    annotations: int,
    size: tuple[int, int],
    seed: int,
    objects: int,
) -> None:
    records, index = [], {}
    natural = task.type in ("restoration", "generation")
    for k in range(images):
        image_id = (
            f"{task.name.split('_', 1)[-1]}-{k:04d}"
            if natural
            else f"photo-{k:04d}"
        )
        if task.sourced:
            index[image_id] = _image_record(root, task, image_id, k, size)
        rng = rng_for(seed, "scores", task.name, k)
        scores = rng.choice(
            np.arange(0, 10, 0.25), annotations, replace=False
        ).tolist()
        for score in scores:
            number = len(records)
            draw = rng_for(seed, task.name, number)
            classes = sorted(LABELS[k % 2 : k % 2 + 2])
            records.append(
                {
                    "annotation_id": f"{task.name}-{number:05d}",
                    "image_id": image_id,
                    "task": task.name,
                    "class_of_interest": classes if task.classed else None,
                    "error_type": ERRORS[k % len(ERRORS)],
                    "prompt": _prompt(task, k),
                    "prediction": _MAKERS[task.type](
                        root, draw, task, number, k, size, objects
                    ),
                    "final_score": score,
                    "source": f"model-{number % 3}",
                    "metadata": {"severity": round(1 - score / 10, 3)},
                }
            )
    write_records(root, task.name, records)
    (root / f"images/{task.name}.json").write_text(json.dumps(index))


def _image_record(
    root: Path, task: Task, image_id: str, k: int, size: tuple[int, int]
) -> Json:
    path = f"photos/{image_id}.png"
    if not (root / path).exists():
        write_png(root / path, photograph(k, size))
    record: Json = {"file": path, "width": size[1], "height": size[0]}
    if "inpainting" in task.name:
        record["mask"] = f"photos/{image_id}-mask.png"
        mask = blob(rng_for(k, "mask"), size).astype(np.uint8) * 255
        write_png(root / record["mask"], np.repeat(mask[:, :, None], 3, axis=2))
    if "controllable" in task.name:
        record["control"] = f"photos/{image_id}-control.png"
        edges = cv2.Canny(photograph(k, size), 80, 160)
        write_png(
            root / record["control"], np.repeat(edges[:, :, None], 3, axis=2)
        )
    return record


def _prompt(task: Task, k: int) -> str | None:
    if task.expression:
        return f"the thing number {k} on the left"
    return (
        f"a lighthouse at dusk, variant {k}"
        if task.type == "generation"
        else None
    )


def _detections(
    _root: Path,
    rng: Rng,
    _task: Task,
    _n: int,
    k: int,
    size: tuple[int, int],
    objects: int,
) -> Json:
    return {
        "detections": [
            _box(rng, LABELS[k % 2 + j % 2], size) for j in range(objects)
        ]
    }


def _box(rng: Rng, label: str, size: tuple[int, int]) -> Json:
    height, width = size
    x1, y1 = rng.uniform(0, width * 0.6), rng.uniform(0, height * 0.6)
    x2, y2 = rng.uniform(x1 + 4, width), rng.uniform(y1 + 4, height)
    return {"label": label, "bbox": [round(v, 2) for v in (x1, y1, x2, y2)]}


def _instances(
    _root: Path,
    rng: Rng,
    _task: Task,
    _n: int,
    k: int,
    size: tuple[int, int],
    objects: int,
) -> Json:
    masks = [(LABELS[k % 2 + j % 2], blob(rng, size)) for j in range(objects)]
    return {
        "instances": [
            {"label": label, "segmentation": rle_of(mask_from_array(mask))}
            for label, mask in masks
        ]
    }


def _segments(
    _root: Path,
    rng: Rng,
    _task: Task,
    _n: int,
    _k: int,
    size: tuple[int, int],
    objects: int,
) -> Json:
    labels = np.zeros(size, np.uint8)
    for number in range(min(objects, len(STUFF))):
        labels[blob(rng, size)] = number + 1
    present = [int(v) for v in np.unique(labels) if v]
    return {
        "segments": [
            {
                "label": STUFF[v - 1],
                "segmentation": rle_of(mask_from_array(labels == v)),
            }
            for v in present
        ]
    }


def _region(
    _root: Path,
    rng: Rng,
    _task: Task,
    _n: int,
    _k: int,
    size: tuple[int, int],
    _objects: int,
) -> Json:
    return {"segmentation": rle_of(mask_from_array(blob(rng, size)))}


def _persons(
    _root: Path,
    rng: Rng,
    _task: Task,
    _n: int,
    _k: int,
    size: tuple[int, int],
    objects: int,
) -> Json:
    def points() -> list[float]:
        xs, ys = (
            rng.uniform(1, size[1] - 2, 17).round(1),
            rng.uniform(1, size[0] - 2, 17).round(1),
        )
        seen = rng.choice([0, 2, 2, 2], 17)
        return (
            np.stack([xs * (seen > 0), ys * (seen > 0), seen], axis=1)
            .ravel()
            .tolist()
        )

    return {
        "persons": [
            {"keypoints": points()} for _ in range(max(1, objects // 2))
        ]
    }


def _depth(
    root: Path,
    rng: Rng,
    task: Task,
    number: int,
    k: int,
    size: tuple[int, int],
    _objects: int,
) -> Json:
    path = f"preds/{task.name}-{number:05d}.npy"
    gray = photograph(k, size).mean(axis=2) / 32 + 1
    np.save(root / path, (gray + rng.normal(0, 0.2, size)).astype(np.float32))
    return {"depth": path}


def _image(
    root: Path,
    rng: Rng,
    task: Task,
    number: int,
    k: int,
    size: tuple[int, int],
    _objects: int,
) -> Json:
    path = f"preds/{task.name}-{number:05d}.png"
    noisy = photograph(k, size) + rng.normal(0, rng.uniform(3, 20), (*size, 3))
    write_png(root / path, np.clip(noisy, 0, 255).astype(np.uint8))
    return {"image": path}


_MAKERS: dict[
    str, Callable[[Path, Rng, Task, int, int, tuple[int, int], int], Json]
] = {
    "detection": _detections,
    "instance": _instances,
    "semantic": _segments,
    "referring": _region,
    "keypoint": _persons,
    "depth": _depth,
    "restoration": _image,
    "generation": _image,
}


if __name__ == "__main__":
    make_folder(Path(sys.argv[1]), images=1, annotations=3, size=(240, 320))
