"""How a judge orders the sources: the pairs of models by the first kind of question that compares
some, and for each kind the means by judge and truth, rank sets, τ-b and favouritism.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from visualjudge.analysis.answer import PairsOfModels, compare_models
from visualjudge.analysis.decisions.judged_items import (
    MEASURES,
    Items,
    comparisons,
    items,
)
from visualjudge.analysis.decisions.model_answer import NO_ANSWER
from visualjudge.analysis.figure_text import (
    GROUPS_NOTE,
    RANKS_NOTE,
    group_name,
    many,
    number3,
    ranks,
    span3,
)
from visualjudge.analysis.statistics.systems import (
    Favour,
    SystemAgreement,
    fair_fit,
    system_agreement,
)
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
    """A source of a group by judge and by truth, its possible ranks, and the judge's favour."""

    source: str
    group: str
    judged: float
    true: float
    rank_set: tuple[int, int] | None
    bias: Favour


@dataclass(frozen=True, eq=False)
class KindOfSystem:
    """Results of one kind of question on the order of the sources; ``groups`` names the group of
    each.
    """

    kind: str
    names: tuple[str, ...]
    groups: tuple[str, ...]
    found: SystemAgreement
    left_out: tuple[str, ...] = ()
    """Sources, with their groups, that no usable reply compares with another; no figure here
    includes them.
    """

    @property
    def sources(self) -> list[SourceByJudge]:
        """The sources in the order of ``names``."""
        found = self.found
        columns = found.judged.tolist(), found.true.tolist(), found.ranks, found.favours
        every = zip(self.names, self.groups, *columns, strict=True)
        return [SourceByJudge(*source) for source in every]

    @property
    def order(self) -> str:
        """How well the judge orders the sources, as a description."""
        tau, sources = self.found.tau_b, many(len(self.names), "source")
        least = f", at least {number3(tau.interval[0])}" if tau.interval else ""
        return (
            f"Order of {sources} by {MEASURES[self.kind]}: τ-b {number3(tau.value)}{least}, over "
            f"{many(self.found.pairs, 'pair')}."
        )

    def moved(self) -> tuple[int, tuple[int, int], str]:
        """The largest number of ranks that a source gains or loses by the judge's favour, its
        range, and what to say of it. Only sources whose favour is significant (p < 5 % after Holm)
        count; without any, the range is that of what no interval excludes.
        """
        favours = enumerate(self.found.favours)
        known = [
            (s, favour, self._ends(s, favour))
            for s, favour in favours
            if favour.interval
        ]
        sure = [
            (self._places(s, favour.value), ends, s)
            for s, favour, ends in known
            if favour.sure
        ]
        if not sure:
            possible = max((high for _, _, (_, high) in known), default=0)
            more = f"up to {many(possible, 'rank')} possible" if possible else ""
            return 0, (0, possible), more
        value, _, s = max(sure)
        low, high = (max(ends[k] for _, ends, _ in sure) for k in (0, 1))
        above = self.found.favours[s].value > 0
        of = f" of {group_name(self.groups[s], 2)}" if len(set(self.groups)) > 1 else ""
        source = self.names[s] + of
        if not value:
            verb = "favours" if above else "disfavours"
            return value, (low, high), f"it {verb} {source}, but by less than one rank"
        place = f"{many(value, 'rank')} {'above' if above else 'below'}"
        why = f"{source} is {place} where an unbiased judge would place it"
        return value, (low, high), why

    def _ends(self, source: int, favour: Favour) -> tuple[int, int]:
        ends = favour.interval or (favour.value, favour.value)
        low, high = sorted(self._places(source, end) for end in ends)
        return low, high

    def _places(self, source: int, favour: float) -> int:
        """Return how many sources of its group it passes by ``favour``."""
        group, judged = np.array(self.groups), self.found.judged
        own = judged[source]
        between = (judged - own) * (judged - own + favour) < 0
        return int((between & (group == self.groups[source])).sum())


