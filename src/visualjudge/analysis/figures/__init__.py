"""The figures of the analysis: one file each.

A figure is computed for each judge
(:class:`~visualjudge.analysis.results.JudgeFigure`) or once for the study
(:class:`~visualjudge.analysis.results.StudyFigure`). Its file has all of it: the
type of its rows, what it needs, how it is computed, its columns, its section of the
report and its plots. ``metrics.json``, the CSV tables, the report and the terminal loop
over the figures and know none of them.

To add one, add one file to this folder, with what it needs from
:mod:`visualjudge.analysis.figures.figure_parts`::

    @dataclass(frozen=True)
    class Ties:
        encoding: str
        share: Estimate

    def rows(judge: JudgeResult) -> tuple[Ties, ...]: ...

    COLUMNS = Layout[Ties](
        named("encoding", "Encoding"), *counts("share"), *figure("ties", "share", "Ties")
    )
    TIES = JudgeFigure(
        "ties",                        # its key in metrics.json, and the name of its table
        rows,
        COLUMNS,
        needs={"truth"},               # else its value is (); see Need
        place=75,                      # where it stands: sections, keys, headline columns
        section=Section("ties", "Where does the judge answer tie?"),
        plots=(estimates_of_judges("ties", "Ties by encoding", ...),),
    )

Other code reads it as ``judge[TIES]``, typed, computed once and only if it is asked
for. A figure may read other figures. A probability that belongs to a family of tests is
adjusted over the family before the rows are returned. Nothing in a file of this folder
decides whether a verdict is usable, right or a tie, or whether two models differ:
:mod:`visualjudge.analysis.answers` and the pairs of models do.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from visualjudge.analysis.results import Figure


def every_figure() -> tuple[Figure[Any, Any], ...]:
    """Return all figures of the modules of this folder, in the order of their
    places."""
    return _of_modules(
        tuple(sorted(module.name for module in iter_modules(__path__)))
    )


@cache
def _of_modules(names: tuple[str, ...]) -> tuple[Figure[Any, Any], ...]:
    modules = [import_module(f"{__name__}.{name}") for name in names]
    values = (value for module in modules for value in vars(module).values())
    own = dict.fromkeys(value for value in values if isinstance(value, Figure))
    return tuple(sorted(own, key=lambda figure: figure.place))
