"""The cheapest study that answers a question: goals, the search, and what builds the
design. The simulation is in ``judge_simulation.py``; studies without named models are
in ``plan_without_models.py``.

A design is images × pairs × orders × repeats. For each kind of design, simulation
(:mod:`visualjudge.apps.planning.judge_simulation`) finds the smallest number of images
that reaches the goal with the requested power; the cheapest design that the data allow
is chosen.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from typing_extensions import TypedDict

from visualjudge import __version__
from visualjudge.analysis.decisions.checks import THRESHOLDS
from visualjudge.analysis.figure_text import many, number, percent
from visualjudge.apps.planning import judge_simulation
from visualjudge.apps.planning.judge_simulation import (
    Design,
    JudgeModel,
    Pool,
    Studies,
)
from visualjudge.apps.planning.plan_inputs import Target, read_target
from visualjudge.apps.planning.plan_without_models import ShapePlan, shape_plan
from visualjudge.arguments import checked
from visualjudge.core import jsons
from visualjudge.core.errors import DataError, UsageError, must_end_in
from visualjudge.core.output_files import OutputFile
from visualjudge.core.records import BoolArray
from visualjudge.core.seeding import rng_for
from visualjudge.core.text_tables import Table, folded
from visualjudge.core.typed_records import record_of
from visualjudge.dataset.sampling import pairs_of, spread
from visualjudge.options import Caps, Selection, keywords
from visualjudge.runs.budget import Prices, money

Goal = Literal["rank", "right"]
PAIRS = (1, 2, 3, 5, 10)
"""Numbers of pairs per image to try."""
SEARCHED = 100
CONFIRMED = 400
"""Simulated studies per step of the search, and per result."""
LEAST = 5
MOST = 3000
SHOWN = 5
NEAR = 0.06
"""Images to try, designs in a plan, and relative precision of the smallest number of
images."""
ALIKE = 0.2
"""Designs whose numbers of images differ by less, relative to the fewest, are in the
order of their costs: the search is no more precise."""
OPEN = (
    "the scores at hand leave the order of the models open. Score more images, then "
    "plan again"
)
POOR = "this judge is right too seldom. Ask another, or raise `effect`"
APART = 0.5
LEAD = 0.1
"""Default effects: points of score between two models, accuracy above the threshold."""


@dataclass(frozen=True)
class Option:
    """A design with its power and its needs; ``missing`` is the number of images that
    the data lack.
    """

    design: Design
    power: float
    calls: int
    cost: float | None
    missing: int

    @property
    def worth(self) -> tuple[float, ...]:
        """Sort key: first designs that the data allow or nearly allow, then cheaper
        ones, then fewer images.
        """
        cost = float(self.calls) if self.cost is None else self.cost
        return float(self.missing), cost, self.design.images


@dataclass(frozen=True, eq=False)
class Plan:
    """The best designs, the chosen one first, and the assumptions.

    ``goal_reached`` says whether the chosen design has the requested power on the
    images at hand; for the goal to rank, power is the mean over samples of as many
    images as there are.
    """

    goal: Goal
    wanted: float
    target: Target
    question: str
    claim: str
    options: tuple[Option, ...]
    caps: Caps
    seed: int
    goal_reached: bool
    notes: tuple[str, ...]

    @property
    def chosen(self) -> Option:
        """The design to build."""
        return self.options[0]

    def __str__(self) -> str:
        told = [
            folded(self.target.pilot),
            folded(f"{self.question} {answer(self)}"),
            folded(f"Goal: {self.claim}."),
            designs_table(self).text(),
            "\n".join(map(folded, self.notes)),
        ]
        return "\n\n".join(filter(None, told))

    @checked
    def save(self, path: str | Path) -> Path:
        """Write the JSON that ``build --plan`` reads.

        Raises
        ------
        UsageError
            If the name ends in anything but ``.json``.
        """
        must_end_in("path", Path(path), [".json"])
        OutputFile(Path(path)).write(as_json(self))
        return Path(path)


@keywords(Selection)
def plan(
    target: str | Path,
    *,
    options: Selection,
    goal: Goal = "rank",
    effect: float | None = None,
    power: float = 0.8,
    prices: Prices | None = None,
    dataset: str | Path | None = None,
    seed: int = 42,
) -> Plan | ShapePlan:
    """Plan a study: the smallest number of images, pairs, orders and repeats that
    answers a question. For a pilot without named models: the images until each task is
    decided.

    Parameters
    ----------
    target
        A data folder, a dataset, or the run of a pilot of 50 to 200 questions.
    goal
        ``"rank"``: may I rank my models with this judge? Reached if all pairs of models
        that differ by ``effect`` are separated in the right order. ``"right"``: is it
        right often enough?
    effect
        For ``rank``, a difference in points of score (default: 0.5). For ``right``, the
        accuracy above the card's threshold that the study must detect (default: the
        pilot's; without one, 0.1).
    power
        Probability with which the study must reach its goal.
    tasks, encodings, where
        The task, if there are several; the encodings and questions of the pilot or
        dataset to plan from. The first encoding is planned; without any, that with the
        most right verdicts in the pilot.
    prices
        Prices of tokens; with them, designs of a pilot that counted its tokens are
        ordered by cost.
    dataset
        Folder of the pilot's dataset, if it has moved.
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
    if not 0.05 <= power <= 0.99:
        raise UsageError(f"`power` must be from 0.05 to 0.99, got {power:g}")
    new_study = goal == "right" or effect is not None
    of_pilot = shape_plan(target, options, dataset, new_study=new_study)
    if of_pilot is not None:
        return of_pilot
    there = read_target(target, options, dataset, seed)
    return plan_of(there, goal, effect, power, prices or Prices(), seed)


