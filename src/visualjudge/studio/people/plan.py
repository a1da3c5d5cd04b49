"""The plan of who is asked what and when: drawn from the seed, balanced for each rater,
unchanged by a restart. Its questions come from a selection, a queue or a file of ids.
The answers are kept in ``rating_run.py``; how many images a study needs is in
``apps/planning``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from visualjudge.analysis.decisions.label_files import read_queue
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.plurals import plural
from visualjudge.core.records import Order, QuestionType
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.question_filter import read_ids
from visualjudge.options import Selection
from visualjudge.studio.selection import Shelf, State

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
    copies
        Selected questions that a probe changed, which are not asked.
    """

    settings: Settings
    items: tuple[Item, ...]
    known: tuple[str, ...]
    practice: tuple[str, ...] = ()
    textual: int = 0
    left_out: int = 0
    copies: int = 0

    @property
    def text(self) -> str:
        """Describe the number of questions that a rater gets, and their purposes."""
        ordinary = len(self.wanted)
        counts = {
            "known": len(self.known),
            plural(self.settings.repeats, "repeat"): self.settings.repeats,
        }
        parts = [f"{n:,} {use}" for use, n in counts.items() if n]
        text = " + ".join(
            [f"{ordinary:,} {plural(ordinary, 'question')}", *parts]
        )
        practice = len(self.practice)
        return f"{text}, after {practice:,} for practice" if practice else text

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


# ---------------------------------------------------------------- choosing the questions

# How the predictions of a question are shown, by ``--show``; others show all.
_KINDS = {"drawn": {"pixel"}, "text": {"text"}}


def named_rows(shelf: Shelf, path: Path) -> list[int]:
    """Return the rows of the ids in a file.

    Raises
    ------
    UsageError
        If the file cannot be read, or an id is not in the dataset.
    """
    names = read_ids(path)
    rows = shelf.study.rows_of(names)
    if -1 in rows:
        raise UsageError(
            f"`questions`: question {names[rows.index(-1)]!r} is not in the dataset"
        )
    return rows


def drawn_rows(shelf: Shelf, queue: Path) -> dict[int, float]:
    """Return the question for each item of the queue, with its probability of
    selection.

    Raises
    ------
    DataError
        If the queue cannot be read, or has an item that no question of the dataset
        asks.
    """
    by, drawn = read_queue(queue)
    study = shelf.study
    if by == "question_id":
        row_by_name = dict(zip(drawn, study.rows_of(drawn), strict=True))
    else:
        row_by_name = dict.fromkeys(drawn, -1)
        for row in shelf.select(State((("type", ("scoring",)),))):
            question = study.question(row)
            annotation = question.annotation_ids[0]
            for name in (annotation, f"{question.task}/{annotation}"):
                if row_by_name.get(name) == -1:
                    row_by_name[name] = row
    missing = next((name for name, row in row_by_name.items() if row < 0), None)
    if missing is not None:
        raise DataError(
            f"{queue}: {by}: no question of the dataset asks about {missing}"
        )
    return {row: drawn[name] for name, row in row_by_name.items()}


def plan_of(
    shelf: Shelf,
    settings: Settings,
    drawn: Mapping[int, float] | None = None,
    named: Sequence[int] | None = None,
) -> Plan:
    """Return the plan: the questions from the selection, the queue (``drawn``), the ids
    (``named``) or a sample, and the easiest as known and practice questions.
    """
    facts = _facts(shelf)
    fit = _selected(shelf, settings.filter)
    counted = set(shelf.select(State(copies=named is not None)))
    kinds = [form for *_, form in facts]
    allowed = _KINDS.get(settings.encoding, {*kinds})
    rows = [row for row in fit if kinds[row] in allowed]
    for some in (drawn, named):
        rows = [row for row in rows if some is None or row in some]
    copies = len(rows) - len(counted.intersection(rows))
    left_out = sum(row in counted and kinds[row] not in allowed for row in fit)
    # Drawn among all, so that a study of 1.1 keeps the unchanged part of its sample.
    shuffled = rng_for(settings.seed, "people", "sample").permutation(rows)
    asked = [row for row in shuffled.tolist() if row in counted]
    rows = sorted(asked[: settings.sample])
    if not rows:
        raise UsageError(
            f"`show` {settings.encoding or 'all'}: no question that is selected is "
            "shown this way; choose another (drawn, text or all)"
        )
    names = dict(zip(rows, shelf.study.identities(rows), strict=True))
    items = tuple(
        Item(names[row], *facts[row][:2], drawn[row] if drawn else None)
        for row in rows
    )
    easy = [names[row] for row in _easiest(rows, facts)]
    return Plan(
        settings,
        items,
        known=tuple(easy[: settings.known]),
        practice=tuple(easy[settings.known :][: settings.practice]),
        textual=sum(kinds[row] == "text" for row in rows),
        left_out=left_out,
        copies=copies,
    )


# Type, number of options, margin, whether a probe changed it, and how predictions are
# shown.
Facts = tuple[QuestionType, int, float | None, bool, str]


def _facts(shelf: Shelf) -> list[Facts]:
    values: Fields = shelf.study.values
    records = shelf.study.all(
        "SELECT of_type, options, difference, changed, of_form FROM question ORDER BY "
        "row"
    )
    return [
        (values["type"][k][0], *rest, values["form"][f][0])
        for k, *rest, f in records
    ]


def _selected(shelf: Shelf, text: str) -> list[int]:
    """Return the rows of the questions that ``text`` selects."""
    if not text:
        return sorted(shelf.select(State(copies=True)))
    if not text.startswith("{"):
        raise UsageError(
            f"this study asks the questions of a grid's address ({text}), which 1.1 "
            "does not read; give their ids with `questions`, and another folder"
        )
    dataset = load_dataset(shelf.study.root).choose(Selection.of_text(text))
    return shelf.study.rows_of(question.id for question in dataset)


def _easiest(rows: Sequence[int], facts: Sequence[Facts]) -> list[int]:
    """Return the questions that any attentive rater answers correctly, easiest first.

    Pairs with a positive margin whose options are drawn, widest margin first; then
    those whose options are text. Rankings and scores have no obvious answer.
    """
    fit = []
    for row in rows:
        kind, _, margin, changed, form = facts[row]
        if kind == "pairwise" and margin and not changed:
            fit.append((form == "text", -margin, row))
    return [row for _, _, row in sorted(fit)]
