"""What a figure is, and the analysis: figures of each judge and of the study, computed
when they are read. It is made by ``analysing.py``; the figures are in ``figures/``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic, Literal, TypeVar

import polars as pl

from visualjudge.analysis.accuracy_cells import guessed, pairwise_asked
from visualjudge.analysis.answers import where_known
from visualjudge.analysis.figure_text import lower_first
from visualjudge.analysis.figures.section import Section
from visualjudge.analysis.plots.plot import LeftOut, Plot
from visualjudge.analysis.ranking_and_scoring import RANKED, SCORED
from visualjudge.analysis.served_model import ServedBy, moved, served_by
from visualjudge.analysis.statistics.calibration import DRAWS
from visualjudge.analysis.study_facts import (
    DATASET,
    DatasetFacts,
    asked_like,
    dataset_facts,
    most_accurate,
    nothing_in_common,
)
from visualjudge.analysis.study_table import FEATURES, Run, Study, more
from visualjudge.analysis.table_layout import Column, Layout, as_named, grid
from visualjudge.analysis.value_and_interval import ALL
from visualjudge.core.addresses import ASKED, grid_address, result_filter
from visualjudge.core.jsons import Json
from visualjudge.core.text_tables import Table

Value = TypeVar("Value", covariant=True)
PAIRED = (
    "question",
    "repeat",
    "order",
    "pair",
    "cluster",
    "task",
    "encoding",
    "error_type",
    "margin",
    "severity_gap",
    "usable",
    "status",
    "cause",
    "answer",
    "text",
    "right",
    "tie",
    "chosen",
    "said_first",
    "first_right",
    "tokens_in",
    "sources",
    *map(more, FEATURES),
)
"""Columns of pairwise verdicts that figures other than the leaderboard need."""


Need = Literal["truth", "order", "repeats", "scores"]
"""What the answers of a judge must have for a figure.

``truth``: the right answer of some question is known. ``order``: the order in which
options were shown is known. ``repeats``: some question was asked more than once in one
order. ``scores``: the truth says by how much an option is better.
"""
Subject = TypeVar("Subject")
LAST = 1000
"""Place of a figure that does not say where it stands."""


@dataclass(frozen=True)
class FigurePlot:
    """A plot of a figure; ``opening``: the first of these that is drawn stands beside
    the answer."""

    name: str
    draw: Callable[[Shown], Plot | LeftOut]
    opening: bool = False


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


class JudgeResult:
    """A judge, its answers, and its figures: ``judge[FIGURE]`` is computed when it is
    first read.

    Judges that were asked the same questions have the same number ``asked_like``: only
    those are compared.
    """

    def __init__(self, analysis: Analysis, index: int) -> None:
        self.analysis = analysis
        self.index = index
        self.study: Study = analysis.study
        self.run: Run = analysis.study.runs[index]
        self._values: dict[JudgeFigure[Any], Any] = {}

    def __getitem__(self, figure: JudgeFigure[Value]) -> Value:
        if figure not in self._values:
            known = self.has.issuperset(figure.needs)
            self._values[figure] = (
                figure.rows(self) if known else figure.nothing
            )
        value: Value = self._values[figure]
        return value

    @cached_property
    def has(self) -> frozenset[Need]:
        """What its answers have; see :data:`Need`."""
        facts: dict[Need, bool] = {
            "truth": not self.study.lacks_truth(self.index),
            "order": self.run.order_shown,
            "repeats": self.joined["repeat"].n_unique() > 1,
            "scores": self.study.has_scores,
        }
        return frozenset(name for name, known in facts.items() if known)

    def address(self, outcomes: Sequence[str] = ASKED, **filters: str) -> str:
        """Return the studio's address of the questions with one of these outcomes that
        pass the filters, but for those whose value is :data:`ALL`; empty where the
        dataset or the run has no file.
        """
        digest = self.study.meta.get("questions_sha256")
        if self.run.folder is None or not digest:
            return ""
        name = result_filter(self.run.folder)
        own = [pair for pair in filters.items() if pair[1] != ALL]
        return grid_address(digest, [*own, *((name, o) for o in outcomes)])

    def stored(self, name: str) -> Any:
        """Return one of its figures as metrics.json has it."""
        figure = self.analysis.named[name]
        return figure.in_json(self[figure])

    @property
    def sentences(self) -> list[str]:
        """What its figures say in words."""
        figures = self.analysis.of_judges
        return [
            line
            for figure in figures
            for line in figure.sentences(self[figure])
        ]

    @property
    def answered(self) -> pl.DataFrame:
        """Its row of the table of answers a verdict, including the questions of
        probes."""
        return self.run.answered

    @property
    def joined(self) -> pl.DataFrame:
        """``answered`` without the questions that a probe changed."""
        return self.study.joined[self.index]

    @property
    def pairs(self) -> pl.DataFrame:
        """Its verdicts on pairwise questions whose truth is known (:data:`PAIRED`); on
        all, where none is."""
        return where_known(self._kind("pairwise", PAIRED))

    @property
    def rankings(self) -> pl.DataFrame:
        """Its verdicts on ranking questions."""
        return self._kind("ranking", RANKED)

    @property
    def scorings(self) -> pl.DataFrame:
        """Its verdicts on scoring questions."""
        return self._kind("scoring", SCORED)

    def _kind(self, kind: str, columns: Sequence[str]) -> pl.DataFrame:
        tables = self.analysis.tables_of(self.index)
        if kind not in tables:
            tables[kind] = self.study.kind(self.index, kind, columns)
        return tables[kind]

    @cached_property
    def asked(self) -> pl.DataFrame:
        """The pairwise questions that it answered: task, allowed ties and answer."""
        return pairwise_asked(self.study, self.index)

    @cached_property
    def chance(self) -> float:
        """The accuracy of guessing in its pairwise questions."""
        return guessed(self.asked)

    @property
    def name(self) -> str:
        """The judge's name."""
        return self.run.name

    @property
    def title(self) -> str:
        """The name, with a word about judges that know the answers."""
        return f"{self.name} (simulated)" if self.simulated else self.name

    @property
    def simulated(self) -> bool:
        """Whether the judge knows the answers or looks at nothing."""
        return self.run.simulated

    @property
    def asked_like(self) -> int:
        """The number that judges of the same questions share."""
        return self.analysis.asked_like[self.index]

    @property
    def verdicts(self) -> int:
        """Number of verdicts."""
        return self.answered.height

    @cached_property
    def status(self) -> Mapping[str, int]:
        """Number of verdicts by status."""
        counts = self.answered.group_by("status").len().iter_rows()
        return {str(name): int(n) for name, n in sorted(counts)}

    @cached_property
    def tokens(self) -> tuple[int | None, int | None]:
        """Tokens of prompts and of replies; None if none is known."""
        tokens = pl.col("tokens_in", "tokens_out")
        known = pl.when(tokens.is_not_null().any()).then(tokens.sum())
        prompt, reply = self.answered.select(known).row(0)
        return prompt, reply

    @cached_property
    def identity(self) -> tuple[ServedBy, ...]:
        """The models that answered, as the server named them."""
        return served_by(self.joined)

    @cached_property
    def info(self) -> Json:
        """The content of ``run.json``."""
        plain = (str, int, float, bool, dict, list)
        return {k: v for k, v in self.run.info.items() if isinstance(v, plain)}

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the run."""
        return self.run.problems

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know of the run."""
        return (*self.run.warnings, *moved(self.identity))


