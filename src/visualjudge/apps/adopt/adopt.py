"""The front door: a table of verdicts, or logs, as a dataset of labels and one run per judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import polars as pl

from visualjudge.apps.adopt.answers import (
    GRADES,
    LETTER_OF,
    is_answer,
    is_missing,
    is_number,
    letter_of,
    order_of,
)
from visualjudge.apps.adopt.columns import ROLES, find_columns, no_header
from visualjudge.apps.adopt.files import contents, frame_of
from visualjudge.apps.adopt.items import TEN, Scale, Study
from visualjudge.apps.adopt.logs import UNIT, log_of, rows_of
from visualjudge.apps.adopt.notes import notes, other_values, unknown_orders
from visualjudge.apps.adopt.table import Answered, Table, models_of, with_texts
from visualjudge.apps.adopt.writing import DATASET, Origin, verdict_of, write_study
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import FAILED, TIES, Verdict
from visualjudge.formats.outputs import warn_of_range
from visualjudge.replies import read_reply

Use = Literal["replies", "verdicts"]
Letters = Literal["columns", "shown"]
ORDER_NAMES = next(role.names for role in ROLES if role.name == "order")
JUDGE = "judge"
WHOLE = ("item", "judge", "model", "model_a", "model_b")
"""Roles whose column has a value in each row."""
LOOKED_AT = 200
"""Number of values of a column to check, from the first row that has one."""
LONGEST_NAME = 100
FEW = 5
"""Number of duplicates that a message names."""
Files = list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Adopted:
    """Result of :func:`adopt`.

    Attributes
    ----------
    dataset, runs
        Their folders.
    columns
        The column of each role.
    questions, verdicts
        Their numbers.
    reread
        Number of verdicts whose reply was read again.
    invented
        Number of these with a value in the table but none that we can read in the reply.
    differing
        Number of these whose reply states a different value.
    left_out
        Number of rows without a truth, which the dataset omits.
    unused
        Columns without a role.
    notes
        Sentences about facts missing from the table: the order shown, and the meaning of letters.
    """

    dataset: Path
    runs: tuple[Path, ...]
    columns: Mapping[str, str]
    questions: int
    verdicts: int
    reread: int
    invented: int
    differing: int
    left_out: int
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def adopt(
    table: Any,
    out: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    answers: Mapping[str, str] | None = None,
    score_range: tuple[float, float] | None = None,
    judge: str | None = None,
    use: Use = "replies",
    letters: Letters = "columns",
    format: str | None = None,
    drop_duplicates: bool = False,
    force: bool = False,
    **stated: str,
) -> Adopted:
    """Write a table of verdicts as a dataset, ``out/dataset``, and one run a judge,
    ``out/<judge>``.

    Parameters
    ----------
    table
        A file (CSV, TSV, JSON, JSONL, Parquet, Excel, or a log of an evaluation tool), a list of
        files, a polars or pandas data frame, or a list of dictionaries: one row a verdict. A table
        with sources of both options, or with letters as verdicts, holds pairs; letters refer to
        the columns of the row (A is ``model_a``), whichever was shown first. Other tables hold
        scores.
    columns, **stated
        The column of a role (``item="prompt_id"``); others are guessed by their names.
    answers
        What other spellings mean: ``{"0": "A", "1": "B", "2": "tie"}``, or ``{"safe": "1"}`` of
        scores; in verdicts and in replies.
    score_range
        Least and greatest score of the table; 0 to 10 where not stated.
    judge
        Name of the judge where the table has no column of it.
    use
        ``replies``: replies, where there are any, are read again, and the table's values stand
        beside what was read; ``verdicts``: the table's values count.
    letters
        What A means as a verdict: ``columns``: ``model_a``; ``shown``: the option shown first,
        which needs an ``order``.
    format
        Name of the log format (``inspect``, ``lmms-eval``, …), or ``table``; None: recognised.
    drop_duplicates
        Leave out rows that repeat a verdict.
    force
        Replace what an earlier call wrote.

    Raises
    ------
    UsageError
        If a role, a column or an option does not fit the table, or ``out`` exists.
    DataError
        If a cell cannot be read, or two rows contradict each other.

    Examples
    --------
    ::

        done = vj.adopt("verdicts.csv", "study", item="prompt_id", truth="human")
        print(vj.card([vj.open_run(run) for run in done.runs]))
    """
    files, frame, scale = _loaded(table, format)
    flat = [column.name for column in frame if not column.dtype.is_nested()]
    roles = find_columns(flat, {**(columns or {}), **stated}, lambda *guess: _fits(frame, *guess))
    _check(files[0][1], frame, roles, answers or {}, score_range)
    if letters == "shown" and "order" not in roles:
        raise UsageError(
            "--letters shown needs a column of the order shown; give --column order=NAME"
        )
    cells = frame.select(pl.col(column).alias(role) for role, column in roles.items())
    labelled = _labelled(cells)
    if not labelled:
        raise DataError(
            f"{files[0][1]}: {roles['truth']}: no row has a truth; remove the column to adopt the "
            "verdicts without one, or fill it in for some rows drawn at random: those without are "
            "left out"
        )
    verdicts = _values(cells, "verdict") if "verdict" in roles else set()
    graded = bool(verdicts & set(GRADES)) and not verdicts & {"a", "b"}
    cells = with_texts(cells)
    read = Table(
        files,
        cells[labelled].to_dicts(),
        labelled,
        roles,
        answers or {},
        score_range or scale or (UNIT if graded else TEN),
        _is_pairs(cells, answers or {}),
        graded,
        judge or JUDGE,
        letters == "shown",
        use == "replies",
        _apart(cells),
    )
    if not verdicts and not (read.replies and "reply" in roles):
        raise DataError(f"{read.name}: {roles['verdict']}: no row has a verdict")
    if not read.pairs and score_range is None and scale is None and not graded:
        for role in {"verdict", "truth"} & set(roles):
            numbers = [float(value) for value in cells[role].to_list() if is_number(value)]
            warn_of_range(f"{read.name}: {roles[role]}", numbers, read.scale)
    done = _written(read, Path(out), frame.height - len(labelled), drop_duplicates, force)
    return replace(done, unused=tuple(name for name in frame.columns if name not in roles.values()))


# ---------------------------------------------------------------- the table


def _loaded(tables: Any, form: str | None) -> tuple[Files, pl.DataFrame, Scale | None]:
    """Return names, rows and scale of a table, of a log, or of several files combined."""
    paths = [tables] if isinstance(tables, str | Path) else tables
    if not (isinstance(paths, list | tuple) and paths and isinstance(paths[0], str | Path)):
        return [(0, "table")], frame_of(tables), None
    read = [_file(Path(path), form) for path in paths]
    if len({scale for _, scale in read}) > 1:
        raise UsageError("the files must have one format and scale; adopt them separately")
    firsts = accumulate((frame.height for frame, _ in read), initial=0)
    files = [(first, Path(path).name) for first, path in zip(firsts, paths, strict=False)]
    return files, pl.concat([frame for frame, _ in read], how="diagonal_relaxed"), read[0][1]


def _file(path: Path, form: str | None) -> tuple[pl.DataFrame, Scale | None]:
    if not path.is_file():
        reason = "must be a file, got a folder" if path.is_dir() else "does not exist"
        raise UsageError(f"{path}: {reason}")
    content = contents(path)
    log = log_of(path, content, form)
    if log is None and not isinstance(content, list | pl.DataFrame):
        raise DataError(f"{path}: must hold an array of objects")
    table = frame_of(content if log is None else rows_of(log, path, content))
    if log is None:
        return table, None
    if not set(ORDER_NAMES) & set(table.columns):
        # Letters in a log are those of the prompt, in which option A comes first.
        table = table.with_columns(order=pl.lit("AB"))
    return table, None if log.scale == UNIT and "reply" in table.columns else log.scale


def _fits(frame: pl.DataFrame, role: str, column: str, roles: Mapping[str, str]) -> bool:
    """Return whether at least half of the column's values (for an order: all) fit ``role``."""
    models = [pl.col(roles[name]).alias(name) for name in ("model_a", "model_b") if name in roles]
    cells = frame.select(pl.col(column).alias("value"), *models)
    rows = [row for row in with_texts(cells).rows(named=True) if not is_missing(row["value"])]
    good = [_value_fits(role, row) for row in rows[:LOOKED_AT]]
    return bool(good) and (all(good) if role == "order" else 2 * sum(good) >= len(good))


