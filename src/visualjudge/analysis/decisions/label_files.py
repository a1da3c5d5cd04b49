"""Labels from people: ``labels.csv`` with ``annotation_id,score`` or ``question_id,answer``, or a
run answered by people.

A ``probability`` column (as ``visualjudge label`` writes it) holds the probability with which each
item was chosen; the answers of a people's run (``visualjudge studio --items``) have it too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.judged_items import Items
from visualjudge.analysis.study_table import Study
from visualjudge.core.errors import DataError, Problem
from visualjudge.core.records import LETTERS, FloatArray
from visualjudge.core.tables import csv_table
from visualjudge.runs.folder import RunFolder, excluded_raters

FORMS = {"annotation_id": "score", "question_id": "answer"}
PEOPLE = "people"
"""The backend of a people's run."""


@dataclass(frozen=True)
class Label:
    """A person's label of one annotation (a score) or question (an answer), and the probability
    with which it was drawn; None: equal for all.
    """

    name: str
    said: str
    probability: float | None


@dataclass(frozen=True)
class Labels:
    """``by`` is ``annotation_id`` or ``question_id``; there is one label per name, and unreadable
    ones are in ``problems``.
    """

    by: str
    labels: Mapping[str, Label]
    problems: tuple[Problem, ...]


def read_labels(path: str | Path) -> Labels:
    """Read the table, or the folder of a people's run, at ``path``. Unlabelled items are skipped.

    Raises
    ------
    DataError
        If it is missing, is neither a CSV nor a people's run, lacks its columns, or labels nothing.
    """
    home = Path(path)
    if home.is_dir():
        return _answers(RunFolder(home))
    table = csv_table(home)
    by = next((name for name, column in FORMS.items() if {name, column} <= set(table.columns)), "")
    if not by:
        raise DataError(
            f"{home}: columns must be annotation_id,score or question_id,answer, got "
            f"{','.join(table.columns)}"
        )
    labels: dict[str, Label] = {}
    problems: list[Problem] = []
    for number, row in enumerate(table.iter_rows(named=True), 2):
        if not (row[FORMS[by]] or "").strip():
            continue
        try:
            label = _label(row, by)
            if label.name in labels:
                raise ValueError(f"{label.name} is labelled twice")
        except ValueError as error:
            problems.append(Problem(str(home), f"row {number}", by, str(error)))
        else:
            labels[label.name] = label
    if not labels:
        raise DataError(f"{home}: holds no label; fill in the column {FORMS[by]}")
    return Labels(by, labels, tuple(problems))


Cells = Mapping[str, str | None]


def _label(row: Cells, by: str) -> Label:
    """Return the label of a row, or raise ValueError with what is wrong with it."""
    name, answer = ((row.get(key) or "").strip() for key in (by, FORMS[by]))
    if not name:
        raise ValueError("is empty")
    return Label(name, answer, _probability(row))


