"""The options of everything that measures runs: report, card and accept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from visualjudge.options.declared import option
from visualjudge.options.questions import Selection


@dataclass(frozen=True, kw_only=True)
class MeasureOptions(Selection):
    """What is measured: the questions, and where they are."""

    dataset: str | Path | None = option(None, "The dataset, if it has moved.", "FOLDER", kind=Path)
    seed: int = 0
    """Seed of the bootstrap over images."""
