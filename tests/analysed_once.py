"""Commands that report the same runs in several forms share their analysis, where a
test is about the forms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from visualjudge import analysis
from visualjudge.analysis import Analysis, analysing
from visualjudge.apps.connectors import result_forms


def analyse_once(patch: pytest.MonkeyPatch) -> None:
    """Analyse the same verdicts by the same options once, until ``patch`` is undone."""
    known: dict[str, Analysis] = {}
    analyse = analysing.analyse

    def analysed(
        runs: Sequence[str | Path], *, progress: Any = None, **options: Any
    ) -> Analysis:
        written = [
            sorted(
                (str(path), path.stat().st_mtime_ns, path.stat().st_size)
                for path in Path(run).rglob("*")
            )
            for run in runs
        ]
        key = repr((runs, written, sorted(options.items())))
        if key not in known or not all(written):
            known[key] = analyse(runs, **options)
        if progress is not None:
            known[key].compute(progress)
        return known[key]

    for module in (analysis, analysing, result_forms):
        patch.setattr(module, "analyse", analysed)