def plan_of(
    there: Target,
    goal: Goal,
    effect: float | None,
    power: float,
    prices: Prices,
    seed: int,
) -> Plan:
    """Plan a study of named models from what was read of the target."""
    question = (_rank if goal == "rank" else _right)(there, effect)
    search = _Search(there, question, prices, seed)
    result, short = search.designs(power)
    nearest = sorted(
        short, key=lambda item: (-round(item.power, 2), *item.worth)
    )
    nearest = nearest[: 1 if result else SHOWN]
    best = (*result[: SHOWN - len(nearest)], *nearest)
    first = best[0]
    caps, drawn = _caps(there, first.design, seed)
    notes = {
        f"`build` draws as many pairs on {drawn} images.": not first.missing
        and drawn != first.design.images,
        "No cost: only a pilot that counts tokens tells it.": prices.are_stated
        and there.tokens is None,
        "To plan for your own judge, name a run of 50 to 200 questions.": there.kind
        != "run",
    }
    if not result:
        notes[search.limit(power)] = True
    return Plan(
        goal,
        power,
        there,
        question.question,
        question.claim,
        best,
        caps,
        seed,
        bool(result) and not first.missing,
        tuple(note for note, holds in notes.items() if holds),
    )


# ---------------------------------------------------------------- goals


@dataclass(frozen=True, eq=False)
class _Question:
    """A precise goal: its assumptions, and which studies reach it."""

    question: str
    claim: str
    judge: JudgeModel
    reached: Callable[[Studies], BoolArray]
    of_models: bool = False
    """Whether the models' scores count: they are known from the pool's images only."""


def _rank(target: Target, effect: float | None) -> _Question:
    pool = target.pool
    apart = APART if effect is None else effect
    if len(pool.sources) < 2:
        raise UsageError(
            f"{target.place}: must have at least two models to rank, got "
            f"{len(pool.sources)}; "
            "`goal` right plans for its accuracy"
        )
    gaps = np.abs(pool.differences[np.triu_indices(len(pool.sources), 1)])
    widest = float(np.nanmax(gaps))
    if not 0 < apart <= widest:
        raise UsageError(
            f"`effect` must be above 0 and at most {widest:.2f}, the largest "
            f"difference of two models in points of score, got {apart:g}"
        )
    wide = int((gaps >= apart).sum())
    claim = (
        f"the {wide} of {gaps.size} pairs of models that differ by {apart:g} or more "
        "points are all separated in the right order. Assumed: the models score as in the "
        f"data, and the judge is right in {percent(target.judge.right(pool))} of pairs"
    )
    reached = partial(
        judge_simulation.separated, order=judge_simulation.orders(pool, apart)
    )
    return _Question(
        "May I rank my models?", claim, target.judge, reached, of_models=True
    )


