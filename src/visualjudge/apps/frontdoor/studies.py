"""Analyse runs: how far the judge can be trusted. The work is done in
``visualjudge.analysis``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualjudge.apps.frontdoor.opened_run import Runs, folders_of
from visualjudge.arguments import checked
from visualjudge.core.errors import UsageError, must_end_in, one_of
from visualjudge.core.output_files import OutputFile
from visualjudge.options import AnswerOptions, keywords

if TYPE_CHECKING:
    import polars as pl

    from visualjudge.analysis import Analysis
    from visualjudge.analysis.plots.plot import Plot


class Plots:
    """The figures of a study by name: ``study.plot.tasks()``. A notebook shows them;
    ``.save(path)`` writes them.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    def __dir__(self) -> list[str]:
        return [*self._analysis.plots, "encodings"]

    def __getattr__(self, name: str) -> Callable[[], Plot]:
        if name == "pairs":
            warnings.warn(
                "study.plot.pairs() is study.plot.ranking(); pairs goes with 1.4",
                DeprecationWarning,
                stacklevel=2,
            )
            return lambda: self._drawn("ranking")
        if name.startswith("_") or name not in self._analysis.plots:
            raise AttributeError(
                f"a study has no figure {name!r}; it has: {', '.join(dir(self))}"
            )
        return lambda: self._drawn(name)

    def _drawn(self, name: str) -> Plot:
        from visualjudge.analysis.plots.plot import LeftOut

        result = self._analysis.plots[name].draw(self._analysis.shown)
        if isinstance(result, LeftOut):
            raise UsageError(f"figure {name!r} is not drawn: {result.reason}")
        return result

    @checked
    def encodings(self, task: str) -> Plot:
        """Plot the encodings of one task, each less the best of them, on the same
        pairs.

        Raises
        ------
        UsageError
            If the task has fewer than two encodings.
        """
        from visualjudge.analysis.figures.encodings import (
            encoding_name,
            encodings,
        )

        collected = {
            plot.name: plot for plot in encodings(self._analysis.shown)
        }
        if encoding_name(task) not in collected:
            known = (
                ", ".join(name.removeprefix("encoding-") for name in collected)
                or "none"
            )
            raise UsageError(
                f"task must have several encodings ({known}), got {task!r}"
            )
        return collected[encoding_name(task)]


class Study:
    """Figures about one or more judges, each with its uncertainty."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    @property
    def plot(self) -> Plots:
        """The study's figures: ``study.plot.tasks()``, ``.ranking()``, ``.leanings()``,
        ``.scores()`` …

        A figure that has no data raises a UsageError with the reason.
        """
        return Plots(self.analysis)

    @property
    def metrics(self) -> Mapping[str, Any]:
        """Contents of ``metrics.json``."""
        return self.analysis.metrics

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The figures as tables by name: ``headline``, ``by_task``, ``by_encoding``
        …"""
        return self.analysis.tables

    @checked
    def to_polars(self, table: str = "headline") -> pl.DataFrame:
        """Return one of the tables.

        Raises
        ------
        UsageError
            If the study has no such table.
        """
        if table not in self.tables:
            known = one_of(table, self.tables)
            raise UsageError(f"table must be {known}, got {table!r}")
        return self.tables[table]

    @checked
    def report(self, path: str | Path) -> Path:
        """Write the report: HTML, or ``metrics.json`` if the name ends in ``.json``.

        Returns
        -------
        Path
            The file that was written.

        Raises
        ------
        UsageError
            If it has another suffix.
        """
        from visualjudge.analysis.report.page import html

        target = Path(path)
        must_end_in("path", target, [".html", ".htm", ".json"], bare=True)
        OutputFile(target).write(
            self.metrics if target.suffix == ".json" else html(self.analysis)
        )
        return target

    def __repr__(self) -> str:
        return f"Study({', '.join(judge['judge'] for judge in self.metrics['judges'])})"


@keywords(AnswerOptions)
def analyse(runs: Runs, *, options: AnswerOptions) -> Study:
    """Analyse runs over the same dataset.

    Parameters
    ----------
    runs
        Runs, or their folders.
    dataset
        Folder of the dataset, if it has moved since the runs.
    seed
        Seed of the bootstrap.
    tasks, encodings, types, where
        Use only these questions; each of ``where`` is ``FIELD=VALUE``, such as
        ``margin>2``.
    bar
        What must be reached, as ``NAME=VALUE``: ``spearman`` and ``error`` of scores,
        ``accuracy`` of choices between unnamed options.

    Raises
    ------
    DataError
        If a run or its dataset cannot be read.
    UsageError
        If no question is selected.

    Examples
    --------
    >>> import visualjudge as vj
    >>> study = vj.analyse([example.run])
    >>> study.metrics["judges"][0]["pairwise"]["accuracy"]
    1.0
    >>> study.report(example.out / "report.html").name
    'report.html'
    """
    from visualjudge.analysis import analyse as analyse_runs

    return Study(analyse_runs(folders_of(runs), options=options))
