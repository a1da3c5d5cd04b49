"""The cheapest study that answers a question: goals, the search, and what builds the design.

A design is images × pairs × orders × repeats. For each kind of design, simulation
(:mod:`visualjudge.apps.planning.judge_simulation`) finds the smallest number of images that reaches
the goal with the requested power; the cheapest design that the data allow is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from scipy import stats

from visualjudge.analysis.decisions.checks import read_thresholds
from visualjudge.analysis.figure_text import many
from visualjudge.apps.planning import judge_simulation
from visualjudge.apps.planning.judge_simulation import Design, JudgeModel, Pool, Power, Studies
from visualjudge.apps.planning.plan_inputs import Rate, Target, read_target
from visualjudge.core import jsons
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import BoolArray
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.sampling import Caps, pairs_of, spread
from visualjudge.runs.budget import Prices

Goal = Literal["rank", "right"]
PAIRS = (1, 2, 3, 5, 10)
"""Numbers of pairs per image to try."""
SEARCHED, CONFIRMED = 100, 400
"""Simulated studies per step of the search, and per result."""
LEAST, MOST, SHOWN, NEAR = 5, 3000, 5, 0.06
"""Images to try, designs in a plan, and relative precision of the smallest number of images."""
APART, LEAD, GAP = 0.5, 0.1, 0.1
"""Default effects: points of score between two models, accuracy above the threshold; and the gap in
win rate for which labels are counted.
"""
REACH, CONCURRENCY = 2.8, 16


@dataclass(frozen=True)
class Terms:
    """Prices of tokens and labels, and how people label: ``raters`` per pair (0: the truth is
    known), each right as often as ``rater_right``.
    """

    prices: Prices = field(default_factory=Prices)
    budget: float | None = None
    raters: int = 0
    rater_right: float = 1.0
    label_price: float = 0.0

    def __post_init__(self) -> None:
        if self.budget is not None and not self.prices.are_stated and not self.label_price:
            raise UsageError("--budget needs --price or --label-price")
        if not 0.5 < self.rater_right <= 1:
            told = f"{self.rater_right:g}"
            raise UsageError(f"--rater-right must be above 0.5 and at most 1, got {told}")

    @property
    def labels_wrong(self) -> float:
        """Share of pairs whose majority label names the worse option; ties are decided by
        chance.
        """
        half = self.raters / 2
        wrong = stats.binom(self.raters, 1 - self.rater_right)
        return float(wrong.sf(half) + wrong.pmf(half) / 2) if self.raters else 0.0


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

    @property
    def worth(self) -> tuple[float, ...]:
        """Sort key: first designs that the data allow or nearly allow, then cheaper ones, then
        fewer images.
        """
        cost = float(self.calls) if self.cost is None else self.cost
        return float(self.missing), cost, self.design.images


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
        """Write ``.json``, which ``build --plan`` reads, or ``.html``."""
        from visualjudge.apps.planning.plan_page import save

        return save(self, Path(path))


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
        ``"rank"``: may I rank my models with this judge? Reached if all pairs of models that differ
        by ``effect`` are separated in the right order. ``"right"``: is it right often enough?
    effect
        For ``rank``, a difference in points of score (default: 0.5). For ``right``, the accuracy
        above the card's threshold that the study must detect (default: the pilot's; without one,
        0.1).
    power
        Probability with which the study must reach its goal.
    task, encodings
        The task, if there are several; the encodings to choose from, the first is used.
    terms
        Prices, budget, labels.
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
    if goal not in get_args(Goal):
        raise UsageError(f"--goal must be one of {', '.join(get_args(Goal))}, got {goal}")
    if not 0.05 <= power <= 0.99:
        raise UsageError(f"--power must be from 0.05 to 0.99, got {power:g}")
    held, limit = terms or Terms(), read_thresholds(thresholds).checks["macro_accuracy"].value
    there = read_target(target, task, encodings, dataset, seed)
    made = _rank if goal == "rank" else _right
    question = made(there, effect, limit, held.labels_wrong, seed)
    search = _Search(there, question, held)
    found, short = search.designs(power)
    nearest = sorted(short, key=lambda one: (-round(one.power.value, 2), *one.worth))
    beside = nearest[: 1 if found else SHOWN]
    best = (*found[: SHOWN - len(beside)], *beside)
    first = best[0]
    caps, exact = _caps(there, first.design, seed)
    notes = [*there.notes, *exact, _labels_for(question.judge, there.pool)]
    if first.missing:
        images = many(there.pool.images, "image")
        notes.append(f"The data have {images} with such pairs: {first.missing} more are needed.")
    styles, reached = tuple(there.rates)[:1], bool(found) and not first.missing
    parts = (question.claim, styles, best, caps, seed, reached, tuple(notes))
    return Plan(goal, power, there, held, *parts)


# ---------------------------------------------------------------- goals


@dataclass(frozen=True, eq=False)
class _Question:
    """A precise goal: its assumptions, and which studies reach it."""

    claim: str
    judge: JudgeModel
    reached: Callable[[Studies], BoolArray]
    wrong: float
    seed: int

    def power(self, pool: Pool, design: Design, count: int) -> Power:
        """Return the power of a design from ``count`` studies."""
        at_once = max(1, min(count, judge_simulation.MOST_CELLS // max(1, design.calls)))
        rng = rng_for(self.seed, "plan", *map(int, asdict(design).values()))
        parts = [min(at_once, count - done) for done in range(0, count, at_once)]
        found = [
            self.reached(
                judge_simulation.simulated(
                    pool, self.judge, design, part, rng, labels_wrong=self.wrong
                )
            )
            for part in parts
        ]
        return judge_simulation.power_of(np.concatenate(found))


def _rank(target: Target, effect: float | None, limit: float, wrong: float, seed: int) -> _Question:
    """Return the goal that all pairs of models are separated rightly that differ by ``effect``."""
    del limit
    pool, apart = target.pool, APART if effect is None else effect
    if len(pool.sources) < 2:
        count = len(pool.sources)
        raise UsageError(f"{target.place}: must have at least two sources to rank, got {count}")
    gaps = np.abs(pool.differences[np.triu_indices(len(pool.sources), 1)])
    widest = float(np.nanmax(gaps))
    if not 0 < apart <= widest:
        raise UsageError(
            f"--effect must be above 0 and at most {widest:.2f}, the largest difference of two "
            f"sources in points of score, got {apart:g}"
        )
    wide = int((gaps >= apart).sum())
    claim = (
        f"the sources and their scores are those of the data; the goal is that the {wide} of "
        f"{gaps.size} pairs of sources that differ by {apart:g} points or more are all separated "
        "in the right order"
    )
    reached = partial(judge_simulation.separated, effect=apart)
    return _Question(claim, target.judge, reached, wrong, seed)


def _right(
    target: Target, effect: float | None, limit: float, wrong: float, seed: int
) -> _Question:
    """Return the goal that the accuracy is shown to be above, or below, the card's threshold."""
    if effect is not None and not -1 < effect < 1:
        hint = f"{effect / 100:g} for {effect:g} points"
        raise UsageError(f"--effect must be between 0 and 1 ({hint}), got {effect:g}")
    lead = LEAD if effect is None and target.kind != "run" else effect
    share = target.judge.right(target.pool) if lead is None else limit + lead
    if not 0.01 <= share <= 0.99:
        what = "accuracy of the pilot" if lead is None else "threshold + --effect"
        raise UsageError(f"{what} must be from 0.01 to 0.99, got {share:.2f}; change --effect")
    above = share * (1 - wrong) + (1 - share) * wrong >= limit
    way = "above" if above else "below"
    claim = (
        f"the judge is right {100 * share:.3g} % of the time; the goal is that the 95 % interval "
        f"of its accuracy lies {way} the card's threshold {limit:g}"
    )

    def reached(studies: Studies) -> BoolArray:
        low, high = judge_simulation.share_intervals(studies)
        return np.asarray(low >= limit if above else high < limit)

    return _Question(claim, target.judge.at(share, target.pool), reached, wrong, seed)


