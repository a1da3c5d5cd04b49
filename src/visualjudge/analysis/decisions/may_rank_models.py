"""Whether a judge may rank models: each kind of question's answer, and the one that counts.

If the true scores of all annotations order the sources differently from the drawn questions, the
answer says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from visualjudge.analysis.answer import PairsOfModels, compare_models
from visualjudge.analysis.decisions.judged_items import (
    MEASURES,
    RANGES,
    Items,
    comparisons,
    items,
)
from visualjudge.analysis.estimate import mean_ends, ratio, shares
from visualjudge.analysis.figure_text import listed, many
from visualjudge.analysis.statistics.systems import (
    Favour,
    Interval,
    Sums,
    SystemAgreement,
    fair_fit,
    image_sums,
    system_agreement,
)
from visualjudge.analysis.study_table import Study
from visualjudge.analysis.value_and_interval import NO_TRUTH
from visualjudge.core.records import FloatArray, IntArray


def overturned(study: Study, found: Items, true: FloatArray) -> tuple[tuple[str, str], ...]:
    """Return pairs of comparable sources whose order is reversed: the first has the higher mean
    true score, the second the higher ``true`` (S,).

    The scores are those of all distinct annotations in the dataset's questions, asked or not.
    """
    scores, group = _mean_scores(study, found), found.group
    first, second = np.triu_indices(group.size, 1)
    same = group[first] == group[second]
    by_score, by_questions = (np.round(x[first] - x[second], 9) for x in (scores, true))
    turned = np.flatnonzero(same & (np.sign(by_score) * np.sign(by_questions) < 0))
    pairs = ((first[k], second[k]) if by_score[k] > 0 else (second[k], first[k]) for k in turned)
    return tuple((found.names[above], found.names[below]) for above, below in pairs)


def _mean_scores(study: Study, found: Items) -> FloatArray:
    """Return the mean true score of each source in its group (S,)."""
    known = study.annotation_scores
    placed = known.join(found.places, on=["task", "source"])
    place, score = placed["place"].to_numpy(), placed["scores"].cast(pl.Float64).to_numpy()
    size = len(found.names)
    count = np.bincount(place, minlength=size)
    total = np.bincount(place, score, size)
    return np.asarray(np.divide(total, count, out=np.full(size, np.nan), where=count > 0))


KINDS = ("pairwise", "ranking", "scoring")


@dataclass(frozen=True, eq=False)
class KindOfSystem:
    """Results of one kind of question on the order of the sources.

    ``worth`` is the best possible number of effective labels per label, n_eff / n, from the judge's
    values within a source (with many judged items per label); 1 means no gain. ``groups`` names the
    group of each source. ``true_ends`` has the interval of each source's true mean. ``overturned``
    lists pairs of sources that the scores of all annotations order differently from the questions.
    """

    kind: str
    names: tuple[str, ...]
    groups: tuple[str, ...]
    found: SystemAgreement
    true_ends: tuple[Interval | None, ...]
    overturned: tuple[tuple[str, str], ...]
    worth: float | None
    self_preference: Favour | None = None
    left_out: tuple[str, ...] = ()
    """Sources, with their groups, that no usable reply compares with another; no figure here
    includes them.
    """

    @property
    def measure(self) -> str:
        """Name of the means."""
        return MEASURES[self.kind]

    @property
    def extent(self) -> str:
        """Describe what was compared: 5 sources, or 16 sources in 5 groups; 1 left out without a
        usable reply.
        """
        groups = len(set(self.groups))
        left = f" ({len(self.left_out)} more left out: no usable reply)" if self.left_out else ""
        return (
            many(len(self.names), "source") + (f" in {groups} groups" if groups > 1 else "") + left
        )

    def moved(self) -> tuple[int, tuple[int, int], str | None]:
        """The largest number of ranks that a source gains or loses by the judge's favour, the range
        by its interval, and the source. Only sources whose favour is significant (p < 5 % after
        Holm) count; without any, the range is that of what no interval excludes.
        """
        places = [
            (self._places(s, f.value), self._ends(s, f), s)
            for s, f in enumerate(self.found.favours)
            if f.sure
        ]
        if not places:
            known = [f for f in enumerate(self.found.favours) if f[1].interval is not None]
            possible = max((self._ends(s, f)[1] for s, f in known), default=0)
            more = f"; up to {many(possible, 'rank')} possible" if possible else ""
            return 0, (0, possible), f"none shown{more}"
        value, _, s = max(places)
        way = "above" if self.found.favours[s].value > 0 else "below"
        tasks = listed([task.replace("_", " ") for task in self.groups[s].split(" + ")], 2)
        among = f" of {tasks}" if len(set(self.groups)) > 1 else ""
        ends = max(ends[0] for _, ends, _ in places), max(ends[1] for _, ends, _ in places)
        if not value:
            verb = "favours" if way == "above" else "disfavours"
            return value, ends, f"it {verb} {self.names[s]}{among}, but by less than one rank"
        return (
            value,
            ends,
            f"{self.names[s]}{among} is {many(value, 'rank')} {way} "
            "where an unbiased judge would place it",
        )

    def _ends(self, source: int, favour: Favour) -> tuple[int, int]:
        low, high = sorted(
            self._places(source, end) for end in favour.interval or (favour.value, favour.value)
        )
        return low, high

    def _places(self, source: int, favour: float) -> int:
        """Return how many sources of its group it passes by ``favour``."""
        group, judged = np.array(self.groups), self.found.judged
        own = judged[source]
        between = (judged - own) * (judged - own + favour) < 0
        return int((between & (group == self.groups[source])).sum())


@dataclass(frozen=True, eq=False)
class System:
    """The kinds that compare at least two sources; ``main`` is the first of pairwise, ranking,
    scoring.

    ``why`` is the reason if no kind does; ``images`` counts those with answered questions about the
    sources.
    """

    kinds: tuple[KindOfSystem, ...]
    why: str | None = None
    images: int = 0
    models: PairsOfModels | None = None
    """Each pair of sources by the first kind of question that compares some."""

    @property
    def main(self) -> KindOfSystem | None:
        """The kind whose figures represent the judge."""
        return self.kinds[0] if self.kinds else None


def system(study: Study, run: int, families: Mapping[str, tuple[str, ...]] | None = None) -> System:
    """Return the system card of one run."""
    return systems(study, (run,), families)[0]


def systems(
    study: Study, runs: Sequence[int], families: Mapping[str, tuple[str, ...]] | None = None
) -> list[System]:
    """Return the system card of each of ``runs``; the intervals of true means are found by the same
    steps.
    """
    asked = [
        [found for kind in KINDS if (found := items(study, kind, (run,))).comparable]
        for run in runs
    ]
    models = [_models(every) for every in asked]
    measured = []
    for run, every in zip(runs, asked, strict=True):
        own = _own_sources(study.runs[run].name, families or {})
        kinds = [_measured(study, found, own) for found in every]
        measured.append([kind for kind in kinds if kind is not None])
    ends = _true_ends([(sums, kind.kind) for own in measured for kind, sums in own])
    return [
        replace(
            _system(every, tuple(replace(kind, true_ends=next(ends)) for kind, _ in own)),
            models=pairs,
        )
        for every, own, pairs in zip(asked, measured, models, strict=True)
    ]


def _models(asked: Sequence[Items]) -> PairsOfModels | None:
    """Return the pairs of the first kind of question with a usable answer."""
    for found in asked:
        rows = comparisons(found)
        if rows.judge.size:
            return compare_models(rows)
    return None


def _system(asked: Sequence[Items], kinds: tuple[KindOfSystem, ...]) -> System:
    if kinds:
        return System(kinds)
    if not asked:
        return System((), "no question compares two named sources of one task")
    return System(
        (), _why_none(asked[0]), int(np.unique(asked[0].image[np.isfinite(asked[0].said)]).size)
    )


def _why_none(found: Items) -> str:
    """Explain why the first kind of question that compares sources does not order them."""
    if not np.isfinite(found.truth).any():
        return NO_TRUTH
    known = np.isfinite(found.said) & np.isfinite(found.truth)
    if not known.any():
        return "it answered no question on the sources"
    answered = set(found.source[known].tolist())
    silent = sorted({name for s, name in enumerate(found.names) if s not in answered})
    if silent:
        every = many(len(set(found.names)), "source")
        return f"it gave no usable answer on {len(silent)} of {every}, the first: {silent[0]}"
    return "it answered questions on only one image"


def _own_sources(judge: str, families: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the sources of the judge's declared family."""
    return next(
        (sources for name, sources in families.items() if name.lower() in judge.lower()), ()
    )


