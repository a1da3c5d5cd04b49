"""Questions into Parquet shards as they come, with what else gives ``questions.json`` back unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from visualjudge.core.atomic import write_json
from visualjudge.core.columnar import write_parquet
from visualjudge.core.digests import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.dataset import parquet_form
from visualjudge.dataset.from_columns import questions_of
from visualjudge.dataset.json_form import BETWEEN, FIRST, LAST
from visualjudge.dataset.parquet_form import FOLDER, INDEX, VERSION, question_of, schema
from visualjudge.dataset.question_wire import QUESTIONS, question_from_wire, question_to_wire

if TYPE_CHECKING:
    import polars as pl

GROUPS_A_SHARD = 64
QuestionForm = Literal["json", "parquet"]
Record = tuple[bytes, bytes]
"""The bytes of a question in ``questions.json``, after the bytes that stand before it."""


@dataclass
class Shards:
    """What was written so far."""

    count: int = 0
    plain: bool = True
    """Whether the columns alone give every question."""
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 by name of the file."""


def write_shards(root: Path, records: Iterable[Record], tick: Callable[[int], None] = lambda count: None) -> Shards:
    """Write ``records`` to ``root/questions/part-*.parquet``; a row group or two are in memory.

    Parameters
    ----------
    tick
        Called with the number of questions that are written.

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
        write_parquet(path, frames, schema(), rows_a_group=parquet_form.ROWS_A_GROUP)
        done.digests[path.name] = file_sha256(path)
    return done


def write_questions(root: Path, records: Iterable[Record], form: QuestionForm) -> str:
    """Write ``records`` as ``questions.json`` or as shards; the SHA-256 of the first.

    Raises
    ------
    DataError
        As :func:`write_shards`.
    """
    digest = hashlib.sha256()

    def told() -> Iterator[Record]:
        for before, content in records:
            digest.update(before + content)
            yield before, content

    if form == "parquet":
        written = write_shards(root, told())
        digest.update(LAST)
        write_index(root, written, digest.hexdigest(), LAST)
    else:
        with (root / QUESTIONS).open("wb") as file:
            file.writelines(chain.from_iterable(told()))
            file.write(LAST)
        digest.update(LAST)
    return digest.hexdigest()


def write_index(root: Path, shards: Shards, digest: str, after: bytes) -> None:
    """Write ``questions/index.json``.

    Parameters
    ----------
    digest
        SHA-256 of the ``questions.json`` that the shards stand for.
    after
        The bytes after its last question.
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


def _groups(records: Iterator[Record], done: Shards, tick: Callable[[int], None]) -> Iterator[pl.DataFrame]:
    import polars as pl

    while group := list(islice(records, parquet_form.ROWS_A_GROUP)):
        contents = [content for _, content in group]
        frame = _frame(contents, done.count)
        kept = _own_bytes(frame, contents, done)
        before = [None if text == (BETWEEN if k else FIRST) else text for k, (text, _) in enumerate(group, done.count)]
        done.count += len(group)
        yield frame.with_columns(pl.Series("json", kept, pl.Binary()), pl.Series("before", before, pl.Binary()))
        tick(done.count)


def _own_bytes(frame: pl.DataFrame, contents: Sequence[bytes], done: Shards) -> list[bytes | None]:
    """The bytes of each question where its columns do not give them back."""
    import polars as pl

    together = questions_of(frame.with_columns(json=pl.lit(None, pl.Binary()))) or repeat(None, len(contents))
    given = (None if question is None else orjson.dumps(question_to_wire(question)) for question in together)
    return [
        None if some == content else _what_differs(frame.row(k, named=True), content, done, k)
        for k, (some, content) in enumerate(zip(given, contents, strict=True))
    ]


def _what_differs(row: dict[str, Any], content: bytes, done: Shards, place: int) -> bytes | None:
    """As :func:`_own_bytes`, of one question; ``place`` is that in its group."""
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
    """Questions as columns of the shards' types; a field that has no column is left out.

    Raises
    ------
    DataError
        If one is no question (``first`` is the place of the first), or a column cannot hold a field.
    """
    import polars as pl

    kinds = {name: kind for name, kind in schema().items() if kind != pl.Binary()}
    try:
        rows = pl.Series([_typed(content) for content in contents], dtype=pl.String())
        return rows.str.json_decode(pl.Struct(kinds)).struct.unnest()
    except (pl.exceptions.PolarsError, KeyError, TypeError) as error:
        ids = [question_from_wire(orjson.loads(content), k).id for k, content in enumerate(contents, first)]
        raise DataError(
            f"{QUESTIONS}: questions {ids[0]} to {ids[-1]}: a column cannot hold a field: {error}"
        ) from None


def _typed(content: bytes) -> str:
    """A question as JSON of the columns' types: its answer is text."""
    raw = orjson.loads(content)
    answer = raw["answer"]
    return (
        content if isinstance(answer, str) else orjson.dumps({**raw, "answer": orjson.dumps(answer).decode()})
    ).decode()
