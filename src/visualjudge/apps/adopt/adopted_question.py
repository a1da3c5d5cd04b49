"""A question of others, the options that it shows, what a judge of theirs said, and
where they come from. Rows become such questions in ``meaning.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualjudge.core.records import IMAGE_MARK, Answer, Order, QuestionType

if TYPE_CHECKING:
    from visualjudge.analysis.figures.published_scores import Score
    from visualjudge.prompts.rubric import Rubric

ImageSource = Path | bytes
"""An image: a file, or its bytes."""
Scale = tuple[float, float]
TEN: Scale = (0.0, 10.0)
UNIT: Scale = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Option:
    """One response: its text, its images, and the model that made it, as far as they
    are known.

    ``id`` names it if several questions show it. ``marked`` is its text with a mark for
    each image; None if the images precede the text.
    """

    text: str = ""
    images: tuple[ImageSource, ...] = ()
    source: str | None = None
    id: str | None = None
    marked: str | None = None

    @property
    def content(self) -> str:
        """The content shown in a prompt."""
        if self.marked is not None:
            return self.marked
        parts = (*(IMAGE_MARK for _ in self.images), safe(self.text))
        return "\n".join(part for part in parts if part)


def safe(text: str) -> str:
    """Escape image marks in foreign text, which would refer to images that do not
    exist."""
    return text.replace(IMAGE_MARK, "[image]")


@dataclass(frozen=True, slots=True)
class Item:
    """One question, with its options in the order in which they are stored.

    Parameters
    ----------
    key
        Identifies it.
    task
        The part that it belongs to; figures are reported by part.
    cluster
        What questions have in common (an image, a prompt); intervals are clustered by
        it.
    answer
        "A", "B", "tie" or "both_bad"; for a ranking its letters, best first; for a
        score 0 to 10.
    scores
        The options' scores from 0 to 10; None: they follow from the answer.
    ties
        The ties that are allowed as answers.
    scale
        Lowest and highest score that replies to it give.
    """

    key: str
    task: str
    cluster: str
    request: str
    options: tuple[Option, ...]
    answer: Answer
    scores: tuple[float, ...] | None = None
    ties: tuple[str, ...] = ()
    images: tuple[ImageSource, ...] = ()
    kind: QuestionType = "pairwise"
    scale: Scale = TEN
    criteria: Mapping[str, Any] | None = None
    """The right values of criteria."""
    votes: tuple[Answer, ...] = ()
    """The answers of several people, as ``answer``."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a judge said to the question ``key``.

    ``value`` is the reading of those who published it: letters of the stored question,
    a score on the item's scale, "Failed", or None if unknown; ``right`` is their
    marking and ``counted`` the value that their own score counts, if it differs.
    ``text`` is the whole reply.
    """

    key: str
    order: Order = "AB"
    value: Answer | None = None
    text: str | None = None
    right: bool | None = None
    counted: Answer | None = None
    finish_reason: str = "stop"
    repeat: int = 0
    usage: Mapping[str, int] | None = None
    confidence: float | None = None
    """The probability that the judge states to be right."""
    criteria: Mapping[str, Any] | None = None
    """What it said of each criterion."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a study comes from, as ``dataset.json`` states it.

    ``backend`` is "adopted" for a table and "published" for a benchmark, whose authors'
    readings count in their own ``scores``. ``labels_only``: images or texts of the
    questions are missing, so that no judge can be asked. ``order_unknown`` are the
    judges some of whose verdicts do not say which option was shown first.
    """

    name: str
    title: str
    source: str
    backend: str = "adopted"
    licence: str = ""
    use: str = "any"
    labels_only: bool = False
    left_out: int = 0
    scores: tuple[Score, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    order_unknown: frozenset[str] = frozenset()
    rubric: Rubric | None = None

    def id_of(self, item: Item) -> str:
        """Return the id of a question."""
        key = (
            item.key
            if self.backend == "adopted"
            else f"{self.name}\0{item.key}"
        )
        return hashlib.sha256(key.encode()).hexdigest()[:16]


def on_ten(value: float, scale: Scale) -> float:
    """Convert a score from another scale to 0 to 10; unchanged if that is its scale."""
    low, high = scale
    return (
        value if scale == TEN else round((value - low) / (high - low) * 10, 9)
    )


def dealt(
    key: str, better: Option, worse: Option
) -> tuple[tuple[Option, Option], str]:
    """Return a pair that is stored as better and worse, and its answer; the key alone
    determines which comes first, so that a judge that always says A is right half the
    time.
    """
    turned = hashlib.sha256(key.encode()).digest()[0] & 1
    return ((worse, better), "B") if turned else ((better, worse), "A")