def _measured(study: Study, asked: Items, own: tuple[str, ...]) -> tuple[KindOfSystem, Sums] | None:
    """Return the results without ``true_ends``, and the sums to find these from."""
    found, silent = asked.answered()
    if not found.names:
        return None
    sums = image_sums(found.said, found.truth, found.source, found.image, len(found.names))
    agreement = system_agreement(sums, found.group)
    if agreement is None:
        return None
    question = found.item.rank("dense").to_numpy().astype(np.int64)
    fair = fair_fit(
        found.said, found.truth, found.level, found.source, question, found.image, found.task,
        found.group,
    )  # fmt: skip
    mine = np.array([name in own for name in found.names], dtype=float)
    declared = fair is not None and 0 < mine.sum() < mine.size
    agreement = replace(agreement, favours=() if fair is None else fair.favours())
    kind = KindOfSystem(
        found.kind,
        found.names,
        found.groups,
        agreement,
        (),
        overturned(study, found, agreement.true),
        worth(found),
        fair.against(mine) if fair is not None and declared else None,
        silent,
    )
    return kind, sums


def _true_ends(kinds: Sequence[tuple[Sums, str]]) -> Iterator[tuple[Interval | None, ...]]:
    """Return the interval of each true mean: of scores as a mean, of wins as a share."""
    wins = iter(_share_ends([sums for sums, kind in kinds if kind != "scoring"]))
    for sums, kind in kinds:
        if kind != "scoring":
            yield next(wins)
            continue
        ends = mean_ends(*ratio(*_of_source(sums), sums.count.shape[1]))
        low, high = np.clip(ends, *RANGES[kind])
        yield tuple(
            None if np.isnan(a) else (float(a), float(b)) for a, b in zip(low, high, strict=True)
        )


