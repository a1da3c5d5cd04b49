"""Comparisons of two judges on the questions that both answered.

p and interval come from one standard error
(:func:`visualjudge.analysis.estimate.gap_ends`). A missing answer counts as wrong, but
for those of the local judge, a baseline that declines what it cannot see: this says
nothing about the other judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np
import polars as pl

from visualjudge.analysis.accuracy_cells import gaps, image_sums
from visualjudge.analysis.answers import by_models, letters_dealt
from visualjudge.analysis.estimate import holm
from visualjudge.analysis.figures_of_pairs import kappa_of_two
from visualjudge.analysis.score_comparisons import common_scores, score_gaps
from visualjudge.analysis.study_table import Study
from visualjudge.analysis.value_and_interval import (
    NO_TRUTH,
    NOTHING,
    Estimate,
    unknown,
)
from visualjudge.core.records import IntArray
from visualjudge.judges.registry import LOCAL


@dataclass(frozen=True)
class TaskGap:
    """The gap between two judges in one task. ``p_holm`` is adjusted over all tasks and
    pairs of judges.
    """

    task: str
    gap: Estimate
    p: float | None
    p_holm: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Two judges on the questions, orders and repeats that both answered; ``gap`` is a
    minus b in the ``measure`` ("accuracy", "spearman" or "mae"), also ``by_task``, and
    ``kappa`` Cohen's κ of their answers, where both gave one. ``value_a`` and
    ``value_b`` are the measure of each.
    """

    a: str
    b: str
    questions: int
    verdicts: int
    gap: Estimate
    accuracy_a: float | None = None
    accuracy_b: float | None = None
    p: float | None = None
    only_a_right: int | None = None
    only_b_right: int | None = None
    p_holm: float | None = None
    by_task: tuple[TaskGap, ...] = ()
    kappa: Estimate = NOTHING
    measure: str = "accuracy"
    value_a: float | None = None
    value_b: float | None = None

    @property
    def without_truth(self) -> Comparison:
        """The agreement of the two without their accuracies."""
        return Comparison(
            self.a,
            self.b,
            self.questions,
            self.verdicts,
            unknown(self.gap),
            kappa=self.kappa,
        )


ALIKE = 0.95
"""Judges count as asked the same questions if they share at least this part of all
questions that either was asked.
"""
KEYS = ["question", "order", "repeat"]
COMPARED = 30
"""Maximum number of judges of which every pair is compared."""


def asked_like(study: Study) -> tuple[int, ...]:
    """Return a number for each run. Runs with the same number were asked the same
    questions."""
    asked = study.asked
    out: list[int] = []
    for i, ids in enumerate(asked):
        same = (out[j] for j in range(i) if _overlap(ids, asked[j]) >= ALIKE)
        out.append(next(same, max(out, default=-1) + 1))
    return tuple(out)


def _overlap(a: IntArray, b: IntArray) -> float:
    """Return the questions in common as a share of those in either array."""
    common = np.intersect1d(a, b, assume_unique=True).size
    return common / max(1, a.size + b.size - common)


_TOLD = ("right", "usable", "text", "cluster", "task")
_ASKED = ("answer", "sources", "order")
"""What a comparison needs of each verdict besides its keys."""


def _common(study: Study, i: int, j: int) -> pl.DataFrame:
    """The verdicts on the same question, order and repeat, without those that the local
    judge declined; each answer of people beside each other on its question.
    """
    keys = (
        ["question"]
        if study.runs[i].of_people or study.runs[j].of_people
        else KEYS
    )
    a = study.kind(i, "pairwise", (*dict.fromkeys((*keys, *_TOLD, *_ASKED)),))
    b = study.kind(j, "pairwise", (*keys, *_TOLD)).drop("cluster", "task")
    both = a.join(b, on=keys, suffix="_b")
    if not letters_dealt(both):
        both = by_models(both, "answer", "text", "text_b")
    for run, usable in ((i, "usable"), (j, "usable_b")):
        if study.runs[run].info.get("backend") == LOCAL:
            both = both.filter(usable)
    return both


def compare(study: Study, i: int, j: int) -> Comparison:
    """Compare judges ``i`` and ``j`` on their common pairwise verdicts."""
    both = _common(study, i, j)
    names = (study.runs[i].name, study.runs[j].name)
    columns = zip(names, ("usable", "usable_b"), strict=True)
    silent = [name for name, usable in columns if not both[usable].any()]
    if both.is_empty() or silent:
        shared = _overlap(study.asked[i], study.asked[j]) > 0
        why = "no pairs in common" if shared else "no question in common"
        if not both.is_empty():
            why += f" has an answer of {' and '.join(silent)}"
        nothing = Estimate(
            None, None, both.height, both["cluster"].n_unique(), why
        )
        return Comparison(
            *names, both["question"].n_unique(), both.height, nothing
        )
    result = paired(both, names)
    lacking = study.lacks_truth(i) or study.lacks_truth(j)
    return result.without_truth if lacking else result


