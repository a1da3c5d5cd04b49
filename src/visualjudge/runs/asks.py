"""What a run asks and will cost, what its verdicts answered, and whether it may be
continued with other settings. Money and tokens that were spent are in ``budget.py``;
asking is in ``live.py`` and ``batches.py``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.image_storage import image_finder
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import Question, Served
from visualjudge.dataset.folder import MEDIA, Dataset
from visualjudge.dataset.question_storage import columns
from visualjudge.judges.base import ORDERS, Ask, Key
from visualjudge.options import RunSettings
from visualjudge.prompts.rubric import Rubric
from visualjudge.runs.budget import Prices, Spending
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.verdicts import verdict_in
from visualjudge.vision.raster.images import image_size


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


# ---------------------------------------------------------------- other settings

_ASKED = ("swap", "repeats", "asked")
_LONGEST = 80


class Change(NamedTuple):
    """One setting that has changed."""

    name: str
    was: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.name} was {_short(self.was)}, now {_short(self.now)}"


def changes(old: Fields, new: Fields) -> list[Change]:
    """Return the differences of two manifests: backend, model, server, every parameter,
    and the questions.
    """
    before = _shape(old)
    after = _shape(new)
    if before["media"] is None:  # written by an older version
        after["media"] = None
    return [*differences(before, after)]


def differences(old: Fields, new: Fields, within: str = "") -> Iterator[Change]:
    """Yield what differs in two objects; of an object inside both, only what differs
    there, by a name such as ``parameters.temperature``.
    """
    for name in {**old, **new}:
        was, now = old.get(name), new.get(name)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            yield from differences(was, now, f"{within}{name}.")
        elif was != now:
            yield Change(f"{within}{name}", was, now)


def fallen_out(old: Fields, new: Fields, unasked: int) -> list[Change]:
    """Return what differs if ``unasked`` verdicts of the run are no longer asked for,
    because of a different selection, no ``swap`` or fewer repeats. Empty if an accepted
    change covers as many.
    """
    accepted = old.get("unasked") or 0
    if unasked <= accepted:
        return []
    return [
        *(change for change in differences(old, new) if change.name in _ASKED),
        Change("verdicts not asked for", accepted, unasked),
    ]


def check_changes(
    folder: Path, result: Sequence[Change], *, accept: bool
) -> None:
    """Refuse to mix verdicts of different settings.

    Raises
    ------
    UsageError
        If anything differs and ``accept`` is False; the message lists the differences.
    """
    if result and not accept:
        raise UsageError(
            f"{folder}: cannot resume with other settings: "
            f"{'; '.join(map(str, result))}. Choose another `out`, or add "
            "`accept_changes=true` to record both"
        )


def media_checksum(dataset: Dataset) -> str:
    """Return the SHA-256 over the names and checksums of the images, as stated in
    ``dataset.json``.
    """
    files = dataset.meta.get("files", {})
    stated = {
        name: digest
        for name, digest in files.items()
        if name.startswith(f"{MEDIA}/")
    }
    return hashlib.sha256(
        orjson.dumps(stated, option=orjson.OPT_SORT_KEYS)
    ).hexdigest()


def _shape(manifest: Fields) -> Json:
    # Return the settings that affect a verdict, by name, as they are after a JSON round
    # trip.
    parameters = manifest.get("parameters")
    dataset = manifest.get("dataset")
    shape = {
        "backend": manifest.get("backend"),
        "model": manifest.get("model"),
        "base_url": manifest.get("base_url"),
        **(parameters if isinstance(parameters, Mapping) else {}),
        "questions.json": dataset.get("checksum")
        if isinstance(dataset, Mapping)
        else None,
        "media": manifest.get("media_checksum"),
    }
    return dict(orjson.loads(orjson.dumps(shape, default=str)))


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return _short([part for part in value.values() if part is not None])
    if isinstance(value, list):
        text = " ".join(map(_short, value)) or "none"
    else:
        text = "unset" if value is None else orjson.dumps(value).decode()
    head = text[: _LONGEST - 1]
    return (
        text if len(text) <= _LONGEST else f"{head.rpartition(' ')[0] or head}…"
    )


# ---------------------------------------------------------------- cost before the start

# Characters per token of English and JSON with common byte-pair vocabularies, which is
# 3 to 4.
CHARS_PER_TOKEN = 3.5
# Side length in pixels of the area that becomes one token in Qwen-VL and several other
# models.
PATCH = 28
# Upper limit on the tokens that models charge for an image without tiling.
LARGEST_TOKENS = 1600
# Tokens of an answer without reasoning.
REPLY_TOKENS = 8
# Tokens of an answer in JSON after a few sentences of reasons.
REASONED_TOKENS = 120
# Tokens of a criterion's name and value.
CRITERION_TOKENS = 15


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls and images are exact; tokens and cost are estimates."""

    calls: int
    images: int
    different_images: int
    tokens_in: int
    tokens_out: int
    cost: float


def image_tokens(width: int, height: int) -> int:
    """Estimate the tokens of an image."""
    return min(LARGEST_TOKENS, -(-width // PATCH) * -(-height // PATCH))


def estimate(
    dataset: Dataset,
    asks: Iterable[Ask],
    prices: Prices,
    *,
    reasons: bool = False,
    rubric: Rubric | None = None,
) -> Estimate:
    """Count what ``asks`` would send; with ``reasons``, replies give reasons before the
    answer, with a ``rubric`` its criteria too.
    """
    sizes: dict[str, int] = {}
    calls = images = tokens = criteria = 0
    for ask in asks:
        calls += 1
        images += len(ask.question.images)
        for name in ask.question.images:
            if name not in sizes:
                height, width = image_size(dataset.image(name))
                sizes[name] = image_tokens(width, height)
            tokens += sizes[name]
        text = ask.question.prompt
        if rubric is not None:
            text += rubric.text(ask.question)
            criteria += len(rubric.of(ask.question))
        tokens += round(len(text) / CHARS_PER_TOKEN)
    out = (REASONED_TOKENS if reasons else REPLY_TOKENS) * calls
    out += CRITERION_TOKENS * criteria
    return Estimate(
        calls, images, len(sizes), tokens, out, prices.of(tokens, out)
    )
