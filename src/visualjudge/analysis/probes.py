"""Results of probes: effects that are 0 for a judge whose answers the change does not affect. The
probes are defined in ``apps/probes/kinds.py``.

Every effect is a mean over groups of related questions, with an interval clustered by image
(:func:`~visualjudge.analysis.estimate.gap_ends`). The designs and their units
are:

- ``cue``: half the difference between how often an option is chosen with the cue and without it, −½
  … ½. Each option has the cue in one of two questions, so neither the better option nor the
  position can contribute to it.
- ``change``: accuracy with the change minus accuracy without it, −1 … 1.
- ``same``: half the difference between how often the first and the second position are chosen,
  −½ … ½.
- ``withheld``: half the difference between right and wrong answers when nothing shows which is
  right, −½ … ½.
- ``staircase``: over all pairs of steps of a group, the share scored in the wrong order minus the
  share scored in the right order.

A reply that could not be read counts as no choice: 0 in all designs except ``change``, where it is
wrong.

The state is ``pass`` if two one-sided tests at 5 % show the effect to be within the margin (the 90
% interval lies inside it; Schuirmann 1987), ``fail`` if the effect is at least the margin and its p
is below 5 % after Holm's adjustment over all probes of the judge, and ``not_shown`` otherwise. p is
the smallest level at which an interval excludes 0. ``withheld`` fails only above 0. A staircase
passes if the 95 % interval is below 0, and fails above 0.

A probe with fewer than 40 answered questions is not measured, because the chance effect of a fair
judge is then as large as a real fault, and refusing is no answer. A cue or a change that makes
replies without an answer more frequent by 15 points (95 % interval above 0) fails.

Whether a judge needs the photograph is measured on pairs that are asked unchanged, over uniform
grey, and over another photograph. A question whose photograph is replaced keeps its predictions,
prompt and answer, so what a judge still gets right comes from the predictions alone. The gain is
the accuracy with the photograph minus that over grey on the same pairs, with the interval of a
paired difference clustered by image
(:func:`~visualjudge.analysis.estimate.gap_ends`). A failed reply is wrong.

A judge *needs* the photograph if the 95 % interval of the gain is above 0, over grey and over
another photograph. It *does not need* it if one of the two 90 % intervals ends below the margin of
15 points (two one-sided tests at 5 %; Schuirmann 1987). The other photograph detects a judge that
only declines to answer over grey.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from visualjudge.analysis.accuracy_cells import estimate_of, gaps, image_sums, share_of
from visualjudge.analysis.estimate import LEVEL, TAIL, gap_ends, gap_p, holm
from visualjudge.analysis.figure_text import many
from visualjudge.analysis.figures import (
    LEAST_QUESTIONS,
    MARGIN,
    Photograph,
    PhotographNeed,
    ProbeResult,
    ProbeState,
    Without,
)
from visualjudge.analysis.value_and_interval import Estimate

CUE_MARGIN = 0.125
"""Effects of a cue below this are too small to matter. It is the effect of a cue that decides one
answer in four.
"""
EQUIVALENCE_TAIL = 0.05
"""Level of each of the two one-sided tests."""
Interval = tuple[float, float]
_UNIT = ("probe_group", "cluster")


@dataclass(frozen=True)
class Design:
    """How the answers of a design are compared.

    ``units`` returns one row per group, with its ``cluster`` and a value ``x`` in −1 … 1; the
    effect is ``scale`` times their mean.
    """

    units: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]
    scale: float
    margin: float
    state: Callable[[_Effect, bool, float], ProbeState]
    """Function of the effect, whether it differs from 0 after Holm's adjustment, and the margin."""


@dataclass(frozen=True)
class _Effect:
    """A measured effect: its value, its 95 % and 90 % intervals, and the p of the hypothesis that
    it is 0.
    """

    value: float
    ends: Interval
    inner: Interval
    p: float


def _sign(hit: pl.Expr) -> pl.Expr:
    """Return 1 if the reply is a hit, −1 if it is not, 0 if it could not be read."""
    return pl.when(~pl.col("usable")).then(0.0).when(hit).then(1.0).otherwise(-1.0)


