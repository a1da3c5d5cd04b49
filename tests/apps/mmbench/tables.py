"""Small tables for the tests of multiple choice."""

from __future__ import annotations

import base64
import csv
import io

import numpy as np
from PIL import Image

COLUMNS = [
    "index",
    "question",
    "hint",
    *"ABCD",
    "answer",
    "category",
    "image",
    "l2-category",
    "split",
]


def image(colour=(200, 30, 30), kind="PNG", size=(40, 30)):
    """The base64 text of an image of some texture, so that it is longer than a
    reference cell."""
    rng = np.random.default_rng(sum(colour))
    pixels = np.clip(
        rng.integers(-20, 20, (size[1], size[0], 3)) + np.array(colour), 0, 255
    ).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return base64.b64encode(buffer.getvalue()).decode()


def row(index, options=("cat", "dog", "owl"), **cells):
    full = {
        "index": index,
        "question": f"What is it? ({index})",
        "answer": "A",
        "category": "scene",
        "image": image(),
    }
    full |= dict(zip("ABCDE", options, strict=False)) | {
        "l2-category": "coarse_perception",
        "split": "dev",
    }
    return full | cells


def write(path, rows, columns=COLUMNS):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(
            [cells.get(column, "") for column in columns] for cells in rows
        )
    return path