FACTS = Layout[JudgeResult](
    Column("judge", "name", "Judge", shown="title"),
    *as_named("simulated"),
    Column("run", lambda judge: judge.run.folder and str(judge.run.folder)),
    *as_named("verdicts"),
    Column("expected", "run.expected"),
    Column("missing", "run.missing"),
    Column("questions", lambda judge: judge.answered["id"].n_unique()),
    *as_named("asked_like", "status", "info"),
    Column(
        "tokens",
        lambda j: dict(zip(("prompt", "reply"), j.tokens, strict=True)),
    ),
    Column("latency_median_s", lambda j: j.answered["latency_s"].median()),
    Column("problems", lambda judge: list(judge.problems)),
    Column("warnings", lambda judge: list(judge.warnings)),
    Column("identity", lambda judge: [asdict(row) for row in judge.identity]),
)
"""What metrics.json says of a judge before its figures."""
IN_HEADLINE = (
    "judge",
    "simulated",
    "verdicts",
    "questions",
    "status",
    "tokens",
    "latency_median_s",
)
"""Facts in the table "headline"."""
MOST_DRAWN = 6
"""Number of judges that a plot can distinguish."""
MOST_TABLED = 20
"""Number of judges in the tables of a page, but for the headline."""


class Analysis:
    """The study, its judges, and its figures: ``analysis[FIGURE]`` is computed when it
    is first read. ``figures`` are those that files and pages have; a card loads only
    those that it reads.
    """

    def __init__(
        self,
        study: Study,
        figures: Callable[[], tuple[Figure[Any, Any], ...]] = tuple,
    ) -> None:
        self.study = study
        self.judges = tuple(
            JudgeResult(self, k) for k in range(len(study.runs))
        )
        self._figures = figures
        self._values: dict[StudyFigure[Any], Any] = {}
        self._tables: tuple[int, dict[str, pl.DataFrame]] = (-1, {})

    def __getitem__(self, figure: StudyFigure[Value]) -> Value:
        if figure not in self._values:
            self._values[figure] = figure.rows(self)
        value: Value = self._values[figure]
        return value

    @property
    def figures(self) -> tuple[Figure[Any, Any], ...]:
        """All figures, in the order of their places."""
        return self._figures()

    @cached_property
    def of_judges(self) -> list[JudgeFigure[Any]]:
        """Those of each judge."""
        return [row for row in self.figures if isinstance(row, JudgeFigure)]

    @cached_property
    def of_study(self) -> list[StudyFigure[Any]]:
        """Those of the study."""
        return [row for row in self.figures if isinstance(row, StudyFigure)]

    @cached_property
    def named(self) -> dict[str, JudgeFigure[Any]]:
        """Figures of each judge that files have, by name."""
        return {row.name: row for row in self.of_judges if row.in_files}

    def tables_of(self, index: int) -> dict[str, pl.DataFrame]:
        """Return the tables of one judge by type of question, to be read and filled.
        Only those of the judge that was asked about last are in memory.
        """
        if self._tables[0] != index:
            self._tables = (index, {})
        return self._tables[1]

    def compute(self, progress: Callable[[str], None]) -> None:
        """Compute every figure, judge by judge."""
        for judge in self.judges:
            progress(f"judge {judge.name}")
            for figure in self.of_judges:
                judge[figure]
        progress("comparing judges")
        for common in self.of_study:
            self[common]

    @cached_property
    def asked_like(self) -> tuple[int, ...]:
        """A number for each judge: those of the same questions have the same."""
        return asked_like(self.study)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know of the study."""
        return nothing_in_common(self.study)

    @cached_property
    def dataset(self) -> DatasetFacts:
        """The questions, and how many of them were asked."""
        return dataset_facts(self.study)

    @property
    def plots(self) -> dict[str, FigurePlot]:
        """The plots that a study has once, by name."""
        return {
            plot.name: plot for figure in self.figures for plot in figure.plots
        }

    @cached_property
    def shown(self) -> Shown:
        """What pages show: of many judges, the most accurate ones."""
        tabled = most_accurate(self.study, MOST_TABLED)
        drawn = most_accurate(self.study, MOST_DRAWN)
        return Shown(
            self,
            tuple(self.judges[k] for k in tabled),
            tuple(self.judges[k] for k in drawn),
        )

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """The content of metrics.json. ``bootstrap`` describes only the intervals of
        calibration errors.
        """
        return {
            "judges": [
                FACTS.json(judge)
                | {name: judge.stored(name) for name in self.named}
                for judge in self.judges
            ],
            "warnings": list(self.warnings),
            **{item.name: item.in_json(self[item]) for item in self.of_study},
            "dataset": DATASET.json(self.dataset),
            "bootstrap": {
                "clusters": self.study.clusters,
                "draws": DRAWS,
                "seed": self.study.seed,
            },
        }

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Long tables by name: headline, by_task, by_encoding, …, comparisons,
        leak_audit. Each has one row per judge and cell.
        """
        rows: dict[str, list[Json]] = {}
        for stored in self.metrics["judges"]:
            judge = {"judge": stored["judge"]}
            wide = [name for name, figure in self.named.items() if figure.wide]
            rows.setdefault("headline", []).append(
                {name: stored[name] for name in (*IN_HEADLINE, *wide)}
            )
            for key, figure in self.named.items():
                for name, own in figure.in_tables(stored[key]).items():
                    rows.setdefault(name, []).extend(
                        {**judge, **row} for row in own
                    )
        for item in self.of_study:
            rows |= {
                name: list(own)
                for name, own in item.in_tables(self.metrics[item.name]).items()
            }
        return {
            name: pl.from_dicts(list(map(_flat, own)), infer_schema_length=None)
            for name, own in rows.items()
            if own
        }


