"""A small dataset in the layout of `visualjudge build`, made by hand: flat images, real
prompts' structure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.seeding import rng_for
from visualjudge.vision.raster.images import write_png

ENDING = "Which prediction is better? Please answer with A or B."
HEAD = (
    "You are a judge to decide the quality of answers to an image deblurring task "
    "based on my given image."
)


def make_dataset(
    root: Path,
    *,
    pairwise: int = 8,
    ranking: int = 2,
    scoring: int = 3,
    size: tuple[int, int] = (24, 32),
) -> Path:
    """Write it; every image is another one."""
    questions = list(_questions(root, pairwise, ranking, scoring, size))
    raw = json.dumps(questions, indent=1).encode()
    (root / "questions.json").write_bytes(raw)
    meta = {
        "version": "2.1",
        "files": {"questions.json": hashlib.sha256(raw).hexdigest()},
    }
    (root / "dataset.json").write_text(json.dumps(meta))
    return root


def _questions(root: Path, *counts: Any) -> Iterator[dict[str, Any]]:
    pairwise, ranking, scoring, size = counts
    for number in range(pairwise):
        yield _question(
            root,
            "pairwise",
            number,
            (3.0, 7.0) if number % 2 else (8.0, 2.5),
            size,
        )
    for number in range(ranking):
        yield _question(
            root,
            "ranking",
            number,
            (5.0, 9.0, 1.0) if number % 2 else (2.0, 4.0, 3.0),
            size,
        )
    for number in range(scoring):
        yield _question(
            root, "scoring", number, (float(number % 10) + 0.25,), size
        )


def _question(
    root: Path,
    kind: str,
    number: int,
    scores: tuple[float, ...],
    size: tuple[int, int],
) -> dict[str, Any]:
    name = f"{kind}{number}"
    images = [
        _image(root, f"original_{name}", size),
        *(_image(root, f"{name}_{k}", size) for k in range(len(scores))),
    ]
    order = sorted(range(len(scores)), key=lambda k: -scores[k])
    answers = {
        "pairwise": "AB"[order[0]],
        "ranking": "".join("ABC"[k] for k in order),
        "scoring": scores[0],
    }
    return {
        "id": name,
        "task": "lowlevel-deblur",
        "encoding": "pixel",
        "question_type": kind,
        "subset": ["judge_analysis"],
        "image_id": f"image{number}",
        "class_of_interest": None,
        "error_type": None,
        "annotation_ids": [f"{name}_{k}" for k in range(len(scores))],
        "final_scores": list(scores),
        "sources": [None] * len(scores),
        "prompt": _prompt(kind, len(scores)),
        "images": images,
        "answer": answers[kind],
    }


def _prompt(kind: str, n: int) -> str:
    options = "\n\n".join(f"{letter}. <image>" for letter in "ABC"[:n])
    ends = {
        "pairwise": f"Options:\n\n{options}\n\n{ENDING}",
        "ranking": f"Options:\n\n{options}\n\nRank the predictions from best to worst. "
        "For "
        "example, BCAED.",
        "scoring": "First image: original. Second image: encoded "
        "prediction.\n<image>\n\nScore "
        "it from 0 to 10.",
    }
    return f"<image>\n\n{HEAD}\n\n{ends[kind]}"


def _image(root: Path, name: str, size: tuple[int, int]) -> str:
    relative = f"media/{name}.png"
    write_png(
        root / relative,
        rng_for(0, "image", name).integers(0, 256, (*size, 3)).astype(np.uint8),
    )
    return relative
