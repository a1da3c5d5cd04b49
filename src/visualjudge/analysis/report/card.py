"""The card: whether each judge may rank models, its checks, and what it has shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

from visualjudge.analysis.decisions.card import JudgeCard
from visualjudge.analysis.decisions.card_by_benchmark import (
    BENCHMARK,
    BenchmarkRow,
    benchmarks_table,
    rows_of,
)
from visualjudge.analysis.decisions.checks import LEAST_IMAGES, checks_table
from visualjudge.analysis.decisions.may_rank_models import sources_table
from visualjudge.analysis.decisions.pairs_of_models import pairs_table
from visualjudge.analysis.figures.answer import AS_BEFORE, CARDS, tasks_table
from visualjudge.analysis.identity import moved_between
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.table_layout import Column, Layout, as_named, blocks
from visualjudge.core.escaping import for_html
from visualjudge.core.text_tables import Table, folded

Part = Table | tuple[str, ...]
"""A table of the card, or some of its lines."""


@dataclass(frozen=True, eq=False)
class Card:
    """The cards of all judges."""

    judges: tuple[JudgeCard, ...]
    benchmarks: tuple[BenchmarkRow, ...] = ()
    """One row per judge, benchmark and type of question, if the runs are on several datasets."""
    moved: tuple[str, ...] = ()
    """A sentence per two runs of which only the model that answered, or its settings, differ."""

    @property
    def parts(self) -> Iterator[Part]:
        """What it says, with rows: lines and tables."""
        over_all = (benchmarks_table(self.benchmarks), tasks_table(self.judges))
        for part in chain([self.moved], over_all, *map(_parts, self.judges)):
            if part.rows if isinstance(part, Table) else part:
                yield part

    def _repr_html_(self) -> str:
        return "".join(
            part.html()
            if isinstance(part, Table)
            else "".join(f"<p>{for_html(line)}</p>" for line in part)
            for part in self.parts
        )

    def __str__(self) -> str:
        texts = (
            part.text() if isinstance(part, Table) else "\n".join(map(folded, part))
            for part in self.parts
        )
        return "\n\n".join(texts)


@lru_cache(maxsize=1)
def card_of(analysis: Analysis) -> Card:
    """Return the card of an existing analysis."""
    moved = (moved_between(*two) for two in pairwise(analysis.judges))
    return Card(
        tuple(judge[CARDS] for judge in analysis.judges),
        tuple(rows_of(analysis.study)),
        tuple(chain.from_iterable(moved)),
    )


def _parts(judge: JudgeCard) -> Iterator[Part]:
    """Yield what it says: lines and tables."""
    main = judge.system.main
    yield (judge.answer, *judge.remarks.lines)
    yield pairs_table(judge.models)
    yield checks_table({judge.judge: judge.checks})
    if main:
        yield sources_table(main)
    yield tuple(judge.result.sentences)


def _stored(name: str) -> Column:
    return Column(name, lambda judge: judge.result.stored(name))


JUDGE = Layout[JudgeCard](
    *as_named("judge", "answer"),
    *(Column(name, f"result.{name}") for name in ("simulated", "expected", "missing")),
    *(Column(name, f"remarks.{name}") for name in ("warnings", "problems")),
    *AS_BEFORE,
    Column("models", lambda judge: judge.result.stored("answer")),
    *map(
        _stored,
        (
            "tasks",
            "system",
            "as_published",
            "as_published_of",
            "probabilities",
            "photograph",
            "score_radius",
        ),
    ),
)
CARD = Layout[Card](
    blocks("judges", JUDGE),
    Column("least_images", lambda _: LEAST_IMAGES),
    blocks("benchmarks", BENCHMARK),
    *as_named("moved"),
)
"""The card in files."""
