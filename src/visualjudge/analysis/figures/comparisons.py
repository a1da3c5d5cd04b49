"""Comparisons of two judges on the questions that both answered. The page of two judges
is ``report/two_judges.py``; differences of *models* are in ``analysis/separation.py``.

p and interval come from one standard error
(:func:`visualjudge.analysis.estimate.gap_ends`). A missing answer counts as wrong, but
for those of the local judge, a baseline that declines what it cannot see: this says
nothing about the other judge.

Scores of the same items are compared by the rank correlation with the truth, as the
mean over tasks, and by the mean absolute error, with images as the unit. Items that one
of the two did not score are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise

import numpy as np
import polars as pl

from visualjudge.analysis.answers import (
    as_dealt,
    letters_dealt,
    where_known,
)
from visualjudge.analysis.estimate import LEVEL, holm
from visualjudge.analysis.figure_text import signed
from visualjudge.analysis.figures.figure_parts import (
    HOLM,
    NOTHING,
    UNADJUSTED,
    Analysis,
    Column,
    Estimate,
    FigurePlot,
    Layout,
    LeftOut,
    Plot,
    Section,
    Shown,
    StudyFigure,
    Table,
    as_named,
    counts,
    estimates_plot,
    figure,
    gaps,
    grid,
    image_sums,
    named,
    number,
    of_row,
    points,
    with_ends,
)
from visualjudge.analysis.pairwise_verdicts import kappa_of_two
from visualjudge.analysis.plots.series import differences_scale
from visualjudge.analysis.ranking_and_scoring import scores_of
from visualjudge.analysis.score_scale import (
    ZERO_TO_TEN,
    ScoreScale,
    scale_of,
)
from visualjudge.analysis.served_model import moved_between
from visualjudge.analysis.statistics.score_agreement import (
    Figure,
    Scores,
    of_items,
    weighted_mean,
)
from visualjudge.analysis.study_facts import most_accurate, overlap
from visualjudge.analysis.study_table import Study
from visualjudge.analysis.value_and_interval import NO_TRUTH, unknown
from visualjudge.judges.registry import LOCAL

ASKED = ("question", "repeat")
Measure = Callable[[Scores], Figure]
FIGURE_OF: dict[str, Measure] = {
    "spearman": lambda scores: scores.spearman,
    "mae": lambda scores: scores.mae,
}
Format = Callable[[float | None], str]
Measured = tuple[str, str, str, Callable[[float], str], Format]
Gaps = list[tuple[str, Figure, Figure]]
"""Task, and the figures of two judges."""


def common_scores(study: Study, i: int, j: int) -> pl.DataFrame:
    """Return the items that both judges scored: question, task, cluster, truth (null if
    unknown), usable, number and number_b.
    """
    people = study.runs[i].of_people or study.runs[j].of_people
    keys = ASKED[:1] if people else ASKED
    a, b = (
        study.kind(
            k,
            "scoring",
            (*keys, "task", "cluster", "usable", "number", "truth"),
        ).filter("usable")
        for k in (i, j)
    )
    both = a.join(b.select(*keys, "number"), on=keys, suffix="_b")
    return both.with_columns(pl.col("task").cast(pl.String)).sort(
        "task", "cluster"
    )


def score_gaps(study: Study, both: pl.DataFrame) -> Iterator[tuple[str, Gaps]]:
    """Yield each measure, and its figures of both judges over tasks ("") and by
    task."""
    step = scale_of(study).step
    second = both.with_columns(number=pl.col("number_b"))
    whole = scores_of(both, step), scores_of(second, step)
    task = both["task"].to_numpy()
    names = np.unique(task).tolist()
    parts = [[of_items(own, task == name) for name in names] for own in whole]
    for name, measure in FIGURE_OF.items():
        figures = [list(map(measure, own)) for own in parts]
        rows = list(zip(names, *figures, strict=True))
        over = [weighted_mean(own, whole[0].images) for own in figures]
        yield name, [("", over[0], over[1]), *rows]


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
    ``value_b`` are the measure of each. Errors are from 0 to 10 in files, and shown on
    the study's ``scale``.
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
    scale: ScoreScale = ZERO_TO_TEN

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


KEYS = ["question", "order", "repeat"]
COMPARED = 30
"""Maximum number of judges of which every pair is compared."""


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
    both = as_dealt(both, "answer", "text", "text_b", dealt=letters_dealt(both))
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
        shared = overlap(study.asked[i], study.asked[j]) > 0
        why = "no pairs in common" if shared else "no question in common"
        if not both.is_empty():
            why += f" has an answer of {' and '.join(silent)}"
        nothing = Estimate(
            None, None, both.height, both["cluster"].n_unique(), why
        )
        return Comparison(
            *names, both["question"].n_unique(), both.height, nothing
        )
    known = where_known(both)
    result = replace(paired(known, names), kappa=kappa_of_two(both))
    return result.without_truth if known["right"].null_count() else result


def paired(both: pl.DataFrame, names: tuple[str, str]) -> Comparison:
    """Compare two judges from rows with ``right``, ``right_b`` and ``cluster``, also by
    task if there is a column ``task``.
    """
    a = pl.col("right")
    b = pl.col("right_b")
    values = {
        "n": pl.lit(1),
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
    )


def comparisons(study: Study) -> tuple[Comparison, ...]:
    """Compare every two judges, or those selected as :func:`not_compared` describes if
    there are more than :data:`COMPARED`. p is adjusted by Holm among pairs of real
    judges, and separately among pairs with a simulated judge.
    """
    rows = [
        (row, (row.measure, study.runs[i].simulated or study.runs[j].simulated))
        for i, j in _twos(study)
        for row in compared(study, i, j)
    ]
    of_pairs = _adjusted([(row.p, family) for row, family in rows])
    of_tasks = _adjusted(
        [(gap.p, family) for row, family in rows for gap in row.by_task]
    )
    return tuple(
        replace(
            row,
            p_holm=next(of_pairs),
            by_task=tuple(
                replace(gap, p_holm=next(of_tasks)) for gap in row.by_task
            ),
        )
        for row, _ in rows
    )


Family = tuple[str, bool]
"""A measure, and whether a simulated judge is compared."""


def _adjusted(
    tests: Sequence[tuple[float | None, Family]],
) -> Iterator[float | None]:
    """Return each p adjusted by Holm within its family."""
    families = {family for _, family in tests}
    adjusted = {
        family: iter(holm([p for p, own in tests if own == family]))
        for family in families
    }
    return (next(adjusted[family]) for _, family in tests)


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
    for measure, ((_, a, b), *tasks) in score_gaps(study, known):
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
                scale=scale_of(study),
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
    best = most_accurate(study, COMPARED)
    pairs = chain(
        combinations(best, 2), ((best[0], k) for k in {*every} - {*best})
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
        "each other, and each further one with the best; `compare` A B compares any "
        "two."
    )


NOTE = (
    "p is adjusted by Holm’s method over all comparisons; in accuracy, a missing "
    "answer counts as wrong."
)
MOST_PRINTED = 15
TASK_GAP = Layout[TaskGap](
    *counts("gap"),
    *figure("difference", "gap", "Points", points, ends="ci95"),
    *as_named("p", "p_holm"),
)
MEASURES = {
    "accuracy": "accuracy, in percentage points",
    "spearman": "ρ with the truth",
    "mae": "mean error, on the scale {}",
}


DRAWN: Mapping[str, Measured] = {
    "accuracy": (
        "accuracy",
        "questions that both were asked",
        "Percentage points",
        signed,
        points,
    ),
    "spearman": (
        "rank correlation with the truth",
        "items that both scored, as the mean over tasks",
        "Difference in ρ,",
        number,
        number,
    ),
}
"""Of each measure that is drawn: its name, on what two judges are compared, its unit,
and the form of a tick and of a value."""


def gap_plot(
    name: str,
    title: str,
    measure: str,
    cells: Mapping[str, Estimate],
    two: tuple[str, str],
    missing: str,
) -> Plot | LeftOut:
    """Draw differences in one measure between the first and the second of ``two``."""
    quantity, common, unit, tick, show = DRAWN[measure]
    first, second = two
    return estimates_plot(
        name,
        title,
        f"{quantity.capitalize()} of {first} minus that of {second}, on the {common}.",
        [(0, "difference", cells)],
        missing=missing,
        reading=UNADJUSTED,
        scale=differences_scale(
            cells.values(),
            f"{unit} in favour of {first}",
            tick,
            show,
        ),
    )


def shown_gap(row: Comparison) -> str:
    """Return the difference in the unit of its measure, with its interval."""
    if row.measure == "mae":
        return row.scale.sized(row.gap)
    return with_ends(row.gap, points if row.measure == "accuracy" else number)


COLUMNS = Layout[Comparison](
    named("a", "First"),
    named("b", "Second"),
    Column("n", "questions", "Questions in common", number),
    Column("images", "gap.images", "Images", number),
    Column(
        "measure",
        "measure",
        "Measure",
        shown=lambda row: MEASURES[row.measure].format(row.scale),
    ),
    *figure("difference", "gap", ends="ci95"),
    of_row("Difference (95 %)", shown_gap),
    *as_named("value_a", "value_b"),
    *as_named(
        "verdicts",
        "accuracy_a",
        "accuracy_b",
        "p",
        "only_a_right",
        "only_b_right",
    ),
    Column(
        "mcnemar_p", lambda row: row.p if row.measure == "accuracy" else None
    ),
    *figure("kappa", "kappa", "Agreement (κ)", number),
    HOLM,
    Column(
        "by_task", lambda c: {row.task: TASK_GAP.json(row) for row in c.by_task}
    ),
)


def _section(view: Shown) -> Section:
    note = not_compared(len(view.analysis.judges))
    table = grid(
        COLUMNS,
        [
            row
            for row in view.analysis[COMPARISONS]
            if {row.a, row.b} <= view.names
            and {row.gap.value, row.kappa.value} != {None}
        ],
        title="Pairs of judges",
        notes=[note] if note else (),
        keys=2,
        hit=lambda row: row.p_holm is not None and row.p_holm < LEVEL,
    )
    return Section(
        "compared",
        "Which judge is better?",
        "Judges are compared by their accuracy on the questions that both were asked, "
        "where a missing answer counts as wrong"
        + "; where they gave scores, by those of the same items (ρ: mean over tasks)"
        * any(row.measure != "accuracy" for row in view.analysis[COMPARISONS])
        + ". p is clustered by image and adjusted by Holm’s method over all comparisons; "
        "rows with p below 5 % are bold. Intervals are not adjusted.",
        [table],
    )


def _printed(analysis: Analysis) -> list[Table]:
    """Return the comparisons for the terminal."""
    known = [row for row in analysis[COMPARISONS] if row.gap.value is not None]
    if not known:
        return []
    return [grid(COLUMNS, known[:MOST_PRINTED], notes=[NOTE], keys=2)]


def _draw(view: Shown) -> Plot | LeftOut:
    """Draw the difference in accuracy between every two judges."""
    names = {judge.name for judge in view.drawn}
    every = [
        row for row in view.analysis[COMPARISONS] if {row.a, row.b} <= names
    ]
    known = [row.measure for row in every if row.gap.value is not None]
    measure = next((name for name in known if name in DRAWN), "accuracy")
    rows = [row for row in every if row.measure == measure]
    return gap_plot(
        "judges",
        f"Difference in {DRAWN[measure][0]} between judges",
        measure,
        {f"{row.a} minus {row.b}": row.gap for row in rows},
        ("the first", "the second"),
        "no two judges have answers to the same questions",
    )


def _moved(analysis: Analysis) -> tuple[str, ...]:
    """Return a sentence per two runs of which only the model that answered, or its
    settings, differ."""
    return tuple(
        line
        for two in pairwise(analysis.judges)
        for line in moved_between(
            [judge.identity for judge in two], [judge.info for judge in two]
        )
    )


MOVED = StudyFigure(
    "moved", _moved, json=list, tables=lambda _: {}, place=1, sentences=tuple
)
COMPARISONS = StudyFigure(
    "comparisons",
    lambda analysis: comparisons(analysis.study),
    COLUMNS,
    place=20,
    printed=_printed,
    section=_section,
    plots=(FigurePlot("judges", _draw),),
)