def _value_fits(role: str, row: Mapping[str, Any]) -> bool:
    value, models = row["value"], models_of(row)
    try:
        if role == "order":
            return bool(order_of(value, models))
        if role == "verdict":
            return is_number(value) or letter_of(value, models, {}, "") != FAILED
    except DataError:
        return False
    if role == "reply":
        return read_reply(str(value), "pairwise", finish_reason="stop", ties=TIES).value != FAILED
    return len(str(value)) <= LONGEST_NAME


def _check(
    name: str,
    frame: pl.DataFrame,
    roles: Mapping[str, str],
    answers: Mapping[str, str],
    score_range: tuple[float, float] | None,
) -> None:
    """Raise an error if the table or the options cannot be used."""
    if not {"verdict", "reply"} & set(roles):
        lists = [column.name for column in frame if column.dtype.is_nested()]
        nested = f"; columns of lists or objects are not read: {', '.join(lists)}" if lists else ""
        sheet = "; of a workbook, the first sheet is read" if name.endswith(".xlsx") else ""
        raise UsageError(
            f"{name}: no column has the name of a verdict; give --column verdict=NAME (its "
            f"first row has {', '.join(frame.columns)[:300]}{nested}; found: "
            f"{', '.join(f'{role}={column}' for role, column in roles.items()) or 'none'})"
            f"{no_header(frame.columns)}{sheet}"
        )
    if not {"item", "model", "model_a", "model_b"} & set(roles):
        raise UsageError(
            f"{name}: no column names the question or a source; give --column item=NAME, or "
            f"model_a=NAME and model_b=NAME (its columns: {', '.join(frame.columns)})"
        )
    if score_range is not None and not score_range[0] < score_range[1]:
        low, high = score_range
        raise UsageError(f"--score-range must be a lower and a higher number, got {low:g} {high:g}")
    for spelling, meaning in answers.items():
        if meaning not in ("A", "B", *TIES, FAILED) and not is_number(meaning):
            raise UsageError(
                f"--answer {spelling} must be A, B, tie, both_bad, Failed or a number, got "
                f"{meaning!r}"
            )
    if not frame.height:
        raise DataError(f"{name}: has no rows")
    for role in WHOLE:
        gaps = frame[roles[role]].is_null().to_list() if role in roles else []
        if any(gaps) and not all(gaps):
            raise DataError(
                f"{name}: row {gaps.index(True) + 2}: {roles[role]} must be given in all rows or "
                "in none; merged cells of a spreadsheet must be filled in each row"
            )
    if {"verdict", "truth"} <= set(roles) and roles["verdict"] == roles["truth"]:
        raise UsageError(f"--column: verdict and truth must be two columns, got {roles['truth']}")


