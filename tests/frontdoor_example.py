"""A data folder, a dataset and a run for the examples in docstrings, made once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import visualjudge as vj
from visualjudge.core.atomic import write_json
from visualjudge.core.seeding import rng_for
from visualjudge.vision.raster.images import write_png


@dataclass(frozen=True)
class Example:
    """Where things lie; ``out`` is a folder to write to."""

    data: Path
    dataset: Path
    run: Path
    out: Path


def make_example(root: Path) -> Example:
    """A detection task of 6 images with 4 predictions each, its dataset, and a run of a
    judge that is always right.
    """
    write_data(root / "data")
    vj.build(root / "data", root / "dataset")
    vj.judge(
        root / "dataset",
        vj.client("baseline", model="oracle:1.0"),
        root / "run",
        swap=True,
        progress=False,
    )
    return Example(root / "data", root / "dataset", root / "run", root / "out")


def write_data(root: Path, count: int = 6) -> None:
    """The data folder alone."""
    rng = rng_for(0, "front door example")
    notes, images = [], {}
    for number in range(count):
        name = f"photo{number}"
        write_png(
            root / "images" / f"{name}.png",
            rng.integers(0, 256, (48, 64, 3)).astype(np.uint8),
        )
        images[name] = {"file": f"images/{name}.png", "width": 64, "height": 48}
        for step in range(4):
            box = [4.0 + 3 * step, 5.0, 30.0 + 3 * step, 40.0]
            notes.append(
                {
                    "annotation_id": f"{name}-{step}",
                    "image_id": name,
                    "task": "object_detection",
                    "class_of_interest": ["dog"],
                    "error_type": None,
                    "prompt": None,
                    "prediction": {
                        "detections": [{"label": "dog", "bbox": box}]
                    },
                    "final_score": 10.0 - 2.5 * step,
                    "source": f"model{step}",
                }
            )
    write_json(
        root / "annotations" / "object_detection_annotations.json", notes
    )
    write_json(root / "images" / "object_detection.json", images)
