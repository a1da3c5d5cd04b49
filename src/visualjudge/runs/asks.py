"""What a run asks, and what its verdicts have answered. What it will cost is in
``cost_estimate.py``; how it is asked, in ``live.py`` and ``batches.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import image_finder
from visualjudge.core.records import Question, Served
from visualjudge.dataset.folder import Dataset
from visualjudge.dataset.question_storage import columns
from visualjudge.judges.base import ORDERS, Ask, Key
from visualjudge.options import RunSettings
from visualjudge.runs.budget import Prices, Spending
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.verdicts import verdict_in


def keys_of(
    settings: RunSettings, question_id: str, question_type: str
) -> Iterator[Key]:
    """Yield the keys of a question's verdicts."""
    orders = ORDERS[: 1 + (settings.swap and question_type == "pairwise")]
    for order, repeat in product(orders, range(settings.repeats)):
        yield question_id, order, repeat


@dataclass
class Answered:
    """The verdicts of a run; the last one of each key counts. Keys are kept as hashes,
    as there may be millions.
    """

    # The status by the hash of the key.
    keys: dict[int, str] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    served: Counter[Served] = field(default_factory=Counter)
    # The message of the last line with an error.
    error: str | None = None
    paid: Spending = field(default_factory=Spending)

    @classmethod
    def of(cls, folder: RunFolder, *, retry_errors: bool = False) -> Answered:
        """Read the verdicts of a run; with ``retry_errors``, without those that ended
        in an api_error. Their tokens are counted nevertheless.
        """
        known = cls()
        for line in folder.lines() if folder.journal_path.is_file() else ():
            verdict = verdict_in(line)
            if verdict is None:
                continue
            known.paid = known.paid.plus_call(verdict.tokens_paid, Prices())
            if retry_errors and verdict.status == "api_error":
                continue
            key = hash((verdict.id, verdict.order, verdict.repeat))
            if replaced := known.keys.get(key):
                known.statuses[replaced] -= 1
            known.keys[key] = verdict.status
            known.statuses[verdict.status] += 1
            known.causes.update([verdict.cause] if verdict.cause else [])
            known.served.update([verdict.served] if verdict.served else [])
            known.error = verdict.extra.get("error", known.error)
        return known


def asks_of(
    questions: Sequence[Question],
    settings: RunSettings,
    done: Collection[int] = (),
) -> Iterator[Ask]:
    """Yield what is left to ask, reading each question when it is asked."""
    for question in questions[: settings.limit]:
        for key in keys_of(settings, question.id, question.question_type):
            if hash(key) not in done:
                yield Ask(question, *key[1:])


def count_asks(
    questions: Sequence[Question], settings: RunSettings, done: Collection[int]
) -> tuple[int, int]:
    """Return the number of asks, and how many of them are left."""
    total = left = 0
    for question_id, kind in columns(
        questions[: settings.limit], "id", "question_type"
    ):
        for key in keys_of(settings, question_id, kind):
            total += 1
            left += hash(key) not in done
    return total, left


def still_to_ask(
    folder: str | Path, questions: Sequence[Question], settings: RunSettings
) -> Iterator[Ask]:
    """Return everything that an invocation with these settings would ask, excluding
    questions answered in ``folder`` if it resumes.
    """
    known = (
        Answered.of(RunFolder(folder), retry_errors=settings.retry_errors)
        if settings.resume
        else Answered()
    )
    return asks_of(questions, settings, known.keys)


def check_images(dataset: Dataset, questions: Sequence[Question]) -> None:
    """Check, before anything is asked, that all images exist.

    Raises
    ------
    DataError
        If one is missing or lies outside of the dataset, or if the dataset holds only
        labels.
    """
    if dataset.labels_only:
        raise DataError(
            f"{dataset.root}: cannot be judged: it contains only labels, because the "
            "copy that it was imported from has no images or texts; report on the runs "
            "that were adopted with it"
        )
    find = cache(image_finder(dataset.root))
    for question_id, images in columns(questions, "id", "images"):
        for name in images:
            try:
                find(name)
            except DataError as error:
                raise DataError(
                    f"{dataset.root}: question {question_id}: images: {error}"
                ) from None