def _labelled(cells: pl.DataFrame) -> list[int]:
    """Return the rows that have a truth."""
    if "truth" not in cells.columns:
        return list(range(cells.height))
    graded = bool(_values(cells, "truth") & set(GRADES))
    values = enumerate(cells["truth"].to_list())
    return [k for k, value in values if not is_missing(value) or (graded and value == "failed")]


def _values(cells: pl.DataFrame, role: str) -> set[str]:
    """Return the distinct values of a column in lower case, without those that mean a missing
    value.
    """
    values = cells[role].unique().to_list()
    return {str(value).strip().lower() for value in values if not is_missing(value)}


def _is_pairs(cells: pl.DataFrame, answers: Mapping[str, str]) -> bool:
    """Return whether the verdicts choose between two options: both sources are named, or no verdict
    (without verdicts, no truth) is a number or a grade.
    """
    if {"model_b", "text_b"} & set(cells.columns):
        return True
    if answers:
        return not any(is_number(meaning) for meaning in answers.values())
    values = {role: _values(cells, role) for role in ("verdict", "truth") if role in cells.columns}
    verdicts = values.get("verdict", set())
    if any(map(is_answer, verdicts)):
        return True
    numbers = (value.replace(",", ".") for value in verdicts - {"0"})
    if any(is_number(value) and value not in LETTER_OF for value in numbers):
        return False  # 7 is a score, whatever the truth is
    return not all(is_number(value) or value in GRADES for value in values.get("truth") or verdicts)


