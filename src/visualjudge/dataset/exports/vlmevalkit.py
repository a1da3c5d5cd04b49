"""TSV for VLMEvalKit: ``index``, images, ``question``, options, ``answer``, categories.

Conventions (vlmeval/dataset/image_base.py, image_mcq.py): a cell with several images is the text of
a Python list; ``<image 1>``, ``<image 2>`` … mark their places in the question. Without a column
``image``, images are files with absolute paths in ``image_path``. With it, they are base64 text,
and ``image_path`` has the names under which they are saved. A cell can refer to another row only as
a whole, so an image used by several questions is repeated. Pairwise questions are multiple choice;
rankings and scores have no options and are written to separate tables.
"""

from __future__ import annotations

import base64
import csv
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from visualjudge.core.atomic import atomic_path, write_bytes
from visualjudge.core.confined_paths import confined_target
from visualjudge.core.records import IMAGE_MARK, Question
from visualjudge.dataset.exports.media import answer_text, image_bytes
from visualjudge.dataset.folder import Dataset

COLUMNS = ("index", "image_path", "question", "answer", "category", "l2-category", "question_id")
IMAGES = "images"
CHOICES = {"A": "Option A", "B": "Option B"}


ImageCells = Callable[[Question], dict[str, str]]
"""Cells of a row that contain or name its images."""


def export_vlmevalkit(dataset: Dataset, out: Path, tick: Callable[[int, int], None]) -> list[Path]:
    """Write ``out/<dataset's name>_<question type>.tsv`` for each question type in the dataset.

    Each image is written once, to ``out/images/<dataset's name>/``. The tables contain absolute
    paths.
    """
    folder = f"{IMAGES}/{dataset.root.resolve().name}"
    home = out.resolve() / folder
    written: set[str] = set()

    def cells(question: Question) -> dict[str, str]:
        for path in question.images:
            if path not in written:
                write_bytes(
                    confined_target(out.resolve(), f"{folder}/{path}"), image_bytes(dataset, path)
                )
                written.add(path)
        return {"image_path": _cell([str(home / path) for path in question.images])}

    return _write(dataset, out, cells, COLUMNS, tick)


def export_vlmevalkit_embedded(
    dataset: Dataset, out: Path, tick: Callable[[int, int], None]
) -> list[Path]:
    """Write the same tables with images as base64 in every row that shows them: portable, but
    large.
    """

    def cells(question: Question) -> dict[str, str]:
        texts = [base64.b64encode(image_bytes(dataset, path)).decode() for path in question.images]
        return {
            "image": _cell(texts),
            "image_path": _cell([Path(path).name for path in question.images]),
        }

    return _write(dataset, out, cells, (COLUMNS[0], "image", *COLUMNS[1:]), tick)


def _cell(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else repr(texts)


def _write(
    dataset: Dataset,
    out: Path,
    images: ImageCells,
    columns: Sequence[str],
    tick: Callable[[int, int], None],
) -> list[Path]:
    files = []
    done = itertools.count(1)
    for kind in dict.fromkeys(question.question_type for question in dataset.questions):
        path = out / f"{dataset.root.resolve().name}_{kind}.tsv"
        choices = CHOICES if kind == "pairwise" else {}
        with atomic_path(path) as scratch, scratch.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, delimiter="\t", lineterminator="\n")
            table.writerow([*columns, *choices])
            asked = (question for question in dataset.questions if question.question_type == kind)
            for index, question in enumerate(asked, start=1):
                row = _row(index, question) | images(question) | choices
                table.writerow([row[name] for name in (*columns, *choices)])
                tick(next(done), len(dataset.questions))
        files.append(path)
    return files


def numbered(prompt: str) -> str:
    """Return ``prompt`` with numbered image marks: ``<image 1>``, ``<image 2>`` …"""
    first, *rest = prompt.split(IMAGE_MARK)
    return first + "".join(f"<image {k}>{part}" for k, part in enumerate(rest, start=1))


def _row(index: int, question: Question) -> dict[str, str | int]:
    return {
        "index": index,
        "question": numbered(question.prompt),
        "answer": answer_text(question.answer),
        "category": question.task,
        "l2-category": f"{question.task}/{question.encoding}",
        "question_id": question.id,
    }
