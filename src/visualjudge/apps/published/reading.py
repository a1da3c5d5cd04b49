"""Shared code of the benchmark readers: questions, published replies, and their files.

Files are JSON, JSON lines, CSV, Parquet or Arrow, with the images that their rows contain or name.
Errors name the file, the record and the field.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from visualjudge.core.confined_paths import confined_path
from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, Answer, Order, QuestionType, Span
from visualjudge.core.tables import table_parts
from visualjudge.formats.sample import read_json, read_table

if TYPE_CHECKING:
    from visualjudge.analysis.benchmark_scores import Score

LARGEST = 1 << 30
"""Maximum bytes of one file."""
ROWS = 1000
"""Number of table rows read at a time."""
KINDS = ("json", "jsonl", "parquet", "arrow", "csv", "tsv")
"""Formats in which copies of one table occur."""
TABLES = ("*.parquet", "*.arrow", "*.jsonl", "*.json")

Use = Literal["any", "evaluation only"]
ImageSource = Path | bytes
"""An image: a file, or its bytes."""
Scale = tuple[float, float]
TEN: Scale = (0.0, 10.0)


@dataclass(frozen=True, slots=True)
class Option:
    """One response: its text, its images, and the model that made it, as far as the copy has them.

    ``id`` is the benchmark's name of the response, if several questions show it. ``marked`` is its
    text with a mark for each image; None if the images precede the text.
    """

    text: str = ""
    images: tuple[ImageSource, ...] = ()
    source: str | None = None
    id: str | None = None
    marked: str | None = None

    @property
    def content(self) -> str:
        """The content shown in a prompt."""
        if self.marked is not None:
            return self.marked
        return "\n".join(
            part for part in (*(IMAGE_MARK for _ in self.images), safe(self.text)) if part
        )


def safe(text: str) -> str:
    """Escape image marks in foreign text, which would refer to images that do not exist."""
    return text.replace(IMAGE_MARK, "[image]")


@dataclass(frozen=True, slots=True)
class OwnPrompt:
    """The benchmark's own prompt of a question: its text with image marks, and the positions of the
    options.

    ``asset`` is the id and version of the prompt, None if each question of the copy has its own;
    ``ties`` are those that its reply format allows.
    """

    text: str
    images: tuple[ImageSource, ...]
    options: tuple[Span, ...]
    asset: tuple[str, str] | None = None
    ties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a benchmark, with its options in the order in which they are stored.

    Parameters
    ----------
    key
        Identifies the question within the benchmark.
    task
        The benchmark's name of its part; figures are reported by part.
    cluster
        Identifies questions about the same prompt or image; intervals are clustered by it.
    request
        The request that all responses answer.
    answer
        "A", "B", "tie" or "both_bad"; for a ranking its letters, best first; for a score the score,
        0 to 10.
    scores
        The options' scores from 0 to 10; None: 10 for the better one, else 0 (a tie: both 10, both
        bad: both 0), and evenly spaced for a ranking.
    ties
        The ties that the benchmark allows as answers.
    images
        The images of the request.
    scale
        Minimum and maximum score of the benchmark; published replies to a scoring question use this
        scale.
    """

    key: str
    task: str
    cluster: str
    request: str
    options: tuple[Option, ...]
    answer: Answer
    scores: tuple[float, ...] | None = None
    ties: tuple[str, ...] = ()
    images: tuple[ImageSource, ...] = ()
    kind: QuestionType = "pairwise"
    scale: Scale = TEN
    own: OwnPrompt | None = None


def on_ten(value: float, scale: Scale) -> float:
    """Convert a score from a benchmark's own scale to 0 to 10; unchanged if that is its scale."""
    if scale == TEN:
        return value
    low, high = scale
    return round((value - low) / (high - low) * 10, 9)


def dealt(key: str, better: Option, worse: Option) -> tuple[tuple[Option, Option], str]:
    """Return a pair stored as better and worse, and its answer; the key alone determines which
    comes first.

    Always showing the better response first would measure whether a judge says A.
    """
    turned = hashlib.sha256(key.encode()).digest()[0] & 1
    return ((worse, better), "B") if turned else ((better, worse), "A")