def _told(row: SourceByJudge) -> str:
    return (
        "" if not row.bias.sure else "favoured" if row.bias.value > 0 else "disfavoured"
    )


FAVOUR = Layout[Favour](*as_named("value", "p"), Column("ci95", "interval"))
SOURCE = Layout[SourceByJudge](
    named("group", "Group", group_name, text=True),
    named("source", "Source"),
    named("judged", "By the judge", number3),
    named("true", "By truth", number3),
    named("rank_set", "Ranks by judge", ranks),
    block("bias", FAVOUR),
    Column(None, "bias.value", "Above an unbiased judge", number3),
    Column(None, "bias.interval", "95 %", span3),
    Column(None, _told, "Favour"),
)
KIND = Layout[KindOfSystem](
    *as_named("kind", "left_out"),
    Column("measure", lambda kind: MEASURES[kind.kind]),
    Column("tau_b", "found.tau_b.value"),
    Column("ci95", "found.tau_b.interval"),
    Column("images", "found.images"),
    Column("pairs", "found.pairs"),
    blocks("sources", SOURCE),
)


def sources_table(kind: KindOfSystem) -> Table:
    """Return each source by judge and by truth, its possible ranks in its group, and which sources
    are favoured.
    """
    apart, notes = len(set(kind.groups)) > 1, [RANKS_NOTE]
    notes += [GROUPS_NOTE] if apart else []
    if kind.left_out:
        left = "; ".join(kind.left_out)
        notes.append(f"Left out, because no usable reply compares them: {left}.")
    rows = sorted(kind.sources, key=lambda row: (row.group, -row.judged))
    hidden = [] if apart else ["group"]
    title = f"Sources by {MEASURES[kind.kind]}"
    return grid(SOURCE, rows, title=title, notes=notes, keys=1 + apart, hidden=hidden)


@dataclass(frozen=True, eq=False)
class System:
    """The kinds that compare at least two sources, and each pair of models by the first of them;
    ``main`` is the first of pairwise, ranking, scoring.

    ``why`` is the reason if no kind does; ``images`` counts those with answered questions about the
    sources.
    """

    kinds: tuple[KindOfSystem, ...]
    why: str | None = None
    images: int = 0
    models: PairsOfModels | None = None

    @property
    def main(self) -> KindOfSystem | None:
        """The kind whose figures represent the judge."""
        return self.kinds[0] if self.kinds else None


def system(study: Study, run: int) -> System:
    """Return how one run orders the sources."""
    every = (items(study, kind, run) for kind in KINDS)
    asked = [found for found in every if found.comparable]
    rows = (comparisons(found) for found in asked)
    models = next((compare_models(row) for row in rows if row.judge.size), None)
    kinds = tuple(kind for kind in map(_measured, asked) if kind is not None)
    if kinds:
        return System(kinds, models=models)
    if not asked:
        return System(
            (), "no question compares two named sources of one task", models=models
        )
    images = asked[0].rows.filter(pl.col("said").is_not_nan())["image"].n_unique()
    return System((), _why_none(asked[0]), images, models)


def _why_none(found: Items) -> str:
    """Explain why the first kind of question that compares sources does not order them."""
    truth = np.isfinite(found["truth"])
    if not truth.any():
        return NO_TRUTH
    if not (truth & np.isfinite(found["said"])).any():
        return NO_ANSWER
    return "its usable answers compare no two sources on two images"


def _measured(asked: Items) -> KindOfSystem | None:
    found, silent = asked.answered()
    if not found.names:
        return None
    said, truth, source, image = (
        found[k] for k in ("said", "truth", "source", "image")
    )
    agreement = system_agreement(said, truth, source, image, found.group)
    if agreement is None:
        return None
    question = found.rows["item"].rank("dense").to_numpy().astype(np.int64)
    fair = fair_fit(
        said, truth, found["level"], source, question, image, found["task"], found.group
    )
    agreement = replace(agreement, favours=() if fair is None else fair.favours())
    return KindOfSystem(found.kind, found.names, found.groups, agreement, silent)
