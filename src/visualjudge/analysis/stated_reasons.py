"""What judges said of their reasons, beside the measured faults: the tables that
figures of rubrics read. The sections that show them are ``figures/reasons.py`` and
``figures/criteria.py``.

A judge *names the error* if its word is the kind of fault that decides the question. It
*points at it* if the centre of its place lies in a faulty place of the worse option, or
their IoU is at least 0.3; an item's number points at it if it is a faulty item of the
worse option. Both are compared with the same judge's words and places
*exchanged* between questions of the same task on other images: what a habit reaches,
such as naming the commonest error or pointing at the middle.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import orjson
import polars as pl
from pydantic import ValidationError

from visualjudge.analysis.results import (
    Analysis,
    JudgeFigure,
    JudgeResult,
    StudyFigure,
)
from visualjudge.core.records import (
    FAILED,
    BoolArray,
    FloatArray,
    IntArray,
    Question,
    Size,
)
from visualjudge.dataset.fault_truth import (
    Deciding,
    better_in,
    deciding,
    shown_sizes,
)
from visualjudge.prompts.rubric import (
    FAULTS,
    LARGEST_PLACE,
    NONE,
    Choice,
    Criterion,
    Rubric,
    rubric_of_json,
)
from visualjudge.vision.raster.overlaps import box_ious

NEAR_IOU = 0.3
MOST_PARTNERS = 400
"""Maximum number of questions of a task whose answers are exchanged with each."""
NOWHERE = (-1.0,) * 4
"""The box of an answer that states none: outside of every image."""


def rubric_in(info: Mapping[str, Any]) -> Rubric | None:
    """Return the rubric that a run asked, as its ``run.json`` states it; None without
    one."""
    parameters = info.get("parameters")
    stated = (
        parameters.get("rubric") if isinstance(parameters, Mapping) else None
    )
    try:
        return None if stated is None else rubric_of_json(stated)
    except (ValidationError, KeyError, TypeError):
        return None


def _fault_facts(analysis: Analysis) -> dict[str, Deciding]:
    study = analysis.study
    group = [pl.col(name).cast(pl.String) for name in ("task", "kind")]
    asked = pl.concat(
        table.filter(pl.col("kind") != "ranking").select("id", *group)
        for table in study.joined
    ).unique("id", maintain_order=True)
    names = asked["id"].to_list()
    # one question of each task and type tells whether reading all of them is worth it
    first = study.find(
        asked.unique(["task", "kind"], maintain_order=True)["id"].to_list()
    )
    if not any(placed.question.faults is not None for placed in first.values()):
        return {}
    sizes = cache(shown_sizes)
    facts = {}
    for name, placed in study.find(names).items():
        size = (
            None if placed.root is None else sizes(placed.root)(placed.question)
        )
        known = deciding(placed.question, size)
        if known is not None:
            facts[name] = known
    return facts


FAULT_FACTS = StudyFigure("fault_facts", _fault_facts)
"""The faults that decide each question that was asked, by its id; empty if the first
question of no task and type states any.
"""


def _reasons(judge: JudgeResult) -> pl.DataFrame:
    """Return a row for each verdict with criteria on a question whose deciding faults
    are known: ``cluster, task, kind, right``, and of each reason that is asked
    (``names``, ``points``, with both also ``either``) whether it is right, null if not
    known; ``_gap``, whose mean is the share less that of exchanged answers, and
    ``_chance``, the share of these that are right for the question.
    """
    rubric = rubric_in(judge.run.info)
    stated = judge.joined.filter(pl.col("criteria").is_not_null())
    if rubric is None or stated.is_empty():
        return pl.DataFrame()
    facts = judge.analysis[FAULT_FACTS]
    rows = stated.filter(pl.col("id").is_in(list(facts)))
    known = [facts[name] for name in rows["id"]]
    answers = [orjson.loads(text) for text in rows["criteria"]]
    table = rows.select("cluster", "task", "kind", "right", "usable")
    task = table["task"].cast(pl.String).to_numpy()
    place = rows["question"].to_numpy(), table["cluster"].to_numpy()
    tests: dict[str, ReasonTest] = {}
    for criterion in rubric.criteria:
        values = [values.get(criterion.id, FAILED) for values in answers]
        asked = np.array(
            [criterion.id in values for values in answers], dtype=bool
        )
        if asks_for_error(criterion):
            tests["names"] = _names(
                values,
                known,
                asked,
                task,
            )
        elif criterion.answer == "place":
            located = np.array(
                [fact.places is not None for fact in known], dtype=bool
            )
            tests["points"] = pointed(
                values,
                known,
                asked & located,
                task,
            )
    if len(tests) > 1:
        tests["either"] = _either(tests["names"], tests["points"])
    columns = [
        pl.Series(name + part, np.where(test.counted, result, np.nan))
        for name, test in tests.items()
        for part, result in zip(
            ("", "_gap", "_chance"),
            exchanged(*test, *place),
            strict=True,
        )
    ]
    return table.with_columns(
        own.fill_nan(None) for own in columns
    ).with_columns(pl.col(list(tests)).cast(pl.Boolean))


REASONS = JudgeFigure("reasons", _reasons)


class ReasonTest(NamedTuple):
    """Whether the answers to ``others`` would be right for the question of an answer,
    ``hits(k, others)``; which answers count; and the parts among which they are
    exchanged.
    """

    hits: Callable[[int, IntArray], BoolArray]
    counted: BoolArray
    parts: Any


def _names(
    values: list[Any],
    known: list[Deciding],
    asked: BoolArray,
    task: Any,
) -> ReasonTest:
    words = np.array([str(value) for value in values], dtype=object)

    def hits(row: int, others: IntArray) -> BoolArray:
        return asked[others] & names_error(words[others], known[row])

    return ReasonTest(hits, asked, task)


def _either(names: ReasonTest, points: ReasonTest) -> ReasonTest:
    def hits(row: int, others: IntArray) -> BoolArray:
        return names.hits(row, others) | points.hits(row, others)

    return ReasonTest(
        hits,
        names.counted | points.counted,
        points.parts,
    )


def names_error(words: Any, fact: Deciding) -> BoolArray:
    """Return which of n ``words`` name the error that decides."""
    return np.isin(words, fact.kinds)


def pointed(
    values: list[Any],
    known: list[Deciding],
    asked: BoolArray,
    task: Any,
) -> ReasonTest:
    """Return the test whether each of n answers points at what decides (``known``).
    Numbers of items are exchanged only between questions whose encoding shows them,
    boxes between the others.
    """
    boxes, items = stated_places(values)
    numbered = np.array([fact.items is not None for fact in known], dtype=bool)
    form = np.char.add(task.astype(str), np.where(numbered, " numbered", ""))

    def hits(row: int, others: IntArray) -> BoolArray:
        counted = asked[others] & (known[row].places is not None)
        return counted & points_at_error(
            boxes[others],
            items[others],
            known[row],
        )

    return ReasonTest(hits, asked, form)


def stated_places(values: Sequence[Any]) -> tuple[FloatArray, IntArray]:
    """Return the boxes (n, 4) of n answers (:data:`NOWHERE` where they state none), and
    the numbers of items (n,): 0 of an answer that there is no place, −1 where none is
    stated.
    """
    boxes = [value if isinstance(value, list) else NOWHERE for value in values]
    items = [
        value if isinstance(value, int) else int(value == NONE) - 1
        for value in values
    ]
    return np.array(boxes, dtype=float).reshape(-1, 4), np.array(
        items, dtype=int
    )


def place_in_pixels(value: Any, size: Size) -> list[float] | None:
    """Return a place that an answer states, in pixels of an image of ``size`` (height,
    width); None if it states none."""
    if not isinstance(value, list) or len(value) != 4:
        return None
    sides = (size[1], size[0], size[1], size[0])
    return [
        v * side / LARGEST_PLACE for v, side in zip(value, sides, strict=True)
    ]


def points_at_error(
    boxes: FloatArray, items: IntArray, fact: Deciding
) -> BoolArray:
    """Return which of n answers (:func:`stated_places`) point at what decides; its
    places must be known.
    """
    if not fact.places:
        return np.asarray(items == 0)
    return points_at(boxes, np.array(fact.places)) | np.isin(
        items, fact.items or ()
    )


def is_reason_right(
    rubric: Rubric,
    criteria: Mapping[str, Any],
    fact: Deciding,
) -> bool | None:
    """Return whether one verdict names the error that decides or points at it, of what
    ``rubric`` asks; None if it was not asked, or the truth is not known.
    """
    hits = []
    for criterion in rubric.criteria:
        value = criteria.get(criterion.id)
        if criterion.id not in criteria:
            continue
        if asks_for_error(criterion):
            hits.append(names_error(np.array([str(value)], dtype=object), fact))
        elif criterion.answer == "place" and fact.places is not None:
            hits.append(points_at_error(*stated_places([value]), fact))
    return any(bool(hit[0]) for hit in hits) if hits else None


def asks_for_error(criterion: Criterion) -> bool:
    """Return whether a criterion asks which kind of error decides."""
    form = criterion.answer
    return isinstance(form, Choice) and form.choice == FAULTS


def points_at(boxes: FloatArray, places: FloatArray) -> BoolArray:
    """Return which of n ``boxes`` (n, 4) point at one of m ``places`` (m, 4)."""
    x = boxes[:, ::2].mean(axis=1)[:, None]
    y = boxes[:, 1::2].mean(axis=1)[:, None]
    x1, y1, x2, y2 = places.T
    inside = (x >= x1) & (x <= x2) & (y >= y1) & (y <= y2)
    near = box_ious(boxes, places) >= NEAR_IOU
    return np.asarray((inside | near).any(axis=1))


def exchanged(
    hits: Callable[[int, IntArray], BoolArray],
    asked: BoolArray,
    task: Any,
    question: IntArray,
    image: IntArray,
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return whether each answer is right, (n,), values (n,) whose mean is the share of
    right answers less that of answers exchanged between questions of one task on other
    images, and the share of these that are right for the question, (n,); NaN without
    another image.

    ``hits(k, others)`` states whether the answers to ``others`` would be right for the
    question of answer k. A value is the answer's own hit, less the mean of other
    answers for its question, less how far its answer does better than others elsewhere:
    the projection of a U-statistic (Hoeffding 1948), so that the spread over images is
    that of the difference.
    """
    own = np.zeros(asked.size, dtype=bool)
    gap = np.full(asked.size, np.nan)
    for_question = np.full(asked.size, np.nan)
    known = np.flatnonzero(asked)
    for members in _alike(known, task):
        count = min(MOST_PARTNERS, members.size)
        partners = members[np.linspace(0, members.size - 1, count).astype(int)]
        elsewhere = np.zeros(count)
        times = np.zeros(count)
        for rows in _alike(members, question):
            tried = hits(rows[0], np.concatenate([rows, partners]))
            own[rows] = tried[: rows.size]
            apart = image[partners] != image[rows[0]]
            right = tried[rows.size :] & apart
            elsewhere += rows.size * right
            times += rows.size * apart
            if apart.any():
                for_question[rows] = right.sum() / apart.sum()
        theirs = for_question[members]
        mean = np.nanmean(theirs) if np.isfinite(theirs).any() else np.nan
        gap[members] = own[members] - theirs
        better = elsewhere / np.maximum(times, 1) - mean
        gap[partners] -= better * members.size / count
    return own, gap, for_question


