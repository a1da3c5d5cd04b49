"""The cheapest judge, votes, panel or cascade that keeps within a risk, from existing runs.

A question's answer is the majority of its verdicts; without a majority it is wrong. In a panel, the
judges of each order and repeat vote first (:class:`~visualjudge.judges.panel.PanelJudge`). In a
cascade, the first judge's answer is accepted if it is sure enough
(:func:`~visualjudge.judges.cascade.decide`). Everything is chosen on one half of the images, by the
one-standard-error rule (Breiman et al. 1984): the cheapest candidate whose error plus one standard
error, clustered by image, is within the risk. Its error and cost are measured on the other half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.cascade import Accuracy, accuracy_of
from visualjudge.analysis.load import load_study
from visualjudge.analysis.statistics.jackknife import LEAST_IMAGES, sums
from visualjudge.analysis.study_table import NO_REMARKS, Remarks, Study, fully_asked, remarks_on
from visualjudge.apps.frontdoor.opened_run import Runs, folders_of
from visualjudge.core.case_noun import current_noun, in_cases, in_cases_of
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import BoolArray, FloatArray, IntArray, Order
from visualjudge.core.seeding import rng_for
from visualjudge.core.yamls import read_yaml
from visualjudge.judges.cascade import By, CascadeRule, decide
from visualjudge.runs.budget import Prices

PANELS = (3, 5)
"""Sizes of panels: an even number has more ties and is not right more often."""
THRESHOLDS = 12
MOST_JUDGES = 8
NO_ANSWER = -1
Kind = Literal["one call", "votes", "panel", "cascade"]
Asks = tuple[tuple[Order, int], ...]
Price = float | tuple[float, float]
"""Price of a call, or per million tokens of prompt and reply."""


@dataclass(frozen=True)
class Asked:
    """A judge, the order it is asked in, and the number of times."""

    judge: str
    backend: str
    model: str
    asks: Asks

    @property
    def orders(self) -> int:
        """Number of orders: 1, or 2 with both orders."""
        return len({order for order, _ in self.asks})

    @property
    def repeats(self) -> int:
        """Number of times each order is asked."""
        return len(self.asks) // self.orders


@dataclass(frozen=True)
class Candidate:
    """One way to judge. ``chosen_error`` and ``chosen_cost`` are measured on the images it was
    chosen on, ``error`` and ``cost`` (per question) on the others. ``later`` is the share of
    questions that a cascade passes to its second judge. ``front`` marks a candidate on the Pareto
    front where chosen.
    """

    kind: Kind
    members: tuple[Asked, ...]
    rule: CascadeRule | None
    chosen_error: float
    chosen_spread: float
    chosen_cost: float
    error: Accuracy
    cost: float
    later: float | None = None
    front: bool = False


@dataclass(frozen=True, eq=False)
class JudgePlan:
    """All candidates, cheapest first, and the chosen one. ``reached`` says whether one kept within
    the risk where it was chosen. Without ``priced``, a cost is a number of calls.
    """

    risk: float
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    reached: bool
    priced: bool
    images: tuple[int, int]
    questions: tuple[int, int]
    remarks: Remarks = NO_REMARKS
    case_noun: str = field(default_factory=current_noun)

    def __str__(self) -> str:
        from visualjudge.apps.planning.cheapest_judges_page import text

        return text(self)

    def _repr_html_(self) -> str:
        from visualjudge.apps.planning.cheapest_judges_page import body

        return body(self)

    def save(self, path: str | Path) -> Path:
        """Write ``.json``, which `judge --cascade` reads if a cascade is chosen, ``.html`` or
        ``.md``.
        """
        from visualjudge.apps.planning.cheapest_judges_page import save

        return save(self, Path(path))


def plan_judges(
    runs: Runs,
    *,
    risk: float = 0.1,
    prices: Mapping[str, Price] | None = None,
    dataset: str | Path | None = None,
    seed: int = 0,
) -> JudgePlan:
    """Find the cheapest judge, votes, panel or cascade whose share of wrong answers is within a
    risk.

    Parameters
    ----------
    runs
        1 to 8 runs over one dataset, or their folders.
    risk
        Maximum share of wrong answers, above 0 and below 1.
    prices
        By judge or folder name: the price of a call, or the prices per million tokens of prompt
        and reply. None: cost is counted in calls.
    dataset
        Folder of the dataset, if it has moved since the runs.
    seed
        Seed for splitting the images into two halves.

    Raises
    ------
    UsageError
        If ``risk`` or ``prices`` are invalid.
    DataError
        If a run cannot be read, fewer than 10 images have a pairwise question that all runs
        answered in the same orders and repeats, or the right answers are not known.

    Examples
    --------
    With runs on disk::

        prices = {"small": 0.001, "large": (2.5, 10.0)}
        print(vj.plan_judges(["runs/small", "runs/large"], risk=0.1, prices=prices))
    """
    folders = folders_of(runs)
    if len(folders) > MOST_JUDGES:
        raise UsageError(f"--judges must name at most {MOST_JUDGES} runs, got {len(folders)}")
    return plan_of(load_study(folders, dataset=dataset), risk=risk, prices=prices, seed=seed)


@in_cases_of
def plan_of(
    study: Study,
    *,
    risk: float = 0.1,
    prices: Mapping[str, Price] | None = None,
    seed: int = 0,
) -> JudgePlan:
    """Run :func:`plan_judges` on a study in memory."""
    if not 0 < risk < 1:
        raise UsageError(f"--risk must be above 0 and below 1, got {risk:g}")
    study.require_truth("judges are chosen")
    answers = _answers(study, dict(prices or {}))
    images = np.unique(answers[0].image)
    if images.size < 2 * LEAST_IMAGES:
        raise DataError(
            f"--judges needs pairwise questions that all runs answered on at least "
            f"{2 * LEAST_IMAGES} {in_cases('images')}, got {images.size}"
        )
    half = rng_for(seed, "halves", images.size).permutation(images)[: images.size // 2]
    first = np.isin(answers[0].image, half)
    candidates = _with_front(list(_candidates(answers, first, risk)))
    kept = [one for one in candidates if one.chosen_error + one.chosen_spread <= risk]
    best = kept[0] if kept else min(candidates, key=lambda one: (one.chosen_error, one.chosen_cost))
    return JudgePlan(
        risk,
        tuple(candidates),
        best,
        bool(kept),
        prices is not None,
        (half.size, images.size - half.size),
        (int(first.sum()), int((~first).sum())),
        remarks_on(study.runs),
    )


def read_prices(texts: Sequence[str]) -> dict[str, Price]:
    """Read prices from ``NAME=IN/OUT`` (per million tokens), ``NAME=CALL``, or a YAML or JSON file
    of them.

    Raises
    ------
    UsageError
        If a price is not a number of 0 or more.
    DataError
        If a file cannot be read.
    """
    out: dict[str, Price] = {}
    for text in texts:
        name, mark, value = text.rpartition("=")
        told = {name: value} if mark else read_yaml(text)
        if not isinstance(told, Mapping):
            raise DataError(f"{text}: must map names of judges to prices, got {told!r}")
        for judge, price in told.items():
            parts = str(price).split("/")
            try:
                numbers = [float(part) for part in parts]
            except ValueError:
                numbers = []
            if len(numbers) not in (1, 2) or not all(0 <= x < np.inf for x in numbers):
                raise UsageError(
                    f"--price {judge} must be IN/OUT per million tokens or the price per call, "
                    f"got {price!r}"
                )
            out[str(judge)] = numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
    return out


# ---------------------------------------------------------------- answers of the runs


@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers of one run to the Q common questions: one number per ask (Q, asks), the probability
    of A and the price; ``truth`` and ``image`` have shape (Q,).
    """

    who: Asked
    said: IntArray
    letters: tuple[str, ...]
    probability: FloatArray
    price: FloatArray
    truth: IntArray
    image: IntArray

    @property
    def by(self) -> By:
        """Source of confidence: the probabilities, if each usable verdict has one."""
        known = np.isfinite(self.probability)[self.said != NO_ANSWER]
        return "probability" if known.size and known.all() else "agreement"

    def levels(self) -> Iterator[Asked]:
        """Yield each way to ask: in one or both orders, with one or all repeats."""
        orders = list(dict.fromkeys(order for order, _ in self.who.asks))
        most = max(repeat for _, repeat in self.who.asks) + 1
        for o in range(1, len(orders) + 1):
            for r in range(1, most + 1):
                asks = tuple(a for a in self.who.asks if a[0] in orders[:o] and a[1] < r)
                if len(asks) == o * r:
                    yield replace(self.who, asks=asks)

    def places(self, asks: Asks) -> list[int]:
        return [self.who.asks.index(ask) for ask in asks]

    def cost(self, asks: Asks) -> FloatArray:
        """Return the cost of each question, (Q,)."""
        return np.asarray(self.price[:, self.places(asks)].sum(1))

    def answer(self, asks: Asks) -> IntArray:
        """Return the majority answer to each question, (Q,)."""
        return voted(self.said[:, self.places(asks)])

    def sure(self, asks: Asks) -> tuple[BoolArray, FloatArray]:
        """Return whether the accepted answer is right, and its confidence (0 without an answer);
        (Q,).
        """
        where = self.places(asks)
        found = [
            decide(
                [None if code == NO_ANSWER else self.letters[code] for code in said],
                [None if np.isnan(p) else p for p in told],
                self.by,
            )
            for said, told in zip(
                self.said[:, where].tolist(), self.probability[:, where].tolist(), strict=True
            )
        ]
        truth = [self.letters[code] for code in self.truth]
        right = [answer == true for (answer, _), true in zip(found, truth, strict=True)]
        return np.array(right), np.array([sure if answer else 0.0 for answer, sure in found])


