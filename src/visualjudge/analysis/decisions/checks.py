"""The card's checks: a figure, its threshold, one of four states, and why. The answer
that they qualify is in ``model_answer.py``.

``pass`` and ``fail``: the whole interval meets, or misses, the threshold.
``undecided``: neither, or too few images. ``not_measured``: the run has no figure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from visualjudge.analysis.figure_text import (
    NONE,
    lower_first,
    many,
    number,
    percent,
    percents,
    points,
)
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    grid,
    named,
    of_row,
)
from visualjudge.analysis.value_and_interval import Ends, Estimate
from visualjudge.core.text_tables import Styled, Table

Interval = tuple[float, float]
State = Literal["pass", "fail", "undecided", "not_measured"]
STATES: Mapping[State, str] = {
    "pass": "passes",
    "fail": "fails",
    "undecided": "undecided",
    "not_measured": "not measured",
}
"""Names of the states on pages."""
ICONS: Mapping[State, str] = {
    "pass": "✓",
    "fail": "✗",
    "undecided": "?",
    "not_measured": "–",
}
"""Symbol of each state, shown beside its name."""
NOT_ASKED = "was not asked"
WHY: Mapping[State, str] = {
    "fail": "the whole interval misses the threshold",
    "undecided": "the threshold lies within the interval",
}
Direction = Literal["at_least", "at_most", "within"]
SIGNS: Mapping[Direction, str] = {
    "at_least": "≥",
    "at_most": "≤",
    "within": "within ±",
}


@dataclass(frozen=True)
class Threshold:
    """The requirement of a check; its title and its figures on pages, and what it adds
    to the answer if it fails.
    """

    title: str
    direction: Direction
    value: float
    failing: str
    show: Callable[[float | None], str] = percent
    ends: Callable[[Interval | None], str] = percents
    unit: str = " %"

    @property
    def required(self) -> str:
        """The threshold: ≥ 75 %."""
        value = self.value * (100 if self.unit else 1)
        return f"{SIGNS[self.direction]} {value:g}{self.unit}"

    def state(self, interval: Interval) -> State:
        """Return the state from the whole interval; "undecided" if the threshold lies
        inside it."""
        low, high = interval
        limit = self.value
        met, missed = {
            "at_least": (low >= limit, high < limit),
            "at_most": (high <= limit, low > limit),
            "within": (
                -limit <= low and high <= limit,
                low > limit or high < -limit,
            ),
        }[self.direction]
        if met:
            return "pass"
        return "fail" if missed else "undecided"


LEAST_IMAGES = 10
"""Nothing passes or fails on fewer images."""


THRESHOLDS: Mapping[str, Threshold] = {
    "macro_accuracy": Threshold(
        "Accuracy",
        "at_least",
        0.75,
        "its {title} is {} (at least {limit} is required)",
    ),
    "right_in_both_orders": Threshold(
        "Right in both orders",
        "at_least",
        0.65,
        "it is right in both orders in {} of questions (at least {limit} is required)",
    ),
    "lean": Threshold(
        "Position bias",
        "within",
        0.10,
        "its answers depend on the order of the options ({points} percentage points for the "
        "first)",
        lambda value: f"{points(value)} points",
        unit=" points",
    ),
    "failed": Threshold(
        "Replies that cannot be used",
        "at_most",
        0.05,
        "{} of its replies cannot be used{noted}",
    ),
    "favour": Threshold(
        "Favouritism",
        "at_most",
        0,
        "{why}",
        lambda value: many(round(value or 0), "rank"),
        unit="",
    ),
    "photograph": Threshold(
        "Gain from the photograph",
        "at_least",
        0.15,
        "it does not need the photograph: {points} percentage points of accuracy with it (at "
        "least +15 required)",
        lambda value: f"{points(value)} points",
        unit=" points",
    ),
}


@dataclass(frozen=True)
class Check:
    """One line of the card; ``why`` says what the state rests on, "" if the figures say
    it."""

    name: str
    value: float | None
    interval: Interval | None
    state: State
    images: int
    why: str = ""
    of_tasks: bool = False
    """Whether it is a mean of several tasks."""

    @property
    def title(self) -> str:
        """Its name on pages."""
        return self.threshold.title + " (mean of tasks)" * self.of_tasks

    @property
    def threshold(self) -> Threshold:
        """The requirement."""
        return THRESHOLDS[self.name]

    @property
    def shown(self) -> str:
        """The value in its unit."""
        return (
            self.threshold.show(self.value) if self.value is not None else NONE
        )

    @property
    def measured(self) -> str:
        """The value, and the interval on which an open state rests."""
        if self.state != "undecided" or self.interval is None:
            return self.shown
        return f"{self.shown}, {self.threshold.ends(self.interval)}"

    @property
    def failing(self) -> str:
        """What it adds to the answer if it fails."""
        return self.threshold.failing.format(
            self.shown,
            title=lower_first(self.title),
            why=self.why,
            noted=f" ({self.why})" * (self.why not in WHY.values()),
            limit=percent(self.threshold.value, 0),
            points=points(self.value),
        )


def closed(ends: Ends | None) -> Interval | None:
    """Return an interval that has two ends, or None."""
    low, high = ends or (None, None)
    return None if low is None or high is None else (low, high)


def check(
    name: str, measured: Estimate, note: str = "", *, tested: bool = False
) -> Check:
    """Return the state of one check. ``note`` is shown where no reason is; a figure
    that is the result of tests (``tested``) is compared by its value.
    """
    value = measured.value
    ends = closed(measured.interval)
    images = measured.images
    if value is None:
        return Check(
            name, None, None, "not_measured", images, measured.why or NOT_ASKED
        )
    compared = (value, value) if tested else ends
    state: State = "undecided"
    if images < LEAST_IMAGES:
        why = f"only {many(images, 'image')} of at least {LEAST_IMAGES}"
    elif compared is None:
        why = measured.why or "has no interval"
    else:
        state = THRESHOLDS[name].state(compared)
        why = note or WHY.get(state, "")
    return Check(name, value, ends, state, images, why)


def _state(state: State, text: str = "") -> Styled:
    measured = f" ({text})" if text.strip(NONE) else ""
    return Styled(STATES[state] + measured, state=state, icon=ICONS[state])


CHECK = Layout[Check](
    *as_named("name"),
    Column(None, "title", "Check"),
    named("state", "State", _state, text=True),
    *as_named("value"),
    of_row("Value", lambda line: line.shown),
    Column("ci95", "interval"),
    of_row("95 %", lambda line: line.threshold.ends(line.interval)),
    Column("threshold", "threshold.value"),
    Column("direction", "threshold.direction"),
    Column(None, "threshold.required", "Required", str),
    named("images", "Images", number),
    Column("needs_images", lambda _: None),
    *as_named("why"),
)


def checks_table(judges: Mapping[str, Sequence[Check]]) -> Table:
    """Return the checks by judge: of one with all figures, of several side by side."""
    if len(judges) == 1:
        (lines,) = judges.values()
        return grid(
            CHECK,
            lines,
            notes=[
                f"{line.title}: {line.why}."
                for line in lines
                if line.why not in {"", NOT_ASKED, *WHY.values()}
            ],
        )
    rows = [
        (
            beside[0].title,
            beside[0].threshold.required,
            *(_state(item.state, item.measured) for item in beside),
        )
        for beside in zip(*judges.values(), strict=True)
        if any(item.state != "not_measured" for item in beside)
    ]
    return Table(("Check", "Required", *judges), tuple(rows), keys=2)
