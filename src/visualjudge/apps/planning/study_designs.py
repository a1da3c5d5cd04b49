"""The cheapest study that answers a question: the search, and what builds the chosen design.

A design is images × pairs × encodings × orders × repeats. For each kind of design, simulation
(:mod:`visualjudge.apps.planning.judge_simulation`) finds the smallest number of images that reaches
the goal with the requested power; the cheapest design that the data allow is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.analysis.decisions.checks import Thresholds, read_thresholds
from visualjudge.analysis.figure_text import many
from visualjudge.apps.planning import judge_simulation
from visualjudge.apps.planning.judge_simulation import Design, JudgeModel, Pool, Power
from visualjudge.apps.planning.plan_inputs import Rate, Target, read_target
from visualjudge.apps.planning.study_goals import (
    GOALS,
    Goal,
    Question,
    Terms,
    parts_of,
    question_of,
)
from visualjudge.core import jsons
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.sampling import Caps, pairs_of, spread

PAIRS, SEARCHED, CONFIRMED, CURVE = (1, 2, 3, 5, 10), 100, 400, 150
"""Numbers of pairs per image to try; simulated studies per step of the search, result, and point of
the curve.
"""
LEAST, MOST = 5, 3000
SHOWN = 5
"""Maximum number of designs in a plan."""
NEAR = 0.06
"""Relative precision of the search for the smallest number of images."""


@dataclass(frozen=True)
class Option:
    """A design with its power and its needs; ``missing`` is the number of images that the data
    lack.
    """

    design: Design
    power: Power
    calls: int
    labels: int
    cost: float | None
    minutes: float | None
    missing: int


@dataclass(frozen=True)
class CheckRow:
    """A check of the card for the chosen design: how often it passes, fails, or remains
    undecided.
    """

    name: str
    power: Power


@dataclass(frozen=True, eq=False)
class Plan:
    """The best designs, the chosen one first, and the assumptions.

    ``goal_reached`` says whether the chosen design has the requested power within the data and the
    budget.
    """

    goal: Goal
    wanted: float
    target: Target
    terms: Terms
    claim: str
    encodings: tuple[str, ...]
    options: tuple[Option, ...]
    curves: tuple[tuple[Option, tuple[tuple[int, Power], ...]], ...]
    checks: tuple[CheckRow, ...]
    caps: Caps
    seed: int
    goal_reached: bool
    notes: tuple[str, ...]

    @property
    def chosen(self) -> Option:
        """The design to build."""
        return self.options[0]

    def __str__(self) -> str:
        from visualjudge.apps.planning.plan_page import text

        return text(self)

    def _repr_html_(self) -> str:
        from visualjudge.apps.planning.plan_page import body

        return body(self)

    def save(self, path: str | Path) -> Path:
        """Write ``.json``, which ``build --plan`` reads, ``.html``, ``.md`` or ``.svg``."""
        from visualjudge.apps.planning.plan_page import save

        return save(self, Path(path))


# ---------------------------------------------------------------- the search


def least_images(
    power_at: Callable[[int], float], wanted: float, least: int = LEAST, most: int = MOST
) -> int | None:
    """Return the smallest number of images at which ``power_at`` is ``wanted``, to 6 %; None if
    ``most`` fail.
    """
    low, high = 0, least
    while power_at(high) < wanted:
        if high >= most:
            return None
        low, high = high, min(most, 2 * high)
    while high - low > max(1, round(NEAR * high)):
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= wanted else (middle, high)
    return high


def shapes(target: Target, encodings: int) -> list[Design]:
    """Return the kinds of designs to try: pairs and orders, then another repeat and encoding."""
    most = int(np.quantile(target.pool.per_image, 0.75))
    pairs = [k for k in PAIRS if k <= most] or [1]
    plain = [Design(0, k, 1, orders) for k in pairs for orders in (1, 2)]
    more = [replace(plain[-1], repeats=2)]
    more += [replace(plain[-1], encodings=2)] if encodings > 1 else []
    return [*plain, *more]


def plan(
    target: str | Path,
    *,
    goal: Goal = "rank",
    effect: float | None = None,
    power: float = 0.8,
    task: str | None = None,
    encodings: Sequence[str] = (),
    terms: Terms | None = None,
    dataset: str | Path | None = None,
    thresholds: str | Path | None = None,
    seed: int = 42,
) -> Plan:
    """Plan a study: the smallest number of images, pairs, orders and repeats that answers a
    question.

    Parameters
    ----------
    target
        A data folder, a dataset, or the run of a pilot of 50 to 200 questions.
    goal
        ``"rank"`` (may I rank my models with this judge?) or ``"right"`` (is it right often
        enough?).
    effect
        For ``right``: the accuracy above the card's threshold that the study must detect. None:
        the pilot's (without one, 0.1).
    power
        Probability with which the study must reach its goal.
    task, encodings
        The task, if there are several; the encodings to use, in order of preference.
    terms
        Prices, budget, rate limits, labels.
    dataset
        Folder of the pilot's dataset, if it has moved.
    thresholds
        YAML file with your own thresholds of the card.
    seed
        Seed of the simulation and of the questions that ``build --plan`` draws.

    Raises
    ------
    UsageError
        If an option is invalid, or there are several tasks and none is named.
    DataError
        If the target cannot be read.

    Examples
    --------
    >>> import visualjudge as vj
    >>> found = vj.plan(example.data, goal="right", effect=0.15)
    >>> found.chosen.design.images > 5
    True
    >>> found.save(example.out / "plan.json").name
    'plan.json'
    """
    if goal not in GOALS:
        raise UsageError(f"--goal must be one of {', '.join(GOALS)}, got {goal}")
    if not 0.05 <= power <= 0.99:
        raise UsageError(f"--power must be from 0.05 to 0.99, got {power:g}")
    held, rules = terms or Terms(), read_thresholds(thresholds)
    there = read_target(target, task, encodings, dataset, seed)
    return _planned(there, goal, effect, power, held, rules, seed)


def _planned(
    there: Target,
    goal: Goal,
    effect: float | None,
    power: float,
    held: Terms,
    rules: Thresholds,
    seed: int,
) -> Plan:
    question = question_of(there, goal, effect, rules, held, seed)
    styles = list(there.rates)

    def option(design: Design, found: Power) -> Option:
        rate = _mean_rate([there.rates[name] for name in styles[: design.encodings]])
        pairs = _pairs(there.pool, design, design.images)
        calls = pairs * _calls_each(design)
        labels = pairs * held.raters
        stated = held.prices.are_stated or held.label_price
        cost = (
            calls * held.prices.of(1, 0) * rate.tokens_in
            + calls * held.prices.of(0, 1) * rate.tokens_out
        )
        total = cost + labels * held.label_price if stated else None
        missing = max(0, design.images - there.pool.images)
        return Option(design, found, calls, labels, total, held.minutes(calls, rate), missing)

    found, short = _searched(there, question, power, option, held.budget)
    nearest = sorted(short, key=lambda o: (-round(o.power.value, 2), *_worth(o)))
    best = (
        (*sorted(found, key=_worth), *nearest)[:SHOWN]
        if not found
        else (*sorted(found, key=_worth), *nearest[:1])
    )
    curves = tuple((one, _curve(question, one.design)) for one in best[:3])
    notes = [*there.notes]
    first = best[0]
    caps, exact = _caps(there, first.design, seed)
    notes += exact
    if first.missing:
        held_images = many(there.pool.images, "image")
        notes.append(
            f"The data have {held_images} with such pairs: {first.missing} more are needed."
        )
    checks = _other_checks(there, question.judge, first.design, rules, held, seed)
    reached = bool(found) and not first.missing
    own = tuple(styles[: first.design.encodings])
    return Plan(
        goal,
        power,
        there,
        held,
        question.claim,
        own,
        best,
        curves,
        checks,
        caps,
        seed,
        reached,
        tuple(notes),
    )


def _pairs(pool: Pool, design: Design, images: int) -> int:
    """Return the number of pairs on so many images: some have fewer than the design's."""
    return round(images * float(np.minimum(pool.per_image, design.pairs).mean()))


