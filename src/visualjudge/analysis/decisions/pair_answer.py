"""Does it choose as the truth does? Pairs whose options name no models. Named models
are in ``model_answer.py``.

Two requirements, each met, missed or open by its whole interval: accuracy is at least
``Bar.accuracy``, and above that of the best constant answer, on the same verdicts. The
state follows as that of scores (:mod:`visualjudge.analysis.statistics.score_bar`), for
each task or category, and over them. A failed reply is wrong.
"""

from dataclasses import dataclass

import polars as pl

from visualjudge.analysis.accuracy_cells import by_task
from visualjudge.analysis.decisions.model_answer import (
    SIGN_OF,
    Reason,
    Reasons,
    more_images,
)
from visualjudge.analysis.figure_text import (
    listed,
    many,
    percent,
    plain_name,
    with_ends,
)
from visualjudge.analysis.image_sums import gaps, image_sums
from visualjudge.analysis.statistics.score_bar import (
    BEGINS,
    LEAST_IMAGES,
    Bar,
    Level,
    ScoreState,
    images_needed,
    level,
    over_tasks,
    state,
    tail_of,
)
from visualjudge.analysis.study_table import Study
from visualjudge.analysis.value_and_interval import Ends, Estimate

NAMED = 3
ABOVE = 1e-9
"""A gain over a constant answer must be more than nothing."""
CHOSEN = ("task", "cluster", "usable", "right", "answer", "first_right")


@dataclass(frozen=True, eq=False)
class PairsOfTask:
    """A judge's choices in one task (``task`` "": in all): accuracy, that of the best
    constant answer, and their difference.
    """

    task: str
    accuracy: Estimate
    constant: float
    gain: Estimate
    bar: Bar
    tested: tuple[Estimate, Estimate]
    """Accuracy and gain with the intervals that decide, ``tail`` beyond each end."""
    tail: float

    @property
    def accurate(self) -> Level:
        """Whether it is as accurate as required."""
        return level(self._enough(self.tested[0]), self.bar.accuracy)

    @property
    def above(self) -> Level:
        """Whether it is better than the constant answer."""
        return level(self._enough(self.tested[1]), ABOVE)

    def _enough(self, figure: Estimate) -> Ends | None:
        return figure.interval if self.images >= LEAST_IMAGES else None

    @property
    def images(self) -> int:
        """Number of images."""
        return self.accuracy.images

    @property
    def needs_images(self) -> int | None:
        """Images on which both requirements are probably decided; None if none can be
        promised."""
        figures = zip(self.tested, (self.bar.accuracy, ABOVE), strict=True)
        return images_needed(
            self.images, (self.accurate, self.above), figures, self.tail
        )

    @property
    def state(self) -> ScoreState:
        """Whether it chooses as the truth does."""
        return state(self.accurate, self.above)


@dataclass(frozen=True, eq=False)
class PairAnswer:
    """A judge's choices over all pairs and by task, their state and its sentence."""

    whole: PairsOfTask
    tasks: tuple[PairsOfTask, ...]
    bar: Bar

    @property
    def state(self) -> ScoreState:
        """The state of all pairs; ``in_part`` also where decided tasks differ."""
        decided = over_tasks(task.state for task in self.tasks)
        if self.whole.state == "too_few" or decided == "in_part":
            return decided
        return self.whole.state

    @property
    def reasons(self) -> Reasons:
        """Whether it is accurate, and better than a constant answer."""
        own = self.whole
        if not own.accuracy.n:
            return (Reason("?", "it answered no pair with a truth"),)
        verdicts = many(own.accuracy.n, "verdict")
        required = f"at least {percent(self.bar.accuracy, 0)} is required"
        right = f"it is right in {with_ends(own.accuracy)} of {verdicts}, {required}"
        beside = (
            f"{_BESIDE[own.above]} giving all pairs the same answer, right in "
            f"{percent(own.constant)}"
        )
        return (
            Reason(SIGN_OF[own.accurate], right),
            Reason(SIGN_OF[own.above], f"{beside}{self._by_task}"),
        )

    @property
    def sentence(self) -> str:
        """The answer to "Does it choose as the truth does?"."""
        reasons = "; ".join(reason.text for reason in self.reasons)
        if not self.whole.accuracy.n:
            return f"Not known: {reasons}."
        more = more_images(self.whole.images, self.whole.needs_images)
        return f"{BEGINS[self.state]}: {reasons}.{f' {more}' * (self.state == 'too_few')}"

    @property
    def _by_task(self) -> str:
        """Name the tasks that differ from the whole."""
        of_state = {
            state: [
                plain_name(task.task)
                for task in self.tasks
                if task.state == state
            ]
            for state in ("yes", "no")
        }
        parts = [
            f"{state} in {listed(own, NAMED)}"
            for state, own in of_state.items()
            if own
        ]
        named = parts and len(self.tasks) > 1
        return f"; by task: {', '.join(parts)}" if named else ""


_BESIDE: dict[Level, str] = {
    "met": "better than",
    "missed": "no better than",
    "open": "not clearly different from",
}


def pair_answer(study: Study, run: int, bar: Bar) -> PairAnswer:
    """Return the answer from a judge's choices in pairs whose better option is
    known."""
    known = study.kind(run, "pairwise", CHOSEN).drop_nulls("right")
    parts = by_task(known)
    tail = tail_of(part["cluster"].n_unique() for _, part in parts)
    tasks = tuple(_of(part, name, bar, tail) for name, part in parts)
    return PairAnswer(_of(known, "", bar, tail_of()), tasks, bar)


def _of(pairs: pl.DataFrame, task: str, bar: Bar, tail: float) -> PairsOfTask:
    # options by the place where they were shown; ties, and orders not known, as stored
    pairs = pairs.with_columns(
        shown=pl.coalesce(
            pl.col("first_right").cast(pl.String),
            pl.col("answer").cast(pl.String),
        )
    )
    counts = pairs.group_by("shown").len().sort("len", "shown", descending=True)
    right = pl.col("right")
    constant = pl.col("shown") == pl.lit(counts["shown"].first(), pl.String)
    sums = image_sums(
        pairs,
        (),
        {
            "n": pl.col("usable").is_not_null(),
            "right": right,
            "gap": right.cast(pl.Int8) - constant.cast(pl.Int8),
            "apart": right != constant,
            "constant": constant,
        },
    )
    accuracy = sums.shares("right", "n")[0]
    return PairsOfTask(
        task,
        accuracy,
        float(sums.total("constant")[0]) / max(1, accuracy.n),
        gaps(sums)[0][0],
        bar,
        (sums.shares("right", "n", tail=tail)[0], gaps(sums, tail)[0][0]),
        tail,
    )
