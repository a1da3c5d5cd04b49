"""A run's verdicts as a table, in the one form of ``study_table``, and a dataset's
questions, without one record per question: 250,000 questions load in a second or two.
How both are joined and held is in ``study_table.py``.

Prompts and image paths stay on disk; :func:`find` reads them again for the few
questions that a report shows.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

import orjson
import polars as pl

from visualjudge.analysis.study_table import (
    WIRE,
    Placed,
    asked_table,
    numbered,
    question_rows,
    verdict_table,
)
from visualjudge.core import jsons
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question, Verdict
from visualjudge.core.untrusted import lines
from visualjudge.dataset.folder import META, load_dataset, read_meta
from visualjudge.dataset.json_form import QUESTIONS, question_from_wire
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.journal import Line
from visualjudge.runs.verdicts import verdict_in

MOST_NAMED = 100
"""Maximum number of unreadable lines that are named; the others are counted."""
MOST_UNREAD = 100_000
"""Maximum number of unreadable lines; a file with more is no run's."""
_ROWS = 50_000


def read_verdicts(folder: Path) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Return the verdicts of a run folder, its problems and its warnings.

    A truncated last line (a killed run) is a warning; any other unreadable line is a
    problem. If there are several verdicts for one question, order and repeat, the last
    one counts (a resumed run asks failed questions again).

    Raises
    ------
    DataError
        If there is no file of verdicts, or over 100,000 lines are none.
    """
    run = RunFolder(folder)
    path = run.existing_verdicts_path()
    places = list[int]()
    unread = list[Line]()
    verdicts = _verdicts(run, places, unread)
    frames = [verdict_table(islice(verdicts, _ROWS))]
    while frames[-1].height == _ROWS:
        frames.append(verdict_table(islice(verdicts, _ROWS)))
    table = pl.concat(frames).with_columns(
        offset=pl.Series(places, dtype=pl.Int64)
    )
    last = table.unique(
        ["id", "order", "repeat"], keep="last", maintain_order=True
    )
    problems = [
        f"{path}: line {line.number}: must be a verdict, left out"
        for line in unread
        if not line.cut
    ]
    if more := problems[MOST_NAMED:]:
        problems[MOST_NAMED:] = [
            f"{path}: {len(more)} more lines are no verdicts, left out"
        ]
    warnings = [
        f"{path}: line {line.number}: cut short, left out; finish the run with `resume`"
        for line in unread
        if line.cut
    ]
    if again := table.height - last.height:
        warnings.append(
            f"{path}: {again} verdicts were asked again; the last one of each counts"
        )
    return last, problems, warnings


def _verdicts(
    run: RunFolder, places: list[int], unread: list[Line]
) -> Iterator[Verdict]:
    """Yield the verdicts, and note where they begin; note the other lines, without
    what is in them."""
    for line in run.lines():
        verdict = verdict_in(line)
        if verdict is not None:
            places.append(line.start)
            yield verdict
        elif len(unread) < MOST_UNREAD:
            unread.append(
                line._replace(raw=line.raw[-1:], record=line.record and {})
            )
        else:
            raise DataError(
                f"{run.journal_path}: must be verdicts, got over {MOST_UNREAD:,} lines "
                "that are none"
            )


PIECE = 2_000_000
"""Approximate number of bytes in memory at a time."""


def _table(path: Path) -> pl.DataFrame | None:
    """Return the rows read directly from the file in chunks; None if the slower,
    checking reader is needed.
    """
    try:
        return pl.concat([_frame(piece) for piece in _pieces(path)])
    except (OSError, ValueError, pl.exceptions.PolarsError):
        return None


def _frame(piece: bytes) -> pl.DataFrame:
    """Return a chunk as a table.

    Raises
    ------
    ValueError
        Unless every record has exactly one id, a string, and one answer.

    Polars would read a number as a string if a string is requested, and would use the
    first of two fields with the same name.
    """
    raw = pl.read_json(piece, schema=WIRE)
    if not piece.count(b'{"id":"') == piece.count(b'"answer":') == raw.height:
        raise ValueError("fields")
    known = pl.all_horizontal(
        pl.col(
            "id", "task", "encoding", "question_type", "image_id", "answer"
        ).is_not_null()
    )
    text = pl.col("answer").cast(pl.Float64, strict=False).is_null()
    lengths = [
        pl.col(name).list.len()
        for name in ("annotation_ids", "final_scores", "sources")
    ]
    same = pl.all_horizontal(
        known, *(length == lengths[0] for length in lengths)
    ).all(ignore_nulls=False)
    if raw.select(texts=text.sum(), same=same).row(0) != (
        piece.count(b'"answer":"'),
        True,
    ):
        raise ValueError("values")
    return asked_table(raw, text)


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield chunks that are arrays of questions, from a file with one question a line,
    as every version of visualjudge writes it. In another layout a chunk is not valid
    JSON.
    """
    piece: list[bytes] = []
    size = 0
    for line in chain(lines(path, "json"), [b""]):
        piece.append(line)
        size += len(line)
        if size >= PIECE or not line:
            yield b"[" + b"".join(piece).strip(b"[], \r\n") + b"]"
            piece.clear()
            size = 0


