"""Check a dataset's files against their checksums and its questions against what they
show. Images that repeat, and other faults of a *study*, are found in
``apps/planning/dataset_audit.py``.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, Problem
from visualjudge.core.image_storage import image_finder, stored_files
from visualjudge.core.records import IMAGE_MARK, LETTERS, UNKNOWN, Question
from visualjudge.core.registry import lacking
from visualjudge.dataset.folder import META, Dataset, load_dataset
from visualjudge.dataset.json_form import QUESTIONS, json_file, question_json
from visualjudge.dataset.parquet_form import ParquetQuestions
from visualjudge.dataset.write_dataset import counts
from visualjudge.vision.tasks import TASKS


def validate(path: str | Path) -> tuple[Dataset, list[Problem]]:
    dataset = load_dataset(path)
    return dataset, problems_of(dataset)


def problems_of(dataset: Dataset) -> list[Problem]:
    """Return what is wrong with a dataset: a file that was changed, removed or damaged,
    an image without a file, and questions that contradict themselves.
    """
    ids: Counter[str] = Counter()
    problems: list[Problem] = []
    listed = dataset.meta.get("files", {})
    for question in dataset.questions:
        ids[question.id] += 1
        problems += _question(question)
        problems += [
            Problem(
                QUESTIONS,
                question.id,
                "images",
                f"{name} is not listed in {META}",
            )
            for name in question.images
            if listed and name not in listed
        ]
    problems += [
        Problem(QUESTIONS, name, "id", f"occurs {times} times")
        for name, times in ids.items()
        if times > 1
    ]
    stated = dataset.meta.get("counts", {})
    problems += [
        Problem(META, "counts", name, f"differs from {QUESTIONS}")
        for name, value in counts(dataset.questions).items()
        if stated.get(name) != value
    ]
    return [*_files(dataset), *problems]


def _files(dataset: Dataset) -> Iterator[Problem]:
    """Compare the files with the checksums that ``dataset.json`` states."""
    stated = dict(dataset.meta.get("files", {}))
    if not stated:
        yield Problem(
            META,
            "files",
            "files",
            "is missing: there are no checksums to compare with",
        )
        return
    if stated.pop(QUESTIONS, None) != _digest(dataset):
        yield Problem(
            META,
            QUESTIONS,
            "files",
            "the SHA-256 differs: the questions were changed",
        )
    find = image_finder(dataset.root)
    for name, digest in stated.items():
        try:
            if file_sha256(find(name)) != digest:
                yield Problem(
                    META,
                    name,
                    "files",
                    "the SHA-256 differs: the file was changed",
                )
        except (DataError, OSError) as error:
            yield Problem(META, name, "files", str(error))
    inside = {
        path.relative_to(dataset.root)
        for path in dataset.root.glob("media/**/*.png")
    }
    extra = {path.as_posix() for path in inside} | set(
        stored_files(dataset.root)
    )
    for name in sorted(extra - stated.keys() - {META}):
        yield Problem(META, name, "files", "is not listed")


def _digest(dataset: Dataset) -> str | None:
    if not isinstance(dataset.questions, ParquetQuestions):
        return dataset.digest
    digest = hashlib.sha256()
    for part in json_file(map(question_json, dataset.questions)):
        digest.update(part)
    return digest.hexdigest()


def _question(question: Question) -> Iterator[Problem]:
    problem = partial(Problem, QUESTIONS, question.id)
    if question.task not in TASKS and (
        missing := lacking("task", question.task)
    ):
        yield problem("task", f"{question.task} is unknown{missing}")
    marks = question.prompt.count(IMAGE_MARK)
    if marks != len(question.images):
        reason = (
            f"has {marks} {IMAGE_MARK} marks for {len(question.images)} images"
        )
        yield problem("prompt", reason)
    scores = question.final_scores
    if not all(0 <= score <= 10 for score in scores):
        yield problem(
            "final_scores", f"must be numbers from 0 to 10, got {list(scores)}"
        )
    elif not _answers(question):
        yield problem(
            "answer",
            f"is {question.answer!r}, but the scores are {list(scores)}",
        )


def _answers(question: Question) -> bool:
    """Return whether the answer is the one that the scores give."""
    scores = question.final_scores
    answer = question.answer
    on_purpose = question.probe is not None and question.probe.design == "same"
    if answer == UNKNOWN or on_purpose:
        return True
    if isinstance(answer, float | int):
        return math.isclose(answer, scores[0], abs_tol=1e-9)
    if answer in (question.ties or ()):
        return len(set(scores)) == 1
    order = sorted(zip(scores, LETTERS, strict=False), reverse=True)
    letters = "".join(letter for _, letter in order)
    right = letters if question.question_type == "ranking" else letters[:1]
    return answer == right and len(set(scores)) == len(scores)
