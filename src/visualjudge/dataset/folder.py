"""A judge dataset on disk: ``questions.json``, ``dataset.json`` and ``media/*.png``; reading it back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import orjson

from visualjudge.confine import confined_path
from visualjudge.errors import DataError, UsageError
from visualjudge.records import OptionFeatures, Question, Span, Spans
from visualjudge.tasks import task_named

VERSION = "2.1"
QUESTIONS = "questions.json"
META = "dataset.json"
MEDIA = "media"
_TUPLES = ("subset", "annotation_ids", "final_scores", "sources", "images")


@dataclass(frozen=True)
class Dataset:
    """A dataset that has been read.

    Parameters
    ----------
    root
        Its folder; the paths in ``Question.images`` are relative to it.
    questions
        In the order of the file.
    meta
        ``dataset.json``.
    digest
        SHA-256 of ``questions.json`` as it was read.
    """

    root: Path
    questions: tuple[Question, ...]
    meta: Mapping[str, Any]
    digest: str | None = None

    @property
    def checksum(self) -> str | None:
        """SHA-256 of ``questions.json`` as ``dataset.json`` states it."""
        stated = self.meta.get("files", {}).get(QUESTIONS)
        return stated if isinstance(stated, str) else None

    def image_path(self, relative: str) -> Path:
        """Where an image of ``Question.images`` lies.

        Raises
        ------
        DataError
            If the path leads out of the dataset, also over a link, or there is no such file.
        """
        return confined_path(self.root, relative)


def load_dataset(path: str | Path) -> Dataset:
    """Read the dataset at ``path``; its checksums are left to :func:`visualjudge.dataset.validate.validate`.

    Raises
    ------
    UsageError
        If there is no dataset at ``path``.
    DataError
        If a file is not JSON, or a question lacks a field.
    """
    root = Path(path)
    if not (root / QUESTIONS).is_file() or not (root / META).is_file():
        missing = " and ".join(name for name in (QUESTIONS, META) if not (root / name).is_file())
        raise UsageError(f"{path} is not a dataset: {missing} not found")
    content = _bytes(root / QUESTIONS)
    raw = _json(root / QUESTIONS, content)
    meta = _json(root / META, _bytes(root / META))
    if not isinstance(raw, list) or not isinstance(meta, dict):
        raise DataError(f"{path}: {QUESTIONS} must hold an array and {META} an object")
    return Dataset(root, tuple(question_from_wire(item, k) for k, item in enumerate(raw)), meta, _sha256(content))


def selected(dataset: Dataset, tasks: Sequence[str] | None = None, limit: int | None = None) -> Dataset:
    """The dataset with only the questions of ``tasks`` (None or empty: all), and of those the first ``limit``.

    Raises
    ------
    UnknownName
        If a task is none.
    """
    names = {task_named(name).name for name in tasks or ()}
    kept = [question for question in dataset.questions if not names or question.task in names]
    return replace(dataset, questions=tuple(kept[:limit]))


def question_from_wire(raw: Any, position: int = 0) -> Question:
    """A question as the file has it.

    Raises
    ------
    DataError
        If it is no object, or a field is missing or of the wrong kind.
    """
    if not isinstance(raw, dict):
        raise DataError(f"{QUESTIONS}: question {position + 1}: must be an object")
    name = raw.get("id", f"question {position + 1}")
    try:
        classes = raw["class_of_interest"]
        features = raw.get("features")
        return Question(
            id=str(raw["id"]),
            task=raw["task"],
            encoding=raw["encoding"],
            question_type=raw["question_type"],
            image_id=raw["image_id"],
            class_of_interest=None if classes is None else tuple(classes),
            error_type=raw["error_type"],
            prompt=raw["prompt"],
            answer=raw["answer"],
            features=None if features is None else tuple(OptionFeatures(**option) for option in features),
            spans=_spans(raw),
            **{field: tuple(raw[field]) for field in _TUPLES},
        )
    except KeyError as error:
        raise DataError(f"{QUESTIONS}: {name}: {error.args[0]}: the field is missing") from None
    except (TypeError, ValueError) as error:
        raise DataError(f"{QUESTIONS}: {name}: a field is of the wrong kind: {error}") from None


def question_to_wire(question: Question) -> dict[str, Any]:
    """A question as the file has it; ``features`` and ``spans`` last, and only where there are any."""
    wire = {item.name: getattr(question, item.name) for item in fields(Question)}
    return {name: value for name, value in wire.items() if value is not None or name not in ("features", "spans")}


def _spans(raw: Mapping[str, Any]) -> Spans | None:
    """The stored spans; they must lie in the prompt in order, so that slicing by them cannot lose a character."""
    stored = raw.get("spans")
    if stored is None:
        return None
    options = tuple(_span(span) for span in stored["options"])
    original, final = (None if stored.get(name) is None else _span(stored[name]) for name in ("original", "final"))
    ordered = [*([original] if original else []), *options, *([final] if final else [])]
    places = [place for span in ordered for place in span]
    if places != sorted(places) or not all(0 <= place <= len(raw["prompt"]) for place in places):
        raise TypeError(f"spans must lie in the prompt in order, got {stored}")
    return Spans(options, original, final)


def _span(raw: Any) -> Span:
    start, end = raw
    if type(start) is not int or type(end) is not int:
        raise TypeError(f"a span must be two integers, got {raw!r}")
    return start, end


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _json(path: Path, content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: must be JSON: {error}") from None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
