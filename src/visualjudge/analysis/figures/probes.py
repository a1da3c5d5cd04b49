"""Results of probes: effects that are 0 for a judge whose answers the change does not
affect. The probes are defined in ``apps/probes/kinds.py``. Questions without their
photograph are in ``photograph.py``.

Every effect is a mean over groups of related questions, with an interval clustered by
image (:func:`~visualjudge.analysis.estimate.gap_ends`). The designs and their units
are:

- ``cue``: half the difference between how often an option is chosen with the cue and
  without it, −½
  … ½. Each option has the cue in one of two questions, so neither the better option nor
  the position can contribute to it.
- ``change``: accuracy with the change minus accuracy without it, −1 … 1.
- ``same``: half the difference between how often the first and the second position are
  chosen,
  −½ … ½.
- ``withheld``: half the difference between right and wrong answers when nothing shows
  which is
  right, −½ … ½.
- ``staircase``: over all pairs of steps of a group, the share scored in the wrong order
  minus the
  share scored in the right order.

A reply that could not be read counts as no choice: 0 in all designs except ``change``,
where it is wrong.

The state is ``pass`` if two one-sided tests at 5 % show the effect to be within the
margin (the 90 % interval lies inside it; Schuirmann 1987), ``fail`` if the effect is at
least the margin and its p is below 5 % after Holm's adjustment over all probes of the
judge, and ``not_shown`` otherwise. p is the smallest level at which an interval
excludes 0. ``withheld`` fails only above 0. A staircase passes if the 95 % interval is
below 0, and fails above 0.

A probe with fewer than 40 answered questions is not measured, because the chance effect
of a fair judge is then as large as a real fault, and refusing is no answer. A cue or a
change that makes replies without an answer more frequent by 15 points (95 % interval
above 0) fails.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import polars as pl

from visualjudge.analysis.decisions.checks import THRESHOLDS
from visualjudge.analysis.estimate import LEVEL, gap_ends, holm
from visualjudge.analysis.figures.figure_parts import (
    HOLM,
    Column,
    Ends,
    Estimate,
    ImageSums,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    as_named,
    estimates_of_judges,
    figure,
    gaps,
    image_sums,
    listed,
    many,
    named,
    number,
    of_row,
    plain_name,
    points,
    scaled,
)
from visualjudge.analysis.plots.canvas import Sign

ProbeState = Literal["pass", "fail", "not_shown"]


@dataclass(frozen=True)
class ProbeResult:
    """The effect on a judge of a change that must not matter; see
    :mod:`visualjudge.analysis.figures.probes` for the units. ``example`` is the id of
    one of its questions; ``p_holm`` is that of no effect, adjusted over the probes of
    the judge, None if nothing was measured; ``about`` says what is tested, as the dataset
    states it.
    """

    name: str
    design: str
    effect: Estimate
    margin: float
    state: ProbeState
    failed: int
    example: str
    p_holm: float | None = None
    about: str = ""

    @property
    def declines(self) -> bool:
        """Whether it fails by replies without an answer, not by its effect."""
        return self.state == "fail" and (
            self.p_holm is None
            or self.p_holm >= LEVEL
            or abs(self.effect.value or 0.0) < self.margin
        )


MARGIN = THRESHOLDS["photograph"].value
"""A gain below this is too small to matter; same value as for probes that change the
images."""


LEAST_QUESTIONS = 40


CUE_MARGIN = 0.125
"""Effects of a cue below this are too small to matter. It is the effect of a cue that
decides one answer in four.
"""
EQUIVALENCE_TAIL = 0.05
"""Level of each of the two one-sided tests."""
_UNIT = ("probe_group", "cluster")


@dataclass(frozen=True)
class Design:
    """How the answers of a design are compared.

    ``units`` returns one row per group, with its ``cluster`` and a value ``x`` in −1 …
    1; the effect is ``scale`` times their mean. A fault is an effect of at least
    ``margin``, upwards or in either direction.
    """

    units: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]
    scale: float
    margin: float
    upwards: bool = False


@dataclass(frozen=True)
class _Effect:
    """An effect, its 90 % interval, and the p of the hypothesis that it is 0, None if
    it is not measured.
    """

    figure: Estimate
    inner: Ends
    p: float | None


def _sign(hit: pl.Expr) -> pl.Expr:
    """Return 1 if the reply is a hit, −1 if it is not, 0 if it could not be read."""
    return (
        pl.when(~pl.col("usable")).then(0.0).when(hit).then(1.0).otherwise(-1.0)
    )


def _cue(table: pl.DataFrame, _control: pl.DataFrame) -> pl.DataFrame:
    """Return groups of which both questions were answered; the two have equal
    weight."""
    each = table.group_by(*_UNIT, "probe_cue").agg(
        x=_sign(pl.col("text") == pl.col("probe_cue")).mean()
    )
    return (
        each.group_by(_UNIT)
        .agg(pl.col("x").mean(), n=pl.len())
        .filter(pl.col("n") == 2)
    )


def _against(
    table: pl.DataFrame,
    control: pl.DataFrame,
    value: pl.Expr,
    keys: Sequence[str] = (),
) -> pl.DataFrame:
    """Return the mean of ``value`` less that of the unchanged questions, by group and
    ``keys``."""
    now, then = (
        part.group_by(*_UNIT, *keys).agg(x=value.cast(pl.Float64).mean())
        for part in (table, control)
    )
    both = now.join(then, on=[*_UNIT, *keys], suffix="_then")
    return both.group_by(_UNIT).agg((pl.col("x") - pl.col("x_then")).mean())


def _hits(
    table: pl.DataFrame, _control: pl.DataFrame, hit: str
) -> pl.DataFrame:
    return table.group_by(_UNIT).agg(x=_sign(pl.col(hit)).mean())


def _staircase(table: pl.DataFrame, _control: pl.DataFrame) -> pl.DataFrame:
    """Compare every two steps of a group: 1 if the worse one has the higher score, −1
    if the better one has.
    """
    steps = table.group_by(*_UNIT, "probe_level").agg(
        score=pl.col("number").filter(pl.col("usable")).mean()
    )
    pairs = steps.join(steps, on=list(_UNIT), suffix="_worse").filter(
        pl.col("probe_level") < pl.col("probe_level_worse")
    )
    return pairs.group_by(_UNIT).agg(
        x=(pl.col("score_worse") - pl.col("score")).sign().fill_null(0.0).mean()
    )


DESIGNS: Mapping[str, Design] = {
    "cue": Design(_cue, 0.5, CUE_MARGIN),
    # in the orders in which both were asked
    "change": Design(
        partial(_against, value=pl.col("right"), keys=("order",)), 1.0, MARGIN
    ),
    "same": Design(partial(_hits, hit="said_first"), 0.5, MARGIN),
    "withheld": Design(partial(_hits, hit="right"), 0.5, MARGIN, upwards=True),
    "staircase": Design(_staircase, 1.0, 0.0, upwards=True),
}


def probe_results(answered: pl.DataFrame) -> tuple[ProbeResult, ...]:
    """Return the results of every probe that a judge was asked, in the order of the
    file; empty if there are none.

    ``answered`` has one row per verdict, as returned by
    :func:`visualjudge.analysis.study_table.join`.
    """
    asked = answered.filter(pl.col("probe_design").is_in(list(DESIGNS)))
    control = answered.filter(pl.col("probe_design") == "control")
    parts = asked.partition_by("probe_name", maintain_order=True)
    collected = [_measured(part, control) for part in parts]
    adjusted = holm([effect.p for effect in collected])
    return tuple(
        ProbeResult(
            str(part["probe_name"][0]),
            str(part["probe_design"][0]),
            effect.figure,
            _design(part).margin,
            "fail"
            if _refuses_more(part, control)
            else _state(effect, _design(part), p),
            int((~part["usable"]).sum()),
            str(part["id"][0]),
            p,
        )
        for part, effect, p in zip(parts, collected, adjusted, strict=True)
    )


def _design(part: pl.DataFrame) -> Design:
    return DESIGNS[str(part["probe_design"][0])]


def _state(effect: _Effect, design: Design, p: float | None) -> ProbeState:
    """Return the state of a probe whose adjusted p is ``p``."""
    # a staircase has no margin: it is measured by the wider interval
    low, high = (effect.inner if design.margin else effect.figure.interval) or (
        None,
        None,
    )
    value = effect.figure.value
    if value is None or low is None or high is None or p is None:
        return "not_shown"
    if high < design.margin and (design.upwards or low > -design.margin):
        return "pass"
    size = value if design.upwards else abs(value)
    return "fail" if p < LEVEL and size >= design.margin else "not_shown"


def _measured(table: pl.DataFrame, control: pl.DataFrame) -> _Effect:
    """Return the effect of a probe. Only questions whose group can be compared
    count."""
    design = _design(table)
    units = design.units(table, control)
    compared = table.join(units, on=_UNIT, how="semi")
    asked = compared["id"].n_unique()
    n = compared.height
    answered = compared.filter("usable")["id"].n_unique()
    if answered < LEAST_QUESTIONS:
        count = many(asked, "question") + (
            "" if asked == answered else f", {answered} answered"
        )
        why = f"not measured: {count}; at least {LEAST_QUESTIONS} are needed"
        images = compared["cluster"].n_unique()
        return _Effect(Estimate(None, None, n, images, why), (None, None), None)
    return _effect(units, design.scale, n)


def _refuses_more(table: pl.DataFrame, control: pl.DataFrame) -> bool:
    """Return whether a cue or a change, which leaves the answer as it is, makes replies
    without an answer more frequent by the margin.
    """
    if table["probe_design"][0] not in ("cue", "change"):
        return False
    units = _against(table, control, ~pl.col("usable"))
    if units.height < LEAST_QUESTIONS / 2:  # a cue has two questions in a group
        return False
    more = _effect(units, 1.0, units.height).figure
    low, _ = more.interval or (None, None)
    return low is not None and low > 0 and (more.value or 0.0) >= MARGIN


def _effect(units: pl.DataFrame, scale: float, n: int) -> _Effect:
    """Return the mean of ``x`` over groups, times ``scale``."""
    x = pl.col("x")
    sums = image_sums(
        units, [], {"gap": x, "n": x.is_not_null(), "apart": x**2}
    )
    ((gap, p),) = gaps(sums)
    low, high = inner_ends(sums)
    return _Effect(
        scaled(gap, scale, n),
        (low * scale, high * scale),
        p if gap.interval else None,
    )


def inner_ends(sums: ImageSums) -> tuple[float, float]:
    """Return the 90 % interval of ``gap``."""
    counts = sums.total("apart"), sums.total("n")
    low, high = gap_ends(
        *sums.ratio("gap", "n"), *counts, tail=EQUIVALENCE_TAIL
    )
    return float(low[0]), float(high[0])


PROBE_STATES: Mapping[ProbeState, tuple[str, Sign]] = {
    "fail": ("fails", "wrong"),
    "not_shown": ("undecided", "open"),
    "pass": ("passes", "right"),
}
"""Each state in words and as a mark, the worst first."""


def _in_words(row: ProbeResult) -> str:
    if row.state == "not_shown" and row.effect.value is None:
        return f"not measured: fewer than {LEAST_QUESTIONS} answers"
    return PROBE_STATES[row.state][0] + ": no answer more often" * row.declines


def _required(row: ProbeResult) -> str:
    """Return the effects of a judge that the change does not affect."""
    if not row.margin:
        return "below 0"
    words = "at most" if DESIGNS[row.design].upwards else "within ±"
    return f"{words} {100 * row.margin:g}"


COLUMNS = Layout[ProbeResult](
    named("name", "Probe", plain_name, text=True),
    named("about", "What is changed", text=True),
    *as_named("design"),
    Column("n", "effect.n"),
    Column("images", "effect.images", "Images", number),
    *figure("effect", "effect", "Effect, points", points, ends="ci95"),
    Column("margin", "margin"),
    of_row("Required", _required),
    HOLM,
    named("failed", "No answer", number),
    Column("state", "state", "State", shown=_in_words),
    *as_named("example"),
)


def in_all(rows: Sequence[ProbeResult]) -> str:
    """Return how many probes a judge passes, and which it fails."""
    passed = sum(row.state == "pass" for row in rows)
    failed = [
        plain_name(row.name) + " (no answer more often)" * row.declines
        for row in rows
        if row.state == "fail"
    ]
    rest = len(rows) - passed - len(failed)
    open_ = f"; {rest} are undecided or not measured: probe with more questions of each"
    return (
        f"passes {passed} of {many(len(rows), 'probe')} and fails "
        f"{listed(failed) or 'none'}{open_ * bool(rest)}"
    )


def _rows(judge: JudgeResult) -> tuple[ProbeResult, ...]:
    about = (judge.study.meta.get("options") or {}).get("about") or {}
    worst = list(PROBE_STATES)
    return tuple(
        replace(row, about=about.get(row.name, ""))
        for row in sorted(
            probe_results(judge.answered),
            key=lambda row: worst.index(row.state),
        )
    )


PROBES: JudgeFigure[tuple[ProbeResult, ...]] = JudgeFigure(
    "probes",
    _rows,
    COLUMNS,
    place=15,
    sentences=lambda rows: [f"It {in_all(rows)}."] if rows else [],
    section=Section(
        "probes",
        "Do irrelevant changes affect the answers?",
        "The effect, in points, is the accuracy gained where all images or both names "
        "change; else how far above 50 % the judge chooses the option with the cue, the "
        "first of two equal options, or the right one of two that nothing tells apart; of "
        "severity, the pairs of steps scored in the wrong order less the others. "
        "Passes: proven to be as required (two tests at 5 %). Fails: proven not to be 0 "
        "(p below 5 %, Holm) and beyond what is required, or 15 points more replies "
        "without an answer. Undecided: neither.",
    ),
    link=lambda judge, row: judge.address(probe=row.name),
    marked=lambda row: row.state == "fail",
    plots=(
        estimates_of_judges(
            "probes",
            "Effect of irrelevant changes on the answers",
            "0: the change does not affect the answers. Filled: passes; hollow: undecided; "
            "crossed: fails.",
            lambda judge: {
                plain_name(row.name): row.effect
                for row in judge[PROBES]
                if row.design != "staircase"  # steps of severity must have one
            },
            "too few questions were asked again with a change that must not matter "
            "(visualjudge probe)",
            "Effect in points",
            "Lines are 95 % intervals with images as the unit.",
            signs=lambda judge: {
                plain_name(row.name): PROBE_STATES[row.state][1]
                for row in judge[PROBES]
            },
        ),
    ),
)