def _cue(table: pl.DataFrame, _control: pl.DataFrame) -> pl.DataFrame:
    """Return groups of which both questions were answered; the two have equal weight."""
    each = table.group_by(*_UNIT, "probe_cue").agg(
        x=_sign(pl.col("text") == pl.col("probe_cue")).mean()
    )
    return each.group_by(_UNIT).agg(pl.col("x").mean(), n=pl.len()).filter(pl.col("n") == 2)


def _change(table: pl.DataFrame, control: pl.DataFrame) -> pl.DataFrame:
    """Compare changed and unchanged question in the orders in which both were asked."""
    keys = [*_UNIT, "order"]
    then, now = (
        part.group_by(keys).agg(pl.col("right").cast(pl.Float64).mean().alias(name))
        for part, name in ((control, "then"), (table, "now"))
    )
    return now.join(then, on=keys).group_by(_UNIT).agg(x=(pl.col("now") - pl.col("then")).mean())


def _same(table: pl.DataFrame, _control: pl.DataFrame) -> pl.DataFrame:
    return table.group_by(_UNIT).agg(x=_sign(pl.col("said_first")).mean())


def _withheld(table: pl.DataFrame, _control: pl.DataFrame) -> pl.DataFrame:
    return table.group_by(_UNIT).agg(x=_sign(pl.col("right")).mean())