def _labels_for(judge: JudgeModel, pool: Pool) -> str:
    """Say how many pairs people must label for `correct` to show a gap in win rate (power 80 %):
    the truth of a pair has the variance ¼, of which the judge explains what it correlates.
    """
    explained = (2 * judge.right(pool) - 1) ** 2
    labels = int(np.ceil(2 * 0.25 * (1 - explained) * (REACH / GAP) ** 2))
    return (
        f"To show a difference of {100 * GAP:.0f} points of win rate between two models with "
        f"`correct`, label about {many(labels, 'pair')} of each."
    )


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


@dataclass(frozen=True, eq=False)
class _Search:
    target: Target
    question: _Question
    terms: Terms

    def shapes(self) -> list[Design]:
        """Return the kinds of designs to try: pairs and orders, then another repeat."""
        most = int(np.quantile(self.target.pool.per_image, 0.75))
        pairs = [k for k in PAIRS if k <= most] or [1]
        plain = [Design(0, k, orders) for k in pairs for orders in (1, 2)]
        return [*plain, replace(plain[-1], repeats=2)]

    def _searched(self, shape: Design, images: int) -> float:
        return self.power(replace(shape, images=images), SEARCHED).value

    def power(self, design: Design, count: int) -> Power:
        return self.question.power(self.target.pool, design, count)

    def designs(self, wanted: float) -> tuple[list[Option], list[Option]]:
        """Return designs that reach the power within the budget, cheapest first, and the closest
        that images and budget allow.
        """
        enough, short = [], []
        for shape in self.shapes():
            images = least_images(partial(self._searched, shape), wanted)
            if images is not None:
                one = self.option(replace(shape, images=images), Power(1.0, 0.0))
                enough += [one] if self._affordable(one) else []
            most = min(self.target.pool.images, self._most_affordable(shape))
            if most >= 2 and (images is None or images > most):
                short.append(replace(shape, images=most))
        best = sorted(enough, key=lambda one: one.worth)[:SHOWN]
        confirmed = [self._confirmed(one.design, wanted) for one in best]
        found = [one for one in confirmed if one is not None and self._affordable(one)]
        found.sort(key=lambda one: one.worth)
        if any(not one.missing for one in found):
            return found, []
        if not found and not short:
            told = f"{self.terms.budget:g}"
            raise UsageError(f"--budget must cover the questions on two images, got {told}")
        return found, [self.option(design, self.power(design, CONFIRMED)) for design in short]

    def _affordable(self, one: Option) -> bool:
        return self.terms.budget is None or (one.cost or 0.0) <= self.terms.budget

    def _most_affordable(self, shape: Design) -> int:
        each = (self.option(replace(shape, images=MOST), Power(1.0, 0.0)).cost or 0.0) / MOST
        budget = self.terms.budget
        return MOST if budget is None or not each else int(budget / each)

    def _confirmed(self, design: Design, wanted: float) -> Option | None:
        """Return the design with its power from more studies, enlarged if the search was lucky."""
        for _ in range(8):
            power = self.power(design, CONFIRMED)
            if power.value >= wanted:
                return self.option(design, power)
            design = replace(design, images=max(design.images + 1, round(1.07 * design.images)))
        return None

    def option(self, design: Design, power: Power) -> Option:
        """Return a design with its calls, labels, cost and time."""
        rate: Rate = next(iter(self.target.rates.values()))
        pairs, terms = _pairs(self.target.pool, design, design.images), self.terms
        calls, labels = pairs * design.orders * design.repeats, pairs * terms.raters
        tokens = terms.prices.of(1, 0) * rate.tokens_in + terms.prices.of(0, 1) * rate.tokens_out
        stated = terms.prices.are_stated or terms.label_price
        cost = calls * tokens + labels * terms.label_price if stated else None
        minutes = None if rate.seconds is None else calls * rate.seconds / CONCURRENCY / 60
        missing = max(0, design.images - self.target.pool.images)
        return Option(design, power, calls, labels, cost, minutes, missing)


