"""Runs, or a study in memory, as an analysis with every figure. What it returns is in
``results.py``; reading runs from disk, in ``load.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from visualjudge.analysis.figures import every_figure
from visualjudge.analysis.load import load_study
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.statistics.score_bar import bar_of
from visualjudge.analysis.study_table import Study
from visualjudge.options import AnswerOptions, keywords

Progress = Callable[[str], None]


@keywords(AnswerOptions)
def analyse(
    runs: Sequence[str | Path],
    *,
    options: AnswerOptions,
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
        Use only these questions; each of ``where`` is ``FIELD=VALUE``, such as
        ``margin>2``.
    bar
        What must be reached, as ``NAME=VALUE``: ``spearman`` and ``error`` of scores,
        ``accuracy`` of choices between unnamed options.
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
    study = replace(load_study(runs, options=options), bar=bar_of(options.bar))
    return analyse_study(study, progress=progress)


def analyse_study(
    study: Study, *, progress: Progress | None = None
) -> Analysis:
    """Analyse questions and verdicts that are already in memory (see
    :func:`visualjudge.analysis.study_table.study_of`).
    """
    analysis = Analysis(study, every_figure)
    if progress is not None:
        analysis.compute(progress)
    return analysis