@dataclass(frozen=True, slots=True)
class PublishedReply:
    """A judge's reply as its authors published it.

    ``value`` is their reading, in the letters of the stored question ("Failed" if they could not
    read it, None if unknown), or for a score on the item's scale; ``right`` says whether they
    counted it as right, if known; ``text`` is the whole reply, if published.
    """

    key: str
    order: Order
    value: Answer | None
    text: str | None = None
    right: bool | None = None
    counted: Answer | None = None
    """Value that their own score counts, if different from ``value``."""


Replies = Mapping[str, Callable[[], Iterator[PublishedReply]]]


@dataclass(frozen=True, slots=True)
class Copy:
    """Contents of a local copy: all questions, and the replies of each judge by name.

    ``labels_only`` means that the copy lacks the images (or texts) of the questions. ``left_out``
    lists records without a usable label, one line each.
    """

    items: tuple[Item, ...]
    labels_only: bool
    replies: Replies = field(default_factory=dict)
    left_out: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One row of the table.

    ``scores`` computes the benchmark's own scores for the parts (tasks) in the copy.
    """

    name: str
    title: str
    licence: str
    use: Use
    source: str
    read: Callable[[Path], Copy]
    scores: Callable[[tuple[str, ...]], tuple[Score, ...]]
    layout: str
    """Contents required of ``--from``."""
    own: str = ""
    """Additional contents required for the benchmark's own prompts, if these are not assets of this
    package.
    """
    hub: str | None = None
    """Dataset on the Hugging Face Hub that ``--hub`` reads."""
    hub_parts: tuple[str | None, ...] = (None,)
    """Its configurations, each a folder of the copy; None if there is only one."""


def by_part(
    name: str, rule: str, *overall: Score, digits: int = 2
) -> Callable[[tuple[str, ...]], tuple[Score, ...]]:
    """Return the scores over all parts, and one per part."""

    def scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
        from visualjudge.analysis.benchmark_scores import Score

        return (
            *overall,
            *(Score(f"{name}/{part}", rule, (part,), digits=digits) for part in parts),
        )

    return scores


class Row(dict[str, Any]):
    """A record, with its file and its position there, from 1.

    Raises
    ------
    DataError
        If ``values`` is not an object.
    """

    __slots__ = ("number", "path")

    def __init__(self, values: Any, path: Path, number: int) -> None:
        if not isinstance(values, dict):
            raise DataError(f"{path}: record {number}: must be an object")
        super().__init__(values)
        self.path = path
        self.number = number

    def fault(self, name: str, reason: str) -> DataError:
        """Return an error that says what is wrong with a field."""
        return DataError(f"{self.path}: record {self.number}: {name}: {reason}")

    def need(self, name: str) -> Any:
        """Return a field that the record must have.

        Raises
        ------
        DataError
            If it is missing.
        """
        if self.get(name) is None:
            raise self.fault(name, "is missing")
        return self[name]

    def one_of(self, name: str, known: Mapping[str, str]) -> str:
        """Return the meaning of a field that must have one of the ``known`` values.

        Raises
        ------
        DataError
            If it has another value.
        """
        value = self.need(name)
        if not isinstance(value, str) or value not in known:
            raise self.fault(name, f"must be one of {', '.join(known)}, got {value!r}")
        return known[value]

    def number_of(self, name: str) -> float:
        """Return a field that must be a number or its text.

        Raises
        ------
        DataError
            If it is anything else.
        """
        value = self.need(name)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise self.fault(name, f"must be a number, got {value!r}") from None


def records(path: Path) -> list[Row]:
    """Return the rows of a table: a JSON array of objects, JSON lines, CSV or TSV with a header,
    Parquet, or Arrow.

    Raises
    ------
    DataError
        If the file cannot be read, or a record is not an object.
    """
    _check_size(path)
    if path.suffix in (".parquet", ".arrow"):
        return rows(
            path, (row for part in table_parts(path, ROWS) for row in part.iter_rows(named=True))
        )
    found = document(path) if path.suffix == ".json" else read_table(path)
    if not isinstance(found, list):
        raise DataError(f"{path}: must hold an array of objects")
    return rows(path, found)


def rows(path: Path, found: Iterable[Any]) -> list[Row]:
    """Return the contents of a file as its records."""
    return [Row(row, path, number) for number, row in enumerate(found, 1)]


def document(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises
    ------
    DataError
        If the file cannot be read or is not JSON.
    """
    _check_size(path)
    return read_json(path)


