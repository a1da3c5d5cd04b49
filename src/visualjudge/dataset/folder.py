"""A judge dataset on disk: ``questions.json``, ``dataset.json`` and ``media/*.png``; reading it back."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, overload

import orjson

from visualjudge.confine import confined_path
from visualjudge.dataset.choosing import Choice, Condition, View, balanced_sample, chosen, condition, has_value
from visualjudge.errors import DataError, UsageError
from visualjudge.records import TIES, OptionFeatures, Question, QuestionType, Span, Spans
from visualjudge.showing import as_pandas, html_table
from visualjudge.tasks import task_named

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

VERSION = "2.1"
QUESTIONS = "questions.json"
META = "dataset.json"
MEDIA = "media"
_OPTIONAL = ("features", "spans", "ties")
_TUPLES = ("subset", "annotation_ids", "final_scores", "sources", "images")


@dataclass(frozen=True)
class Dataset:
    """A dataset that has been read. It can be indexed, sliced and filtered; images stay on disk.

    Examples
    --------
    >>> dataset = load_dataset(example.dataset)
    >>> dataset[0].question_type
    'pairwise'
    >>> len(dataset[:3])
    3
    >>> hard = dataset.filter("margin<2", question_type="pairwise")
    >>> few = dataset.sample(5)

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
    questions: Sequence[Question]
    meta: Mapping[str, Any]
    digest: str | None = None

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    def __getitem__(self, index: int | slice) -> Question | Dataset:
        if isinstance(index, slice):
            return self._view(lambda questions: questions[index])
        return self.questions[index]

    def filter(self, where: str | Sequence[str] | Condition = (), **fields: Any) -> Dataset:
        """The dataset with only the questions that fit; nothing is looked at before it is needed.

        Parameters
        ----------
        where
            Conditions such as ``"error_type=missed"`` or ``"margin<2"`` (:func:`~.choosing.condition`), or a function
            of a question.
        fields
            Fields of :class:`~visualjudge.records.Question` and the value, or list of values, that they must have;
            ``type`` and ``margin`` too. A field of several values fits where one of them does.

        Raises
        ------
        UsageError
            If a condition cannot be read or a field does not exist.
        """
        conditions = (
            [where] if callable(where) else [condition(text) for text in ([where] if isinstance(where, str) else where)]
        )
        conditions += [has_value(name, value) for name, value in fields.items()]
        return self._view(lambda questions: (q for q in questions if all(fits(q) for fits in conditions)))

    def sample(self, number: int, *, seed: int = 42) -> Dataset:
        """The dataset with ``number`` of its questions, balanced over tasks, encodings and question types."""
        return self._view(lambda questions: balanced_sample(questions, number, seed))

    def choose(self, choice: Choice) -> Dataset:
        """The dataset with only the questions of ``choice``.

        Raises
        ------
        UsageError
            If a name occurs in no question, a condition cannot be read, or nothing is left.
        """
        return replace(self, questions=chosen(self.questions, choice))

    def _view(self, select: Callable[[Sequence[Question]], Iterable[Question]]) -> Dataset:
        return replace(self, questions=View(self.questions, select))

    def to_polars(self) -> pl.DataFrame:
        """One row a question; answers and scores as the file has them, prompts included."""
        import polars as pl

        hidden = {"features", "spans", "ties"}
        names = [field.name for field in fields(Question) if field.name not in hidden]
        rows = [
            {name: getattr(question, name) for name in names} | {"answer": str(question.answer)} for question in self
        ]
        columns = {name: [list(v) if isinstance(v := row[name], tuple) else v for row in rows] for name in names}
        return pl.DataFrame(columns, strict=False)

    def to_pandas(self) -> pd.DataFrame:
        """As :meth:`to_polars`, for pandas."""
        return as_pandas(self)

    def _repr_html_(self) -> str:
        kinds = get_args(QuestionType)
        cells = Counter((q.task, q.encoding, q.question_type) for q in self)
        rows = [(*key, *(cells[(*key, kind)] for kind in kinds)) for key in dict.fromkeys(cell[:2] for cell in cells)]
        return html_table(f"{len(self)} questions in {self.root}", ("task", "encoding", *kinds), rows)

    def __repr__(self) -> str:
        return f"Dataset({str(self.root)!r}, {len(self)} questions)"

    @property
    def checksum(self) -> str | None:
        """SHA-256 of ``questions.json`` as ``dataset.json`` states it."""
        stated = self.meta.get("files", {}).get(QUESTIONS)
        return stated if isinstance(stated, str) else None

    @property
    def benchmark(self) -> Mapping[str, Any]:
        """What ``dataset.json`` says of the published benchmark that this is; empty where it is none."""
        stated = self.meta.get("benchmark")
        return stated if isinstance(stated, Mapping) else {}

    @property
    def labels_only(self) -> bool:
        """Whether the set holds answers without the content that they are about: no judge can be asked."""
        return self.benchmark.get("labels_only") is True

    def image_path(self, relative: str) -> Path:
        """Where an image of ``Question.images`` lies.

        Raises
        ------
        DataError
            If the path leads out of the dataset, also over a link, or there is no such file.
        """
        return confined_path(self.root, relative)


def _column_value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def load_dataset(path: str | Path) -> Dataset:
    """Read the dataset at ``path``; its checksums are left to :func:`visualjudge.dataset.validate.validate`.

    Raises
    ------
    UsageError
        If there is no dataset at ``path``.
    DataError
        If a file is not JSON, or a question lacks a field.

    Examples
    --------
    >>> import visualjudge as vj
    >>> dataset = vj.load_dataset(example.dataset)
    >>> dataset[0].task
    'object_detection'
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
            ties=_ties(raw),
            **{field: tuple(raw[field]) for field in _TUPLES},
        )
    except KeyError as error:
        raise DataError(f"{QUESTIONS}: {name}: {error.args[0]}: the field is missing") from None
    except (TypeError, ValueError) as error:
        raise DataError(f"{QUESTIONS}: {name}: a field is of the wrong kind: {error}") from None


def question_to_wire(question: Question) -> dict[str, Any]:
    """A question as the file has it; ``features``, ``spans`` and ``ties`` last, and only where there are any."""
    wire = {item.name: getattr(question, item.name) for item in fields(Question)}
    return {name: value for name, value in wire.items() if value is not None or name not in _OPTIONAL}


def _ties(raw: Mapping[str, Any]) -> tuple[str, ...] | None:
    stored = raw.get("ties")
    if not stored:
        return None
    if not set(stored) <= set(TIES):
        raise TypeError(f"ties must be of {', '.join(TIES)}, got {stored}")
    return tuple(stored)


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