def voted(said: IntArray) -> IntArray:
    """Return the most frequent of (Q, votes), (Q,); −1 without votes or if the two most frequent
    are equally so.
    """
    counts = np.stack([(said == k).sum(1) for k in range(said.max(initial=0) + 1)], axis=1)
    most = counts.max(1)
    alone = ((counts == most[:, None]).sum(1) == 1) & (most > 0)
    return np.where(alone, counts.argmax(1), NO_ANSWER)


def _answers(study: Study, prices: dict[str, Price]) -> list[_Answers]:
    tables = [fully_asked(study.kind(run, "pairwise")) for run in range(len(study.runs))]
    common = tables[0].select(pl.col("id").cast(pl.String), "answer", "cluster").unique("id")
    for table in tables[1:]:
        common = common.join(table.select(pl.col("id").cast(pl.String)), on="id", how="semi")
    common = common.sort("id")
    if common.is_empty():
        raise DataError("the runs have no pairwise question in common")
    names = {str(text) for table in tables for text in table["text"].drop_nulls().unique()}
    letters = tuple(sorted({*names, *common["answer"].cast(pl.String)}))
    codes = {letter: k for k, letter in enumerate(letters)}
    truth = np.array([codes[str(one)] for one in common["answer"]])
    image = common["cluster"].to_numpy().astype(np.int64)
    out = []
    for run, table in zip(study.runs, tables, strict=True):
        told = run.info
        asks = tuple(sorted(set(table.select(pl.col("order").cast(pl.String), "repeat").rows())))
        who = Asked(run.name, str(told.get("backend")), str(told.get("model") or run.name), asks)
        known = {run.name, who.model, *([run.folder.name] if run.folder else [])}
        price = next((prices[name] for name in sorted(known) if name in prices), None)
        if prices and price is None:
            raise UsageError(f"--price must name each judge, got none for {run.name}")
        shape = (common.height, len(asks))
        said = np.full(shape, NO_ANSWER, dtype=np.int64)
        sure, paid = np.full(shape, np.nan), np.zeros(shape)
        own = table.with_columns(
            pl.col("id", "order").cast(pl.String),
            cost=_cost(price, run.name, table),
            text=pl.when("parsed").then(pl.col("text").cast(pl.String)),
        ).join(common.select("id", row=pl.int_range(pl.len())), on="id")
        row = own["row"].to_numpy()
        place = [asks.index(ask) for ask in own.select("order", "repeat").rows()]
        said[row, place] = [codes.get(text, NO_ANSWER) for text in own["text"]]
        sure[row, place] = own["probability_a"].fill_null(np.nan).to_numpy()
        paid[row, place] = own["cost"].to_numpy()
        out.append(_Answers(who, said, letters, sure, paid, truth, image))
    return out