def tables(folder: Path, patterns: Sequence[str] = TABLES) -> list[Path]:
    """Return the table files of ``folder`` and of ``folder/data`` that match the first pattern with
    any match.
    """
    for home in (folder, folder / "data"):
        for pattern in patterns:
            if found := sorted(path for path in home.glob(pattern) if path.is_file()):
                return found
    return []


def table_of(homes: Iterable[Path], *stems: str) -> Path | None:
    """Return the file of the first of ``stems`` in the first of ``homes`` that has one, in any
    format.
    """
    paths = (home / f"{stem}.{kind}" for home in homes for stem in stems for kind in KINDS)
    return next((path for path in paths if path.is_file()), None)


def _check_size(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    if size > LARGEST:
        raise DataError(f"{path}: must have at most {LARGEST} bytes, got {size}")


def files_by_model(
    folder: Path, glob: str, form: re.Pattern[str]
) -> dict[str, list[tuple[str, Path]]]:
    """Return files below ``folder`` whose name matches ``form``, by its group ``model``, each with
    its group ``part``.
    """
    found: dict[str, list[tuple[str, Path]]] = {}
    for path in sorted(folder.rglob(glob)):
        if (match := form.fullmatch(path.name)) is not None:
            found.setdefault(match["model"], []).append((match["part"], path))
    return found


def name_of(image: Any, key: str) -> str:
    """Return the name that a field gives its image: its path, or ``key`` if it contains only
    pixels.
    """
    name = image.get("path") if isinstance(image, dict) else image
    return name if isinstance(name, str) and name else key


class Images:
    """Images of rows: bytes as they are, names as files below ``homes``. ``missing`` counts the
    images not found.
    """

    def __init__(self, *homes: Path) -> None:
        self.homes = homes
        self.missing = 0

    def find(self, value: Any) -> ImageSource | None:
        """Return the image that a field contains (``bytes``, or the ``{"bytes", "path"}`` of the
        datasets library) or refers to.
        """
        inner = (value.get("bytes") or value.get("path")) if isinstance(value, dict) else value
        found = inner if isinstance(inner, bytes) else self._file(inner)
        self.missing += found is None
        return found

    def all(self, *values: Any) -> tuple[ImageSource, ...]:
        """Return the images of ``values`` that exist, in order."""
        return tuple(image for image in map(self.find, values) if image is not None)

    def _file(self, name: Any) -> Path | None:
        for home in self.homes:
            try:
                return confined_path(home, name, of="the copy")
            except DataError:
                continue
        return None


class Keys:
    """Unique names of records: the second record of a name becomes ``name#2``."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def unique(self, name: object) -> str:
        """Return the key of the next record with this name."""
        key = str(name)
        self._seen[key] = self._seen.get(key, 0) + 1
        return key if self._seen[key] == 1 else f"{key}#{self._seen[key]}"


def kept_replies(folder: Path) -> Replies:
    """Return the replies of each file in ``FOLDER/replies``, by name."""
    return {
        path.stem: partial(_read, path) for path in sorted((folder / "replies").glob("*.jsonl"))
    }


def _read(path: Path) -> Iterator[PublishedReply]:
    for row in records(path):
        order = row.get("order") or "AB"
        if order not in ("AB", "BA"):
            raise row.fault("order", f"must be AB or BA, got {order!r}")
        key, value = str(row.need("id")), row.get("value")
        text = None if value is not None else str(row.need("response"))
        yield PublishedReply(key, "BA" if order == "BA" else "AB", value, text)
