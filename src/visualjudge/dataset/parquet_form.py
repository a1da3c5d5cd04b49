"""A dataset's questions as sharded Parquet: typed columns, and the data needed to restore
``questions.json`` byte by byte.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import orjson

from visualjudge.core import jsons
from visualjudge.core.atomic import write_json
from visualjudge.core.checksums import file_sha256
from visualjudge.core.confined_paths import confined_path
from visualjudge.core.errors import DataError
from visualjudge.core.parquet_files import (
    BYTES_A_PART,
    LARGEST_ROW,
    parquet_height,
    parquet_parts,
    parquet_rows,
    parquet_schema,
    write_parquet,
)
from visualjudge.core.records import TIES, OptionFeatures, Question, QuestionType, Spans
from visualjudge.dataset.json_form import (
    BETWEEN,
    FIRST,
    LARGEST_NUMBER,
    QUESTIONS,
    question_from_wire,
    question_to_wire,
    spans_in_order,
)
from visualjudge.dataset.question_storage import BATCH, Batch, Located, QuestionFiles, Record

if TYPE_CHECKING:
    import polars as pl


FOLDER = "questions"
INDEX = f"{FOLDER}/index.json"
VERSION = 1
ROWS_A_GROUP = 2048
ROWS_A_FRAME = 50_000
LARGEST_GROUP = 128 << 20
"""Maximum bytes of a group of questions. Texts stored once in the file are counted for each
question.
"""
PIECE = 1024
"""Number of rows converted to Python objects at once."""
_TEXTS = ("id", "task", "encoding", "question_type", "image_id", "error_type", "prompt", "answer")
_TEXT_LISTS = ("subset", "class_of_interest", "annotation_ids", "sources", "images")
_FIELDS = tuple(field.name for field in fields(Question))
_TYPES = frozenset(get_args(QuestionType))
_OPTIONS = ("annotation_ids", "final_scores", "sources")
GROUPS_A_SHARD = 64


@cache
def schema() -> pl.Schema:
    """Return the columns. ``answer`` is text; for a scoring question, the text of its number.

    ``json`` holds a question's bytes in ``questions.json`` if they cannot be restored from its
    fields, and ``before`` the bytes that precede it unless these are a comma and a line break. Both
    are null in files written by ``build``.
    """
    import polars as pl

    text, real, whole = pl.String(), pl.Float64(), pl.Int64()
    option = {
        "severity": real,
        "text_chars": whole,
        "png_bytes": whole,
        "count": whole,
        "area": real,
    }
    span = pl.List(whole)
    return pl.Schema(
        {
            **dict.fromkeys(_TEXTS, text),
            **dict.fromkeys(_TEXT_LISTS, pl.List(text)),
            "final_scores": pl.List(real),
            "features": pl.List(pl.Struct(option)),
            "spans": pl.Struct({"options": pl.List(span), "original": span, "final": span}),
            "ties": pl.List(text),
            "json": pl.Binary(),
            "before": pl.Binary(),
        }
    )


# ---------------------------------------------------------------- reading


class ParquetQuestions(QuestionFiles):
    """The questions of the dataset at ``root``, read one row group at a time.

    Raises
    ------
    DataError
        If the index or a shard cannot be read, or a shard is not the one that the index states.
    """

    digest = ""
    ending = b""

    def __init__(self, root: Path) -> None:
        index = _index(root)
        self.digest = index["questions_sha256"]
        self.ending = bytes.fromhex(index["after"])
        self.shards = [_shard(root, name, stated) for name, stated in index["shards"].items()]
        self._plain: bool = index["plain"]
        self._first: list[int] = []
        self._count = 0
        for path in self.shards:
            if parquet_schema(path) != schema():
                raise DataError(
                    f"{path}: must have the columns of a dataset's questions; convert the "
                    "dataset again"
                )
            height = parquet_height(path)
            if height > path.stat().st_size:
                raise DataError(f"{path}: must have at most one question per byte, got {height:,}")
            self._first.append(self._count)
            self._count += height
        self._group: tuple[int, Any] = (0, None)
        self._piece: tuple[int, Sequence[Question]] = (-1, [])

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without cached rows."""
        return {**self.__dict__, "_group": (0, None), "_piece": (-1, [])}

    def __len__(self) -> int:
        return self._count

    def at(self, positions: Iterable[int]) -> Iterator[Question]:
        """Return the questions at ``positions``."""
        for k in positions:
            first, some = self._piece
            if not first <= k < first + len(some):
                first, some = self._piece = self._read(k)
            yield some[k - first]

    def _read(self, position: int) -> tuple[int, Sequence[Question]]:
        """Return some questions, including the one at ``position``, and the position of the first.
        A row group is cached as columns.
        """
        first, group = self._group
        if group is None or not first <= position < first + group.height:
            shard = bisect_right(self._first, position) - 1
            inside = (position - self._first[shard]) // ROWS_A_GROUP * ROWS_A_GROUP
            group = parquet_rows(self.shards[shard], inside, ROWS_A_GROUP)
            _check_size(self.shards[shard], group.estimated_size(), group.height)
            first = self._first[shard] + inside
            self._group = first, group
        start, size = (position - first) // PIECE * PIECE, PIECE
        while size > 1 and group.slice(start, size).estimated_size() > BYTES_A_PART:
            size //= 2
            start = (position - first) // size * size
        if group.slice(start, size).estimated_size() > LARGEST_ROW:
            path = self.shards[bisect_right(self._first, position) - 1]
            raise DataError(f"{path}: a question must take at most {LARGEST_ROW >> 20} MiB")
        return first + start, _questions(group.slice(start, size), first + start)

    def columns(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of some fields, without reading other columns."""
        if not self._plain:
            yield from super().columns(*names)
            return
        for batch in self.batches(*names):
            yield from zip(*batch, strict=True)

    def batches(self, *names: str) -> Iterator[Batch]:
        """Yield the values of some fields, many questions at a time."""
        if not self._plain:
            yield from super().batches(*names)
            return
        wanted = dict.fromkeys([*names, *(["question_type"] if "answer" in names else [])])
        # Plain rows have no other fields.
        stored = [name for name in wanted if name in schema()] or ["id"]
        for path in self.shards:
            for part in parquet_parts(path, BATCH, stored):
                yield tuple(_values(path, part, name) for name in names)

    def frames(self, *names: str) -> Iterator[pl.DataFrame] | None:
        """Yield those of the columns that exist, as stored; None if the columns do not fully
        describe the questions.
        """
        stored = [name for name in names if name in schema()]
        parts = (parquet_parts(path, ROWS_A_FRAME, stored) for path in self.shards)
        return chain.from_iterable(parts) if self._plain else None

    def distinct(self, name: str) -> Iterator[Iterable[Any]]:
        """Yield the items of an array field in parts; each part lists an item once."""
        if not self._plain:
            yield from super().distinct(name)
            return
        for path in self.shards:
            for part in parquet_parts(path, BATCH, [name]):
                values = part[name]
                yield values.filter(values.list.len() > 0).explode().unique().to_list()

    def records(self) -> Iterator[Record]:
        """Yield the bytes of each question, after the bytes that separate it from the previous
        one.
        """
        number = 0
        for path in self.shards:
            size = rows = 0
            for part in parquet_parts(path, PIECE):
                size, rows = size + int(part.estimated_size()), rows + part.height
                _check_size(path, size, rows)
                for row in part.to_dicts():
                    before = (
                        (BETWEEN if number else FIRST) if row["before"] is None else row["before"]
                    )
                    own: bytes | None = row["json"]
                    yield (
                        before,
                        orjson.dumps(question_to_wire(question_of(row, number)))
                        if own is None
                        else own,
                    )
                    number += 1

    def scan(self) -> Iterator[Located]:
        """Yield ``(number, number, question)`` for each question."""
        return ((number, number, question) for number, question in enumerate(self))

    def read(self, start: int, stop: int) -> Question:
        """Return the question with this number."""
        return next(self.at((start,)))


def _index(root: Path) -> dict[str, Any]:
    path = confined_path(root, INDEX)
    try:
        index = jsons.read(path, jsons.LARGEST_META)
        kinds = {"questions_sha256": str, "after": str, "shards": dict, "plain": bool}
        if index["version"] != VERSION or not all(
            isinstance(index[name], kind) for name, kind in kinds.items()
        ):
            raise ValueError("not an index of this version")
        bytes.fromhex(index["after"])
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise DataError(
            f"{path}: must be the index of a dataset in the Parquet form: {error}"
        ) from None
    return index  # type: ignore[no-any-return]


def _shard(root: Path, name: str, stated: object) -> Path:
    path = confined_path(root, f"{FOLDER}/{name}")
    if file_sha256(path) != stated:
        raise DataError(f"{path}: its SHA-256 does not match {INDEX}; convert the dataset again")
    return path


def _check_size(path: Path, size: float, rows: int) -> None:
    """Reject texts stored once in a file but used in many questions, if they take too much memory
    in total.
    """
    if size > LARGEST_GROUP * max(1, rows / ROWS_A_GROUP):
        raise DataError(
            f"{path}: {ROWS_A_GROUP} questions must take at most {LARGEST_GROUP >> 20} MiB, "
            f"got {int(size) >> 20} MiB for {rows}"
        )


def _questions(rows: pl.DataFrame, first: int) -> list[Question]:
    """Return the questions of some rows. If that fails, rows are read one by one: one may have its
    own bytes or be invalid.
    """
    together = questions_of(rows)
    return (
        [question_of(row, first + k) for k, row in enumerate(rows.to_dicts())]
        if together is None
        else together
    )


def question_of(row: dict[str, Any], position: int = 0) -> Question:
    """Return the question in a row."""
    if row.get("json") is not None:
        try:
            return question_from_wire(jsons.loads(row["json"]), position)
        except orjson.JSONDecodeError as error:
            raise DataError(f"question {position}: json: must be JSON: {error}") from None
    answer = row["answer"]
    if row["question_type"] == "scoring":
        try:
            answer = float(answer)
        except (TypeError, ValueError):
            raise DataError(
                f"question {position}: answer: must be a number, got {answer!r:.40}"
            ) from None
    return question_from_wire({**row, "answer": answer}, position)


def _values(path: Path, rows: pl.DataFrame, name: str) -> Sequence[Any]:
    try:
        return values_of(rows, name)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: {error}; convert the dataset again") from None


def questions_of(rows: pl.DataFrame) -> list[Question] | None:
    """Return the questions of ``rows``, or None if one has its own bytes or is invalid.

    Read such rows one by one to find the error.
    """
    if rows["json"].null_count() < rows.height:
        return None
    try:
        values = {name: values_of(rows, name) for name in _FIELDS}
        _check_together(rows, values)
    except (TypeError, ValueError):
        return None
    return list(map(Question, *values.values()))


def values_of(rows: pl.DataFrame, name: str) -> Sequence[Any]:
    """Return a field of all ``rows`` as :class:`Question` holds it, or None for each if there is no
    such column.

    Parameters
    ----------
    rows
        Rows, including the column ``question_type`` if the field is ``answer``.

    Raises
    ------
    TypeError, ValueError
        If a value is invalid for a question.
    """
    if name not in rows.columns:
        return [None] * rows.height
    return _READERS.get(name, _texts)(rows, name)


def _check_together(rows: pl.DataFrame, values: dict[str, Sequence[Any]]) -> None:
    _must(_TYPES.issuperset(values["question_type"]), "question_type")
    lengths = [rows[name].list.len() for name in _OPTIONS]
    _must(
        lengths[0].equals(lengths[1]) and lengths[0].equals(lengths[2]),
        "annotation_ids, final_scores and sources",
    )
    _must(all(map(spans_in_order, values["spans"], values["prompt"])), "spans")


def _must(holds: bool | None, what: str) -> None:
    if not holds:
        raise ValueError(f"{what} must match the questions")


# ---------------------------------------------------------------- a column


def _texts(rows: pl.DataFrame, name: str) -> list[Any]:
    _must(name == "error_type" or not rows[name].null_count(), name)
    return rows[name].to_list()


def _answers(rows: pl.DataFrame, name: str) -> list[Any]:
    kinds = rows["question_type"].to_list()
    answers = [
        float(a) if kind == "scoring" else a
        for a, kind in zip(_texts(rows, name), kinds, strict=True)
    ]
    _must(all(type(a) is str or -LARGEST_NUMBER <= a <= LARGEST_NUMBER for a in answers), name)
    return answers


def _arrays(rows: pl.DataFrame, name: str) -> list[Any]:
    found = _tuples(rows[name], _items(rows[name]).to_list())
    _must(name == "class_of_interest" or None not in found, name)
    return found


def _scores(rows: pl.DataFrame, name: str) -> list[Any]:
    _must(_items(rows[name]).is_between(-LARGEST_NUMBER, LARGEST_NUMBER).all(), name)
    return _arrays(rows, name)


def _sources(rows: pl.DataFrame, name: str) -> list[Any]:
    found = _tuples(rows[name], _items(rows[name], nulls=True).to_list())
    _must(None not in found, name)
    return found


def _ties(rows: pl.DataFrame, name: str) -> list[Any]:
    items = _items(rows[name]).to_list()
    _must(set(TIES).issuperset(items), name)
    return [ties or None for ties in _tuples(rows[name], items)]


def _features(rows: pl.DataFrame, name: str) -> list[Any]:
    columns = _items(rows[name]).struct.unnest()
    return _tuples(
        rows[name], map(OptionFeatures, *(columns[name].to_list() for name in columns.columns))
    )


def _spans(rows: pl.DataFrame, name: str) -> list[Any]:
    parts = rows[name].struct.unnest()
    _must(rows[name].null_count() == parts["options"].null_count(), name)
    options = _tuples(parts["options"], _pairs(_items(parts["options"])))
    places = zip(options, _pairs(parts["original"]), _pairs(parts["final"]), strict=True)
    return [
        None if of_options is None else Spans(of_options, *others) for of_options, *others in places
    ]


def _pairs(column: pl.Series) -> list[Any]:
    _must((column.list.len() == 2).all(), column.name)
    return _tuples(column, _items(column).to_list())


def _items(column: pl.Series, *, nulls: bool = False) -> pl.Series:
    """Return the items of all arrays, concatenated."""
    items = column.filter(column.list.len() > 0).explode()
    _must(nulls or not items.null_count(), column.name)
    return items


def _tuples(column: pl.Series, items: Iterable[Any]) -> list[Any]:
    """Split ``items`` into a tuple per row, or None if the row has none."""
    following = iter(items)
    return [None if n is None else tuple(islice(following, n)) for n in column.list.len().to_list()]


_READERS: dict[str, Callable[[pl.DataFrame, str], list[Any]]] = {
    "answer": _answers,
    "class_of_interest": _arrays,
    "final_scores": _scores,
    "features": _features,
    "sources": _sources,
    "spans": _spans,
    "ties": _ties,
    **dict.fromkeys(("subset", "annotation_ids", "images"), _arrays),
}


@dataclass
class Shards:
    """The results of writing so far."""

    count: int = 0
    plain: bool = True
    """Whether the columns fully describe every question."""
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 by file name."""


def write_shards(
    root: Path, records: Iterable[Record], tick: Callable[[int], None] = lambda count: None
) -> Shards:
    """Write ``records`` to ``root/questions/part-*.parquet``, with one or two row groups in memory.

    Parameters
    ----------
    tick
        Called with the number of questions written.

    Raises
    ------
    DataError
        If a question cannot be read or a column cannot hold a field.
    """
    done = Shards()
    (root / FOLDER).mkdir()
    groups = _groups(iter(records), done, tick)
    while (first := next(groups, None)) is not None:
        path = root / FOLDER / f"part-{len(done.digests):05d}.parquet"
        frames = chain([first], islice(groups, GROUPS_A_SHARD - 1))
        write_parquet(path, frames, schema(), rows_a_group=ROWS_A_GROUP)
        done.digests[path.name] = file_sha256(path)
    return done


def write_index(root: Path, shards: Shards, digest: str, after: bytes) -> None:
    """Write ``questions/index.json``.

    Parameters
    ----------
    digest
        SHA-256 of the equivalent ``questions.json``.
    after
        Bytes after its last question.
    """
    index = {
        "version": VERSION,
        "questions": shards.count,
        "questions_sha256": digest,
        "plain": shards.plain,
        "after": after.hex(),
        "shards": shards.digests,
    }
    write_json(root / INDEX, index)


def _groups(
    records: Iterator[Record], done: Shards, tick: Callable[[int], None]
) -> Iterator[pl.DataFrame]:
    import polars as pl

    while group := list(islice(records, ROWS_A_GROUP)):
        contents = [content for _, content in group]
        frame = _frame(contents, done.count)
        kept = _own_bytes(frame, contents, done)
        before = [
            None if text == (BETWEEN if k else FIRST) else text
            for k, (text, _) in enumerate(group, done.count)
        ]
        done.count += len(group)
        yield frame.with_columns(
            pl.Series("json", kept, pl.Binary()), pl.Series("before", before, pl.Binary())
        )
        tick(done.count)


def _own_bytes(frame: pl.DataFrame, contents: Sequence[bytes], done: Shards) -> list[bytes | None]:
    """Return the bytes of each question that its columns cannot restore; None for the others."""
    import polars as pl

    together = questions_of(frame.with_columns(json=pl.lit(None, pl.Binary()))) or repeat(
        None, len(contents)
    )
    given = (
        None if question is None else orjson.dumps(question_to_wire(question))
        for question in together
    )
    return [
        None if some == content else _what_differs(frame.row(k, named=True), content, done, k)
        for k, (some, content) in enumerate(zip(given, contents, strict=True))
    ]


def _what_differs(row: dict[str, Any], content: bytes, done: Shards, place: int) -> bytes | None:
    """Return the bytes of one question as :func:`_own_bytes` does; ``place`` is its position in the
    group.
    """
    stated = question_from_wire(orjson.loads(content), done.count + place)
    try:
        given = question_of(row)
        if orjson.dumps(question_to_wire(given)) == content:
            return None
        done.plain &= given == stated
    except (DataError, ValueError, TypeError):
        done.plain = False
    return content


def _frame(contents: Sequence[bytes], first: int) -> pl.DataFrame:
    """Return questions as columns of the shards' types. Fields without a column are omitted.

    Raises
    ------
    DataError
        If one is not a question (``first`` is the position of the first), or a column cannot hold a
        field.
    """
    import polars as pl

    kinds = {name: kind for name, kind in schema().items() if kind != pl.Binary()}
    try:
        rows = pl.Series([_typed(content) for content in contents], dtype=pl.String())
        return rows.str.json_decode(pl.Struct(kinds)).struct.unnest()
    except (pl.exceptions.PolarsError, KeyError, TypeError) as error:
        ids = [
            question_from_wire(orjson.loads(content), k).id
            for k, content in enumerate(contents, first)
        ]
        raise DataError(
            f"{QUESTIONS}: questions {ids[0]} to {ids[-1]}: a field does not fit its column: "
            f"{error}"
        ) from None


def _typed(content: bytes) -> str:
    """Return a question as JSON with the columns' types, so with its answer as text."""
    raw = orjson.loads(content)
    answer = raw["answer"]
    return (
        content
        if isinstance(answer, str)
        else orjson.dumps({**raw, "answer": orjson.dumps(answer).decode()})
    ).decode()
