"""May I use its scores? A judge's scores beside the true ones, by task and over tasks,
and one sentence. The requirements are in ``statistics/score_bar.py``; from which score
a prediction is accepted, in ``accept.py``.

Everything is computed on the scale from 0 to 10 and shown on the scale of the study
(:class:`ScoreScale`). Over tasks, correlations mix the items of all tasks, as is usual;
``order``, by which judges are compared, is the mean over tasks of the correlation
inside each.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.model_answer import (
    SIGN_OF,
    Reason,
    Reasons,
    more_images,
)
from visualjudge.analysis.figure_text import (
    listed,
    number,
    percent,
    plain_name,
    with_ends,
)
from visualjudge.analysis.ranking_and_scoring import scores_of
from visualjudge.analysis.score_scale import ScoreScale, scale_of
from visualjudge.analysis.statistics.score_agreement import Scores, of_items
from visualjudge.analysis.statistics.score_bar import (
    BEGINS,
    LEAST_IMAGES,
    Bar,
    Level,
    ScoreState,
    error_level,
    images_needed,
    margin,
    order_level,
    over_tasks,
    state,
    tail_of,
)
from visualjudge.analysis.statistics.score_ranges import (
    NO_RANGES,
    ScoreRange,
    ScoreRanges,
    score_ranges,
)
from visualjudge.analysis.study_table import Study

TEN = (0.0, 10.0)
NAMED = 3
"""Number of tasks that a sentence names."""
SCORED = ("task", "cluster", "usable", "number", "truth")


@dataclass(frozen=True, eq=False)
class ScoresOfTask:
    """A judge's scores in one task (``task`` "": in all), and what follows from them.

    ``failed`` counts replies without a score; ``scores`` is None without any usable
    reply on an item with a truth.
    """

    task: str
    failed: int
    scores: Scores | None
    bar: Bar
    tail: float = tail_of()
    """The probability beyond each end of the intervals that decide."""

    @property
    def order(self) -> Level:
        """Whether the scores order the items as required."""
        return (
            "open"
            if self.scores is None
            else order_level(self.scores, self.bar, self.tail)
        )

    @property
    def error(self) -> Level:
        """Whether the error is as small as required."""
        return (
            "open"
            if self.scores is None
            else error_level(self.scores, self.bar, self.tail)
        )

    @property
    def state(self) -> ScoreState:
        """Whether the scores may be used."""
        return state(self.order, self.error)

    @cached_property
    def ranges(self) -> ScoreRanges:
        """The true scores behind each score of the judge."""
        own = self.scores
        if own is None:
            return NO_RANGES
        return score_ranges(own.judged, own.true, own.image, scale=TEN)

    @property
    def needs_images(self) -> int | None:
        """Images on which both requirements would probably be decided; None if no
        number of them can be promised.
        """
        own = self.scores
        if own is None:
            return None
        figures = [
            (own.spearman.at_tail(self.tail), self.bar.spearman),
            (margin(own, self.bar).at_tail(self.tail), 0.0),
        ]
        return images_needed(
            own.images, (self.order, self.error), figures, self.tail
        )

    @property
    def images(self) -> int:
        """Number of images with usable scores."""
        return 0 if self.scores is None else self.scores.images


def scored(study: Study, run: int) -> pl.DataFrame:
    """Return a judge's verdicts on scoring questions whose truth is known, by task and
    image."""
    table = study.kind(run, "scoring", SCORED).drop_nulls("truth")
    return table.with_columns(pl.col("task").cast(pl.String)).sort(
        "task", "cluster"
    )


def scores_by_task(table: pl.DataFrame, scale: ScoreScale) -> dict[str, Scores]:
    """Return the usable scores of a table by task; groups of images are those of the
    whole table."""
    read = table.filter("usable")
    task = read["task"].to_numpy()
    whole = scores_of(read, scale.step)
    return {
        name: of_items(whole, task == name) for name in np.unique(task).tolist()
    }


@dataclass(frozen=True, eq=False)
class ScoreAnswer:
    """A judge's scores over all tasks and by task, their state and its sentence."""

    whole: ScoresOfTask
    tasks: tuple[ScoresOfTask, ...]
    scale: ScoreScale

    def named(self, own: ScoreRange) -> str:
        """Return the judge's scores of a range, on the scale of the study."""
        ends = dict.fromkeys(map(self.scale.score, (own.score, own.score_high)))
        return "–".join(f"{end:g}" for end in ends)

    def ends(self, own: ScoreRange) -> str:
        """Return the true scores of a range, on the scale of the study."""
        return " to ".join(
            f"{self.scale.score(end):.3g}" for end in (own.low, own.high)
        )

    @property
    def state(self) -> ScoreState:
        """The state over tasks."""
        return over_tasks(task.state for task in self.tasks)

    @property
    def reasons(self) -> Reasons:
        """Whether each requirement is met; over several tasks, in which they are."""
        own = self.whole.scores
        if own is None:
            return (
                Reason("?", "no reply on an item with a truth could be read"),
            )
        if len(self.tasks) == 1:
            return tuple(self._parts(self.tasks[0]))
        over = (
            f"over all items: ρ {number(own.spearman.value)}, mean error "
            f"{number(self.scale.size(own.mae.value))} of {self.scale}"
        )
        return (*_over(self), Reason("?", over))

    @property
    def sentence(self) -> str:
        """The answer to "May I use its scores?"."""
        reasons = "; ".join(reason.text for reason in self.reasons)
        own = self.whole.scores
        if own is None:
            return f"Not known: {reasons}. `visualjudge report` says why."
        answer = f"{BEGINS[self.state]}: {reasons}."
        only = self.tasks[0]
        few = only.images < LEAST_IMAGES or bool(np.ptp(own.true))
        if len(self.tasks) == 1 and self.state == "too_few" and few:
            answer += f" {more_images(only.images, only.needs_images)}"
        return answer

    def _parts(self, task: ScoresOfTask) -> Iterator[Reason]:
        own = task.scores
        assert own is not None
        if np.ptp(own.true) == 0:
            yield Reason(
                "?", "all true scores are alike, so nothing can be ordered"
            )
            return
        if np.ptp(own.judged) == 0:
            same = (
                f"it gives every item the score {self.scale.score(own.usual):g}"
            )
            yield Reason("✗", same)
        else:
            words: dict[Level, str] = {
                "met": "it orders items well enough",
                "missed": "it does not order items well enough",
                "open": "whether it orders items well enough is open",
            }
            least = number(task.bar.spearman)
            rho = own.spearman.estimate
            against = ((rho.interval or (None, rho.value))[1] or 0.0) < 0
            order = (
                f"{words[task.order]}, ρ {with_ends(rho, number)} where at least {least} "
                "is required"
                f"{'; is its scale reversed?' * against}"
            )
            yield Reason(SIGN_OF[task.order], order)
        constant = self.scale.size(own.constant_mae.value)
        error = (
            f"its mean error is {self.scale.sized(own.mae.estimate)} where at most "
            f"{number(task.bar.error * constant)} is allowed, {percent(task.bar.error, 0)} "
            "of that of always answering the median"
        )
        yield Reason(SIGN_OF[task.error], error)


