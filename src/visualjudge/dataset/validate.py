"""Recompute every checksum of a dataset and check every rule. Nothing is repaired."""

from __future__ import annotations

import hashlib
import io
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import numpy as np

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, Problem
from visualjudge.core.image_storage import Place, contents, packed_images, shard_files
from visualjudge.core.records import IMAGE_MARK, LETTERS, UNKNOWN, Question
from visualjudge.core.registry import lacking
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import MEDIA, META, VERSION, Dataset, load_dataset, open_questions
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.dataset.parquet_form import FOLDER, INDEX, ParquetQuestions
from visualjudge.dataset.question_storage import QuestionFiles, at, columns
from visualjudge.dataset.render import file_name
from visualjudge.dataset.sampling import (
    ENCODING_ANALYSIS,
    FEWEST_RANKED,
    JUDGE_ANALYSIS,
    MOST_RANKED,
    SUBSETS,
)
from visualjudge.dataset.undecidable_questions import COMPARED, alike, not_asked
from visualjudge.dataset.write_dataset import counts
from visualjudge.vision.encode import encodings
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.rows import Kind
from visualjudge.vision.tasks import TASKS

Tick = Callable[[int, int], None]
OPTIONS = {"pairwise": (2, 2), "ranking": (FEWEST_RANKED, MOST_RANKED), "scoring": (1, 1)}
_IDENTITY = ("id", "task", "encoding", "question_type", "annotation_ids")


def validate(
    path: str | Path, tick: Tick = lambda done, total: None, *, sample: int | None = None
) -> tuple[Dataset, list[Problem]]:
    """Return everything that is wrong with the dataset at ``path``; an empty list if it is valid.

    Parameters
    ----------
    path
        Folder of the dataset.
    tick
        Called with the number of files checked.
    sample
        Number of questions to check, drawn with a fixed seed, with their images; ids are always
        checked. None = all.

    Raises
    ------
    UsageError, DataError
        If it cannot be read at all.
    """
    dataset = load_dataset(path)
    questions = dataset.questions if sample is None else _drawn(dataset.questions, sample)
    images = (
        None
        if sample is None
        else {name for (names,) in columns(questions, "images") for name in names}
    )
    looked = _LookedInto()
    problems = [*_files(dataset, tick, images, looked), *_repeated(dataset.questions)]
    problems += _meta(dataset) if sample is None else ()
    media, alike_found = list[Problem](), list[Problem]()
    for question in questions:
        problems += _question(question, published=bool(dataset.benchmark))
        media += _media(dataset, question, looked)
        alike_found += _alike(dataset, question)
    return dataset, [
        *problems,
        *media,
        *alike_found,
        *(_undecidable(dataset) if sample is None else ()),
    ]


def _drawn(questions: Sequence[Question], count: int) -> Sequence[Question]:
    """Return a sample of the questions, in order."""
    places = rng_for(42, "validate").choice(
        len(questions), min(count, len(questions)), replace=False
    )
    return tuple(at(questions, np.sort(places).tolist()))


@dataclass
class _LookedInto:
    """The images that have been read."""

    seen: set[int] = field(default_factory=set)
    """Hash of each path, as there may be millions."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Reasons why images cannot be read, until a question that shows them is reached."""

    def into(self, path: str, open_image: Callable[[], BinaryIO | Place]) -> None:
        """Record whether an image can be read."""
        self.seen.add(hash(path))
        try:
            image_size(open_image(), path)
        except DataError as error:
            self.unreadable[path] = str(error)


def _files(
    dataset: Dataset, tick: Tick, images: set[str] | None, looked: _LookedInto
) -> Iterator[Problem]:
    """Check the stated files, or only ``images``; the questions' checksum is always checked."""
    stated = dataset.meta.get("files")
    if stated is None:
        yield Problem(
            META, "files", "files", "is missing: there is nothing to check the files against"
        )
        return
    found = {
        p.relative_to(dataset.root).as_posix() for p in dataset.root.rglob("*") if p.is_file()
    } - {META}
    found = (found | {part.relative for part in packed_images(dataset.root)}) - set(
        shard_files(dataset.root)
    )
    stored = open_questions(dataset.root)
    # The index contains the shards' checksums, which were checked while reading.
    if isinstance(stored, ParquetQuestions):
        found -= {INDEX, *(f"{FOLDER}/{shard.name}" for shard in stored.shards)}
        digest = stored.digest if images is not None else _digest(stored)
        if digest != stored.digest:
            yield Problem(
                INDEX,
                "questions_sha256",
                "questions_sha256",
                "does not match the questions in the shards",
            )
        if stated.get(QUESTIONS) != digest:
            yield Problem(
                META, QUESTIONS, "files", "the SHA-256 of the questions differs; they were changed"
            )
        stated = {name: value for name, value in stated.items() if name != QUESTIONS}
    asked = sorted(name for name in stated if images is None or name == QUESTIONS or name in images)
    there = [name for name in asked if name in found]
    for name in sorted(set(asked) - found):
        yield Problem(META, name, "files", "the file is missing")
    for k, (name, found_digest) in enumerate(_digests(dataset, there, looked), 1):
        if isinstance(found_digest, DataError):
            yield Problem(META, name, "files", str(found_digest))
        elif found_digest != stated[name]:
            yield Problem(
                META,
                name,
                "files",
                "the SHA-256 of the file differs; it was changed after the build",
            )
        tick(k, len(there))
    for name in sorted(found - set(stated)):
        yield Problem(META, name, "files", "the file has no checksum; it was added after the build")