def _cost(price: Price | None, judge: str, table: pl.DataFrame) -> pl.Expr:
    """Return the price of each verdict; a call without token counts has the average price of the
    others.
    """
    if not isinstance(price, tuple):
        return pl.lit(1.0 if price is None else float(price))
    per = Prices(*price)
    if table["tokens_in"].null_count() == table.height:
        raise UsageError(
            f"--price {judge} must be the price per call, since its run has no token counts, got "
            f"{price[0]:g}/{price[1]:g}"
        )
    tokens_in, tokens_out = (
        pl.col(name).fill_null(pl.col(name).mean()).fill_null(0)
        for name in ("tokens_in", "tokens_out")
    )
    return tokens_in * per.of(1, 0) + tokens_out * per.of(0, 1)


# ---------------------------------------------------------------- candidates


_Level = tuple[_Answers, Asked]


def _candidates(answers: Sequence[_Answers], first: BoolArray, risk: float) -> Iterator[Candidate]:
    levels = [(one, level) for one in answers for level in one.levels()]
    for one, level in levels:
        kind: Kind = "one call" if len(level.asks) == 1 else "votes"
        right = one.answer(level.asks) == one.truth
        yield _measured(kind, (level,), right, one.cost(level.asks), one.image, first)
    for asks in dict.fromkeys(level.asks for _, level in levels):
        able = [(one, level) for one, level in levels if level.asks == asks]
        for size in PANELS:
            yield from (_panel(group, asks, first) for group in combinations(able, size))
    sure = {level: one.sure(level.asks) for one, level in levels}
    for cheap, dear in permutations(levels, 2):
        if cheap[1].judge != dear[1].judge:
            found = _cascade(cheap, dear, *sure[cheap[1]], first, risk)
            yield from [] if found is None else [found]