def read_questions(root: Path) -> tuple[pl.DataFrame, jsons.Fields]:
    """Return the rows of the questions at ``root``, and ``dataset.json`` with the path
    and the questions' checksum.

    Raises
    ------
    UsageError
        If there is no dataset at ``root``.
    DataError
        If a file is not JSON, or a question lacks a field.
    """
    path = root / QUESTIONS
    table = _table(path) if path.is_file() and (root / META).is_file() else None
    if table is None:
        dataset = load_dataset(root)
        stated = {"path": str(root), "questions_sha256": dataset.digest}
        return question_rows(dataset.questions), {**dataset.meta, **stated}
    # Hash the file itself, not the value in dataset.json: an edited file would give
    # wrong scores.
    return table, {
        **read_meta(root),
        "path": str(root),
        "questions_sha256": file_sha256(root / QUESTIONS),
    }


def merged(roots: Sequence[Path]) -> tuple[pl.DataFrame, jsons.Fields]:
    """Return the questions of several datasets without duplicates, the metadata of the
    first dataset, and the benchmark and digest of each.

    Raises
    ------
    DataError
        If two datasets hold different questions under one id, or one dataset holds two.
    """
    read = {root: read_questions(root) for root in roots}
    (table, meta), *_ = read.values()
    if len(read) > 1:
        table, *others = (
            _of(own, answers, root) for root, (own, answers) in read.items()
        )
        for root, other in zip(roots[1:], others, strict=True):
            _refuse_others(table, other, root, roots[0])
            table = pl.concat(
                [
                    table,
                    other.join(
                        table, on="id", how="anti", maintain_order="left"
                    ),
                ]
            )
    return numbered(table, " and ".join(map(str, roots))), {
        **meta,
        "benchmarks": [
            answers["benchmark"]
            for _, answers in read.values()
            if answers.get("benchmark")
        ],
        "digests": {
            root: answers.get("questions_sha256")
            for root, (_, answers) in read.items()
        },
    }


def _of(table: pl.DataFrame, meta: jsons.Fields, root: Path) -> pl.DataFrame:
    """Add the name of the benchmark that the questions come from, else the name of the
    dataset's folder.
    """
    stated = meta.get("benchmark")
    name = stated.get("name") if isinstance(stated, Mapping) else None
    return table.with_columns(benchmark=pl.lit(str(name or root.name)))


def _refuse_others(
    table: pl.DataFrame, other: pl.DataFrame, root: Path, first: Path
) -> None:
    truth = ["answer", "truth", "annotations", "scores"]
    both = table.select("id", *truth).join(
        other.select("id", *truth), on="id", suffix="_other"
    )
    same = pl.all_horizontal(
        pl.col(name).eq_missing(pl.col(f"{name}_other")) for name in truth
    )
    unlike = both.filter(~same)["id"]
    if unlike.len():
        raise DataError(
            f"{root}: question {unlike[0]} differs from the one in {first}; report on "
            "the runs separately"
        )


def find(roots: Sequence[Path], ids: Sequence[str]) -> dict[str, Placed]:
    """Read the complete records of a few questions, each with its dataset."""
    out = dict[str, Placed]()
    for root in roots:
        result = _found(root, set(ids) - out.keys())
        out |= {question.id: Placed(question, root) for question in result}
    return out


def _found(root: Path, wanted: set[str]) -> list[Question]:
    path = root / QUESTIONS
    if path.is_file():
        starts = tuple(b'{"id":' + orjson.dumps(name) for name in wanted)
        own = [
            line.strip(b",\r\n")
            for line in lines(path, "json")
            if line.startswith(starts)
        ]
        if len(own) == len(wanted):
            return [question_from_wire(jsons.loads(line)) for line in own]
    return [
        question
        for question in load_dataset(root).questions
        if question.id in wanted
    ]