def paired(both: pl.DataFrame, names: tuple[str, str]) -> Comparison:
    """Compare two judges from rows with ``right``, ``right_b`` and ``cluster``, also by
    task if there is a column ``task``.
    """
    a = pl.col("right")
    b = pl.col("right_b")
    values = {
        "n": a.is_not_null(),
        "gap": a.cast(pl.Int8) - b.cast(pl.Int8),
        "apart": a != b,
        "a": a,
        "b": b,
    }
    sums = image_sums(both, [], values)
    ((figure, p),) = gaps(sums)
    n, more, apart, right, right_b = (int(sums.total(name)[0]) for name in
                                      ("n", "gap", "apart", "a", "b"))  # fmt: skip
    by_task: list[TaskGap] = []
    if "task" in both.columns:
        tasks = image_sums(both, ["task"], values)
        result = zip(tasks.keys["task"], gaps(tasks), strict=True)
        by_task = [
            TaskGap(str(task), gap, task_p) for task, (gap, task_p) in result
        ]
    return Comparison(
        *names,
        both["question"].n_unique(),
        n,
        figure,
        accuracy_a=right / n,
        accuracy_b=right_b / n,
        value_a=right / n,
        value_b=right_b / n,
        p=p,
        only_a_right=(apart + more) // 2,
        only_b_right=(apart - more) // 2,
        by_task=tuple(by_task),
        kappa=kappa_of_two(both) if "text_b" in both.columns else NOTHING,
    )


def nothing_in_common(study: Study) -> tuple[str, ...]:
    """Return a one-line warning about runs that share no question with any other
    run."""
    asked = dict(enumerate(study.asked))
    alone = [
        study.runs[k].name
        for k, ids in asked.items()
        if ids.size
        and not any(
            _overlap(ids, other) for j, other in asked.items() if j != k
        )
    ]
    if len(asked) < 2 or not alone:
        return ()
    named = ", ".join(alone)
    return (
        f"these runs share no question with any other, and cannot be compared: {named}",
    )


def comparisons(study: Study) -> tuple[Comparison, ...]:
    """Compare every two judges, or those selected as :func:`not_compared` describes if
    there are more than :data:`COMPARED`. p is adjusted by Holm among pairs of real
    judges, and separately among pairs with a simulated judge.
    """
    rows: list[Comparison] = []
    families: list[Family] = []
    for i, j in _twos(study):
        simulated = study.runs[i].simulated or study.runs[j].simulated
        result = compared(study, i, j)
        rows += result
        families += [(row.measure, simulated) for row in result]
    adjusted = _adjusted([row.p for row in rows], families)
    tasks = [
        (gap.p, family)
        for row, family in zip(rows, families, strict=True)
        for gap in row.by_task
    ]
    of_tasks = iter(
        _adjusted([p for p, _ in tasks], [family for _, family in tasks])
    )
    return tuple(
        replace(
            row,
            p_holm=p,
            by_task=tuple(
                replace(gap, p_holm=next(of_tasks)) for gap in row.by_task
            ),
        )
        for row, p in zip(rows, adjusted, strict=True)
    )


Family = tuple[str, bool]
"""A measure, and whether a simulated judge is compared."""


def _adjusted(
    p: Sequence[float | None], families: Sequence[Family]
) -> list[float | None]:
    """Return p adjusted by Holm within each family."""
    out: list[float | None] = [None] * len(p)
    for family in set(families):
        places = [k for k, own in enumerate(families) if own == family]
        for k, adjusted in zip(
            places, holm([p[k] for k in places]), strict=True
        ):
            out[k] = adjusted
    return out


def compared(study: Study, i: int, j: int) -> list[Comparison]:
    """Compare judges ``i`` and ``j`` by their common pairs, and by their common
    scores."""
    pairs = compare(study, i, j)
    scores = by_scores(study, i, j)
    return [pairs, *scores] if pairs.questions or not scores else scores


def by_scores(study: Study, i: int, j: int) -> list[Comparison]:
    """Compare judges by their scores of the same items; nothing without any."""
    both = common_scores(study, i, j)
    names = (study.runs[i].name, study.runs[j].name)
    questions = both["question"].n_unique()
    if both.is_empty():
        return []
    images = both["cluster"].n_unique()
    if both["truth"].null_count() == both.height:
        nothing = Estimate(None, None, both.height, images, NO_TRUTH)
        return [
            Comparison(
                *names, questions, both.height, nothing, measure="spearman"
            )
        ]
    known = both.drop_nulls("truth")
    out = []
    for measure, gaps_ in score_gaps(study, known):
        (_, a, b), *tasks = gaps_
        by_task = [
            TaskGap(task, (own - other).estimate, (own - other).p)
            for task, own, other in tasks
        ]
        gap = a - b
        out.append(
            Comparison(
                *names,
                questions,
                both.height,
                gap.estimate,
                p=gap.p,
                by_task=tuple(by_task),
                measure=measure,
                value_a=a.value,
                value_b=b.value,
            )
        )
    return out


def _twos(study: Study) -> list[tuple[int, int]]:
    """Return the pairs of judges to compare. Their number is limited because it would
    grow with the square of the number of judges.
    """
    every = range(len(study.runs))
    if len(every) <= COMPARED:
        return list(combinations(every, 2))
    right = [
        table.lazy()
        .filter(pl.col("kind") == "pairwise")
        .select(pl.col("right").mean())
        .collect()
        for table in study.joined
    ]
    order = sorted(every, key=lambda i: -(right[i].item() or 0.0))
    pairs = chain(
        combinations(order[:COMPARED], 2),
        ((order[0], k) for k in order[COMPARED:]),
    )
    return sorted((min(two), max(two)) for two in pairs)


def not_compared(judges: int) -> str:
    """Return a sentence on the comparisons that a report leaves out for this number of
    judges; empty if it has all of them.
    """
    if judges <= COMPARED:
        return ""
    return (
        f"Of {judges:,} judges, the {COMPARED} most accurate ones are compared with "
        "each other, and each further one with the best; --compare A B compares any "
        "two."
    )