def _calls_each(design: Design) -> int:
    """Return the number of calls of a pair."""
    return design.encodings * design.orders * design.repeats


def _mean_rate(rates: Sequence[Rate]) -> Rate:
    seconds = [rate.seconds for rate in rates if rate.seconds is not None]
    tokens = (
        (sum(getattr(rate, name) for rate in rates) / len(rates))
        for name in ("tokens_in", "tokens_out")
    )
    return Rate(next(tokens), next(tokens), sum(seconds) / len(seconds) if seconds else None)


def _worth(one: Option) -> tuple[float, ...]:
    """Sort key: first designs that the data allow or nearly allow, then cheaper ones, then fewer
    images.
    """
    return (
        float(one.missing),
        one.cost if one.cost is not None else float(one.calls),
        one.design.images,
    )


def _searched(
    target: Target,
    question: Question,
    wanted: float,
    option: Callable[[Design, Power], Option],
    budget: float | None,
) -> tuple[list[Option], list[Option]]:
    """Return designs that reach the power within the budget, and the closest that images and budget
    allow.
    """
    enough, short = [], []
    for shape in shapes(target, len(target.rates)):

        def power_at(images: int, shape: Design = shape) -> float:
            return question.reached(replace(shape, images=images), SEARCHED).value

        images = least_images(power_at, wanted)
        one = (
            None
            if images is None
            else option(replace(shape, images=images), judge_simulation.power_of([True]))
        )
        if one is not None and (budget is None or (one.cost or 0.0) <= budget):
            enough.append(one)
        most = target.pool.images
        if budget is not None:
            many_images = option(replace(shape, images=MOST), judge_simulation.power_of([True]))
            each = (many_images.cost or 0.0) / MOST
            most = min(most, int(budget / each)) if each else most
        if most >= 2 and (images is None or images > most):
            short.append(replace(shape, images=most))
    confirmed = (
        _confirmed(question, one.design, wanted, option)
        for one in sorted(enough, key=_worth)[:SHOWN]
    )
    found = [
        one
        for one in confirmed
        if one is not None and (budget is None or (one.cost or 0.0) <= budget)
    ]
    if any(not one.missing for one in found):
        return found, []
    nearest = [option(design, question.reached(design, CONFIRMED)) for design in short]
    if not found and not nearest:
        two = "two images"
        raise UsageError(f"--budget must cover the questions on {two}, got {budget:g}")
    return found, nearest