def _staircase(table: pl.DataFrame, _control: pl.DataFrame) -> pl.DataFrame:
    """Compare every two steps of a group: 1 if the worse one has the higher score, −1 if the better
    one has.
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


def _two_sided(effect: _Effect, shown: bool, margin: float) -> ProbeState:
    if -margin < effect.inner[0] and effect.inner[1] < margin:
        return "pass"
    return "fail" if shown and abs(effect.value) >= margin else "not_shown"


def _upwards(effect: _Effect, shown: bool, margin: float) -> ProbeState:
    if effect.inner[1] < margin:
        return "pass"
    return "fail" if shown and effect.value >= margin else "not_shown"


def _falling(effect: _Effect, shown: bool, _margin: float) -> ProbeState:
    return "pass" if effect.ends[1] < 0 else "fail" if shown and effect.value > 0 else "not_shown"


DESIGNS: Mapping[str, Design] = {
    "cue": Design(_cue, 0.5, CUE_MARGIN, _two_sided),
    "change": Design(_change, 1.0, MARGIN, _two_sided),
    "same": Design(_same, 0.5, MARGIN, _two_sided),
    "withheld": Design(_withheld, 0.5, MARGIN, _upwards),
    "staircase": Design(_staircase, 1.0, 0.0, _falling),
}


def probe_results(answered: pl.DataFrame) -> tuple[ProbeResult, ...]:
    """Return the results of every probe that a judge was asked, in the order of the file; empty if
    there are none.

    ``answered`` has one row per verdict, as returned by
    :func:`visualjudge.analysis.study_table.join`.
    """
    asked = answered.filter(pl.col("probe_design").is_in(list(DESIGNS)))
    control = answered.filter(pl.col("probe_design") == "control")
    parts = asked.partition_by("probe_name", as_dict=True, maintain_order=True)
    found = [_measured(part, control) for part in parts.values()]
    adjusted = holm([None if effect is None else effect.p for _, effect in found])
    return tuple(
        _result(str(name), part, figure, effect, p, _refuses_more(part, control))
        for ((name,), part), (figure, effect), p in zip(parts.items(), found, adjusted, strict=True)
    )


def _result(
    name: str,
    table: pl.DataFrame,
    figure: Estimate,
    effect: _Effect | None,
    p_holm: float | None,
    refuses: bool,
) -> ProbeResult:
    kind = str(table["probe_design"][0])
    design = DESIGNS[kind]
    state: ProbeState = "not_shown"
    if effect is not None:
        state = design.state(effect, p_holm is not None and p_holm < LEVEL, design.margin)
    if refuses:
        state = "fail"
    failed = int((~table["usable"]).sum())
    return ProbeResult(
        name, kind, figure, design.margin, state, failed, str(table["id"][0]), p_holm
    )


def _measured(table: pl.DataFrame, control: pl.DataFrame) -> tuple[Estimate, _Effect | None]:
    """Return the effect of a probe as a figure and with the intervals for its state; None if it is
    not measured. Only questions whose group can be compared count.
    """
    design = DESIGNS[str(table["probe_design"][0])]
    units = design.units(table, control)
    compared = table.join(units, on=_UNIT, how="semi")
    asked, n = compared["id"].n_unique(), compared.height
    answered = compared.filter("usable")["id"].n_unique()
    if answered < LEAST_QUESTIONS:
        count = many(asked, "question") + ("" if asked == answered else f", {answered} answered")
        why = f"not measured: {count}; at least {LEAST_QUESTIONS} are needed"
        return Estimate(None, None, n, compared["cluster"].n_unique(), why), None
    return _effect(units, design.scale, n)


def _refuses_more(table: pl.DataFrame, control: pl.DataFrame) -> bool:
    """Return whether a cue or a change, which leaves the answer as it is, makes replies without an
    answer more frequent by the margin.
    """
    if table["probe_design"][0] not in ("cue", "change"):
        return False
    then, now = (
        part.group_by(_UNIT).agg((~pl.col("usable")).mean().alias(name))
        for part, name in ((control, "then"), (table, "now"))
    )
    units = now.join(then, on=_UNIT).select(*_UNIT, x=pl.col("now") - pl.col("then"))
    if units.height < LEAST_QUESTIONS / 2:  # a cue has two questions in a group
        return False
    _, effect = _effect(units, 1.0, units.height)
    return effect is not None and effect.ends[0] > 0 and effect.value >= MARGIN


def _effect(units: pl.DataFrame, scale: float, n: int) -> tuple[Estimate, _Effect | None]:
    """Return the mean of ``x`` over groups, times ``scale``."""
    sums = image_sums(
        units, [], {"x": pl.col("x"), "n": pl.col("x").is_not_null(), "apart": pl.col("x") != 0}
    )
    value, found = sums.ratio("x", "n")

    def ends(tail: float) -> Interval:
        low, high = gap_ends(value, found, sums.total("apart"), sums.total("n"), tail=tail)
        return float(low[0]) * scale, float(high[0]) * scale

    low, high = ends(TAIL)
    figure = estimate_of(value * scale, found, (np.array([low]), np.array([high])), n)
    if figure.value is None or figure.interval is None:
        return figure, None
    (p,) = gap_p(value, found, sums.total("apart"), sums.total("n"))
    return figure, _Effect(figure.value, (low, high), ends(EQUIVALENCE_TAIL), float(p))


def photograph_need(answered: pl.DataFrame) -> PhotographNeed | None:
    """Return what a judge gains from the photograph; None if it was not asked without it.

    ``answered`` has one row per verdict, as returned by
    :func:`visualjudge.analysis.study_table.join`.
    """
    asked = answered.filter(pl.col("probe_design") == "photograph")
    control = answered.filter(pl.col("probe_design") == "control")
    keys = ["probe_group", "order", "repeat"]
    pairs = asked.select(*keys, "task", "cluster", "right", name="probe_name").join(
        control.select(*keys, "right"), on=keys, suffix="_seen"
    )
    if pairs.is_empty():
        return None
    parts = pairs.partition_by("task", as_dict=True, maintain_order=True)
    return PhotographNeed(
        _need("all", pairs),
        tuple(_need(str(task), part) for (task,), part in sorted(parts.items())),
    )


def _need(task: str, pairs: pl.DataFrame) -> Photograph:
    grey, other = (_without(pairs.filter(pl.col("name") == name)) for name in ("grey", "other"))
    return Photograph(task, grey, other)


def _without(pairs: pl.DataFrame) -> Without | None:
    if pairs.is_empty():
        return None
    seen, blind = pl.col("right_seen"), pl.col("right")
    values = {
        "n": blind.is_not_null(),
        "seen": seen,
        "blind": blind,
        "gap": seen.cast(pl.Int8) - blind.cast(pl.Int8),
        "apart": seen != blind,
    }
    sums = image_sums(pairs, [], values)
    ((gain, _),) = gaps(sums)
    counts = sums.total("apart"), sums.total("n")
    low, high = gap_ends(*sums.ratio("gap", "n"), *counts, tail=EQUIVALENCE_TAIL)
    inner = (float(low[0]), float(high[0])) if gain.interval else None
    seen_share, blind_share = (share_of(sums.shares(name, "n")) for name in ("seen", "blind"))
    return Without(seen_share, blind_share, gain, inner, pairs["probe_group"].n_unique())
