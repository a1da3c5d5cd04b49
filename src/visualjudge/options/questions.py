"""Which questions: the same four options in every command that selects, and more where questions
are asked.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from visualjudge.options.declared import Options, option


@dataclass(frozen=True, kw_only=True)
class Tasks(Options):
    """A selection of tasks; an empty tuple selects all."""

    tasks: tuple[str, ...] = option((), "Only this task; repeatable.", "TASK", name="task")


@dataclass(frozen=True, kw_only=True)
class Selection(Tasks):
    """A selection of questions by what they are; an empty tuple does not restrict it."""

    encodings: tuple[str, ...] = option(
        (), "Only this encoding; repeatable.", "STEM", name="encoding"
    )
    types: tuple[str, ...] = option((), "pairwise, ranking or scoring.", "TYPE", name="type")
    where: tuple[str, ...] = option((), "Condition; also != < > ~.", "FIELD=…")

    @property
    def stated(self) -> tuple[str, ...]:
        """The selection in words, one condition each: ``task=keypoint``."""
        named = {"task": self.tasks, "encoding": self.encodings, "type": self.types}
        return (*(f"{k}={' or '.join(v)}" for k, v in named.items() if v), *self.where)

    @property
    def text(self) -> str:
        """The selection as text that :meth:`of_text` reads; empty for all questions."""
        named = {name: value for name, value in asdict(self).items() if value}
        return json.dumps(named) if named else ""

    @classmethod
    def of_text(cls, text: str) -> Selection:
        return cls(**json.loads(text))


@dataclass(frozen=True, kw_only=True)
class Choice(Selection):
    """A selection of questions to ask.

    ``sample`` draws this number, balanced over tasks, then encodings, then question types.
    ``limit`` then keeps the first ones, in the order of the dataset.
    """

    subsets: tuple[str, ...] = option((), "Only this subset; repeatable.", "NAME", name="subset")
    sample: int | None = option(None, "Ask a balanced sample of N.", "N", least=1)
    questions: Path | None = option(None, "Only the ids in this file.", "FILE")
    limit: int | None = None
    seed: int = 42
    ids: tuple[str, ...] | None = None
    """Only the questions with these ids; None = all."""