def _right(target: Target, effect: float | None) -> _Question:
    if effect is not None and not -1 < effect < 1:
        raise UsageError(
            f"`effect` must be between 0 and 1 ({effect / 100:g} for {effect:g} "
            f"points), got {effect:g}"
        )
    limit = THRESHOLDS["macro_accuracy"].value
    lead = LEAD if effect is None and target.kind != "run" else effect
    share = target.judge.right(target.pool) if lead is None else limit + lead
    if not 0.01 <= share <= 0.99:
        what = (
            "accuracy of the pilot" if lead is None else "threshold + `effect`"
        )
        raise UsageError(
            f"{what} must be from 0.01 to 0.99, got {share:.2f}; change `effect`"
        )
    above = share >= limit
    claim = (
        f"the 95 % interval of its accuracy lies {'above' if above else 'below'} the "
        "card’s threshold, "
        f"{percent(limit, 0)}. Assumed: the judge is right in {percent(share)} of pairs"
    )

    def reached(studies: Studies) -> BoolArray:
        low, high = judge_simulation.share_intervals(studies)
        return low >= limit if above else high < limit

    return _Question(
        "Is the judge right often enough?"
        if above
        else "Is the judge wrong too often?",
        claim,
        target.judge.at(share, target.pool),
        reached,
    )


# ---------------------------------------------------------------- the search


def least_images(
    power_at: Callable[[int], float],
    wanted: float,
    least: int = LEAST,
    most: int = MOST,
) -> int | None:
    """Return the smallest number of images at which ``power_at`` is ``wanted``, to 6 %;
    None if ``most`` fail.
    """
    low = 0
    high = least
    while power_at(high) < wanted:
        if high >= most:
            return None
        low = high
        high = min(most, 2 * high)
    while high - low > max(1, round(NEAR * high)):
        middle = (low + high) // 2
        low, high = (
            (low, middle) if power_at(middle) >= wanted else (middle, high)
        )
    return high


