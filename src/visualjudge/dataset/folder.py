"""A judge dataset on disk: ``dataset.json``, and ``questions.json`` and ``media/*.png``
or ``dataset.parquet``. Questions are read in ``json_form.py`` and ``parquet_form.py``;
writing is in ``write_dataset.py``.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required, overload

import orjson
from typing_extensions import TypedDict

from visualjudge.arguments import checked
from visualjudge.core import jsons
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.folder_kinds import what_it_is
from visualjudge.core.image_storage import (
    PACKED,
    Part,
    Place,
    bytes_of,
    image_at,
)
from visualjudge.core.jsons import Json
from visualjudge.core.parquet import is_remote
from visualjudge.core.records import UNKNOWN, Question
from visualjudge.core.registry import MadeWith, note_made_with
from visualjudge.core.typed_records import record_of
from visualjudge.core.untrusted import confined_path
from visualjudge.dataset.json_form import QUESTIONS, read_questions
from visualjudge.dataset.parquet_form import ParquetQuestions, question_files
from visualjudge.dataset.question_filter import (
    Condition,
    chosen,
    condition,
    has_value,
    sample_positions,
)
from visualjudge.dataset.question_storage import Positions, View
from visualjudge.options import Selection

if TYPE_CHECKING:
    import polars as pl

VERSION = "2.1"
META = "dataset.json"
MEDIA = "media"
CHANGED = "probe_"
"""Prefix of the names of images that a probe has changed."""


class PublishedScore(TypedDict, total=False):
    """A score that a benchmark publishes; see
    :mod:`visualjudge.analysis.figures.published_scores`."""

    name: str
    rule: Required[str]
    tasks: list[str] | None
    scale: float
    digits: int


class StatedBenchmark(TypedDict, total=False):
    """The published benchmark that a dataset is."""

    name: str
    labels_only: bool
    scores: list[PublishedScore]


class StatedCounts(TypedDict, total=False):
    """Numbers of questions, in all and by what they are."""

    questions: int
    by_task: dict[str, int]
    by_question_type: dict[str, int]


class DatasetMeta(TypedDict, total=False):
    """What is read of ``dataset.json``; it may come from a stranger."""

    version: str
    seed: int | None
    options: Json
    prompts: Json
    counts: StatedCounts
    undecidable: dict[str, dict[str, dict[str, int]]]
    benchmark: StatedBenchmark
    files: dict[str, str]
    plugins: list[MadeWith]


@dataclass(frozen=True)
class Dataset:
    """A loaded dataset, which can be indexed, sliced and filtered. Images stay on disk.

    The questions of a Parquet file stay on disk too. Each iteration reads them again in
    constant memory, and slices and filters store only positions.

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
        Folder of the dataset; the paths in ``Question.images`` are relative to it.
    questions
        Questions in file order.
    meta
        Contents of ``dataset.json``.
    digest
        SHA-256 of ``questions.json`` as read; in the Parquet form, of the equivalent
        ``questions.json``, as ``dataset.json`` states it.
    """

    root: Path
    questions: Sequence[Question]
    meta: DatasetMeta
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
            return self._view(lambda questions: range(len(questions))[index])
        return self.questions[index]

    @checked
    def filter(
        self, where: str | Sequence[str] | Condition = (), **fields: Any
    ) -> Dataset:
        """Return the dataset with only the matching questions, evaluated lazily.

        Parameters
        ----------
        where
            Conditions such as ``"error_type=missed"`` or ``"margin<2"``
            (:func:`~.choosing.condition`), or a function of a question.
        fields
            Fields of :class:`~visualjudge.core.records.Question` with the required
            value or list of values; also ``type`` and ``margin``. A field with several
            values matches if one of them does.

        Raises
        ------
        UsageError
            If a condition is invalid or a field does not exist.
        """
        conditions = (
            [where]
            if callable(where)
            else [
                condition(text)
                for text in ([where] if isinstance(where, str) else where)
            ]
        )
        conditions += [has_value(name, value) for name, value in fields.items()]
        return self._view(
            lambda questions: array(
                "q",
                (
                    k
                    for k, q in enumerate(questions)
                    if all(fits(q) for fits in conditions)
                ),
            )
        )

    @checked
    def sample(self, number: int, *, seed: int = 42) -> Dataset:
        """Return a dataset with ``number`` of the questions, balanced over tasks,
        encodings and question types.

        Raises
        ------
        UsageError
            If the number is negative.
        """
        if number < 0:
            raise UsageError(f"number must be at least 0, got {number}")
        return self._view(
            lambda questions: sample_positions(
                questions, range(len(questions)), number, seed
            )
        )

    @checked
    def choose(self, choice: Selection) -> Dataset:
        """Return the dataset with only the questions of a selection or choice.

        Raises
        ------
        UsageError
            If a name occurs in no question, a condition is invalid, or no question is
            left.
        """
        return replace(self, questions=chosen(self.questions, choice))

    def _view(
        self, select: Callable[[Sequence[Question]], Positions]
    ) -> Dataset:
        return replace(self, questions=View(self.questions, select))

    def to_polars(self) -> pl.DataFrame:
        import polars as pl

        hidden = {"features", "spans", "ties", "probe", "faults"}
        names = [
            field.name for field in fields(Question) if field.name not in hidden
        ]
        rows = [
            {name: getattr(question, name) for name in names}
            | {"answer": str(question.answer)}
            for question in self
        ]
        columns = {
            name: [
                list(v) if isinstance(v := row[name], tuple) else v
                for row in rows
            ]
            for name in names
        }
        return pl.DataFrame(columns, strict=False)

    def __repr__(self) -> str:
        return f"Dataset({str(self.root)!r}, {len(self)} questions)"

    @property
    def checksum(self) -> str | None:
        """SHA-256 of ``questions.json`` as ``dataset.json`` states it."""
        return self.meta.get("files", {}).get(QUESTIONS)

    @property
    def benchmark(self) -> StatedBenchmark:
        """The ``benchmark`` entry of ``dataset.json``, for a published benchmark;
        otherwise empty.
        """
        return self.meta.get("benchmark", {})

    @property
    def labels_only(self) -> bool:
        """Whether the dataset holds answers without the content of the questions, so
        that no judge can be asked.
        """
        return self.benchmark.get("labels_only") is True

    @property
    def without_truth(self) -> bool:
        """Whether no right answer is known, as in verdicts adopted without a truth."""
        return bool(self.questions) and all(
            question.answer == UNKNOWN for question in self.questions
        )

    @property
    def with_answers(self) -> Dataset:
        """The questions that have a right answer, or all if none has one. A tool that
        counts right replies would count each to another question as wrong.
        """
        return self.filter(attrgetter("has_answer")) or self

    def image(self, relative: str) -> Place:
        """Locate an image of ``Question.images``: a file, or a part of one.

        Raises
        ------
        DataError
            If the path leads outside the dataset, directly or through a link, or there
            is no such image.
        """
        return image_at(self.root, relative)

    def image_path(self, relative: str) -> Path:
        """Return the path of an image of ``Question.images``.

        Raises
        ------
        DataError
            For the same reasons as :meth:`image`, or if the image is not a single file.
        """
        result = self.image(relative)
        if isinstance(result, Part):
            raise DataError(
                f"{self.root}: {relative} lies in {result.home.name}, not in its own "
                "file; use `format` json of export"
            )
        return result


def load_dataset(path: str | Path) -> Dataset:
    """Read the dataset at ``path``: ``questions.json`` and ``media/``, or
    ``dataset.parquet``, also at an ``s3://``, ``gs://`` or ``hf://`` address.

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
    if not is_dataset(root):
        raise UsageError(
            f"{root} is not a dataset: {META} and {QUESTIONS} or {PACKED} must be "
            f"files in it; {what_it_is(root, META)}"
        )
    meta = read_meta(root)
    if (root / QUESTIONS).is_file():
        questions, digest = read_questions(root / QUESTIONS)
        return Dataset(root, questions, meta, digest)
    return Dataset(
        root, ParquetQuestions(root), meta, meta.get("files", {}).get(QUESTIONS)
    )


def is_dataset(root: Path) -> bool:
    """Return whether there is a dataset at ``root``; an address is not asked."""
    return is_remote(root) or (
        (root / META).is_file() and questions_file(root).is_file()
    )


def questions_file(root: Path) -> Path:
    """Return the file of the dataset at ``root`` that changes whenever the questions
    do."""
    files = (
        [root / QUESTIONS]
        if (root / QUESTIONS).is_file()
        else question_files(root)
    )
    return files[0] if files else root / QUESTIONS


def read_meta(root: Path) -> DatasetMeta:
    """Read ``dataset.json``.

    Raises
    ------
    DataError
        If it cannot be read, is not a JSON object, or has a field of another type.
    """
    try:
        remote = (
            jsons.loads(bytes_of(image_at(root, META)))
            if is_remote(root)
            else None
        )
    except orjson.JSONDecodeError as error:
        raise DataError(f"{root / META}: must be JSON: {error}") from None
    for name in () if is_remote(root) else (META, QUESTIONS):
        if (root / name).is_file():
            confined_path(root, name)
    content = remote or jsons.read(root / META, "description")
    meta = record_of(DatasetMeta, content, root / META)
    note_made_with(meta.get("plugins", ()))
    return meta