def _panel(group: Sequence[_Level], asks: Asks, first: BoolArray) -> Candidate:
    by_ask = [
        voted(np.stack([one.said[:, one.who.asks.index(ask)] for one, _ in group], axis=1))
        for ask in asks
    ]
    one = group[0][0]
    right = voted(np.stack(by_ask, axis=1)) == one.truth
    cost = np.sum([member.cost(asks) for member, _ in group], axis=0)
    return _measured("panel", tuple(level for _, level in group), right, cost, one.image, first)


def _cascade(
    cheap: _Level,
    dear: _Level,
    right: BoolArray,
    confidence: FloatArray,
    first: BoolArray,
    risk: float,
) -> Candidate | None:
    """Return the best threshold; None if ``dear`` does not cost more, or is never asked."""
    (one, start), (other, end) = cheap, dear
    paid, more = one.cost(start.asks), other.cost(end.asks)
    steps = np.unique(confidence[first & (confidence > 0)])
    if not steps.size or paid[first].mean() >= more[first].mean():
        return None
    behind, tried = other.answer(end.asks) == other.truth, []
    for step in np.unique(np.quantile(steps, np.linspace(0, 1, THRESHOLDS), method="lower")):
        later = confidence < step
        if not later[first].any():
            continue
        hit, cost = np.where(later, behind, right), paid + later * more
        above = sum(_error(hit[first], one.image[first])) > risk
        worth = (above, -hit[first].mean() if above else cost[first].mean())
        tried.append((worth, float(step), hit, cost, float(later[~first].mean())))
    if not tried:
        return None
    _, step, hit, cost, share = min(tried, key=lambda row: row[:2])
    found = _measured("cascade", (start, end), hit, cost, one.image, first)
    return replace(found, rule=CascadeRule(step, one.by, start.asks), later=share)


def _error(right: BoolArray, image: IntArray) -> tuple[float, float]:
    """Return the share of wrong answers and its standard error, clustered by image."""
    wrong = (~right).astype(float)
    _, place = np.unique(image, return_inverse=True)
    groups = int(place.max()) + 1
    apart = sums(place, wrong - wrong.mean(), groups)
    return float(wrong.mean()), float(
        np.sqrt((apart**2).sum() * groups / (groups - 1)) / wrong.size
    )


def _measured(
    kind: Kind,
    members: tuple[Asked, ...],
    right: BoolArray,
    cost: FloatArray,
    image: IntArray,
    first: BoolArray,
) -> Candidate:
    share, spread = _error(right[first], image[first])
    _, other = np.unique(image[~first], return_inverse=True)
    return Candidate(
        kind,
        members,
        None,
        share,
        spread,
        float(cost[first].mean()),
        accuracy_of(~right[~first], other),
        float(cost[~first].mean()),
    )


def _with_front(found: list[Candidate]) -> list[Candidate]:
    """Sort by cost; a candidate is on the Pareto front if it errs less than all that do not cost
    more.
    """
    ordered = sorted(found, key=lambda one: (one.chosen_cost, one.chosen_error))
    least, out = np.inf, []
    for one in ordered:
        out.append(replace(one, front=one.chosen_error < least))
        least = min(least, one.chosen_error)
    return out
