"""TSV for VLMEvalKit: ``index``, images, ``question``, options, ``answer``, categories.
Its predictions are read in ``apps/adopt/logs/vlmevalkit.py``.

Conventions (vlmeval/dataset/image_base.py, image_mcq.py): a cell with several images is
the text of a Python list; ``<image 1>``, ``<image 2>`` … mark their places in the
question. Images are files with absolute paths in ``image_path``. Pairwise questions are
multiple choice; rankings and scores have no options and are written to separate tables.
"""

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from visualjudge.core.atomic import atomic_path
from visualjudge.core.output_files import OutputFile
from visualjudge.core.parquet import tsv_writer
from visualjudge.core.records import IMAGE_MARK, Question
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
    absolute paths. All files come together, or none.
    """
    name = dataset.root.resolve().name
    folder = f"{IMAGES}/{name}"
    home = out.resolve() / folder
    files = []
    done = itertools.count(1)
    with ExitStack() as images:  # which come when the tables are complete
        for path in {
            path for question in dataset.questions for path in question.images
        }:
            target = confined_target(out.resolve(), f"{folder}/{path}")
            scratch = images.enter_context(atomic_path(target))
            scratch.write_bytes(image_bytes(dataset, path))
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
                    writer.writerow(
                        [*_row(index, question, home), *choices.values()]
                    )
                    tick(next(done), len(dataset.questions))
            files.append(table)
    return files


def numbered(prompt: str) -> str:
    first, *rest = prompt.split(IMAGE_MARK)
    return first + "".join(
        f"<image {k}>{part}" for k, part in enumerate(rest, start=1)
    )


def _row(index: int, question: Question, home: Path) -> tuple[str | int, ...]:
    """Return the cells of :data:`COLUMNS`."""
    paths = [str(home / path) for path in question.images]
    return (
        index,
        paths[0] if len(paths) == 1 else repr(paths),
        numbered(question.prompt),
        answer_text(question.answer),
        question.task,
        f"{question.task}/{question.encoding}",
        question.id,
    )