def _alike(rows: IntArray, code: Any) -> list[IntArray]:
    """Return ``rows`` in parts of one ``code`` each."""
    ordered = rows[np.argsort(code[rows], kind="stable")]
    own = code[ordered]
    parts = np.split(ordered, np.flatnonzero(own[1:] != own[:-1]) + 1)
    return [part for part in parts if part.size]


def true_criteria(
    judge: JudgeResult, rubric: Rubric
) -> dict[str, dict[str, str | None]]:
    """Return, by criterion and question id, the right value: as the question states it,
    the option that is better by the criterion's kinds of faults, or what most people of
    the study's other runs said; None if none is known.
    """
    people = _people_said(judge)
    answered = judge.joined.filter(pl.col("criteria").is_not_null())
    placed = judge.study.find(answered["id"].unique().to_list())
    return {
        criterion.id: {
            name: _true_value(result.question, criterion)
            or people.get((name, criterion.id))
            for name, result in placed.items()
        }
        for criterion in rubric.criteria
    }


def _people_said(judge: JudgeResult) -> dict[tuple[str, str], str]:
    """Return what most people said, by question id and criterion, where one value has
    most votes."""
    answers = defaultdict[tuple[str, str], Counter[str]](Counter)
    for run, table in zip(
        judge.study.runs,
        judge.study.joined,
        strict=True,
    ):
        if not run.of_people or run is judge.run:
            continue
        stated = table.filter(pl.col("criteria").is_not_null())
        for name, text in stated.select("id", "criteria").iter_rows():
            for criterion, value in orjson.loads(text).items():
                answers[name, criterion][str(value)] += value != FAILED
    collected = {}
    for key, votes in answers.items():
        (first, most), *rest = votes.most_common(2)
        if most and not (rest and rest[0][1] == most):
            collected[key] = first
    return collected


def _true_value(question: Question, criterion: Criterion) -> str | None:
    stated = (question.criteria or {}).get(criterion.id)
    if stated is not None:
        return str(stated)
    compares = criterion.answer == "option" and criterion.faults
    return better_in(question, criterion.faults) if compares else None