def _probability(row: Cells) -> float | None:
    text = (row.get("probability") or "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise ValueError(f"probability must be above 0 and at most 1, got {text}")
    return value


def read_queue(path: str | Path) -> tuple[str, dict[str, float]]:
    """Read the queue that ``visualjudge label`` wrote: what it names, and the probability with
    which each name was drawn.

    Raises
    ------
    DataError
        If the file is missing or is not such a queue.
    """
    table = csv_table(Path(path))
    by = next((name for name in FORMS if {name, "probability"} <= set(table.columns)), None)
    if by is None:
        raise DataError(
            f"{path}: columns must be those of visualjudge label --out, got "
            f"{','.join(table.columns)}"
        )
    drawn: dict[str, float] = {}
    for row in table.iter_rows(named=True):
        try:
            chance = _probability(row)
        except ValueError as error:
            raise DataError(f"{path}: {row[by]}: {error}") from None
        if chance is None:
            raise DataError(f"{path}: {row[by]}: probability must be above 0 and at most 1")
        drawn[str(row[by])] = chance
    return by, drawn


def is_unlabelled(path: str | Path) -> bool:
    """Return whether the file is a queue of ``visualjudge label`` without any answers, which can be
    overwritten.
    """
    try:
        by, _ = read_queue(path)
        return all(not (said or "").strip() for said in csv_table(Path(path))[FORMS[by]])
    except (DataError, pl.exceptions.ColumnNotFoundError):
        return False


def _answers(run: RunFolder) -> Labels:
    """Return the labels of a people's run: the mean score of each question, or the answer of most
    raters.

    Repeats and known questions were drawn differently, and are ignored. A question without a
    majority is ignored too, unless it is a pair: then it is a tie.
    """
    if run.manifest().get("backend") != PEOPLE:
        raise DataError(f"{run.path}: must be a table of labels or a run of people")
    said: dict[str, list[Any]] = {}
    chances: dict[str, float | None] = {}
    left_out = excluded_raters(run.manifest())
    for verdict in run.verdicts().values():
        if verdict.extra.get("rater") in left_out:
            continue
        if verdict.extra.get("purpose") == "question" and verdict.status == "ok":
            said.setdefault(verdict.id, []).append(verdict.value)
            chances[verdict.id] = verdict.extra.get("probability")
    found = {name: _agreed(values) for name, values in said.items()}
    labels = {name: Label(name, answer, chances[name]) for name, answer in found.items() if answer}
    if not labels:
        raise DataError(f"{run.path}: holds no label; nobody has answered yet")
    return Labels("question_id", labels, ())


def _agreed(values: list[Any]) -> str | None:
    """Return the joint answer of several raters to one question."""
    if isinstance(values[0], int | float):
        return repr(sum(values) / len(values))
    (first, most), *others = Counter(values).most_common(2)
    if others and others[0][1] == most:
        return "tie" if len(str(first)) == 1 else None
    return str(first)


@dataclass(frozen=True, eq=False)
class Placed:
    """Labels on the rows of :class:`Items`: ``y`` and ``probability`` (R,), NaN where undefined.

    ``said`` is the label of a row.
    """

    y: FloatArray
    probability: FloatArray
    problems: tuple[Problem, ...]
    said: Mapping[int, str]


def of_kind(labels: Labels, study: Study, kind: str | None = None) -> tuple[str, Labels]:
    """Return the kind of question that the labels answer (``kind``, or that of all), and the labels
    on such questions and on unknown ones, which :func:`place` reports.

    Raises
    ------
    DataError
        If no label is on a question of this kind, or ``kind`` is None and there are several.
    """
    known = study.questions.filter(pl.col("id").is_in(list(labels.labels)))
    kinds = dict(known.select("id", pl.col("kind").cast(pl.String)).iter_rows())
    if labels.by == "annotation_id":
        kinds = dict.fromkeys(labels.labels, "scoring")
    held = sorted(set(kinds.values()))
    if kind is None and not held:
        raise DataError("labels: must name questions of the dataset, got none of them")
    if kind is None and len(held) > 1:
        raise DataError(
            f"labels: must answer questions of one kind, got {', '.join(held)}; choose one with "
            "--kind"
        )
    chosen = kind or held[0]
    if chosen not in held:
        names = ", ".join(held) or "none of the dataset's questions"
        raise DataError(f"--kind must be the kind of a labelled question ({names}), got {chosen}")
    own = {name: one for name, one in labels.labels.items() if kinds.get(name, chosen) == chosen}
    return chosen, replace(labels, labels=own)


def place(labels: Labels, items: Items, study: Study, file: str) -> Placed:
    """Assign each label to its rows; unmatched or unreadable labels become problems."""
    rows: dict[str, list[int]] = {}
    annotations = items.annotation.to_list()
    for row, name in enumerate(items.item):
        rows.setdefault(name, []).append(row)
        if items.kind == "scoring":
            rows.setdefault(annotations[row], []).append(row)
    if labels.by == "question_id" and items.kind == "scoring":
        rows = _by_question(rows, study)
    y, chances = (np.full(len(items.item), np.nan) for _ in range(2))
    told: dict[int, str] = {}
    problems = []
    for label in labels.labels.values():
        where = rows.get(label.name, [])
        try:
            values = _values(label.said, labels.by, items, where)
        except ValueError as error:
            problems.append(Problem(file, label.name, *error.args))
            continue
        y[where] = values
        chances[where] = np.nan if label.probability is None else label.probability
        told |= dict.fromkeys(where, label.said)
    return Placed(y, chances, tuple(problems), told)


def _by_question(rows: Mapping[str, list[int]], study: Study) -> dict[str, list[int]]:
    scoring = study.questions.filter(pl.col("kind") == "scoring")
    pairs = scoring.select("id", item=pl.col("task") + "/" + pl.col("annotations").list.first())
    return {name: rows[item] for name, item in pairs.iter_rows() if item in rows}


def _values(said: str, by: str, items: Items, where: list[int]) -> list[float]:
    """Return the value of a label for each row: a score 0..10, or each source's share of the others
    beaten. Raise ValueError with the field and what is wrong with it.
    """
    if not where:
        raise ValueError(by, "no run judged it")
    if items.kind == "scoring":
        if len(where) > 1:
            raise ValueError(by, "several tasks have it; write TASK/annotation_id")
        try:
            score = float(said)
        except ValueError:
            score = np.nan
        if not 0 <= score <= 10:
            raise ValueError(FORMS[by], f"must be a number from 0 to 10, got {said!r}")
        return [score]
    answer, letters = said.upper(), [LETTERS[items.option[row]] for row in where]
    if items.kind == "pairwise" and answer == "TIE":
        return [0.5] * len(where)
    if items.kind == "pairwise" and answer in ("A", "B"):
        return [float(letter == answer) for letter in letters]
    if items.kind == "ranking" and sorted(answer) == sorted(letters):
        return [(len(answer) - 1 - answer.index(letter)) / (len(answer) - 1) for letter in letters]
    wanted = "A, B or tie" if items.kind == "pairwise" else "a ranking such as BCA"
    raise ValueError(FORMS[by], f"must be {wanted}, got {said!r}")
