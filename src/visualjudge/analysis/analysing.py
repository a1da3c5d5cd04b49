"""Runs, or a study in memory, as an analysis with every figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from visualjudge.analysis.figures import every_figure
from visualjudge.analysis.load import load_study
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.study_table import Study
from visualjudge.options import MeasureOptions, keywords

Progress = Callable[[str], None]


@keywords(MeasureOptions)
def analyse(
    runs: Sequence[str | Path],
    *,
    options: MeasureOptions,
    progress: Progress | None = None,
) -> Analysis:
    """Analyse run folders.

    Parameters
    ----------
    runs
        Folders written by ``visualjudge judge``.
    dataset
        Dataset to use instead of the one recorded in the runs.
    seed
        Seed of the bootstrap over images for the interval of the calibration error.
    tasks, encodings, types, where
        Use only these questions; each of ``where`` is ``FIELD=VALUE``, such as ``margin>2``.
    progress
        Is told what is computed. Without it, figures are computed when they are read.

    Raises
    ------
    DataError
        If a run or its dataset cannot be read.
    UsageError
        If no question is selected.
    """
    if progress is not None:
        progress("reading verdicts")
    return analyse_study(load_study(runs, options=options), progress=progress)


def analyse_study(study: Study, *, progress: Progress | None = None) -> Analysis:
    """Analyse questions and verdicts that are already in memory (see
    :func:`visualjudge.analysis.study_table.study_of`).
    """
    analysis = Analysis(study, every_figure())
    if progress is not None:
        analysis.compute(progress)
    return analysis
