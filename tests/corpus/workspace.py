"""Small inputs of every format, right as they stand; a case breaks one thing in one of
them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Json = Any
Make = Callable[[Path], None]
WIDTH, HEIGHT = 20, 10


@dataclass(frozen=True)
class Case:
    """One bad or odd input: ``make`` writes its files into a folder, ``words`` is the
    command with ``{}`` for it.
    """

    name: str
    make: Make
    words: tuple[str, ...]


def dump(path: Path, value: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def photo(
    path: Path,
    size: tuple[int, int] = (WIDTH, HEIGHT),
    seed: int = 0,
    **save: Any,
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    Image.fromarray(
        rng.integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    ).save(path, **save)


def gray(path: Path, values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(values)).save(path)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: len(path.read_bytes()) // 2])


def rle(dense: Any) -> Json:
    """Uncompressed COCO RLE."""
    flat = np.asarray(dense, dtype=np.uint8).ravel(order="F")
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flat, [0]])))
    counts = np.diff(np.concatenate([[0], edges])).tolist()
    return {
        "size": list(np.shape(dense)),
        "counts": [*counts, int(flat.size - edges[-1])]
        if len(edges)
        else [flat.size],
    }


def region(left: int = 2, top: int = 2, right: int = 9, bottom: int = 8) -> Any:
    dense = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    dense[top:bottom, left:right] = 1
    return dense


CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
POSE = [v for k in range(17) for v in (2 + k % 8, 1 + k % 7, 2)]


def coco_gt() -> Json:
    boxes = [[1, 1, 8, 6], [10, 2, 8, 6]]
    polygons = [[[1, 1, 9, 1, 9, 7, 1, 7]], [[10, 2, 18, 2, 18, 8, 10, 8]]]
    return {
        "images": [
            {"id": 7, "file_name": "a.png", "width": WIDTH, "height": HEIGHT}
        ],
        "categories": CATEGORIES,
        "annotations": [
            {
                "id": k + 1,
                "image_id": 7,
                "category_id": k + 1,
                "bbox": boxes[k],
                "area": 48,
                "iscrowd": 0,
                "segmentation": polygons[k],
                "keypoints": POSE,
                "num_keypoints": 17,
            }
            for k in range(2)
        ],
    }


def coco_pred() -> Json:
    return [
        {
            "image_id": 7,
            "category_id": k + 1,
            "bbox": [1 + 9 * k, 2, 8, 5],
            "score": 0.9 - k / 10,
            "segmentation": rle(region(1 + 9 * k, 2, 9 + 9 * k, 7)),
            "keypoints": POSE,
        }
        for k in range(2)
    ]


def coco_files(change: Callable[[Json, Json, Path], Any]) -> Make:
    """``change(gt, pred, folder)`` edits in place, or returns what takes the place of
    (gt, pred).
    """

    def make(root: Path) -> None:
        photo(root / "images/a.png")
        gt, pred = coco_gt(), coco_pred()
        changed = change(gt, pred, root)
        if isinstance(changed, tuple):
            gt, pred = changed
        dump(root / "gt.json", gt)
        dump(root / "pred.json", pred)

    return make


def coco_words(task: str, *more: str) -> tuple[str, ...]:
    return (
        "import",
        "coco",
        "--task",
        task,
        "--gt",
        "{}/gt.json",
        "--pred",
        "{}/pred.json",
        "--images",
        "{}/images",
        "--source",
        "m",
        "--out",
        "{}/data",
        *more,
    )