@dataclass(frozen=True, eq=False)
class _Search:
    target: Target
    question: _Question
    prices: Prices
    seed: int

    def shapes(self) -> list[Design]:
        """Return the kinds of designs to try: pairs and orders, then another repeat."""
        most = int(np.quantile(self.target.pool.per_image, 0.75))
        pairs = [k for k in PAIRS if k <= most] or [1]
        plain = [Design(0, k, orders) for k in pairs for orders in (1, 2)]
        return [*plain, replace(plain[-1], repeats=2)]

    def designs(self, wanted: float) -> tuple[list[Option], list[Option]]:
        """Return designs that reach the power, cheapest first, and for the others what
        the images at hand allow.
        """
        enough = []
        short = []
        for shape in self.shapes():
            images = least_images(partial(self._power, shape, SEARCHED), wanted)
            if images is not None:
                enough.append(self.option(replace(shape, images=images), 1.0))
            if images is None or images > self.target.pool.images:
                short.append(shape)
        best = sorted(enough, key=lambda item: item.worth)[:SHOWN]
        confirmed = [self._confirmed(item.design, wanted) for item in best]
        collected = [item for item in confirmed if item is not None]
        collected.sort(key=lambda item: item.worth)
        if collected and (lacking := collected[0].missing):
            lacking += round(ALIKE * collected[0].design.images)
            collected.sort(
                key=lambda item: (max(lacking, item.missing), *item.worth[1:])
            )
        if any(not item.missing for item in collected):
            return collected, []
        there = self.target.pool.images
        return collected, [
            self.option(
                replace(shape, images=there),
                self._power(shape, CONFIRMED, there),
            )
            for shape in short
        ]

    def _power(self, shape: Design, studies: int, images: int) -> float:
        design = replace(shape, images=images)
        sizes = [int(size) for size in asdict(design).values()]
        at_once = max(
            1,
            min(
                studies, judge_simulation.MOST_CELLS // max(1, math.prod(sizes))
            ),
        )
        rng = rng_for(self.seed, "plan", *sizes)
        parts = [
            min(at_once, studies - done) for done in range(0, studies, at_once)
        ]
        reached = [
            self.question.reached(
                judge_simulation.simulated(
                    self.target.pool,
                    self.question.judge,
                    design,
                    part,
                    rng,
                    like_these=self.question.of_models,
                )
            )
            for part in parts
        ]
        return float(np.concatenate(reached).mean())

    def _confirmed(self, design: Design, wanted: float) -> Option | None:
        """Return the design with its power from more studies, enlarged if the search
        was lucky."""
        for _ in range(8):
            power = self._power(design, CONFIRMED, design.images)
            if power >= wanted:
                return self.option(design, power)
            design = replace(
                design,
                images=max(design.images + 1, round(1.07 * design.images)),
            )
        return None

    def limit(self, wanted: float) -> str:
        """Say what the largest study reaches, and whether judge or truth is why."""
        judge = replace(self.question.judge, level=8.0, slope=0.0, failed=0.0)
        certain = replace(self, question=replace(self.question, judge=judge))
        reached, most = (
            search._power(self.shapes()[-1], SEARCHED, MOST)
            for search in (self, certain)
        )
        even = f"Even {number(MOST)} such images have a power of {percent(reached, 0)}"
        if not self.question.of_models:
            return f"{even}: the accuracy is too near the threshold."
        return (
            f"{even}, with a judge that is always right {percent(most, 0)}: "
            f"{OPEN if most < wanted else POOR}."
        )

    def option(self, design: Design, power: float) -> Option:
        """Return a design with its calls and cost."""
        tokens = self.target.tokens
        calls = (
            _pairs(self.target.pool, design, design.images)
            * design.orders
            * design.repeats
        )
        cost = None
        if tokens and self.prices.are_stated:
            cost = self.prices.of(*(round(calls * count) for count in tokens))
        missing = max(0, design.images - self.target.pool.images)
        return Option(design, power, calls, cost, missing)


def _pairs(pool: Pool, design: Design, images: int) -> int:
    """Return the number of pairs on so many images: some have fewer than the
    design's."""
    return round(
        images * float(np.minimum(pool.per_image, design.pairs).mean())
    )


# ---------------------------------------------------------------- in words


def shape(item: Option) -> str:
    """Describe a design apart from its images: 3 pairs, both orders."""
    design = item.design
    parts = [
        many(design.pairs, "pair"),
        "both orders" if design.orders == 2 else "one order",
    ]
    parts += [many(design.repeats, "repeat")] if design.repeats > 1 else []
    return ", ".join(parts)


def answer(plan: Plan) -> str:
    """Return the recommendation in one or two sentences."""
    item = plan.chosen
    there = many(plan.target.pool.images, "image")
    spent = many(item.calls, "call") + (
        "" if item.cost is None else f", cost {money(item.cost)}"
    )
    asked = (
        f"{many(item.design.images, 'image')} with {shape(item)} ({spent}): power "
        f"{percent(item.power, 0)}."
    )
    wanted = percent(plan.wanted, 0)
    if plan.goal_reached:
        return f"Ask about {asked}"
    if item.missing:
        return (
            f"For a power of {wanted}, {there} are too few: collect "
            f"{number(item.missing)} more. Then ask about {asked}"
        )
    return f"No design has a power of {wanted}. The best on {there} asks about {asked}"


def designs_table(plan: Plan) -> Table:
    """Return the best designs, the chosen one first; images that they lack, and costs,
    where there are any."""
    lacking = any(item.missing for item in plan.options)
    rows = [
        (
            number(item.design.images),
            shape(item),
            number(item.calls),
            percent(item.power, 0),
            *([number(item.missing)] if lacking else []),
            *([] if item.cost is None else [money(item.cost)]),
        )
        for item in plan.options
    ]
    columns = (
        *("Images", "Each with", "Calls", "Power"),
        *["Images missing"] * lacking,
        *["Cost"] * (plan.chosen.cost is not None),
    )
    return Table(columns, tuple(rows), keys=len(columns))


