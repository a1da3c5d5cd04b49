"""How a judge orders the sources: the pairs of models by the first kind of question
that compares some, and for each kind the means by judge and truth, rank sets, τ-b and
favouritism. The tests of pairs are in ``analysis/separation.py``; strengths, in
``figures/strengths.py``.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.judged_items import (
    MEASURES,
    Items,
    comparisons,
    items,
)
from visualjudge.analysis.decisions.model_answer import NO_ANSWER
from visualjudge.analysis.figure_text import (
    GROUPS_NOTE,
    group_name,
    many,
    number3,
    ranks,
    span3,
)
from visualjudge.analysis.separation import (
    Model,
    PairsOfModels,
    Ranks,
    separate,
)
from visualjudge.analysis.statistics.favour import (
    Favour,
    above_truth,
    fair_fit,
    means_by_image,
)
from visualjudge.analysis.study_shape import shape_of
from visualjudge.analysis.study_table import Study
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    block,
    blocks,
    grid,
    named,
)
from visualjudge.analysis.value_and_interval import NO_TRUTH
from visualjudge.core.text_tables import Table

KINDS = ("pairwise", "ranking", "scoring")


@dataclass(frozen=True, slots=True)
class SourceByJudge:
    """A source of a group by judge and by truth, means over images; the ranks that the
    pairs of models leave possible; and how far the judge is above an unbiased one, or
    above the truth.
    """

    source: str
    group: str
    judged: float
    true: float
    rank: int
    rank_set: tuple[int, int]
    bias: Favour


@dataclass(frozen=True, eq=False)
class OrderOfKind:
    """Results of one kind of question on the order of the sources. ``exact``: whether
    the truth is, so that favouritism is tested.
    """

    kind: str
    models: PairsOfModels
    sources: tuple[SourceByJudge, ...]
    exact: bool
    left_out: tuple[str, ...] = ()
    """Sources, with their groups, that no usable reply compares with another; no figure
    here includes them.
    """
    noun: str = "model"
    """What a source is: a model, or a controlled error."""

    @property
    def order(self) -> str:
        """How well the judge orders the sources, as a description."""
        tau = self.models.tau_b
        models = many(len(self.sources), self.noun)
        least = (
            f" ({number3(tau.interval[0])} if every pair that is not separated were wrong)"
            if tau.interval
            else ""
        )
        return (
            f"Order of {models} by {MEASURES[self.kind]}, against the truth: τ-b "
            f"{number3(tau.value)}{least}."
        )

    def moved(self) -> tuple[int, str]:
        """The largest number of models that a source passes by the judge's favour, and
        what to say of it. Only sources whose favour is significant (p < 5 % after Holm)
        count.
        """
        sure = [row for row in self.sources if row.bias.sure]
        if not sure:
            return 0, ""
        passed = [(*self._passed(row), row) for row in sure]
        ranks, beside, row = max(
            passed, key=lambda each: (*each[:2], abs(each[2].bias.value))
        )
        groups = {row.group for row in self.sources}
        of = f" of {group_name(row.group, 2)}" if len(groups) > 1 else ""
        source = row.source + of
        above = row.bias.value > 0
        if ranks:
            return (
                ranks,
                f"it puts {source} {many(ranks, 'rank')} "
                f"{'higher' if above else 'lower'} than its quality explains",
            )
        favours = f"it {'favours' if above else 'disfavours'} {source}"
        if beside:
            models = many(beside, "model")
            return (
                beside,
                f"{favours}, and separates it from {models}, unlike the truth",
            )
        return 0, f"{favours}, but by less than one rank"

    def _passed(self, row: SourceByJudge) -> tuple[int, int]:
        """Return how many models the judge places below a favoured one, or above a
        disfavoured one, wrongly; and how many it only separates from it wrongly, since
        the truth has the same order.

        Wrongly: the pair is proven wrong, or all corrected values have the opposite
        order.
        """
        side = 1 if row.bias.value > 0 else -1
        near = {
            other.source: other
            for other in self.sources
            if other.group == row.group
        }
        placed = separated = 0
        for pair in self.models.pairs:
            if pair.group != row.group or row.source not in (pair.a, pair.b):
                continue
            turned = side if pair.a == row.source else -side
            other = near.get(pair.b if pair.a == row.source else pair.a)
            wrong = pair.state == "wrong" and pair.judge_order == turned
            against = other is not None and _crossed(row, other)
            ahead = turned * (pair.judge - 0.5) > 0
            if turned * ((pair.truth or 0.5) - 0.5) > 0:
                separated += wrong
            else:
                placed += wrong or (ahead and against)
        return placed, separated


def _crossed(row: SourceByJudge, other: SourceByJudge) -> bool:
    """Return whether two sources change places if both are corrected."""
    gap = row.judged - other.judged
    return gap * (gap - row.bias.value + other.bias.value) < 0


def _message(row: SourceByJudge) -> str:
    if not row.bias.sure:
        return "no"
    return "favoured" if row.bias.value > 0 else "disfavoured"


FAVOUR = Layout[Favour](*as_named("value", "p"), Column("ci95", "interval"))
SOURCE = Layout[SourceByJudge](
    named("group", "Group", group_name, text=True),
    named("source", "Model"),
    named("judged", "By the judge", number3),
    named("true", "By truth", number3),
    *as_named("rank"),
    named("rank_set", "Ranks by judge", ranks),
    block("bias", FAVOUR),
    Column(None, "bias.value", "Favour", number3),
    Column(None, "bias.interval", "95 %", span3),
    Column(None, _message, "Proven"),
)
KIND = Layout[OrderOfKind](
    *as_named("kind", "left_out"),
    Column("measure", lambda kind: MEASURES[kind.kind]),
    Column("tau_b", "models.tau_b.value"),
    Column("ci95", "models.tau_b.interval"),
    Column("images", "models.images"),
    Column("pairs", "models.tau_b.n"),
    *as_named("exact"),
    blocks("sources", SOURCE),
)


RANKS = "Ranks: those that the tests of pairs leave to a model."
OF_FAVOUR = (
    "Favour: how far the judge’s value lies above that of an unbiased judge that errs as "
    "often, whose errors draw all models towards their mean, so it is not judge less truth; "
    "proven: by a test adjusted (Holm) for all models and tasks."
)
TO_TRUTH = (
    "Favour: the judge’s mean less that of the truth, without a test, as noise in such a "
    "truth reads as favour."
)


def sources_table(kind: OrderOfKind) -> Table:
    """Return each source by judge and by truth, its possible ranks in its group, and
    which sources are favoured.
    """
    apart = len({row.group for row in kind.sources}) > 1
    notes = [
        RANKS,
        *[GROUPS_NOTE] * apart,
        OF_FAVOUR if kind.exact else TO_TRUTH,
    ]
    if kind.left_out:
        notes.append(
            "Left out, because no usable reply compares them: "
            f"{'; '.join(kind.left_out)}."
        )
    return grid(
        SOURCE,
        sorted(kind.sources, key=lambda row: (row.group, row.rank)),
        title=f"{kind.noun.title()}s by {MEASURES[kind.kind]}",
        notes=notes,
        keys=1 + apart,
        hidden=[] if apart else ["group"],
    )


@dataclass(frozen=True, eq=False)
class SourceOrder:
    """The kinds that compare at least two sources, and each pair of models by the first
    of them; ``main`` is the first of pairwise, ranking, scoring.

    ``why`` is the reason if no kind does; ``images`` counts those with answered
    questions about the sources.
    """

    kinds: tuple[OrderOfKind, ...]
    why: str | None = None
    images: int = 0
    models: PairsOfModels | None = None

    @property
    def main(self) -> OrderOfKind | None:
        """The kind whose figures represent the judge."""
        return self.kinds[0] if self.kinds else None


_ORDERS = WeakKeyDictionary[Study, dict[tuple[int, float], "SourceOrder"]]()
"""What was computed: the report, the card and the leaderboard read the same."""


def source_order(study: Study, run: int, level: float = 1.0) -> SourceOrder:
    """Return how one run orders the sources. Tests of favouritism have the part
    ``level`` of 5 %: the rest is for other tables of the judge.
    """
    known = _ORDERS.setdefault(study, {})
    if (run, level) not in known:
        known[run, level] = _ordered(study, run, level)
    return known[run, level]


def ranks_of(study: Study, run: int) -> dict[Model, Ranks]:
    """Return the ranks of each (group, source) by the pairwise answers of a run."""
    models = source_order(study, run, level_of(study, run)).models
    return {} if models is None else models.ranks()


def level_of(study: Study, run: int) -> float:
    """Return the part of the level that tests of all questions have: half, if there are
    tables of several tasks besides.
    """
    return 1.0 if study.joined[run]["task"].n_unique() < 2 else 0.5


def _ordered(study: Study, run: int, level: float) -> SourceOrder:
    held = study.joined[run]["kind"].unique()
    asked = [
        result
        for kind in KINDS
        if kind in held and (result := items(study, kind, run)).comparable
    ]
    rows = [comparisons(result) for result in asked]
    compared = [separate(row) if row.judge.size else None for row in rows]
    models = next((result for result in compared if result is not None), None)
    exact = study.has_exact_scores(run)
    errors = shape_of(study, run) == "controlled_errors"
    kinds = tuple(
        kind
        for result, pairs in zip(asked, compared, strict=True)
        if pairs is not None
        and (kind := _measured(result, pairs, exact, level, errors)) is not None
    )
    if kinds:
        return SourceOrder(kinds, models=models)
    if not asked:
        return SourceOrder(
            (),
            "no question compares two named models of one task",
            models=models,
        )
    images = (
        asked[0].rows.filter(pl.col("said").is_not_nan())["image"].n_unique()
    )
    return SourceOrder((), _why_none(asked[0]), images, models)


def _why_none(judged: Items) -> str:
    """Explain why the first kind of question that compares sources does not order
    them."""
    truth = np.isfinite(judged["truth"])
    if not truth.any():
        return NO_TRUTH
    if not (truth & np.isfinite(judged["said"])).any():
        return NO_ANSWER
    return "its usable answers compare no two models on two images"


def _measured(
    asked: Items,
    models: PairsOfModels,
    exact: bool,
    level: float,
    errors: bool,
) -> OrderOfKind | None:
    result, silent = asked.answered()
    if not result.names:
        return None
    names = ("said", "truth", "source", "image", "pair")
    answers, truth, source, image, pair = (result[name] for name in names)
    judged, _, images = means_by_image(
        answers, source, image, len(result.names)
    )
    true, *_ = means_by_image(truth, source, image, len(result.names))
    if images.max() < 2:
        return None
    fair = None
    if exact:
        fair = fair_fit(
            answers,
            truth,
            result["level"],
            source,
            pair,
            image,
            result["task"],
            result.group,
        )
    least = above_truth(answers, truth, source, image, len(result.names))
    bias = least if fair is None else fair.favours(level)
    keys = list(zip(result.groups, result.names, strict=True))
    by_judge = dict(zip(keys, judged.tolist(), strict=True))
    by_truth = dict(zip(keys, true.tolist(), strict=True))
    # win rates are the means of those of the pairs
    if result.kind != "scoring":
        by_judge |= models.order("judge")
        by_truth |= models.order("truth")
    ranks = models.ranks()
    sources = []
    for key, favour in zip(keys, bias, strict=True):
        group, name = key
        own = ranks.get(key, (1, 1, result.groups.count(group)))
        sources.append(
            SourceByJudge(
                name,
                group,
                by_judge[key],
                by_truth[key],
                own[0],
                own[1:],
                favour,
            )
        )
    return OrderOfKind(
        result.kind,
        models,
        tuple(sources),
        fair is not None,
        silent,
        "error" if errors else "model",
    )
