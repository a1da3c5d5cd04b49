"""Parts of metrics.json, without computing the others, which takes up to a second."""

from __future__ import annotations

from typing import Any

from visualjudge.analysis import Analysis
from visualjudge.analysis.results import FACTS, JudgeResult
from visualjudge.apps.frontdoor.studies import Study


class Stored(dict[str, Any]):
    """A judge's part of metrics.json; a figure is computed when it is read."""

    def __init__(self, judge: JudgeResult) -> None:
        super().__init__(FACTS.json(judge))
        self._judge = judge

    def __missing__(self, name: str) -> Any:
        return self.setdefault(name, self._judge.stored(name))


def stored(study: Analysis | Study) -> list[Stored]:
    """The judges of an analysis, in place of ``study.metrics["judges"]``."""
    analysis = study if isinstance(study, Analysis) else study.analysis
    return [Stored(judge) for judge in analysis.judges]


def whole_of(judge: JudgeResult) -> dict[str, Any]:
    """All that metrics.json has of one judge."""
    names = judge.analysis.named
    return FACTS.json(judge) | {name: judge.stored(name) for name in names}


def of_study(study: Analysis | Study, name: str) -> Any:
    """A figure that a study has once, in place of ``study.metrics[name]``."""
    analysis = study if isinstance(study, Analysis) else study.analysis
    (figure,) = (row for row in analysis.of_study if row.name == name)
    return figure.in_json(analysis[figure])