_IN_TASKS: dict[ScoreState, tuple[Level, str]] = {
    "yes": ("met", "yes in"),
    "in_part": ("open", "in part in"),
    "no": ("missed", "no in"),
    "too_few": ("open", "not decided in"),
}


def _over(answer: ScoreAnswer) -> Iterator[Reason]:
    """Say which tasks have which state."""
    total = len(answer.tasks)
    for state_of, (level, word) in _IN_TASKS.items():
        own = [
            plain_name(task.task)
            for task in answer.tasks
            if task.state == state_of
        ]
        if len(own) == total:
            yield Reason(SIGN_OF[level], f"in all {total} tasks")
        elif own:
            yield Reason(SIGN_OF[level], f"{word} {listed(own, NAMED)}")


@lru_cache(maxsize=4)
def score_answer(study: Study, run: int, bar: Bar) -> ScoreAnswer:
    """Return the answer from a judge's scores on items with a true score."""
    table = scored(study, run)
    scale = scale_of(study)
    result = scores_by_task(table, scale)
    unread = (~pl.col("usable")).sum()
    failed = dict(table.group_by("task").agg(unread).sort("task").iter_rows())
    tail = tail_of(own.images for own in result.values())
    tasks = tuple(
        ScoresOfTask(task, n, result.get(task), bar, tail)
        for task, n in failed.items()
    )
    read = table.filter("usable")
    every = scores_of(read, scale.step) if read.height else None
    return ScoreAnswer(
        ScoresOfTask("", sum(failed.values()), every, bar), tasks, scale
    )