def _pairs(pool: Pool, design: Design, images: int) -> int:
    """Return the number of pairs on so many images: some have fewer than the design's."""
    return round(images * float(np.minimum(pool.per_image, design.pairs).mean()))


# ---------------------------------------------------------------- building it


def _caps(target: Target, design: Design, seed: int) -> tuple[Caps, tuple[str, ...]]:
    """Return the caps of `build` for this number of images and pairs, and their effect in a data
    folder.
    """
    if not target.groups:
        return Caps(0, 0, design.images, design.images * design.pairs, 0, 0), ()
    images: set[str] = set()
    pairs = groups = 0
    at_hand = min(design.images, target.pool.images)
    wanted = _pairs(target.pool, design, at_hand)
    for found in spread(target.groups, len(target.groups), seed):
        if len(images) >= at_hand and pairs >= wanted:
            break
        images.add(found.key[0])
        pairs += sum(1 for _ in islice(pairs_of(found, seed, Caps()), design.pairs))
        groups += 1
    calls = many(wanted * design.orders * design.repeats, "call")
    note = (
        f"`build` draws {many(wanted, 'pair')} on {many(len(images), 'image')}, and `judge` asks "
        f"about them in {calls}."
    )
    return Caps(0, 0, groups, wanted, 0, 0), (note,)


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
        numbers = all(type(value) in (int, float) for value in caps.values())
        known = {one.name for one in fields(Caps)}
        if not isinstance(task, str) or type(seed) is not int or set(caps) - known or not numbers:
            raise TypeError
        return task, seed, Caps(**caps), options
    except OSError as error:
        raise DataError(f"{place}: cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError(f"{place}: must be a plan from `visualjudge plan --json FILE`") from None
