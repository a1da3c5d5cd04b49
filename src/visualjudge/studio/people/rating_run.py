"""The run of several raters: each rater's next question, and a folder of checked
answers with one writer; and how each rater gets on. Who is asked what is in
``plan.py``; how well people agree, in ``analysis/people_agreement.py``.
"""

import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator
from typing_extensions import TypedDict

from visualjudge import __version__
from visualjudge.analysis.score_scale import ZERO_TO_TEN, ScoreScale
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import (
    FAILED,
    LETTERS,
    TIES,
    Answer,
    Order,
    Question,
    QuestionType,
    Status,
)
from visualjudge.core.typed_records import record_of
from visualjudge.prompts.rubric import Comparison, Criterion
from visualjudge.replies.criteria import read_criteria
from visualjudge.runs.folder import PEOPLE, Manifest, RunFolder, excluded_raters
from visualjudge.runs.journal import read_records
from visualjudge.runs.settings_changes import changes
from visualjudge.studio.people.plan import (
    REPEAT_AFTER,
    Plan,
    Purpose,
    Settings,
    Slot,
    next_purpose,
    repeatable,
)

LONGEST_NOTE = 4000
LONGEST_SECONDS = 86_400.0
# Time after which an unanswered question shown to a rater may go to another rater.
LEASE_S = 1800.0


def _moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


class RatedLine(TypedDict):
    """A line of a study; it may come from a stranger."""

    id: str
    rater: str
    order: Order
    shown: str
    purpose: Purpose
    status: Literal["ok", "cannot_tell"]
    turn: int
    repeat: int
    value: Answer
    latency_s: float | None
    answered: Annotated[str, AfterValidator(_moment)]
    note: NotRequired[str | None]
    criteria: NotRequired[Json]


@dataclass(frozen=True, slots=True)
class Given:
    """An answer in stored letters; ``value`` is "Failed" with status ``cannot_tell`` if
    the rater could not tell. ``criteria`` has the values of a rubric by id.
    """

    value: Answer
    status: Status
    note: str | None
    seconds: float
    criteria: Fields = field(default_factory=dict)


def read_answer(
    raw: Fields,
    slot: Slot,
    kind: QuestionType,
    *,
    ties: tuple[str, ...] = (),
    least_seconds: float = 0.0,
    scale: ScoreScale = ZERO_TO_TEN,
    criteria: tuple[Criterion, ...] = (),
    task: str = "",
) -> Given:
    """Read the answer in the body of a request; ``ties`` are the allowed answers to a
    pair besides A and B, scores lie on ``scale``, and each of ``criteria`` needs a
    value.

    Raises
    ------
    DataError
        If it does not fit the question; the message names the field.
    """
    note = raw.get("note")
    seconds = raw.get("seconds")
    if note is not None and (
        not isinstance(note, str) or len(note) > LONGEST_NOTE
    ):
        raise DataError(
            f"note must be a text of at most {LONGEST_NOTE} characters"
        )
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not 0 <= seconds <= LONGEST_SECONDS
    ):
        raise DataError(
            f"seconds must be a number from 0 to {LONGEST_SECONDS:.0f}, got {seconds!r}"
        )
    if seconds < least_seconds:
        raise DataError(
            f"seconds must be at least {least_seconds:g}: look at the question first"
        )
    text = (note or "").strip() or None
    if raw.get("cannot_tell") is True:
        return Given(FAILED, "cannot_tell", text, round(float(seconds), 2))
    value = _value(raw.get("value"), slot, kind, ties, scale)
    values = record_of(Json, raw.get("criteria", {}), "criteria")
    read = read_criteria(
        criteria, values, Comparison(kind, task), lambda v: _stored(v, slot)
    )
    for name, answer in read.items():
        if answer == FAILED:
            raise DataError(
                f"criteria: {name} must have an answer, got {values.get(name)!r}"
            )
    return Given(value, "ok", text, round(float(seconds), 2), read)


def _stored(letter: str, slot: Slot) -> str:
    """Return an option's letter as stored; other words unchanged."""
    letters = LETTERS[: len(slot.shown)]
    return slot.shown[letters.index(letter)] if letter in letters else letter


def _value(
    value: Any,
    slot: Slot,
    kind: QuestionType,
    ties: tuple[str, ...],
    scale: ScoreScale,
) -> Answer:
    letters = "ABCDE"[: len(slot.shown)]
    if kind == "scoring":
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not scale.low <= value <= scale.high
        ):
            raise DataError(
                f"value must be a number from {scale}, got {value!r}"
            )
        return round(scale.ten(float(value)), 6)
    if kind == "pairwise":
        if value in ties:
            return str(value)
        if value not in ("A", "B"):
            raise DataError(
                f"value must be {', '.join(('A', *ties))} or B, got {value!r}"
            )
        return _stored(value, slot)
    if not isinstance(value, str) or sorted(value) != list(letters):
        raise DataError(f"value must rank {', '.join(letters)}, got {value!r}")
    return "".join(_stored(letter, slot) for letter in value)