def _digest(stored: QuestionFiles) -> str:
    """Return the SHA-256 of the ``questions.json`` that the files represent."""
    digest = hashlib.sha256()
    for before, content in stored.records():
        digest.update(before + content)
    digest.update(stored.ending)
    return digest.hexdigest()


def _digests(
    dataset: Dataset, names: Sequence[str], looked: _LookedInto
) -> Iterator[tuple[str, str | DataError]]:
    """Yield the SHA-256 of each file. Images are also decoded here, so that each is read once."""
    for name in (name for name in names if not _is_image(name)):
        try:
            yield name, file_sha256(dataset.image(name))
        except DataError as error:
            yield name, error
    for name, content in contents(dataset.root, filter(_is_image, names)):
        if isinstance(content, DataError):
            yield name, content
        else:
            looked.into(name, partial(io.BytesIO, content))
            yield name, hashlib.sha256(content).hexdigest()


def _is_image(path: str) -> bool:
    """Return whether a path is an image directly in the media folder."""
    return PurePosixPath(path).parent.as_posix() == MEDIA


def _meta(dataset: Dataset) -> Iterator[Problem]:
    meta = dataset.meta
    if meta.get("version") != VERSION:
        yield Problem(META, "version", "version", f"is {meta.get('version')!r}, not {VERSION!r}")
    real, stated = counts(dataset.questions), meta.get("counts", {})
    for name, value in real.items():
        if stated.get(name) != value:
            yield Problem(META, "counts", name, "differs from questions.json")


def _repeated(questions: Sequence[Question]) -> Iterator[Problem]:
    """Yield duplicate ids and duplicate questions. Only entries with equal hashes are compared."""
    pairs = ((hash(name), hash(_content(*rest))) for name, *rest in columns(questions, *_IDENTITY))
    rows = np.fromiter(pairs, dtype=[("id", np.int64), ("content", np.int64)], count=len(questions))
    suspects = np.zeros(len(rows), dtype=bool)
    for name in ("id", "content"):
        _, inverse, times = np.unique(rows[name], return_inverse=True, return_counts=True)
        suspects |= times[inverse] > 1
    yield from _same(at(questions, np.flatnonzero(suspects).tolist()))


def _content(task: str, encoding: str, kind: str, annotations: Sequence[str]) -> tuple[str, ...]:
    return (task, encoding, kind, *sorted(annotations))


def _same(questions: Iterable[Question]) -> Iterator[Problem]:
    ids: Counter[str] = Counter()
    asked: dict[tuple[object, ...], str] = {}
    for question in questions:
        ids[question.id] += 1
        content = _content(
            question.task, question.encoding, question.question_type, question.annotation_ids
        )
        key = (*content, question.probe)
        if key in asked:
            yield _problem(question, "annotation_ids", f"asks the same as {asked[key]}")
        asked[key] = question.id
    for name, times in ids.items():
        if times > 1:
            yield Problem(QUESTIONS, name, "id", f"occurs {times} times")


def _question(question: Question, *, published: bool = False) -> Iterator[Problem]:
    """Check one question. ``published``: it is from an imported benchmark, with its own names of
    tasks, subsets and images.
    """
    if (question.task, question.encoding) not in _kinds() and not published:
        key = (
            (TASKS[question.task].type, question.encoding)
            if question.task in TASKS
            else question.task
        )
        missing = lacking("encoding" if question.task in TASKS else "task", key)
        yield _problem(
            question,
            "encoding",
            f"{question.task}/{question.encoding} is not in the catalogue{missing}",
        )
    if question.question_type not in OPTIONS:
        yield _problem(question, "question_type", f"is {question.question_type!r}")
        return
    wrong = list(_options(question))
    yield from wrong
    yield from () if published else _subset(question)
    yield from () if wrong else _answer(question)
    marks = question.prompt.count(IMAGE_MARK)
    if marks != len(question.images):
        yield _problem(
            question, "prompt", f"has {marks} {IMAGE_MARK} marks for {len(question.images)} images"
        )
    originals = [
        k for k, path in enumerate(question.images) if Path(path).name.startswith("original_")
    ]
    expected = file_name("original_" + question.image_id) + ".png"
    if originals and (originals != [0] or Path(question.images[0]).name != expected):
        yield _problem(
            question, "images", f"the original is the first image and is called {expected}"
        )


