"""Which study answers a question at least cost: what can be asked, what it shows and costs.

A design is images × pairs × encodings × orders × repeats. Of each kind of design the fewest images
are sought at which the goal is reached with the wanted power, by simulation
(:mod:`visualjudge.apps.planning.models`); the cheapest design that the data allow is chosen.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from visualjudge.analysis import words
from visualjudge.analysis.decisions.checks import Thresholds, read_thresholds
from visualjudge.analysis.join import unchanged
from visualjudge.analysis.load import load_study
from visualjudge.analysis.probes import DESIGNS
from visualjudge.analysis.questions import merged
from visualjudge.analysis.variance import variance_row
from visualjudge.analysis.words import many
from visualjudge.apps.planning import models
from visualjudge.apps.planning.models import Design, JudgeModel, Pool, Power, Studies
from visualjudge.core import jsons
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.seeding import rng_for
from visualjudge.data.folder import DataFolder
from visualjudge.dataset.build import BuildOptions, build
from visualjudge.dataset.folder import META, load_dataset
from visualjudge.dataset.plan import stems_of
from visualjudge.dataset.sampling import JUDGE_ANALYSIS, Caps, Group, group, pairs_of, spread
from visualjudge.judges.base import Ask
from visualjudge.runs.budget import Prices
from visualjudge.runs.estimate import estimate
from visualjudge.runs.folder import RunFolder

Goal = Literal["rank", "right", "bias", "compare", "probe"]
GOALS = get_args(Goal)
GOAL_CHECK: Mapping[str, str] = {
    "rank": "order_of_sources",
    "right": "macro_accuracy",
    "bias": "lean",
}
USUAL = JudgeModel(0.75, 0.5, (0.05, 0.35, 0.5, 0.6), 0.03, 0.01, ("share right", *models.LEVELS, "lean", "failed"))
"""A judge of which nothing is known, in round numbers; ``level`` holds the share right here."""
GAP = 0.05
"""The difference of two judges that is looked for unless ``effect`` says otherwise."""
USUAL_LEAD = 0.1
"""How far above the threshold a judge of which nothing is known is supposed to be right."""
ALIKE = 0.5
"""How alike two judges' errors are supposed to be: 0 not at all, 1 the same."""
PAIRS, SEARCHED, CONFIRMED, CURVE = (1, 2, 3, 5, 10), 100, 400, 150
"""Pairs of an image that are tried; simulated studies a step of the search, a result, a point."""
LEAST, MOST = 5, 3000
SEARCH_DRAWS, CONFIRM_DRAWS = 300, 1000
AT_THRESHOLD = 0.01
SHOWN = 5
"""Designs that a plan tells of."""
NEAR = 0.06
"""How near, in parts, the search comes to the fewest images."""
VERDICTS = (
    "task", "encoding", "cluster", "pair", "order", "repeat", "margin", "right", "parsed",
    "first_right",     "tokens_in", "tokens_out", "latency_s",
)  # fmt: skip


@dataclass(frozen=True)
class Rate:
    """What one call takes: tokens, and seconds (None: not known)."""

    tokens_in: float
    tokens_out: float
    seconds: float | None = None


