"""TSV as VLMEvalKit reads it: ``index``, base64 ``image``, ``question``, options, ``answer``, categories.

Conventions (vlmeval/dataset/image_base.py, image_mcq.py): several pictures are the text of a Python list, in ``image``
and in ``image_path`` (the names they are saved under); ``<image 1>``, ``<image 2>`` … in the question say where each
belongs. Pairwise questions are multiple choice; rankings and scores have no options and go to tables of their own.
"""

from __future__ import annotations

import base64
import csv
import itertools
from collections.abc import Callable
from pathlib import Path

from visualjudge.atomic import atomic_path
from visualjudge.data.wire import IMAGE_MARK
from visualjudge.dataset.exports.media import answer_text, picture_bytes
from visualjudge.dataset.folder import Dataset
from visualjudge.records import Question

COLUMNS = ("index", "image", "image_path", "question", "answer", "category", "l2-category", "question_id")
CHOICES = {"A": "Option A", "B": "Option B"}


def export_vlmevalkit(dataset: Dataset, out: Path, tick: Callable[[int, int], None]) -> list[Path]:
    """Write ``out/<dataset's name>_<question type>.tsv`` for each type of question that there is."""
    files = []
    done = itertools.count(1)
    for kind in dict.fromkeys(question.question_type for question in dataset.questions):
        path = out / f"{dataset.root.resolve().name}_{kind}.tsv"
        choices = CHOICES if kind == "pairwise" else {}
        with atomic_path(path) as scratch, scratch.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, delimiter="\t", lineterminator="\n")
            table.writerow([*COLUMNS, *choices])
            asked = (question for question in dataset.questions if question.question_type == kind)
            for index, question in enumerate(asked, start=1):
                table.writerow([*_row(dataset, index, question), *choices.values()])
                tick(next(done), len(dataset.questions))
        files.append(path)
    return files


def numbered(prompt: str) -> str:
    """``prompt`` with its marks numbered: ``<image 1>``, ``<image 2>`` …"""
    first, *rest = prompt.split(IMAGE_MARK)
    return first + "".join(f"<image {k}>{part}" for k, part in enumerate(rest, start=1))


def _row(dataset: Dataset, index: int, question: Question) -> list[str | int]:
    pictures = [base64.b64encode(picture_bytes(dataset, path)).decode() for path in question.images]
    names = [Path(path).name for path in question.images]
    one = len(pictures) == 1
    return [
        index,
        pictures[0] if one else repr(pictures),
        names[0] if one else repr(names),
        numbered(question.prompt),
        answer_text(question.answer),
        question.task,
        f"{question.task}/{question.encoding}",
        question.id,
    ]