def _options(question: Question) -> Iterator[Problem]:
    count = len(question.annotation_ids)
    fewest, most = OPTIONS[question.question_type]
    if not fewest <= count <= most:
        yield _problem(
            question, "annotation_ids", f"a {question.question_type} question cannot have {count}"
        )
    if len(set(question.annotation_ids)) < count and not _alike_on_purpose(question):
        yield _problem(question, "annotation_ids", "an annotation is shown twice")
    for name in ("final_scores", "sources"):
        if len(getattr(question, name)) != count:
            yield _problem(
                question, name, f"has {len(getattr(question, name))} entries for {count} options"
            )
    if question.spans is not None and len(question.spans.options) != count:
        yield _problem(
            question, "spans", f"must name {count} options, got {len(question.spans.options)}"
        )
    for score in question.final_scores:
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 10:
            yield _problem(question, "final_scores", f"{score!r} is not a number from 0 to 10")


def _alike_on_purpose(question: Question) -> bool:
    """Return whether a probe asks about one prediction twice, so that either answer is right."""
    return question.probe is not None and question.probe.design == "same"


def _subset(question: Question) -> Iterator[Problem]:
    if (
        not question.subset
        or not set(question.subset) <= set(SUBSETS)
        or len(set(question.subset)) < len(question.subset)
    ):
        yield _problem(
            question,
            "subset",
            f"must be distinct values of {', '.join(SUBSETS)}, got {list(question.subset)}",
        )
    elif ENCODING_ANALYSIS in question.subset and question.question_type != "pairwise":
        yield _problem(
            question,
            "subset",
            f"a {question.question_type} question belongs to {JUDGE_ANALYSIS} only",
        )


def _answer(question: Question) -> Iterator[Problem]:
    scores = question.final_scores
    if question.answer == UNKNOWN:
        return
    if question.question_type == "scoring":
        stated = question.answer
        if (
            isinstance(stated, str)
            or len(scores) != 1
            or not math.isclose(stated, scores[0], abs_tol=1e-9)
        ):
            yield _problem(question, "answer", f"is {stated!r}, but the scores are {list(scores)}")
        return
    if _alike_on_purpose(question):
        return
    if question.answer in (question.ties or ()):
        if len(set(scores)) > 1:
            yield _problem(
                question, "answer", f"is {question.answer!r}, but the scores {list(scores)} differ"
            )
        return
    if len(set(scores)) < len(scores):
        yield _problem(question, "final_scores", f"two options have the same score: {list(scores)}")
        return
    order = "".join(LETTERS[k] for k in sorted(range(len(scores)), key=lambda k: -scores[k])[:5])
    expected = order if question.question_type == "ranking" else order[:1]
    if question.answer != expected:
        yield _problem(
            question,
            "answer",
            f"is {question.answer!r}, but the scores {list(scores)} give {expected!r}",
        )


def _media(dataset: Dataset, question: Question, looked: _LookedInto) -> Iterator[Problem]:
    """Check that images named first by this question are readable and in the media folder."""
    for path in question.images:
        if hash(path) not in looked.seen:
            if _is_image(path):
                looked.into(path, partial(dataset.image, path))
            else:
                looked.seen.add(hash(path))
                yield _problem(question, "images", f"{path!r} is not in {MEDIA}/")
        if (reason := looked.unreadable.pop(path, None)) is not None:
            yield _problem(question, "images", reason)


def _alike(dataset: Dataset, question: Question) -> Iterator[Problem]:
    kind = _kinds().get((question.task, question.encoding))
    if (
        kind is not None
        and not _alike_on_purpose(question)
        and alike(question, kind, dataset.meta.get("files", {}))
    ):
        yield _problem(question, "annotation_ids", "two options look the same in this encoding")


@cache
def _kinds() -> dict[tuple[str, str], Kind]:
    return {(row.task, row.stem): row.kind for task in TASKS for row in encodings(task)}


def _undecidable(dataset: Dataset) -> Iterator[Problem]:
    """Check that the stated number of questions was left out because two options look the same."""
    stated = dataset.meta.get("undecidable")
    if stated is None:  # datasets of 0.1 omitted nothing
        return
    found = not_asked(dataset.questions)
    for task in dict.fromkeys([*found, *stated]):
        stems = [row.stem for row in encodings(task) if row.is_final] if task in TASKS else []
        for name in COMPARED:
            # What no encoding can ask is counted for each, but leaves no trace in the questions,
            # so the surplus must be equal for all.
            surplus = {
                _cell(stated, task, stem, name) - _cell(found, task, stem, name) for stem in stems
            }
            if len(surplus) > 1 or min(surplus, default=0) < 0:
                yield Problem(
                    META,
                    "undecidable",
                    task,
                    f"does not match the {name} questions that are asked",
                )


def _cell(counts: Mapping[str, Any], task: str, stem: str, name: str) -> int:
    found: Any = counts
    for key in (task, stem, name):
        found = found.get(key, 0) if isinstance(found, Mapping) else 0
    return found if isinstance(found, int) else 0


def _problem(question: Question, field: str, reason: str) -> Problem:
    return Problem(QUESTIONS, question.id, field, reason)