@dataclass(frozen=True)
class Terms:
    """What a study may cost: prices of tokens and labels, the pace of calls, and how people label.

    ``raters``: people who label each pair, 0 where the truth is there; ``rater_right``: how often
    one is right.
    """

    prices: Prices = field(default_factory=Prices)
    budget: float | None = None
    concurrency: int = 16
    calls_per_minute: float | None = None
    tokens_per_minute: float | None = None
    raters: int = 0
    rater_right: float = 1.0
    label_price: float = 0.0

    def __post_init__(self) -> None:
        if self.budget is not None and not self.prices.are_stated and not self.label_price:
            raise UsageError("--budget needs --price-in and --price-out, or --label-price")
        if not 0.5 < self.rater_right <= 1:
            raise UsageError(f"--rater-right must be above 0.5 and at most 1, got {self.rater_right:g}")
        for name in ("calls_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"--{name.replace('_', '-')} must be above 0, got {value:g}")

    @property
    def labels_wrong(self) -> float:
        """How often the raters' majority names the worse option; a tie is decided by chance."""
        from scipy.stats import binom

        if not self.raters:
            return 0.0
        half = self.raters / 2
        wrong = float(binom.sf(np.floor(half), self.raters, 1 - self.rater_right))
        tie = float(binom.pmf(half, self.raters, 1 - self.rater_right)) if half.is_integer() else 0.0
        return wrong + tie / 2

    def minutes(self, calls: float, rate: Rate) -> float | None:
        """The slowest of what the limits and the server allow; None where nothing is known."""
        found = []
        if self.calls_per_minute:
            found.append(calls / self.calls_per_minute)
        if self.tokens_per_minute:
            found.append(calls * (rate.tokens_in + rate.tokens_out) / self.tokens_per_minute)
        if rate.seconds is not None:
            found.append(calls * rate.seconds / self.concurrency / 60)
        return max(found) if found else None


@dataclass(frozen=True, eq=False)
class Target:
    """What is planned with: the pool of one task, the judge, what a call in each encoding takes."""

    kind: str
    place: str
    task: str
    pool: Pool
    judge: JudgeModel
    rates: Mapping[str, Rate]
    notes: tuple[str, ...]
    groups: tuple[Group, ...] = ()
    """Of a data folder: what its questions are drawn from."""


@dataclass(frozen=True)
class Option:
    """A design with its power and what it takes; ``missing``: images more than there are."""

    design: Design
    power: Power
    calls: int
    labels: int
    cost: float | None
    minutes: float | None
    missing: int


@dataclass(frozen=True)
class CheckRow:
    """A check of the card at the chosen design: how often it passes, fails, or stays undecided."""

    name: str
    power: Power


@dataclass(frozen=True, eq=False)
class Plan:
    """The best designs, the chosen one first, and what is supposed.

    ``goal_reached``: whether the chosen design has the wanted power within the data and the budget.
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
        from visualjudge.apps.planning.page import text

        return text(self)

    def _repr_html_(self) -> str:
        from visualjudge.apps.planning.page import body

        return body(self)

    def save(self, path: str | Path) -> Path:
        """Write ``.json``, which ``build --plan`` reads; ``.html`` or ``.md``; or ``.svg``."""
        from visualjudge.apps.planning.page import save

        return save(self, Path(path))


# ---------------------------------------------------------------- what is there


def read_target(
    place: str | Path,
    task: str | None,
    encodings: Sequence[str],
    dataset: str | Path | None,
    seed: int,
) -> Target:
    """The data folder, dataset or run at ``place``.

    Raises
    ------
    UsageError
        If it is none of them, or holds several tasks and none is named, or no pairs of the task.
    """
    root = Path(place)
    if RunFolder(root).manifest_path.is_file():
        return _of_run(root, task, encodings, dataset)
    if (root / META).is_file():
        return _of_dataset(root, task, encodings)
    return _of_data(root, task, encodings, seed)


def _task_of(names: Sequence[str], task: str | None, place: Path) -> str:
    known = sorted(set(names))
    if task is None and len(known) == 1:
        return known[0]
    if task in known:
        return str(task)
    if not known:
        raise UsageError(f"{place}: no two predictions can be compared, so no pairwise question can be asked")
    raise UsageError(f"--task must be one of {', '.join(known)}; a plan is for one task, got {task or 'none'}")


def _of_run(root: Path, task: str | None, encodings: Sequence[str], dataset: str | Path | None) -> Target:
    study = load_study([root], dataset=dataset)
    verdicts = study.kind(0, "pairwise", VERDICTS)
    name = _task_of(verdicts["task"].cast(pl.String).unique().to_list(), task, root)
    own = verdicts.filter(pl.col("task").cast(pl.String) == name)
    chosen = _chosen(own["encoding"].cast(pl.String).unique().to_list(), encodings, root)
    own = own.filter(pl.col("encoding").cast(pl.String).is_in(chosen))
    pool = _pool(study.questions, name, root)
    judge = models.fitted(own, USUAL)
    by = own.group_by(pl.col("encoding").cast(pl.String)).agg(
        pl.col("tokens_in", "tokens_out", "latency_s").mean(), right=pl.col("right").mean()
    )
    seen = {row["encoding"]: row for row in by.sort("right", "encoding", descending=True).iter_rows(named=True)}
    estimated = None
    if any(row["tokens_in"] is None for row in seen.values()):
        estimated = _estimated(study.root or root, name, list(seen))
    rates = {
        style: Rate(row["tokens_in"], row["tokens_out"] or 0.0, row["latency_s"] or None)
        if row["tokens_in"] is not None
        else replace((estimated or {})[style], seconds=row["latency_s"] or None)
        for style, row in seen.items()
    }
    images = own["cluster"].n_unique()
    notes = [f"The judge is {study.runs[0].name}: {own.height} verdicts of the pilot on {images} images."]
    if estimated is not None:
        notes.append("The pilot states no tokens: they are estimated as `judge --dry-run` estimates them.")
    notes += _assumed(judge)
    worth = words.gains(variance_row(own, name))
    if worth != words.NONE:
        notes.append(f"In the pilot, twice as many count as so many more images: {worth}.")
    return Target("run", str(root), name, pool, judge, rates, tuple(notes))


def _assumed(judge: JudgeModel) -> list[str]:
    if not judge.assumed:
        return []
    return [f"Not in the pilot, and supposed to be as usual: variance of {', '.join(judge.assumed)}."]


def _chosen(known: Sequence[str], wanted: Sequence[str], place: Path) -> list[str]:
    for name in wanted:
        if name not in known:
            raise UsageError(f"--encoding must be one of {', '.join(sorted(known))}, got {name} ({place})")
    return list(wanted) or sorted(known)


def _pool(questions: pl.DataFrame, task: str, place: Path) -> Pool:
    """The different pairs of the pairwise questions."""
    pairs = questions.filter(
        (pl.col("kind") == "pairwise")
        & (pl.col("task").cast(pl.String) == task)
        & pl.col("answer").is_in(["A", "B"])
        & unchanged()
    ).unique("pair", keep="first", maintain_order=True)
    if pairs.is_empty():
        raise UsageError(f"{place}: holds no pairwise question of {task} with a better option")
    first = pl.col("answer") == "A"
    sources = [pl.col("sources").list.get(k, null_on_oob=True).cast(pl.String) for k in (0, 1)]
    return models.pool_of(
        pairs.select(
            image=pl.col("cluster"),
            better=pl.when(first).then(sources[0]).otherwise(sources[1]),
            worse=pl.when(first).then(sources[1]).otherwise(sources[0]),
            margin="margin",
        )
    )


def _of_dataset(root: Path, task: str | None, encodings: Sequence[str]) -> Target:
    table, _ = merged([root])
    pairwise = table.filter((pl.col("kind") == "pairwise") & unchanged())
    name = _task_of(pairwise["task"].cast(pl.String).unique().to_list(), task, root)
    styles = pairwise.filter(pl.col("task").cast(pl.String) == name)["encoding"].cast(pl.String).unique().to_list()
    pool = _pool(table, name, root)
    rates = _estimated(root, name, _chosen(styles, encodings, root))
    return Target("dataset", str(root), name, pool, _usual(pool), rates, _without_pilot(pool))


def _usual(pool: Pool) -> JudgeModel:
    return USUAL.at(USUAL.level, pool)


def _without_pilot(pool: Pool) -> tuple[str, ...]:
    image, pair, encoding, order = USUAL.shared
    return (
        f"No pilot: a usual judge is supposed, right {USUAL.level:.0%} of the time where no share "
        "is stated above, better on wide margins; verdicts correlate "
        f"{image:g} within an image, {pair:g} on a pair, {encoding:g} in one encoding of it, "
        f"{order:g} in one order; lean {USUAL.lean:g}; "
        f"{USUAL.failed:.0%} of replies fail. Judge 50 to 200 questions and plan from that run for "
        "figures of your judge.",
        "Tokens are estimated as `judge --dry-run` estimates them, with reasons in each reply.",
    )


def _estimated(root: Path, task: str, encodings: Sequence[str]) -> dict[str, Rate]:
    """Tokens of a call in each encoding, from up to 60 questions."""
    dataset, free = load_dataset(root), Prices()
    out = {}
    for style in encodings:
        asked = dataset.filter(task=task, encoding=style, question_type="pairwise")
        asks = [Ask(question) for question in islice(asked, 60)]
        if asks:
            found = estimate(dataset, asks, free, reasons=True)
            out[style] = Rate(found.tokens_in / found.calls, found.tokens_out / found.calls)
    if not out:
        raise DataError(f"{root}: has no pairwise question of {task} from which tokens could be estimated")
    return out


def _of_data(root: Path, task: str | None, encodings: Sequence[str], seed: int) -> Target:
    with DataFolder(root) as folder:
        if task is not None and task not in folder.tasks:
            raise UsageError(f"--task must be one of {', '.join(folder.tasks)}, got {task}")
        names = [task] if task else folder.tasks
        read = {name: [entry.annotation for entry in folder.entries(name)] for name in names}
    caps = Caps()
    by_task = {
        name: tuple(found for found in group(name, notes) if caps.differ(min(found.scores), max(found.scores)))
        for name, notes in read.items()
    }
    name = _task_of([name for name, groups in by_task.items() if groups], task, root)
    rows = []
    for found in by_task[name]:
        notes = {note.annotation_id: note for note in found.members}
        for pair in pairs_of(found, seed, caps):
            a, b = sorted((notes[key] for key in pair), key=lambda note: -note.final_score)
            rows.append((found.key[0], a.source, b.source, a.final_score - b.final_score))
    schema = {"image": pl.String, "better": pl.String, "worse": pl.String, "margin": pl.Float64}
    pool = models.pool_of(pl.DataFrame(rows, schema=schema, orient="row"))
    styles = _chosen(stems_of(name).final, encodings, root)
    few = Caps(judge_groups=4, judge_pairs=4, scoring_groups=0, ranking_groups=0)
    with tempfile.TemporaryDirectory() as scratch:
        build(root, Path(scratch) / "few", BuildOptions(seed, (JUDGE_ANALYSIS,), (name,), few))
        rates = _estimated(Path(scratch) / "few", name, styles)
    return Target(
        "data folder",
        str(root),
        name,
        pool,
        _usual(pool),
        rates,
        _without_pilot(pool),
        by_task[name],
    )


# ---------------------------------------------------------------- is the goal reached


@dataclass(frozen=True, eq=False)
class Question:
    """A goal made exact: what is supposed, and the power of a design to reach it."""

    claim: str
    judge: JudgeModel
    reached: Callable[[Design, int, int], Power]


def question_of(
    target: Target, goal: Goal, effect: float | None, rules: Thresholds, terms: Terms, seed: int
) -> Question:
    """What is to be shown.

    Raises
    ------
    UsageError
        If ``effect`` does not fit the goal, or the sources cannot be ranked.
    """
    pool, judge, wrong = target.pool, target.judge, terms.labels_wrong

    def drawn(design: Design, count: int, **more: Any) -> Any:
        rng = rng_for(seed, "plan", goal, *map(int, asdict(design).values()))
        return models.simulated(pool, judge, design, count, rng, labels_wrong=wrong, **more)

    if goal == "compare":
        return _compare(pool, judge, GAP if effect is None else effect, drawn)
    if goal == "probe":
        return _probe(judge, 0.0 if effect is None else effect, drawn)
    check = GOAL_CHECK[goal]
    limit = rules.checks[check]
    if goal == "right":
        lead = effect if effect is not None or target.kind == "run" else USUAL_LEAD
        judge, truth, said = _right(pool, judge, None if lead is None else limit.value + lead, wrong)
    elif goal == "bias":
        truth = judge.lean if effect is None else effect
        judge = replace(judge, lean=truth)
        said = f"the judge leans {truth:+.3f} to the option shown first"
    else:
        truth, said = _order(target, effect, seed)
    right_state = "pass" if limit.met_by(truth) else "fail"
    if abs(abs(truth) - limit.value) < AT_THRESHOLD:
        said += ", so near the threshold that hardly any number of images settles it"
    claim = f"{said}; reached where the check comes out as “{right_state}” (threshold {limit.value:g})"

    def reached(design: Design, count: int, draws: int) -> Power:
        found: list[Any] = []
        for part in _parts(design, count):
            found += models.checked(drawn(design, part), rules, (check,), draws=draws)[check]
        widths = [row.interval[1] - row.interval[0] for row in found if row.interval is not None]
        states = [row.state for row in found]
        return models.power_of([state == right_state for state in states], widths, states)

    return Question(claim, judge, reached)


def _right(pool: Pool, judge: JudgeModel, wanted: float | None, wrong: float) -> tuple[JudgeModel, float, str]:
    """The judge at the share right that is wanted, and what labels make of it."""
    share = judge.right(pool) if wanted is None else wanted
    if not 0.01 <= share <= 0.99:
        raise UsageError(f"--effect must leave the share right between 0.01 and 0.99, got {share:.2f}")
    truth = share * (1 - wrong) + (1 - share) * wrong
    return judge.at(share, pool), truth, f"the judge is right {truth:.1%} of the time"


def _order(target: Target, effect: float | None, seed: int) -> tuple[float, str]:
    """The order that endless images would show."""
    if effect is not None:
        raise UsageError("--effect does not go with --goal rank: what is ordered are the sources at hand")
    count = len(target.pool.sources)
    if count < 2:
        raise UsageError(f"{target.place}: names fewer than two sources, so that there is nothing to rank")
    rng = rng_for(seed, "population")
    truth = models.population_tau(target.pool, target.judge, Design(1, 3), rng)
    return truth, f"the judge orders the {count} sources with τ-b {truth:.2f} on endless images"


def _parts(design: Design, count: int) -> list[int]:
    """Studies that are drawn at once."""
    at_once = max(1, min(count, models.MOST_CELLS // max(1, design.calls)))
    return [min(at_once, count - done) for done in range(0, count, at_once)]


def _compare(pool: Pool, judge: JudgeModel, gap: float, drawn: Callable[..., Any]) -> Question:
    share = judge.right(pool)
    if not gap or not 0.01 <= share + gap <= 0.99:
        raise UsageError(
            f"--effect must leave the second judge's share right between 0.01 and 0.99, got {share + gap:.2f}"
        )
    second = judge.at(share + gap, pool)

    def reached(design: Design, count: int, _draws: int) -> Power:
        lows, highs = [], []
        for part in _parts(design, count):
            first, other = drawn(design, part, second=second, alike=ALIKE)
            low, high = models.gaps(other, first)
            lows += low.tolist()
            highs += high.tolist()
        shown = [low > 0 if gap > 0 else high < 0 for low, high in zip(lows, highs, strict=True)]
        return models.power_of(shown, (np.array(highs) - np.array(lows))[np.isfinite(lows)].tolist())

    claim = (
        f"a second judge is right {100 * gap:+.1f} points more often on the same questions; "
        "reached where the 95 % interval of the difference leaves out 0"
    )
    return Question(claim, judge, reached)


def _probe(judge: JudgeModel, effect: float, drawn: Callable[..., Any]) -> Question:
    margin = DESIGNS["cue"].margin
    right_state = "fail" if abs(effect) >= margin else "pass"

    def reached(design: Design, count: int, _draws: int) -> Power:
        both, states = replace(design, orders=2), []
        for part in _parts(both, count):
            states += models.probe_states(drawn(both, part, cue=effect))
        return models.power_of([state == right_state for state in states], (), states)

    claim = (
        f"a cue moves the judge by {effect:g}; reached where the probe comes out as “{right_state}” (margin {margin:g})"
    )
    return Question(claim, judge, reached)


# ---------------------------------------------------------------- the search


def least_images(power_at: Callable[[int], float], wanted: float, least: int = LEAST, most: int = MOST) -> int | None:
    """The fewest images at which ``power_at`` is ``wanted``, to 6 %; None where ``most`` fail."""
    low, high = 0, least
    while power_at(high) < wanted:
        if high >= most:
            return None
        low, high = high, min(most, 2 * high)
    while high - low > max(1, round(NEAR * high)):
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= wanted else (middle, high)
    return high


def shapes(target: Target, goal: Goal, encodings: int) -> list[Design]:
    """The kinds of designs that are tried: pairs and orders, then another repeat and encoding."""
    most = int(np.quantile(target.pool.per_image, 0.75))
    pairs = [k for k in PAIRS if k <= most] or [1]
    orders = (2,) if goal == "probe" else (1, 2)
    plain = [Design(0, k, 1, o) for k in pairs for o in orders]
    more = [replace(plain[-1], repeats=2)]
    more += [replace(plain[-1], encodings=2)] if encodings > 1 and goal != "probe" else []
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
    """Plan a study: the least images, pairs, orders and repeats that answer a question.

    Parameters
    ----------
    target
        A data folder, a dataset, or the run of a pilot of 50 to 200 questions.
    goal
        ``"rank"`` (may I rank my models with this judge?), ``"right"`` (is it right often enough?),
        ``"bias"`` (does it lean to the option shown first?), ``"compare"`` (is one judge better
        than another?) or ``"probe"`` (does a cue move it?).
    effect
        The true effect that the study is to show: of ``right`` how far the share right lies above
        the card's threshold, of ``bias`` the lean, of ``compare`` the difference, of ``probe`` the
        effect of the cue. None: the pilot's (without one 0.1 for ``right``), 0.05 for ``compare``
        and 0 for ``probe``.
    power
        With which probability the study is to reach its goal.
    task, encodings
        The task, where there are several; the encodings to use, the first one first.
    terms
        Prices, budget, limits of rate, labels.
    dataset
        Folder of the pilot's dataset, if it has moved.
    thresholds
        YAML file with your own thresholds of the card.
    seed
        Seed of the simulation and of the questions that ``build --plan`` draws.

    Raises
    ------
    UsageError
        If an option does not fit, or there are several tasks and none is named.
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
    question = question_of(there, goal, effect, rules, held, seed)
    styles = list(there.rates)

    def option(design: Design, found: Power) -> Option:
        rate = _mean_rate([there.rates[name] for name in styles[: design.encodings]])
        calls = design.calls * (2 if goal == "compare" else 1)
        labels = design.images * design.pairs * held.raters
        stated = held.prices.are_stated or held.label_price
        cost = calls * held.prices.of(1, 0) * rate.tokens_in + calls * held.prices.of(0, 1) * rate.tokens_out
        total = cost + labels * held.label_price if stated else None
        missing = max(0, design.images - there.pool.images)
        return Option(design, found, calls, labels, total, held.minutes(calls, rate), missing)

    found, short = _searched(there, goal, question, power, option, held.budget)
    nearest = sorted(short, key=lambda o: (-round(o.power.value, 2), *_worth(o)))
    best = (*sorted(found, key=_worth), *nearest)[:SHOWN] if not found else (*sorted(found, key=_worth), *nearest[:1])
    curves = tuple((one, _curve(question, one.design)) for one in best[:3])
    notes = [*there.notes]
    first = best[0]
    caps, exact = _caps(there, first.design, seed)
    notes += exact
    if first.missing:
        held_images = many(there.pool.images, "image")
        notes.append(f"The data hold {held_images} with such pairs: {first.missing} more are needed.")
    checks: tuple[CheckRow, ...] = ()
    if goal not in ("compare", "probe"):
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


def _mean_rate(rates: Sequence[Rate]) -> Rate:
    seconds = [rate.seconds for rate in rates if rate.seconds is not None]
    tokens = ((sum(getattr(rate, name) for rate in rates) / len(rates)) for name in ("tokens_in", "tokens_out"))
    return Rate(next(tokens), next(tokens), sum(seconds) / len(seconds) if seconds else None)


def _worth(one: Option) -> tuple[float, ...]:
    """What the data allow, or lack least, first; then the cheaper, then the fewer images."""
    return (
        float(one.missing),
        one.cost if one.cost is not None else float(one.calls),
        one.design.images,
    )


def _searched(
    target: Target,
    goal: Goal,
    question: Question,
    wanted: float,
    option: Callable[[Design, Power], Option],
    budget: float | None,
) -> tuple[list[Option], list[Option]]:
    """Designs that reach the power in the budget, and the nearest that images and budget allow."""
    enough, short = [], []
    for shape in shapes(target, goal, len(target.rates)):

        def power_at(images: int, shape: Design = shape) -> float:
            return question.reached(replace(shape, images=images), SEARCHED, SEARCH_DRAWS).value

        images = least_images(power_at, wanted)
        one = None if images is None else option(replace(shape, images=images), models.power_of([True]))
        if one is not None and (budget is None or (one.cost or 0.0) <= budget):
            enough.append(one)
        most = target.pool.images
        if budget is not None:
            each = option(replace(shape, images=1), models.power_of([True])).cost or 0.0
            most = min(most, int(budget / each)) if each else most
        if most >= 2 and (images is None or images > most):
            short.append(replace(shape, images=most))
    confirmed = (_confirmed(question, one.design, wanted, option) for one in sorted(enough, key=_worth)[:SHOWN])
    found = [one for one in confirmed if one is not None and (budget is None or (one.cost or 0.0) <= budget)]
    if any(not one.missing for one in found):
        return found, []
    nearest = [option(design, question.reached(design, CONFIRMED, CONFIRM_DRAWS)) for design in short]
    if not found and not nearest:
        raise UsageError(f"--budget {budget:g} does not pay for the questions on two images")
    return found, nearest


def _confirmed(
    question: Question, design: Design, wanted: float, option: Callable[[Design, Power], Option]
) -> Option | None:
    """The design with its power from more studies, larger where the search was lucky."""
    for _ in range(8):
        power = question.reached(design, CONFIRMED, CONFIRM_DRAWS)
        if power.value >= wanted:
            return option(design, power)
        design = replace(design, images=max(design.images + 1, round(1.07 * design.images)))
    return None


def _curve(question: Question, design: Design) -> tuple[tuple[int, Power], ...]:
    """Power at fewer and more images than chosen."""
    steps = dict.fromkeys(max(2, round(part * design.images)) for part in (0.25, 0.5, 0.75, 1, 1.5, 2))
    return tuple((n, question.reached(replace(design, images=n), CURVE, SEARCH_DRAWS)) for n in steps)


def _other_checks(
    target: Target, judge: JudgeModel, design: Design, rules: Thresholds, terms: Terms, seed: int
) -> tuple[CheckRow, ...]:
    """What each check of the card would show at the chosen design."""
    names = [name for name in ("macro_accuracy", "right_in_both_orders", "lean", "failed") if name in rules.checks]
    if len(target.pool.sources) > 1:
        names.append("order_of_sources")
    if design.orders == 1:
        names.remove("right_in_both_orders")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for part in _parts(design, SEARCHED * 2):
        rng = rng_for(seed, "checks", part)
        studies = models.simulated(target.pool, judge, design, part, rng, labels_wrong=terms.labels_wrong)
        assert isinstance(studies, Studies)
        for name, rows in models.checked(studies, rules, names).items():
            found[name] += rows
    out = []
    for name, rows in found.items():
        states = [row.state for row in rows]
        widths = [row.interval[1] - row.interval[0] for row in rows if row.interval is not None]
        out.append(
            CheckRow(
                name,
                models.power_of([state in ("pass", "fail") for state in states], widths, states),
            )
        )
    return tuple(out)


# ---------------------------------------------------------------- what builds it


def _caps(target: Target, design: Design, seed: int) -> tuple[Caps, tuple[str, ...]]:
    """Caps of `build` for so many images and pairs, and what they come to in a data folder."""
    wanted, groups = design.images * design.pairs, design.images
    notes: tuple[str, ...] = ()
    if target.groups:
        images: set[str] = set()
        pairs, caps = 0, Caps()
        groups = 0
        for found in spread(target.groups, len(target.groups), seed):
            if len(images) >= design.images and pairs >= wanted:
                break
            images.add(found.key[0])
            pairs += min(design.pairs, len(pairs_of(found, seed, caps)))
            groups += 1
        notes = (f"`build` draws {many(min(pairs, wanted), 'pair')} on {many(len(images), 'image')}.",)
    return Caps(0, 0, groups, wanted, 0, 0), notes


def read_build(path: str | Path) -> tuple[str, int, Caps]:
    """Task, seed and caps of a plan that :meth:`Plan.save` wrote.

    Raises
    ------
    DataError
        If the file is no such plan.
    """
    place = Path(path)
    try:
        told = jsons.read(place, jsons.LARGEST_META)["build"]
        task, seed, caps = told["task"], told["seed"], told["caps"]
        known = {one.name for one in fields(Caps)}
        if not isinstance(task, str) or type(seed) is not int or set(caps) - known:
            raise TypeError
        if any(isinstance(value, bool) or not isinstance(value, int | float) for value in caps.values()):
            raise TypeError
        return task, seed, Caps(**caps)
    except OSError as error:
        raise DataError(f"{place}: cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError(f"{place}: must be a plan from `visualjudge plan --out FILE.json`") from None