def _share_ends(every: Sequence[Sums]) -> list[tuple[Interval | None, ...]]:
    """Return the intervals of the share of wins of each source, all found by the same steps."""
    if not every:
        return []
    tables = [_of_source(sums) for sums in every]
    starts = np.cumsum([0, *(sums.count.shape[1] for sums in every)]).tolist()
    found = shares(
        np.concatenate([top for top, _, _ in tables]),
        np.concatenate([bottom for _, bottom, _ in tables]),
        np.concatenate([source + starts[k] for k, (_, _, source) in enumerate(tables)]),
        starts[-1],
        graded=True,
    )
    return [tuple(map(found.interval, range(*ends))) for ends in pairwise(starts)]


def _of_source(sums: Sums) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the true sums and items of each image and source, and the source."""
    image, source = np.nonzero(sums.count)
    return sums.true[image, source], sums.count[image, source], source


def worth(found: Items) -> float | None:
    """Return 1 / (1 − ρ²), where ρ is the correlation of judge and truth within source; None if it
    cannot be computed.
    """
    kept = np.isfinite(found.said) & np.isfinite(found.truth)
    if kept.sum() < 10:
        return None
    source, said, truth = found.source[kept], found.said[kept], found.truth[kept]
    count = np.maximum(np.bincount(source), 1)
    a, b = (values - (np.bincount(source, values) / count)[source] for values in (said, truth))
    below = float((a @ a) * (b @ b))
    if below <= 0:
        return None
    rho = float(a @ b) / below**0.5
    return None if rho >= 1 - 1e-9 else 1 / (1 - max(rho, 0.0) ** 2)