def commands(plan: Plan, file: str = "plan.json") -> tuple[str, str]:
    """Return the command lines that build and judge exactly the chosen design."""
    design = plan.chosen.design
    data = plan.target.place if plan.target.kind == "data folder" else "DATA"
    made = ["visualjudge", "build", data, "--plan", file, "--out", "dataset"]
    words = judge_options(
        [plan.target.encoding], swap=design.orders == 2, repeats=design.repeats
    )
    asked = [
        "visualjudge",
        "judge",
        "dataset",
        *words,
        "--model",
        "MODEL",
        "--out",
        "RUN",
    ]
    return shlex.join(made), shlex.join(asked)


def judge_options(
    encodings: Sequence[str], *, swap: bool, repeats: int
) -> list[str]:
    """Return the options of `judge` that ask only the design's questions."""
    words = [
        "--type",
        "pairwise",
        *(word for name in encodings for word in ("--encoding", name)),
    ]
    words += ["--swap"] if swap else []
    return [*words, "--set", f"repeats={repeats}"] if repeats > 1 else words


def as_json(plan: Plan) -> dict[str, object]:
    """Return the plan as a file: what is built and asked, expected, and assumed."""
    design = plan.chosen.design
    target = plan.target
    designs = [
        {
            **asdict(option.design),
            "calls": option.calls,
            "cost": option.cost,
            "images_missing": option.missing,
            "power": option.power,
        }
        for option in plan.options
    ]
    return {
        "version": __version__,
        "goal": plan.goal,
        "supposed": plan.claim,
        "wanted_power": plan.wanted,
        "reached": plan.goal_reached,
        "build": {
            "task": target.task,
            "seed": plan.seed,
            "caps": asdict(plan.caps),
        },
        "judge": {
            "type": "pairwise",
            "encodings": [target.encoding],
            "swap": design.orders == 2,
            "repeats": design.repeats,
        },
        "designs": designs,
        "model": asdict(target.judge),
        "notes": list(plan.notes),
    }


# ---------------------------------------------------------------- building it


def _caps(target: Target, design: Design, seed: int) -> tuple[Caps, int]:
    """Return the caps of `build` for this number of images and pairs, and on how many
    images it draws them.
    """
    if not target.groups:
        n = design.images
        return Caps(0, 0, n, n * design.pairs, 0, 0), n
    images: set[str] = set()
    chosen: list[str] = []
    pairs = 0
    at_hand = min(design.images, target.pool.images)
    wanted = _pairs(target.pool, design, at_hand)
    for result in spread(target.groups, len(target.groups), seed):
        if len(images) >= at_hand and pairs >= wanted:
            break
        chosen.append(result[0].image_id)
        images.add(chosen[-1])
        pairs += sum(
            1 for _ in islice(pairs_of(result, seed, Caps()), design.pairs)
        )
    # it takes one pair of each group in turn
    drawn = len({*chosen[:wanted]})
    return Caps(0, 0, len(chosen), wanted, 0, 0), drawn


class _Build(TypedDict):
    task: str
    seed: int
    caps: dict[str, float]


class _Judge(TypedDict):
    encodings: list[str]
    swap: bool
    repeats: int


class SavedPlan(TypedDict):
    """What is read of a plan."""

    build: _Build
    judge: _Judge


def read_build(path: str | Path) -> tuple[str, int, Caps, list[str]]:
    """Read task, seed and caps of a plan that :meth:`Plan.save` wrote, and the options
    of `judge` for its design.

    Raises
    ------
    DataError
        If the file is not such a plan.
    """
    place = Path(path)
    hint = "; `visualjudge plan` writes a plan to `json` FILE"
    plan = record_of(
        SavedPlan, jsons.read(place, "description"), place, hint=hint
    )
    build = plan["build"]
    unknown = build["caps"].keys() - {field.name for field in fields(Caps)}
    if unknown:
        raise DataError(
            f"{place}: build: caps: {min(unknown)} is unknown{hint}"
        )
    caps: Any = build["caps"]
    judge = plan["judge"]
    options = judge_options(
        judge["encodings"], swap=judge["swap"], repeats=judge["repeats"]
    )
    return build["task"], build["seed"], Caps(**caps), options