def as_shown(
    value: Answer, slot: Slot, scale: ScoreScale = ZERO_TO_TEN
) -> Answer:
    """Convert a stored answer to the letters, or the scale, shown to the rater."""
    if isinstance(value, float | int):
        return scale.score(value)
    if value in (FAILED, *TIES):
        return value
    return "".join(
        "ABCDE"[slot.shown.index(letter)]
        for letter in value
        if letter in slot.shown
    )


# Settings that every study states; others stand in ``run.json`` where they are not as
# by default, so that a study of an earlier version goes on.
_FIRST = (
    "seed",
    "overlap",
    "raters_per_question",
    "repeats",
    "known",
    "sample",
    "filter",
    "items",
)
_DEFAULTS = asdict(Settings())
_DROPPED = ("exclude", "break_every")


class Stale(DataError):
    """The question was answered in another window, or is not this rater's next one."""


@dataclass(slots=True)
class Rater:
    """The work of one rater; ``slots`` and ``lines`` are parallel, in order of first
    answers."""

    name: str
    slots: list[Slot] = field(default_factory=list)
    lines: list[RatedLine] = field(default_factory=list)
    pending: Slot | None = None
    leased: float = 0.0

    @property
    def pairs(self) -> int:
        """Return the number of answered pairs."""
        return sum(slot.shown in ("AB", "BA") for slot in self.slots)

    @property
    def counted(self) -> int:
        """Return the number of answers without practice."""
        return len(self.slots) - self.count("practice")

    def count(self, purpose: Purpose) -> int:
        """Return the number of answers with a purpose."""
        return sum(slot.purpose == purpose for slot in self.slots)


