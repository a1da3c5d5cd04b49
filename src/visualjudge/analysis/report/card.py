"""The text of a card: whether each judge may rank models, its checks, and what it has
shown. It is decided in ``decisions/card.py``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from visualjudge.analysis.decisions.card import JudgeCard
from visualjudge.analysis.decisions.checks import (
    STATES,
    Check,
    checks_table,
)
from visualjudge.analysis.decisions.model_answer import RULE, pairs_table
from visualjudge.analysis.decisions.source_order import sources_table
from visualjudge.analysis.figure_text import lower_first, plain_name
from visualjudge.analysis.figures.answer import CARDS, tasks_table
from visualjudge.analysis.figures.benchmarks import BENCHMARKS, benchmarks_table
from visualjudge.analysis.figures.comparisons import MOVED
from visualjudge.analysis.figures.scoring import ranges_table, scores_table
from visualjudge.analysis.results import Analysis
from visualjudge.core.escaping import for_html
from visualjudge.core.jsons import Json
from visualjudge.core.text_tables import Table, folded

Part = Table | Sequence[str]
"""A table of the card, or some of its lines."""
FIGURES = ("answer", "checks", "leaderboard", "tasks", "as_published")
"""What the card has in files of each judge, as metrics.json has it."""


@dataclass(frozen=True, eq=False)
class Card:
    """The cards of all judges. It prints the answer of each, its pairs of models, and a
    line of the checks that fail or are open; :attr:`details` has the rest.
    """

    analysis: Analysis
    judges: tuple[JudgeCard, ...]

    @property
    def moved(self) -> tuple[str, ...]:
        """A sentence per two runs of which only the model that answered, or its
        settings, differ."""
        return self.analysis[MOVED]

    @property
    def metrics(self) -> Json:
        """The part of ``metrics.json`` that the card answers from, under the same
        names."""
        judges = [
            {
                "judge": own.judge,
                **{name: own.result.stored(name) for name in FIGURES},
            }
            for own in self.judges
        ]
        return {"judges": judges}

    @property
    def details(self) -> str:
        """All of it: also each task, each check, the sources, and what other figures
        say."""
        return _text(self._parts(details=True))

    def _parts(self, *, details: bool = False) -> Iterator[Part]:
        yield self.moved
        for own in self.judges:
            answer = own.models
            reasons = (
                f"  {reason.sign} {reason.text}" for reason in answer.reasons
            )
            yield (
                f"{own.judge}: {answer.verdict}.",
                *reasons,
                *filter(None, [answer.caution]),
                *own.remarks.lines,
            )
            yield pairs_table(own.models)
            scores = own.scores
            if scores is not None:
                yield scores_table("", scores)
            yield from (
                _rest(own) if details else [(open_checks(own.shown_checks),)]
            )
        if details:
            compared = [own for own in self.judges if own.models.pairs]
            yield [RULE] if compared else []
            yield benchmarks_table(self.analysis[BENCHMARKS])
            yield tasks_table(compared)

    def _repr_html_(self) -> str:
        return "".join(
            part.html()
            if isinstance(part, Table)
            else "".join(f"<p>{for_html(line)}</p>" for line in part)
            for part in _filled(self._parts())
        )

    def __str__(self) -> str:
        return _text(self._parts())


def _filled(parts: Iterator[Part]) -> Iterator[Part]:
    return (
        part
        for part in parts
        if (part.rows if isinstance(part, Table) else part)
    )


def _text(parts: Iterator[Part]) -> str:
    texts = (
        part.text() if isinstance(part, Table) else "\n".join(map(folded, part))
        for part in _filled(parts)
    )
    return "\n\n".join(texts)


def _rest(own: JudgeCard) -> Iterator[Part]:
    yield checks_table({own.judge: own.shown_checks})
    if own.scores is not None:
        yield ranges_table(own.judge, own.scores)
    if own.system.main:
        yield sources_table(own.system.main)
    yield own.result.sentences


def open_checks(checks: Sequence[Check]) -> str:
    """Return how many checks pass, and the names of the others, in one line."""
    if len(checks) == 1:
        return f"Check of {lower_first(checks[0].title)}: {STATES[checks[0].state]}."
    names = {
        state: [lower_first(row.title) for row in checks if row.state == state]
        for state in STATES
    }
    passed = f"{len(names.pop('pass'))} of {len(checks)} pass"
    rest = (f"{plain_name(s)}: {', '.join(n)}" for s, n in names.items() if n)
    return f"Checks: {'; '.join([passed, *rest])}."


@lru_cache(maxsize=1)
def card_of(analysis: Analysis) -> Card:
    """Return the card of an existing analysis."""
    return Card(analysis, tuple(judge[CARDS] for judge in analysis.judges))
