"""The plan of who is asked what and when: drawn from the seed, balanced for each rater,
unchanged by a restart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from visualjudge.core.jsons import Json
from visualjudge.core.plurals import plural
from visualjudge.core.records import Order, QuestionType
from visualjudge.core.seeding import rng_for

Purpose = Literal["question", "repeat", "known", "practice"]
# Minimum number of other questions before a question is repeated.
REPEAT_AFTER = 8
# Of ten questions, one is a known question and one a repeat, while any remain.
EVERY = 10
_KNOWN_AT = 4
_REPEAT_AT = 9
_ORDERS: tuple[Order, Order] = ("AB", "BA")


@dataclass(frozen=True)
class Settings:
    """The settings of a people's run; stored in ``run.json`` and fixed while the run
    continues.

    Parameters
    ----------
    seed
        Seed of every draw.
    overlap
        Share of the questions (0..1) that several raters get.
    raters_per_question
        How many raters each of those questions gets.
    repeats
        Questions that each rater is asked a second time.
    known
        Questions with the largest margins that each rater is asked, to find who answers
        without looking.
    sample
        Questions drawn from those that the selection leaves; None = all.
    filter
        The selection as text; empty = the whole dataset.
    items
        SHA-256 of the queue of ``visualjudge label`` whose items are asked; empty =
        none.
    questions
        SHA-256 of the file of ids that are asked; empty = none.
    instructions
        SHA-256 of the instructions that raters read; empty = none.
    practice
        Number of easy questions that each rater answers first, with feedback; they are
        not counted.
    least_seconds
        Minimum time in view before an answer is accepted.
    encoding
        "drawn" leaves out questions whose predictions are shown only as text, "text"
        leaves out all others, "all" and empty leave out none.
    rubric
        The rubric that raters answer, as a judge's ``run.json`` states it; criteria of
        the form ``place`` are asked of judges only.
    """

    seed: int = 42
    overlap: float = 1.0
    raters_per_question: int = 2
    repeats: int = 0
    known: int = 0
    sample: int | None = None
    filter: str = ""
    items: str = ""
    questions: str = ""
    instructions: str = ""
    practice: int = 0
    least_seconds: float = 0.5
    encoding: str = ""
    rubric: Json | None = None


@dataclass(frozen=True, slots=True)
class StudyFiles:
    """Input files of a study, whose checksums are settings; each may be None.

    Parameters
    ----------
    items
        A file written by ``visualjudge label``: only its items are asked, in one
        question each.
    questions
        A file of ids, one per line: only these questions are asked.
    instructions
        A Markdown file that raters read first.
    """

    items: Path | None = None
    questions: Path | None = None
    instructions: Path | None = None


NO_FILES = StudyFiles()


@dataclass(frozen=True, slots=True)
class Item:
    """The plan's data about a question of the queue.

    Attributes
    ----------
    probability
        Probability with which it was drawn for labelling, if it was.
    """

    id: str
    type: QuestionType
    options: int
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """One question for one rater.

    ``turn`` distinguishes a repeat from the first time; ``shown`` lists the stored
    letters in the order shown.
    """

    id: str
    purpose: Purpose
    turn: int
    order: Order
    shown: str

    @property
    def key(self) -> tuple[str, int]:
        """Return the key of the slot among the rater's own."""
        return self.id, self.turn


@dataclass(frozen=True)
class Plan:
    """The queue: ``items`` in dataset order; ``known`` and ``practice`` are ids of some
    of them.

    Attributes
    ----------
    textual
        Items whose predictions are shown only as text.
    left_out
        Questions that ``settings.encoding`` leaves out.
    """

    settings: Settings
    items: tuple[Item, ...]
    known: tuple[str, ...]
    practice: tuple[str, ...] = ()
    textual: int = 0
    left_out: int = 0

    @property
    def text(self) -> str:
        """Describe the number of questions of each kind and in all."""
        counts = {
            "question": len(self.wanted),
            "known question": len(self.known),
            "practice question": len(self.practice),
        }
        parts = [
            f"{n:,} {plural(n, noun)}"
            for noun, n in counts.items()
            if n or noun == "question"
        ]
        return (
            parts[0]
            if len(parts) == 1
            else f"{', '.join(parts)}: {len(self.items):,} in all"
        )

    @cached_property
    def by_id(self) -> Mapping[str, Item]:
        """Return the items by id."""
        return {item.id: item for item in self.items}

    @cached_property
    def wanted(self) -> Mapping[str, int]:
        """Return the number of raters wanted for each ordinary question."""
        checks = {*self.known, *self.practice}
        ordinary = [item.id for item in self.items if item.id not in checks]
        shared = round(self.settings.overlap * len(ordinary))
        order = self._shuffled(ordinary, "overlap")
        several = self.settings.raters_per_question
        return {
            name: several if k < shared else 1 for k, name in enumerate(order)
        }

    def _shuffled(self, names: Sequence[str], *words: str) -> list[str]:
        order = rng_for(self.settings.seed, "people", *words).permutation(
            len(names)
        )
        return [names[place] for place in order.tolist()]

    def sequence(self, rater: str) -> list[str]:
        """Return the ordinary questions in the rater's order: shared ones first, so
        that overlap builds up early.
        """
        order = self._shuffled(list(self.wanted), "questions", rater)
        return sorted(order, key=lambda name: self.wanted[name] == 1)

    def known_for(self, rater: str) -> list[str]:
        """Return the known questions in the rater's order."""
        return self._shuffled(self.known, "known", rater)

    def slot(
        self,
        rater: str,
        identity: str,
        purpose: Purpose,
        turn: int,
        pairs_before: int,
    ) -> Slot:
        """Return the question as this rater sees it.

        Pairs come in blocks of two, one in each order, so that the counts of the two
        orders never differ by more than one; the options of a ranking are permuted.
        """
        item = self.by_id[identity]
        seed = self.settings.seed
        order: Order = "AB"
        letters = "ABCDE"[: item.options]
        if item.type == "pairwise":
            first = int(
                rng_for(
                    seed, "people", "order", rater, pairs_before // 2
                ).integers(2)
            )
            order = _ORDERS[first ^ (pairs_before % 2)]
            letters = order
        elif item.type == "ranking":
            order_of = rng_for(seed, "people", "ranking", rater, identity, turn)
            letters = "".join(
                letters[place] for place in order_of.permutation(item.options)
            )
        return Slot(identity, purpose, turn, order, letters)


def next_purpose(
    step: int, known_left: int, repeats_left: int
) -> list[Purpose]:
    """Return the kinds of question for a rater's ``step``-th turn, best first;
    unavailable kinds are skipped.
    """
    place = step % EVERY
    first: list[Purpose] = []
    if place == _KNOWN_AT and known_left:
        first = ["known"]
    elif place == _REPEAT_AT and repeats_left:
        first = ["repeat"]
    return [
        *first,
        "question",
        *(["known"] if known_left else []),  # type: ignore[list-item]
        *(["repeat"] if repeats_left else []),  # type: ignore[list-item]
    ]


def repeatable(
    answered: Sequence[Slot], after: int = REPEAT_AFTER
) -> str | None:
    """Return a rater's oldest question asked once, with at least ``after`` others
    since."""
    repeated = {slot.id for slot in answered if slot.purpose == "repeat"}
    early = answered[: max(len(answered) - after, 0)]
    return next(
        (
            slot.id
            for slot in early
            if slot.purpose == "question" and slot.id not in repeated
        ),
        None,
    )