def _apart(cells: pl.DataFrame) -> frozenset[str]:
    """Return the items that stand in several groups."""
    if not {"item", "group"} <= set(cells.columns):
        return frozenset()
    names = [role for role in ("item", "task") if role in cells.columns]
    known = cells.drop_nulls(["item", "group"])
    groups = known.group_by(names).agg(pl.col("group").n_unique())
    return frozenset(groups.filter(pl.col("group") > 1)["item"])


# ---------------------------------------------------------------- the study


def _written(
    table: Table, home: Path, left_out: int, drop_duplicates: bool, force: bool
) -> Adopted:
    origin = Origin("adopted", table.name, table.name, options={"columns": dict(table.columns)})
    judged = _distinct(table, origin, drop_duplicates)
    by_judge: dict[str, list[Verdict]] = {}
    for row, verdict in judged:
        by_judge.setdefault(row.judge, []).append(verdict)
    items = [item for item, _ in table.questions.values()]
    answers = {str(verdict.value) for _, verdict in judged} | {str(item.answer) for item in items}
    ties = TIES if "both_bad" in answers else ("tie",) if "tie" in answers else ()
    items = [replace(item, ties=ties if table.pairs else ()) for item in items]
    askable = {"text_a", "text_b"} if table.pairs else {"text_a"}
    study = Study(items, not askable <= set(table.columns), left_out=("",) * left_out)
    origin = replace(origin, order_unknown=frozenset(unknown_orders(table, judged)))
    runs = write_study(study, by_judge, home, origin, force=force)
    return Adopted(
        home / DATASET,
        runs,
        table.columns,
        len(items),
        len(judged),
        sum(row.reply.text is not None for row, _ in judged),
        *other_values(judged),
        left_out,
        notes=tuple(notes(table, judged)),
    )


def _distinct(table: Table, origin: Origin, drop: bool) -> list[tuple[Answered, Verdict]]:
    """Return each row with its verdict.

    Raises
    ------
    DataError
        If a judge has answered a question twice in one order, unless the answers are equal and
        such rows are dropped.
    """
    judged: dict[tuple[Any, ...], tuple[Answered, Verdict]] = {}
    places: dict[tuple[Any, ...], int] = {}
    again: list[int] = []
    names = table.names
    order = "the order shown (--column order=NAME), "
    apart = "the repeat (--column repeat=NAME) or the item (--column item=NAME)"
    for place, row in enumerate(table.answered()):
        verdict = verdict_of(origin, row.item, row.reply, names)
        key = (row.judge, row.item.key, row.reply.order, row.reply.repeat)
        known = judged.setdefault(key, (row, verdict))[1]
        if places.setdefault(key, place) == place:
            continue
        again.append(place)
        lacking = order if table.pairs and row.shown is None else ""
        how = f"name a column that tells them apart: {lacking}{apart}"
        if drop and verdict.value != known.value:
            raise DataError(
                f"{table.where(place, 'verdict')}: {row.judge} answered {known.value!r} to the "
                f"same question in {table.row(places[key])} and {verdict.value!r} here; {how}"
            )
    if again and not drop:
        rows = ", ".join(table.row(place).rpartition("row ")[2] for place in again[:FEW])
        raise DataError(
            f"{table.row(again[0])}: {pluralize(len(again), 'row')} (row {rows}"
            f"{', …' if len(again) > FEW else ''}) answer a question that the judge has answered "
            f"before; --drop-duplicates leaves out rows that are there twice, or {how}"
        )
    return list(judged.values())