def _flat(row: Mapping[str, Any], prefix: str = "") -> Json:
    """Flatten nested objects into dotted columns and an interval into _low and _high;
    omit other lists.
    """
    out: Json = {}
    for key, value in row.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            out |= _flat(value, f"{name}.")
        elif isinstance(value, tuple) and len(value) == 2:
            out |= {f"{name}_low": value[0], f"{name}_high": value[1]}
        elif not isinstance(value, (list, tuple)):
            out[name] = value
    return out


@dataclass(frozen=True)
class Shown:
    """What a page shows: the analysis, the judges of its tables, and those of its
    plots."""

    analysis: Analysis
    judges: tuple[JudgeResult, ...]
    drawn: tuple[JudgeResult, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names of the judges of its tables."""
        return frozenset(judge.name for judge in self.judges)

    def section(self, figure: Figure[Any, Any]) -> Section | None:
        """Return the section of a figure."""
        if callable(figure.section):
            return figure.section(self)
        if figure.section is None:
            return None
        assert isinstance(figure, JudgeFigure)
        return replace(
            figure.section, asked=self.grids(figure), notes=self.said(figure)
        )

    def grids(self, figure: JudgeFigure[Any]) -> list[Table]:
        """Return a table for each judge with the rows of its value."""
        assert figure.columns is not None
        return [
            grid(
                figure.columns,
                figure.tabled(judge[figure]),
                title=judge.name,
                hit=figure.marked,
                link=partial(figure.link, judge),
            )
            for judge in self.judges
        ]

    def said(self, figure: JudgeFigure[Any]) -> list[str]:
        """Return the sentences of each judge, with its name."""
        return [
            f"{judge.name}: {lower_first(line)}"
            for judge in self.judges
            for line in figure.sentences(judge[figure])
        ]
