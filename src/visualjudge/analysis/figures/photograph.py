"""Whether a judge needs the photograph. Other changes of a question are in
``probes.py``.

Whether a judge needs the photograph is measured on pairs that are asked unchanged, over
uniform grey, and over another photograph. A question whose photograph is replaced keeps
its predictions, prompt and answer, so what a judge still gets right comes from the
predictions alone. The gain is the accuracy with the photograph minus that over grey on
the same pairs, with the interval of a paired difference clustered by image
(:func:`~visualjudge.analysis.estimate.gap_ends`). A failed reply is wrong.

A judge *needs* the photograph if the 95 % interval of the gain is above 0, over grey
and over another photograph. It *does not need* it if one of the two 95 % intervals ends
below the margin of 15 points, or all 90 % intervals do (one-sided tests at 5 % together:
Schuirmann 1987, Hochberg 1988). The other photograph detects a judge that only declines
to answer over grey.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from visualjudge.analysis.figures.figure_parts import (
    INTERVALS,
    Cells,
    Column,
    Estimate,
    Json,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    by_task,
    estimates_of_judges,
    figure,
    gaps,
    image_sums,
    named,
    number,
    of_row,
    percent,
    plain_name,
    points,
    with_ends,
)
from visualjudge.analysis.figures.probes import (
    LEAST_QUESTIONS,
    MARGIN,
    inner_ends,
)
from visualjudge.analysis.plots.series import ALL

Need = Literal["needed", "not_needed", "not_shown"]


@dataclass(frozen=True)
class Without:
    """The same pairs without their photograph: accuracy with it, accuracy without it,
    and the paired difference with its 90 % interval, ``inner``.
    """

    seen: Estimate
    blind: Estimate
    gain: Estimate
    inner: tuple[float, float] | None
    questions: int


NEEDS: Mapping[Need, str] = {
    "needed": "It needs the photograph",
    "not_needed": "It does not need the photograph",
    "not_shown": "It is open whether it needs the photograph",
}


@dataclass(frozen=True)
class Photograph:
    """The gain from the photograph, over ``grey`` and over ``other`` photographs (None
    if not asked), in one task or in ``all``.
    """

    task: str
    grey: Without | None
    other: Without | None

    @property
    def asked(self) -> tuple[Without, ...]:
        """The replacements of the photograph that were asked, grey first."""
        return tuple(
            part for part in (self.grey, self.other) if part is not None
        )

    @property
    def first(self) -> Without:
        """The replacement whose gain is shown in tables."""
        return self.asked[0]

    @property
    def least(self) -> Estimate:
        """The smaller gain: a judge that needs the photograph gains over both
        replacements."""
        return min(
            (part.gain for part in self.asked),
            key=lambda gain: gain.value or 0.0,
        )

    @property
    def few(self) -> bool:
        """Whether there are too few questions."""
        return min(part.questions for part in self.asked) < LEAST_QUESTIONS

    @property
    def state(self) -> Need:
        """Whether the judge needs the photograph."""
        if self.few:
            return "not_shown"
        ends = [part.gain.interval or (-1.0, 1.0) for part in self.asked]
        if any((high or 0.0) < MARGIN for _, high in ends) or all(
            part.inner is not None and part.inner[1] < MARGIN
            for part in self.asked
        ):
            return "not_needed"
        return (
            "needed"
            if all((low or 0.0) > 0 for low, _ in ends)
            else "not_shown"
        )

    @property
    def sentence(self) -> str:
        """The state and the smaller gain."""
        over = (
            "grey"
            if self.grey and self.least is self.grey.gain
            else "another photograph"
        )
        return (
            f"{NEEDS[self.state]}: {with_ends(self.least, points)} percentage points of "
            f"accuracy compared with {over}."
        )


def photograph_need(answered: pl.DataFrame) -> tuple[Photograph, ...]:
    """Return what a judge gains from the photograph, in all tasks and in each; empty if
    it was not asked without it.

    ``answered`` has one row per verdict, as returned by
    :func:`visualjudge.analysis.study_table.join`.
    """
    asked = answered.filter(pl.col("probe_design") == "photograph")
    control = answered.filter(pl.col("probe_design") == "control")
    keys = ["probe_group", "order", "repeat"]
    pairs = asked.select(
        *keys, "task", "cluster", "right", name="probe_name"
    ).join(control.select(*keys, "right"), on=keys, suffix="_seen")
    if pairs.is_empty():
        return ()
    tasks = (_need(task, part) for task, part in by_task(pairs))
    return (_need("all", pairs), *tasks)


def _need(task: str, pairs: pl.DataFrame) -> Photograph:
    grey, other = (
        _without(pairs.filter(pl.col("name") == name))
        for name in ("grey", "other")
    )
    return Photograph(task, grey, other)


def _without(pairs: pl.DataFrame) -> Without | None:
    if pairs.is_empty():
        return None
    seen = pl.col("right_seen")
    blind = pl.col("right")
    values = {
        "n": blind.is_not_null(),
        "seen": seen,
        "blind": blind,
        "gap": seen.cast(pl.Int8) - blind.cast(pl.Int8),
        "apart": seen != blind,
    }
    sums = image_sums(pairs, [], values)
    ((gain, _),) = gaps(sums)
    inner = inner_ends(sums) if gain.interval else None
    seen_share, blind_share = (
        sums.shares(name, "n")[0] for name in ("seen", "blind")
    )
    return Without(
        seen_share, blind_share, gain, inner, pairs["probe_group"].n_unique()
    )


PHOTOGRAPH_STATES = {
    "needed": "needed",
    "not_needed": "not needed",
    "not_shown": "can’t tell yet",
}


COLUMNS = Layout[Photograph](
    named("task", "Questions", plain_name, text=True),
    Column("n", "first.gain.n"),
    Column("images", "first.gain.images", "Images", number),
    Column("with", "first.seen.value", "With the photograph", percent),
    Column(
        "other",
        lambda p: p.other and p.other.blind.value,
        "With another",
        percent,
    ),
    Column(
        "grey", lambda p: p.grey and p.grey.blind.value, "With grey", percent
    ),
    *figure("gain", "first.gain", ends="interval"),
    Column("gain_over_other", lambda p: p.other and p.other.gain.value),
    Column("interval_over_other", lambda p: p.other and p.other.gain.interval),
    of_row(
        "Smaller gain, points (95 %)", lambda row: with_ends(row.least, points)
    ),
    Column(
        "state",
        "state",
        "The photograph is",
        shown=lambda row: (
            PHOTOGRAPH_STATES[row.state]
            + f": fewer than {LEAST_QUESTIONS} questions" * row.few
        ),
    ),
)


def _json(rows: tuple[Photograph, ...]) -> Json | None:
    """Return what the judge gains from the photograph, with ``by_task``; None if it was
    not asked without the photograph.
    """
    if not rows:
        return None
    tasks = {row.task: COLUMNS.json(row) for row in rows[1:]}
    return COLUMNS.json(rows[0]) | {"by_task": tasks}


def _gains(judge: JudgeResult) -> Cells:
    rows = judge[PHOTOGRAPH]
    names = [ALL, *(plain_name(row.task) for row in rows[1:])]
    return {
        name: row.least for name, row in zip(names, _tabled(rows), strict=False)
    }


def _tabled(rows: Sequence[Photograph]) -> Sequence[Photograph]:
    """Return the rows without that of an only task, which repeats that of all."""
    return rows[:1] if len(rows) == 2 else rows


PHOTOGRAPH = JudgeFigure(
    "photograph",
    lambda judge: photograph_need(judge.answered),
    COLUMNS,
    json=_json,
    place=90,
    tabled=_tabled,
    sentences=lambda rows: [row.sentence for row in rows[:1]],
    section=Section(
        "photograph",
        "Does the judge need the photograph?",
        "The judge was asked the same questions again with uniform grey, and with "
        "another photograph, in place of the photograph, also under the drawn "
        "predictions. Right answers then come from the predictions alone.",
    ),
    plots=(
        estimates_of_judges(
            "photograph",
            "Accuracy gained from the photograph",
            "Accuracy with the photograph minus accuracy with grey, or another photograph, in "
            "its place: the smaller of the two gains.",
            _gains,
            "no question was asked without its photograph",
            "Percentage points gained from the photograph",
            "A judge does not need the photograph if the gain is significantly below "
            f"{100 * MARGIN:g} percentage points. {INTERVALS}",
        ),
    ),
)
