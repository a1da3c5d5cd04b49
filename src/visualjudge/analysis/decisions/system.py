"""May I rank my models with this judge? Each kind of question's answer, and the one that counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.decisions.items import MEASURES, Items, items
from visualjudge.analysis.join import Study
from visualjudge.analysis.statistics.systems import (
    Favour,
    SystemAgreement,
    contrast,
    fair_judge,
    fair_reference,
    image_sums,
    system_agreement,
)

KINDS = ("pairwise", "ranking", "scoring")


@dataclass(frozen=True, eq=False)
class KindOfSystem:
    """What one kind of question says of the order of the sources.

    ``worth``: effective labels a label, n_eff / n, that the judge's values within a source are worth at best (many
    judged items a label); 1 = nothing.
    """

    kind: str
    names: tuple[str, ...]
    found: SystemAgreement
    worth: float | None
    self_preference: Favour | None = None

    @property
    def measure(self) -> str:
        """What the means are."""
        return MEASURES[self.kind]


@dataclass(frozen=True, eq=False)
class System:
    """The kinds that compare at least two sources; ``main`` is the first of pairwise, ranking, scoring."""

    kinds: tuple[KindOfSystem, ...]

    @property
    def main(self) -> KindOfSystem | None:
        """The kind whose figures stand for the judge."""
        return self.kinds[0] if self.kinds else None


def system(study: Study, run: int, families: Mapping[str, tuple[str, ...]] | None = None) -> System:
    """The system card of one run."""
    own = _own_sources(study.runs[run].name, families or {})
    return System(tuple(found for kind in KINDS if (found := _kind(study, run, kind, own)) is not None))


def _own_sources(judge: str, families: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The sources of the family that the judge is declared to be of."""
    return next((sources for name, sources in families.items() if name.lower() in judge.lower()), ())


def _kind(study: Study, run: int, kind: str, own: tuple[str, ...]) -> KindOfSystem | None:
    found = items(study, kind, (run,))
    if len(found.names) < 2:
        return None
    rows = (found.source, found.image, len(found.names))
    fair = fair_reference(found.said, found.truth, found.level, *rows)
    sums = image_sums(found.said, found.truth, *rows, fair=fair)
    agreement = system_agreement(sums, seed=study.seed)
    if agreement is None:
        return None
    return KindOfSystem(kind, found.names, agreement, worth(found), _self_preference(found, own))


def worth(found: Items) -> float | None:
    """1 / (1 − ρ²) with ρ the correlation of judge and truth within source; None where it cannot be computed."""
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


def _self_preference(found: Items, own: tuple[str, ...]) -> Favour | None:
    """How much more the judge's own family gains by it than all other sources; None where none is declared."""
    mine = np.array([name in own for name in found.names])
    if not mine.any() or mine.all():
        return None
    fair = fair_judge(found.said, found.level, ~mine[found.source])
    group = mine[found.source].astype(np.int64)
    sums = image_sums(found.said, found.truth, group, found.image, 2, fair=fair)
    return contrast(sums)