class RatingRun:
    """Hands out questions and writes answers; thread-safe.

    Raises
    ------
    UsageError
        If the folder holds another run, or one with other settings.
    RunError
        If another process writes to it.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        dataset: Mapping[str, str | None],
        raters: list[str],
    ) -> None:
        self.plan = plan
        self._folder = RunFolder(folder)
        self._lock = threading.RLock()
        self.raters: dict[str, Rater] = {}
        self._taken: dict[str, set[str]] = {}
        self._sequences: dict[str, list[str]] = {}
        self._keys: Counter[tuple[str, str]] = Counter()
        old = self._folder.manifest()
        self._manifest = _manifest(plan, dataset, old)
        differences = changes(old, self._manifest) if old else ()
        changed = [
            change for change in differences if change.name not in _DROPPED
        ]
        if changed:
            raise UsageError(
                f"{folder}: cannot continue with other settings: "
                f"{'; '.join(map(str, changed))}. Start another study in another folder"
            )
        path = self._folder.journal_path
        if (
            not old and path.exists() and path.stat().st_size
        ):  # an empty one is left by 1.0
            raise UsageError(
                f"{folder}: holds verdicts without a run.json; name another folder"
            )
        self._journal = self._folder.open_journal(resume=True)
        for record in read_records(self._journal.path):
            self._take_in(record)
        for name in [*old.get("people", {}).get("raters", ()), *raters]:
            self.raters.setdefault(name, Rater(name))
        self._manifest["people"]["raters"] = sorted(self.raters)
        self._folder.write_manifest(self._manifest)

    def _take_in(self, record: Json) -> None:
        """Apply a line of the journal; a later line on the same slot replaces the
        earlier one."""
        line = self._checked(record)
        rater = self.raters.setdefault(line["rater"], Rater(line["rater"]))
        slot = _slot_of(line)
        if slot.id not in self.plan.by_id:
            return
        for place, known in enumerate(rater.slots):
            if known.key == slot.key:
                rater.lines[place] = line
                return
        rater.slots.append(slot)
        rater.lines.append(line)
        self._taken.setdefault(slot.id, set()).add(rater.name)
        self._keys[slot.id, slot.order] += 1

    def _checked(self, record: Fields) -> RatedLine:
        """Return a line of a journal; DataError if it was not written by a study."""
        name = str(record.get("id"))[:80]
        where = f"{self._folder.journal_path}: the answer on {name!r}"
        hint = "; a study writes its answers: name another folder"
        line = record_of(RatedLine, record, where, hint=hint)
        item = self.plan.by_id.get(line["id"])
        letters = LETTERS[: item.options] if item else sorted(line["shown"])
        if sorted(line["shown"]) != list(letters):
            raise DataError(f"{where}: shown: must name the options once{hint}")
        return line

    # ---------------------------------------------------------------- handing out

    def next(self, name: str) -> Slot | None:
        """Return the rater's current question, the same in every window until it is
        answered; None if none is left.
        """
        with self._lock:
            rater = self.raters[name]
            if rater.pending is None:
                rater.pending = self._drawn(rater)
            rater.leased = time.monotonic()
            return rater.pending

    def _drawn(self, rater: Rater) -> Slot | None:
        settings = self.plan.settings
        known = self._left_of(rater, self.plan.known_for(rater.name))
        again = settings.repeats - rater.count("repeat")
        practice = self._left_of(rater, self.plan.practice)
        if practice:
            return self.plan.slot(
                rater.name, practice[0], "practice", 0, rater.pairs
            )
        after = REPEAT_AFTER
        for purpose in next_purpose(
            len(rater.slots) - len(self.plan.practice), len(known), again
        ):
            identity = self._found(rater, purpose, known, after)
            if identity is not None:
                return self.plan.slot(
                    rater.name,
                    identity,
                    purpose,
                    int(purpose == "repeat"),
                    rater.pairs,
                )
            after = (
                1 if purpose == "question" else after
            )  # at the end of the queue, repeats are allowed at once
        return None

    def _left_of(self, rater: Rater, identities: Sequence[str]) -> list[str]:
        return [
            name
            for name in identities
            if rater.name not in self._taken.get(name, ())
        ]

    def _found(
        self, rater: Rater, purpose: Purpose, known: list[str], after: int
    ) -> str | None:
        if purpose == "known":
            return known[0] if known else None
        if purpose == "repeat":
            return repeatable(rater.slots, after)
        return next(self._open(rater), None)

    def _open(self, rater: Rater) -> Iterator[str]:
        """Yield the ordinary questions still open to the rater: not answered by this
        rater or by enough others.
        """
        held = self._held(rater)
        if rater.name not in self._sequences:
            self._sequences[rater.name] = self.plan.sequence(rater.name)
        for identity in self._sequences[rater.name]:
            taken = self._taken.get(identity, set())
            if (
                rater.name not in taken
                and len(taken) + held[identity] < self.plan.wanted[identity]
            ):
                yield identity

    def _held(self, rater: Rater) -> Counter[str]:
        """Count the questions that other raters are viewing."""
        now = time.monotonic()
        others = (
            o
            for o in self.raters.values()
            if o is not rater and o.pending and now - o.leased < LEASE_S
        )
        return Counter(
            o.pending.id
            for o in others
            if o.pending and o.pending.purpose == "question"
        )

    def left(self, name: str) -> int:
        """Return the maximum number of questions left for the rater."""
        with self._lock:
            rater = self.raters[name]
            settings = self.plan.settings
            known = len(self._left_of(rater, self.plan.known))
            ordinary = sum(1 for _ in self._open(rater))
            again = min(
                settings.repeats, rater.count("question") + ordinary
            ) - rater.count("repeat")
            return ordinary + known + max(again, 0)

    def complete(self) -> int:
        """Return the number of ordinary questions that have all their answers."""
        with self._lock:
            return sum(
                len(self._taken.get(name, ())) >= wanted
                for name, wanted in self.plan.wanted.items()
            )

    def back(self, name: str, steps: int) -> tuple[Slot, RatedLine] | None:
        """Return the slot and answer from ``steps`` questions ago (1 is the last), for
        a correction.
        """
        with self._lock:
            rater = self.raters[name]
            return (
                (rater.slots[-steps], rater.lines[-steps])
                if 1 <= steps <= len(rater.slots)
                else None
            )

    # ---------------------------------------------------------------- taking in

    def write(
        self, name: str, key: tuple[str, int], answer: Given, *, revise: bool
    ) -> None:
        """Append an answer unless it repeats the rater's previous one.

        Call ``synced`` before reporting it as saved.

        Raises
        ------
        Stale
            If the question is neither the rater's next one nor one being revised.
        RunError
            If it cannot be written to disk.
        """
        with self._lock:
            rater = self.raters[name]
            before = {
                slot.key: line
                for slot, line in zip(rater.slots, rater.lines, strict=True)
            }
            if revise and key in before:
                line = before[key]
                was = (
                    line["value"],
                    line["status"],
                    line.get("note"),
                    line.get("criteria", {}),
                )
                if was == (
                    answer.value,
                    answer.status,
                    answer.note,
                    answer.criteria,
                ):
                    return  # the rater viewed an answer and kept it
                slot = _slot_of(before[key])
                repeat = before[key].get("repeat", 0)
            elif (
                rater.pending is not None
                and rater.pending.key == key
                and key not in before
            ):
                slot = rater.pending
                repeat = self._keys[key[0], rater.pending.order]
            else:
                raise Stale("this question was answered in another window")
            record = _line(
                slot,
                answer,
                name,
                repeat,
                revised=revise,
                probability=self.plan.by_id[slot.id].probability,
            )
            self._journal.write(record)
            if rater.pending is slot:
                rater.pending = None
            self._take_in(record)

    async def synced(self) -> None:
        """Wait until every answer is on disk."""
        await self._journal.synced()

    def close(self) -> None:
        """Write the final state to ``run.json``, and release the folder."""
        with self._lock, closing(self._journal):
            statuses = Counter(
                line["status"]
                for rater in self.raters.values()
                for line in rater.lines
            )
            done = not any(self.left(name) for name in self.raters)
            self._manifest |= {
                "statuses": dict(statuses),
                "finished": _now() if done else None,
            }
            self._folder.write_manifest(self._manifest)


def _line(
    slot: Slot,
    answer: Given,
    rater: str,
    repeat: int,
    *,
    revised: bool,
    probability: float | None,
) -> Json:
    """Return a verdict as a line of ``verdicts.jsonl``, followed by the fields that
    only people's runs have.
    """
    line = {
        "id": slot.id,
        "order": slot.order,
        "value": answer.value,
        "status": answer.status,
        "raw_response": None,
        "usage": None,
        "latency_s": answer.seconds,
        "repeat": repeat,
        "rater": rater,
        "purpose": slot.purpose,
        "turn": slot.turn,
        "shown": slot.shown,
        "answered": _now(),
    }
    extra = {
        "note": answer.note,
        "criteria": answer.criteria,
        "revised": revised,
        "probability": probability,
    }
    return line | {name: value for name, value in extra.items() if value}


def _slot_of(line: RatedLine) -> Slot:
    return Slot(
        line["id"], line["purpose"], line["turn"], line["order"], line["shown"]
    )


def _manifest(
    plan: Plan, dataset: Mapping[str, str | None], old: Manifest
) -> Json:
    return {
        **PEOPLE,
        "parameters": {
            name: value
            for name, value in asdict(plan.settings).items()
            if name in _FIRST or value != _DEFAULTS[name]
        },
        "simulated": False,
        "asked": None,
        "dataset": dict(dataset),
        "version": __version__,
        "started": old.get("started") or _now(),
        "finished": None,
        "people": {
            "raters": [],
            "questions": len(plan.wanted),
            "shared_questions": sum(n > 1 for n in plan.wanted.values()),
            "known_items": list(plan.known),
            "practice_items": list(plan.practice),
            "excluded": sorted(excluded_raters(old)),
        },
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# ---------------------------------------------------------------- the state of a study

# Scores of one question that differ by no more agree.
CLOSE = 1.0


@dataclass(frozen=True, slots=True)
class Progress:
    """One rater's row on the overview: the number of answers without practice, and of
    questions left; what shows whether the rater looks: how many of some answers are
    right, the same again, or "cannot tell", and the median time in seconds; and when the
    last answer came, empty without one.
    """

    name: str
    answered: int
    left: int
    known: tuple[int, int]
    repeats: tuple[int, int]
    cannot_tell: tuple[int, int]
    seconds: float | None
    last: str


def progress(
    rater: Rater, left: int, question: Callable[[str], Question]
) -> Progress:
    """Return the progress of one rater."""
    lines = rater.lines
    known = [line for line in lines if line["purpose"] == "known"]
    first = {line["id"]: line for line in lines if line["turn"] == 0}
    again = [
        line
        for line in lines
        if line["purpose"] == "repeat" and line["id"] in first
    ]
    counted = [line for line in lines if line["purpose"] != "practice"]
    seconds = [
        line["latency_s"] for line in counted if line["latency_s"] is not None
    ]
    return Progress(
        rater.name,
        rater.counted,
        left,
        _of([line["value"] == question(line["id"]).answer for line in known]),
        _of(
            [_same(line["value"], first[line["id"]]["value"]) for line in again]
        ),
        _of([line["status"] == "cannot_tell" for line in counted]),
        statistics.median(seconds) if seconds else None,
        max((line["answered"] for line in lines), default=""),
    )


def _of(hits: Sequence[bool]) -> tuple[int, int]:
    return sum(hits), len(hits)


def _same(first: Any, other: Any) -> bool:
    """Return whether two answers agree; scores agree within 1, like the tolerance for
    the truth."""
    if isinstance(first, int | float) and isinstance(other, int | float):
        return abs(first - other) <= CLOSE
    return bool(first == other)
