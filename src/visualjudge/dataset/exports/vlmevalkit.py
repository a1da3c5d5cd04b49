"""TSV for VLMEvalKit: ``index``, images, ``question``, options, ``answer``, categories.

Conventions (vlmeval/dataset/image_base.py, image_mcq.py): a cell with several images is
the text of a Python list; ``<image 1>``, ``<image 2>`` … mark their places in the
question. Images are files with absolute paths in ``image_path``. Pairwise questions are
multiple choice; rankings and scores have no options and are written to separate tables.
"""

import itertools
from collections.abc import Callable
from pathlib import Path

from visualjudge.core.atomic import write_bytes
from visualjudge.core.outputs import OutputFile
from visualjudge.core.records import IMAGE_MARK, Question
from visualjudge.core.tables import tsv_writer
from visualjudge.core.untrusted import confined_target
from visualjudge.dataset.exports.media import answer_text, image_bytes
from visualjudge.dataset.folder import Dataset

COLUMNS = (
    "index",
    "image_path",
    "question",
    "answer",
    "category",
    "l2-category",
    "question_id",
)
IMAGES = "images"
CHOICES = {"A": "Option A", "B": "Option B"}


def export_vlmevalkit(
    dataset: Dataset, out: Path, tick: Callable[[int, int], None]
) -> list[Path]:
    """Write ``out/<dataset's name>_<question type>.tsv`` for each question type in the
    dataset.

    Each image is written once, to ``out/images/<dataset's name>/``. The tables contain
    absolute paths.
    """
    name = dataset.root.resolve().name
    folder = f"{IMAGES}/{name}"
    home = out.resolve() / folder
    for path in {
        path for question in dataset.questions for path in question.images
    }:
        write_bytes(
            confined_target(out.resolve(), f"{folder}/{path}"),
            image_bytes(dataset, path),
        )
    files = []
    done = itertools.count(1)
    for kind in dict.fromkeys(
        question.question_type for question in dataset.questions
    ):
        table = out / f"{name}_{kind}.tsv"
        choices = CHOICES if kind == "pairwise" else {}
        with (
            OutputFile(table, "`out`").scratch() as scratch,
            scratch.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = tsv_writer(file)
            writer.writerow([*COLUMNS, *choices])
            asked = (
                question
                for question in dataset.questions
                if question.question_type == kind
            )
            for index, question in enumerate(asked, start=1):
                row = _row(index, question, home) | choices
                writer.writerow(
                    [row[column] for column in (*COLUMNS, *choices)]
                )
                tick(next(done), len(dataset.questions))
        files.append(table)
    return files


def numbered(prompt: str) -> str:
    first, *rest = prompt.split(IMAGE_MARK)
    return first + "".join(
        f"<image {k}>{part}" for k, part in enumerate(rest, start=1)
    )


def _row(index: int, question: Question, home: Path) -> dict[str, str | int]:
    paths = [str(home / path) for path in question.images]
    return {
        "index": index,
        "image_path": paths[0] if len(paths) == 1 else repr(paths),
        "question": numbered(question.prompt),
        "answer": answer_text(question.answer),
        "category": question.task,
        "l2-category": f"{question.task}/{question.encoding}",
        "question_id": question.id,
    }
