"""What a figure is: its name, how it is computed, and how files and pages show it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from visualjudge.analysis.plots.plot import Plot
from visualjudge.analysis.plots.series import FigurePlot
from visualjudge.analysis.table_layout import Layout

if TYPE_CHECKING:
    from visualjudge.analysis.figures.section import Section
    from visualjudge.analysis.results import Analysis, JudgeResult, Shown  # noqa: F401
    from visualjudge.core.jsons import Json
    from visualjudge.core.text_tables import Table

Need = Literal["truth", "order", "repeats", "scores"]
"""What the answers of a judge must have for a figure.

``truth``: the right answer of some question is known. ``order``: the order in which
options were shown is known. ``repeats``: some question was asked more than once in one
order. ``scores``: the truth says by how much an option is better.
"""
Subject = TypeVar("Subject")
Value = TypeVar("Value", covariant=True)
LAST = 1000
"""Place of a figure that does not say where it stands."""


@dataclass(frozen=True, eq=False)
class Figure(Generic[Subject, Value]):
    """A figure of a ``Subject``: a judge, or the study.

    Parameters
    ----------
    name
        Its key in files.
    rows
        Its value: a tuple of rows, or one record.
    columns
        The columns of a row, or of the record. None: the value is in no file, or
        ``json`` says how.
    needs
        What the subject must have; without it, the value is ``nothing``.
    cells
        In files it is an object of rows by the name of their cell.
    wide
        In the CSV files it is a part of the row of its judge in the table "headline".
    json
        Its form in files, if it is not that of its columns.
    tables
        Tables by name for CSV files, from its form in files: the rows of a list or of
        an object by default.
    headline
        The columns of its value in the table with a row a judge.
    sentences
        What its value says: in the terminal, on the card, in its section.
    section
        Its section of the report, to which the page adds its plots. A record gets a
        table and the sentences of each judge.
    tabled, marked
        The rows of its value in those tables, and which of them are in bold.
    link
        The address to which the number of verdicts of a judge's row leads.
    plots, more_plots
        Its plots by name, and those whose number depends on the study.
    """

    name: str
    rows: Callable[[Subject], Value]
    columns: Layout[Any] | None = None
    needs: Collection[Need] = ()
    nothing: Any = ()
    place: int = LAST
    json: Callable[[Any], Any] | None = None
    tables: Callable[[Any], Mapping[str, Sequence[Json]]] | None = None
    cells: bool = False
    wide: bool = False
    headline: Layout[Any] | None = None
    sentences: Callable[[Any], Sequence[str]] = lambda _: ()
    section: Section | Callable[[Shown], Section] | None = None
    tabled: Callable[[Any], Sequence[Any]] = tuple
    marked: Callable[[Any], bool] = lambda _: False
    link: Callable[[Any, Any], str] = lambda *_: ""
    plots: tuple[FigurePlot, ...] = ()
    more_plots: Callable[[Shown], Sequence[Plot]] = lambda _: ()

    @property
    def in_files(self) -> bool:
        """Whether metrics.json has it."""
        return self.columns is not None or self.json is not None

    def in_json(self, value: Any) -> Any:
        """Return the value as stored in files."""
        if self.json is not None:
            return self.json(value)
        assert self.columns is not None
        if not isinstance(value, tuple):
            return self.columns.json(value)
        return [self.columns.json(row) for row in value]

    def in_tables(self, stored: Any) -> Mapping[str, Sequence[Json]]:
        """Return its tables by name, from its form in files."""
        if self.tables is not None:
            return self.tables(stored)
        if isinstance(stored, list):
            return {self.name: stored}
        if self.cells:
            return {
                self.name: [
                    {"cell": name, **row} for name, row in stored.items()
                ]
            }
        return {}


class JudgeFigure(Figure["JudgeResult", Value]):
    """A figure of each judge."""


@dataclass(frozen=True, eq=False)
class StudyFigure(Figure["Analysis", Value]):
    """A figure of the study as a whole; ``printed`` returns its tables for the
    terminal."""

    printed: Callable[[Analysis], Sequence[Table]] = lambda _: ()
