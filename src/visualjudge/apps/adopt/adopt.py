"""The front door: a table of verdicts, or logs, as a dataset of labels and one run per
judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sys import intern
from typing import Any, Literal

import polars as pl

from visualjudge.apps.adopt.answers import (
    GRADES,
    is_letter,
    is_missing,
    is_number,
)
from visualjudge.apps.adopt.columns import NAMES, RATER, find_columns, no_header
from visualjudge.apps.adopt.confidence import ROLE as CONFIDENCE, form_of
from visualjudge.apps.adopt.criteria import SAID, TRUE, rubric_of_rows
from visualjudge.apps.adopt.files import Row, check_rows, contents
from visualjudge.apps.adopt.items import TEN, UNIT, Scale
from visualjudge.apps.adopt.logs import log_of, rows_of
from visualjudge.apps.adopt.table import (
    TEXTS,
    Answered,
    Table,
    is_pairs,
    meaning,
)
from visualjudge.apps.adopt.writing import (
    DATASET,
    Origin,
    verdict_of,
    write_study,
)
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import FAILED, TIES, TURNED, Verdict
from visualjudge.core.typed_records import Rows, record_of
from visualjudge.formats.class_names import whole
from visualjudge.formats.outputs import warn_of_range

Use = Literal["replies", "verdicts"]
JUDGE = "judge"
NUMBERED = ("item", "group", "repeat")
"""Roles whose cells may be numbers, which data frames write as 1.0 beside a gap."""
WHOLE = ("item", "judge", "model", "model_a", "model_b")
"""Roles whose column has a value in each row."""
ORDER = "the order shown (--column order=NAME), "
MOST_WORDS = 3
"""Mean number of words from which the cells of a column are sentences, not verdicts."""
FEW = 5
"""Number of duplicates that a message names."""
Records = list[tuple[str, dict[str, Any]]]
"""Each row of a table, with its place."""
Judged = Sequence[tuple[Answered, Verdict]]
NO_TRUTH = (
    "truth: no column; accuracy is not measured (--column truth=NAME; without answers, "
    "visualjudge label draws questions for people)"
)


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
        Number of these with a value in the table but none that we can read in the
        reply.
    differing
        Number of these whose reply states a different value.
    left_out
        Number of rows without a truth, which the dataset omits.
    unused
        Columns without a role.
    notes
        Sentences about facts missing from the table, such as the order shown.
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
        A file (CSV, TSV, JSON, JSONL, Parquet, Excel, or a log of an evaluation tool),
        a list of files, a polars or pandas data frame, or a list of dictionaries: one
        row a verdict. A table with sources of both options, or with letters as
        verdicts, holds pairs; letters refer to the columns of the row (A is
        ``model_a``), whichever was shown first. Other tables hold scores.
    columns, **stated
        The column of a role (``item="prompt_id"``); others are guessed by their names.
        Columns ``criterion.NAME`` hold a judge's values of a criterion, ``truth.NAME``
        the right ones, and ``rater.NAME`` a person's votes, whose mean or majority is
        the truth without a column of it.
    answers
        What other spellings mean: ``{"0": "A", "1": "B", "2": "tie"}``, or ``{"safe":
        "1"}`` of scores; in verdicts and in replies.
    score_range
        Least and greatest score of the table; 0 to 10 where not stated.
    judge
        Name of the judge where the table has no column of it.
    use
        ``replies``: replies, where there are any, are read again, and the table's
        values stand beside what was read; ``verdicts``: the table's values count.
    format
        Name of the log format (``inspect``, ``lmms-eval``, …), or ``table``; None:
        recognised.
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
    name, records, scale = _loaded(table, format)
    if not records:
        raise DataError(f"{name}: has no rows")
    header: dict[str, None] = {}
    for _, record in records:
        header.update(dict.fromkeys(record))
        check_rows(Path(name), 0, len(header))
    nested = {
        column
        for _, row in records
        for column in row
        if isinstance(row[column], list | dict)
    }
    roles = find_columns(
        [
            name
            for name in header
            if name not in nested or name.startswith((SAID, TRUE))
        ],
        {**(columns or {}), **stated},
    )
    roles = _with_numbers(records, roles, {*(columns or {}), *stated})
    _check(name, [*header], nested, roles, answers or {})
    if score_range is not None and not score_range[0] < score_range[1]:
        low, high = score_range
        raise UsageError(
            f"--score-range must be a lower and a higher number, got {low:g} {high:g}"
        )
    _check_whole(records, roles)
    rows = [
        _row(*records.pop(), roles) for _ in range(len(records))
    ]  # frees each that is read
    rows.reverse()
    supplied = dict(answers or {})
    verdicts = _values(rows, "verdict", supplied)
    raters = [role for role in roles if role.startswith(RATER)]
    known = ["truth"] if "truth" in roles else raters
    truths = set[str]().union(
        *(_values(rows, role, supplied) for role in known)
    )
    pairs = is_pairs(roles, verdicts, truths)
    texts = {
        str(row.get(role)).strip()
        for row in rows
        for role in ("verdict", *known)
    }
    grades = {
        text: GRADES[text.lower()]
        for text in texts
        if text.lower() in GRADES and not pairs
    }
    low, high = score_range or scale or (UNIT if grades else TEN)
    meant = {
        text: repr(low + grade * (high - low)) for text, grade in grades.items()
    } | supplied
    labelled = [
        row
        for row in rows
        if not known
        or any(not is_missing(meaning(row.get(role), meant)) for role in known)
    ]
    if not labelled:
        raise DataError(
            f"{name}: {roles[known[0]]}: no row has a truth; remove the column to "
            "adopt the verdicts without one, or fill it in for some rows drawn at "
            "random: those without are left out"
        )
    read = Table(
        name,
        labelled,
        roles,
        meant,
        (low, high),
        pairs,
        judge or JUDGE,
        use == "replies",
        rubric_of_rows(labelled, roles, pairs=pairs),
    )
    has_verdicts = not all(is_missing(row.get("verdict")) for row in rows)
    if not has_verdicts and not (read.replies and "reply" in roles):
        raise DataError(f"{name}: {roles['verdict']}: no row has a verdict")
    if not (pairs or grades or score_range or scale):
        for role in {"verdict", "truth"} & set(roles):
            numbers = [
                float(row[role]) for row in labelled if is_number(row[role])
            ]
            warn_of_range(f"{name}: {roles[role]}", numbers, TEN)
    done = _written(
        read, Path(out), len(rows) - len(labelled), drop_duplicates, force
    )
    return replace(
        done,
        unused=tuple(item for item in header if item not in roles.values()),
    )


# ---------------------------------------------------------------- the table


def _loaded(table: Any, form: str | None) -> tuple[str, Records, Scale | None]:
    if isinstance(table, pl.DataFrame):
        table = table.to_dicts()
    elif hasattr(table, "to_dict"):  # of pandas, which is not imported
        table = table.to_dict("records")
    if not isinstance(table, str | Path | Iterable):
        raise UsageError(f"table must be files or rows, got {table!r:.40}")
    entries: list[Any] = (
        [table] if isinstance(table, str | Path) else list(table)
    )
    if not entries or not isinstance(entries[0], str | Path):
        return (
            "table",
            [
                (f"table: row {k}", dict(row))
                for k, row in enumerate(entries, 2)
            ],
            None,
        )
    paths = [Path(entry) for entry in entries]
    read = [_file(path, form) for path in paths]
    if len({scale for _, scale in read}) > 1:
        raise UsageError(
            "the files must have one format and scale; adopt them separately"
        )
    name = paths[0].name if len(paths) == 1 else f"{paths[0].name} and others"
    return (
        name,
        [record for records, _ in read for record in records],
        read[0][1],
    )


def _file(path: Path, form: str | None) -> tuple[Records, Scale | None]:
    content = contents(path)
    log = log_of(path, content, form)
    cells = content if log is None else rows_of(log, path, content)
    rows = record_of(Rows, cells, path)
    check_rows(path, len(rows), max(map(len, rows), default=0))
    records = [(f"{path.name}: row {k}", row) for k, row in enumerate(rows, 2)]
    if log is None:
        return records, None
    if not any(name in row for row in rows for name in NAMES["order"]):
        # Letters in a log are those of the prompt, in which option A comes first.
        records = [(place, {**row, "order": "AB"}) for place, row in records]
    has_replies = any("reply" in row for row in rows)
    return records, None if log.scale == UNIT and has_replies else log.scale


def _row(
    place: str, record: Mapping[str, Any], roles: Mapping[str, str]
) -> Row:
    cells = {role: record.get(column) for role, column in roles.items()}
    for role in TEXTS:
        if role in cells:
            cell = cells[role]
            counted = role in NUMBERED or not isinstance(cell, str)
            name = str(whole(cell) if counted else cell)
            # in memory once, as most names are those of other rows
            stripped = name if role == "reply" else name.strip()
            cells[role] = None if is_missing(name) else intern(stripped)
    return Row(
        {role: None if cell == "" else cell for role, cell in cells.items()},
        place,
        roles,
    )


def _with_numbers(
    records: Records, roles: dict[str, str], stated: set[str]
) -> dict[str, str]:
    """Return the roles with a column of numbers as the verdict, where the one named for
    it holds sentences: these are the reply.
    """
    column = roles.get("verdict")
    if column is None or {"verdict", "reply"} & (
        stated | {*roles} - {"verdict"}
    ):
        return roles

    def words(name: str) -> int:
        cells = [record.get(name) for _, record in records]
        texts = [str(cell).split() for cell in cells if not is_missing(cell)]
        return sum(map(len, texts)) if texts else 0

    others = [name for name in NAMES["verdict"] if name in records[0][1]]
    scores = [
        name
        for name in others
        if name not in roles.values()
        and all(is_number(record.get(name)) for _, record in records)
    ]
    if not scores or words(column) < MOST_WORDS * len(records):
        return roles
    return {**roles, "verdict": scores[0], "reply": column}


def _check(
    name: str,
    header: Sequence[str],
    nested: set[str],
    roles: Mapping[str, str],
    answers: Mapping[str, str],
) -> None:
    if not {"verdict", "reply"} & set(roles):
        lists = (
            f"; columns of lists or objects are not read: {', '.join(sorted(nested))}"
            if nested
            else ""
        )
        raise UsageError(
            f"{name}: no column has the name of a verdict; give --column verdict=NAME "
            f"(its first row has {', '.join(header)[:300]}{lists}; found: "
            f"{', '.join(f'{role}={column}' for role, column in roles.items()) or 'none'}){no_header(header)}"
        )
    if not {"item", "model", "model_a", "model_b"} & set(roles):
        raise UsageError(
            f"{name}: no column names the question or a source; give --column "
            "item=NAME, or model_a=NAME and model_b=NAME (its columns: "
            f"{', '.join(header)})"
        )
    if {"verdict", "truth"} <= set(roles) and roles["verdict"] == roles[
        "truth"
    ]:
        raise UsageError(
            f"--column: verdict and truth must be two columns, got {roles['truth']}"
        )
    for spelling, meant in answers.items():
        if meant not in ("A", "B", *TIES, FAILED) and not is_number(meant):
            raise UsageError(
                f"--answer {spelling} must be A, B, tie, both_bad, Failed or a number, "
                f"got {meant!r}"
            )


def _check_whole(records: Records, roles: Mapping[str, str]) -> None:
    for column in (roles[role] for role in WHOLE if role in roles):
        gaps = [
            place
            for place, record in records
            if record.get(column) in (None, "")
        ]
        if 0 < len(gaps) < len(records):
            raise DataError(
                f"{gaps[0]}: {column} must be given in all rows or in none; merged "
                "cells of a spreadsheet must be filled in each row"
            )


def _values(
    rows: Sequence[Row], role: str, answers: Mapping[str, str]
) -> set[str]:
    texts = {meaning(row.get(role), answers) for row in rows}
    return {text for text in texts if not is_missing(text)}


# ---------------------------------------------------------------- the study


def _written(
    table: Table, home: Path, left_out: int, drop_duplicates: bool, force: bool
) -> Adopted:
    options: dict[str, Any] = {"columns": dict(table.columns)}
    if not table.pairs:
        options["score_range"] = table.scale
    origin = Origin("adopted", table.name, table.name, options=options)
    judged = _distinct(table, origin, drop_duplicates)
    by_judge: dict[str, list[Verdict]] = {}
    for entry, verdict in judged:
        by_judge.setdefault(entry.judge, []).append(verdict)
    items = [item for item, _ in table.questions.values()]
    answers = {str(verdict.value) for _, verdict in judged} | {
        str(item.answer) for item in items
    }
    ties: tuple[str, ...] = ("tie",) if "tie" in answers else ()
    if "both_bad" in answers:
        ties = TIES
    items = [replace(item, ties=ties if table.pairs else ()) for item in items]
    askable = {"text_a", "text_b"} if table.pairs else {"text_a"}
    origin = replace(
        origin,
        labels_only=not askable <= set(table.columns),
        left_out=left_out,
        order_unknown=frozenset(unknown_orders(table, judged)),
        rubric=table.rubric,
    )
    runs = write_study(items, by_judge, home, origin, force=force)
    return Adopted(
        home / DATASET,
        runs,
        table.columns,
        len(items),
        len(judged),
        sum(entry.reply.text is not None for entry, _ in judged),
        *other_values(judged),
        left_out,
        notes=tuple(notes(table, judged)),
    )


def _distinct(
    table: Table, origin: Origin, drop: bool
) -> list[tuple[Answered, Verdict]]:
    judged: dict[tuple[Any, ...], tuple[Answered, Verdict]] = {}
    again: list[Row] = []
    how = (
        f"name a column that tells them apart: {ORDER if table.pairs else ''}the "
        "repeat (--column repeat=NAME) or the item (--column item=NAME)"
    )
    for item in table.answered():
        verdict = verdict_of(origin, item.item, item.reply, table.names)
        key = (item.judge, item.item.key, item.reply.order, item.reply.repeat)
        first, before = judged.setdefault(key, (item, verdict))
        if first is item:
            continue
        again.append(item.row)
        if drop and verdict.value != before.value:
            raise item.row.fault(
                "verdict",
                f"must be that of {first.row.place}, where {item.judge} answered "
                f"{before.value!r} to the same question, got {verdict.value!r}; {how}",
            )
    if again and not drop:
        rows = ", ".join(row.place.rpartition("row ")[2] for row in again[:FEW])
        raise DataError(
            f"{again[0].place}: {pluralize(len(again), 'row')} (row "
            f"{rows}{', …' if len(again) > FEW else ''}) answer a question that the "
            "judge has answered before; --drop-duplicates leaves out rows that are "
            f"there twice, or {how}"
        )
    return list(judged.values())


# ---------------------------------------------------------------- what a table does not
# say


def other_values(judged: Judged) -> tuple[int, int]:
    """Return the number of replies with a value in the table that cannot be read, and
    that of replies that state another value.
    """
    both = [
        (str(verdict.value), str(verdict.extra.get("published_value", FAILED)))
        for item, verdict in judged
        if item.reply.text is not None
    ]
    both = [(ours, theirs) for ours, theirs in both if theirs != FAILED]
    invented = sum(ours == FAILED for ours, _ in both)
    return invented, sum(ours not in (FAILED, theirs) for ours, theirs in both)


def unknown_orders(table: Table, judged: Judged) -> Counter[str]:
    """Return the number of answered rows of each judge whose order is unknown."""
    answered = (
        item
        for item, verdict in judged
        if table.pairs and verdict.value != FAILED
    )
    return Counter(item.judge for item in answered if item.shown is None)


def notes(table: Table, judged: Judged) -> Iterator[str]:
    """Yield a sentence for each fact that the table lacks."""
    columns = table.columns
    unknown = unknown_orders(table, judged).total()
    if unknown:
        every = not any(item.shown for item, _ in judged)
        lacking = (
            "no column" if every else f"{pluralize(unknown, 'row')} without it"
        )
        yield (
            f"order: {lacking}; position bias and swaps are not measured, and replies "
            "are read as if model_a was shown first (--column order=NAME; "
            "order=model_a where it always was)"
        )
    if table.without_truth:
        yield NO_TRUTH
    if CONFIDENCE in columns:
        yield f"{columns[CONFIDENCE]}: read as {form_of(table.rows)}"
    failed = sum(
        verdict.value == FAILED and item.reply.text is None
        for item, verdict in judged
    )
    if failed:
        yield (
            f"{columns.get('verdict') or columns['reply']}: {pluralize(failed, 'row')} "
            "without a verdict, which count as failed replies"
        )
    if table.in_several:
        yield (
            f"{columns['item']}: {pluralize(len(table.in_several), 'name')} in several "
            f"values of {columns['group']}, kept apart as different questions, such as "
            f"{min(table.in_several)}"
        )
    yield from _of_letters(table, judged)


def _of_letters(table: Table, judged: Judged) -> Iterator[str]:
    """Say what letters were taken for if they could be those of the order shown, and
    how often each meaning equals the truth."""
    column = table.columns.get("verdict")
    lettered = [
        (verdict.value, item)
        for item, verdict in judged
        if table.pairs
        and item.reply.text is None
        and is_letter(item.row.get("verdict"))
    ]
    if all(item.shown == "AB" for _, item in lettered):
        return
    known = [
        (value == item.item.answer, item.shown == "BA")
        for value, item in lettered
        if item.shown and item.item.answer in TURNED and value in TURNED
    ]
    fits = ""
    if known:
        here = sum(hit for hit, _ in known)
        there = sum(hit != turned for hit, turned in known)
        shares = (f"{100 * hits / len(known):.1f} %" for hits in (here, there))
        fits = " (equal to the truth in {}, by the order shown in {})".format(
            *shares
        )
    yield (
        f"letters in {column}: taken as those of the columns, A is model_a{fits}; if A "
        f"is the option shown first: --column reply={column}"
    )