def _confirmed(
    question: Question, design: Design, wanted: float, option: Callable[[Design, Power], Option]
) -> Option | None:
    """Return the design with its power from more studies, enlarged if the search was lucky."""
    for _ in range(8):
        power = question.reached(design, CONFIRMED)
        if power.value >= wanted:
            return option(design, power)
        design = replace(design, images=max(design.images + 1, round(1.07 * design.images)))
    return None


def _curve(question: Question, design: Design) -> tuple[tuple[int, Power], ...]:
    """Return the power at fewer and more images than chosen."""
    steps = dict.fromkeys(
        max(2, round(part * design.images)) for part in (0.25, 0.5, 0.75, 1, 1.5, 2)
    )
    return tuple((n, question.reached(replace(design, images=n), CURVE)) for n in steps)


def _other_checks(
    target: Target, judge: JudgeModel, design: Design, rules: Thresholds, terms: Terms, seed: int
) -> tuple[CheckRow, ...]:
    """Return the expected result of each check of the card for the chosen design."""
    names = [
        name
        for name in ("macro_accuracy", "right_in_both_orders", "failed")
        if name in rules.checks
    ]
    if len(target.pool.sources) > 1:
        names.append("order_of_sources")
    if design.orders == 1:
        names.remove("right_in_both_orders")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for part in parts_of(design, SEARCHED * 2):
        rng = rng_for(seed, "checks", part)
        studies = judge_simulation.simulated(
            target.pool, judge, design, part, rng, labels_wrong=terms.labels_wrong
        )
        for name, rows in judge_simulation.checked(studies, rules, names).items():
            found[name] += rows
    out = []
    for name, rows in found.items():
        states = [row.state for row in rows]
        widths = [row.interval[1] - row.interval[0] for row in rows if row.interval is not None]
        out.append(
            CheckRow(
                name,
                judge_simulation.power_of(
                    [state in ("pass", "fail") for state in states], widths, states
                ),
            )
        )
    return tuple(out)


# ---------------------------------------------------------------- building it


def _caps(target: Target, design: Design, seed: int) -> tuple[Caps, tuple[str, ...]]:
    """Return the caps of `build` for this number of images and pairs, and their effect in a data
    folder.
    """
    wanted, groups = design.images * design.pairs, design.images
    notes: tuple[str, ...] = ()
    if target.groups:
        images: set[str] = set()
        pairs, caps = 0, Caps()
        groups = 0
        at_hand = min(design.images, target.pool.images)
        wanted = _pairs(target.pool, design, at_hand)
        for found in spread(target.groups, len(target.groups), seed):
            if len(images) >= at_hand and pairs >= wanted:
                break
            images.add(found.key[0])
            pairs += sum(1 for _ in islice(pairs_of(found, seed, caps), design.pairs))
            groups += 1
        notes = (
            f"`build` draws {many(wanted, 'pair')} on {many(len(images), 'image')}, and `judge` "
            f"asks about them in {many(wanted * _calls_each(design), 'call')}.",
        )
    return Caps(0, 0, groups, wanted, 0, 0), notes


def read_build(path: str | Path) -> tuple[str, int, Caps, list[str]]:
    """Read task, seed and caps of a plan that :meth:`Plan.save` wrote, and the options of `judge`
    for its design.

    Raises
    ------
    DataError
        If the file is not such a plan.
    """
    from visualjudge.apps.planning.plan_page import judge_options

    place = Path(path)
    try:
        plan = jsons.read(place, "description")
        told, asked = plan["build"], plan["judge"]
        task, seed, caps = told["task"], told["seed"], told["caps"]
        options = judge_options(asked["encodings"], swap=asked["swap"], repeats=asked["repeats"])
        known = {one.name for one in fields(Caps)}
        if not isinstance(task, str) or type(seed) is not int or set(caps) - known:
            raise TypeError
        if any(
            isinstance(value, bool) or not isinstance(value, int | float) for value in caps.values()
        ):
            raise TypeError
        return task, seed, Caps(**caps), options
    except OSError as error:
        raise DataError(f"{place}: cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError(f"{place}: must be a plan from `visualjudge plan --json FILE`") from None
