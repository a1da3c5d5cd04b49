"""All figures of a study by name: those drawn, and those left out with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.report import (
    accuracy_plots as accuracy,
    behaviour_plots as behaviour,
    comparison_plots as comparison,
)

Drawing = Callable[[Analysis], Figure | LeftOut]
PLOTS: Mapping[str, Drawing] = {
    "pairs": comparison.pairs,
    "tasks": accuracy.by_task,
    "sources": comparison.sources,
    "judges_by_task": comparison.compared_by_task,
    "judges": comparison.compared,
    "baseline": comparison.baseline,
    "errors": accuracy.by_error_type,
    "margin": accuracy.margin,
    "severity": lambda analysis: accuracy.margin(analysis, "severity"),
    "leanings": behaviour.leanings,
    "swap": behaviour.swapped,
    "scores": behaviour.scores,
    "reliability": behaviour.reliability,
    "rules": comparison.rules,
    "photograph": behaviour.photograph,
    "probes": behaviour.probes,
    "tools": behaviour.tools,
    "cost": comparison.cost,
}
"""Figures that a study has once; the figures of encodings and groups of sources come in addition.
"""


def not_drawn(analysis: Analysis, found: Iterable[Figure | LeftOut]) -> list[LeftOut]:
    """Return the figures without data."""
    return [one for one in found if isinstance(one, LeftOut)]


def figures(analysis: Analysis) -> list[Figure | LeftOut]:
    """Return every figure of the study."""
    found = [draw(analysis) for draw in PLOTS.values()]
    groups = [comparison.sources(analysis, group) for group in comparison.groups_of(analysis)[1:]]
    return [*found, *groups, *accuracy.encodings(analysis)]
