"""What the reader of a benchmark gives: its questions, and the replies that its authors published."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.core.records import IMAGE_MARK, Answer, Order, QuestionType, Span

Use = Literal["any", "evaluation only"]
ImageSource = Path | bytes
"""An image: the file, or the bytes of one."""
Scale = tuple[float, float]
TEN: Scale = (0.0, 10.0)


@dataclass(frozen=True, slots=True)
class Option:
    """One response: its text, the images in it, and the model that made it, as far as the copy has them.

    ``id``: the benchmark's own name of the response, where several questions show it. ``marked``: its text with a mark
    where each of its images stands; None: they stand before the text.
    """

    text: str = ""
    images: tuple[ImageSource, ...] = ()
    source: str | None = None
    id: str | None = None
    marked: str | None = None

    @property
    def content(self) -> str:
        """What a prompt shows of it."""
        if self.marked is not None:
            return self.marked
        return "\n".join(part for part in (*(IMAGE_MARK for _ in self.images), safe(self.text)) if part)


def safe(text: str) -> str:
    """A text of others that holds the mark of an image would ask for an image that is not there."""
    return text.replace(IMAGE_MARK, "[image]")


@dataclass(frozen=True, slots=True)
class OwnPrompt:
    """The benchmark's own prompt of a question: its text with image marks, and where the options stand in it.

    ``asset`` is the id and version of the prompt, None where each question of the copy holds its own; ``ties`` are
    those that its reply form has.
    """

    text: str
    images: tuple[ImageSource, ...]
    options: tuple[Span, ...]
    asset: tuple[str, str] | None = None
    ties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a benchmark, with its options in the order in which they are stored.

    Parameters
    ----------
    key
        Names the question within the benchmark.
    task
        The benchmark's own name of its part; figures are reported by it.
    cluster
        What questions of one prompt or image have in common; intervals are clustered by it.
    request
        What all responses answer.
    answer
        "A", "B", "tie" or "both_bad"; of a ranking its letters, best first; of a score the score, 0 to 10.
    scores
        The options' scores from 0 to 10; None: 10 for the better one, else 0 (a tie: both 10, both bad: both 0); of a
        ranking evenly spaced.
    ties
        Which ties the benchmark allows as answers.
    images
        Those that the request is about.
    scale
        Least and greatest score of the benchmark; published replies to a scoring question are on it.
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
    own: OwnPrompt | None = None


def on_ten(value: float, scale: Scale) -> float:
    """A score of a benchmark's own scale, from 0 to 10."""
    low, high = scale
    return round((value - low) / (high - low) * 10, 9)


def dealt(key: str, better: Option, worse: Option) -> tuple[tuple[Option, Option], str]:
    """A pair that is stored as better and worse, and its answer: which stands first follows from its key alone.

    A benchmark that always shows the better response first measures whether a judge says A.
    """
    turned = hashlib.sha256(key.encode()).digest()[0] & 1
    return ((worse, better), "B") if turned else ((better, worse), "A")


@dataclass(frozen=True, slots=True)
class PublishedReply:
    """A judge's reply as its authors published it.

    ``value`` is how they read it, in the letters of the question as stored ("Failed" where they could not; None: they
    do not say), of a score on the item's scale; ``right`` whether they counted it as right, where they say; ``text``
    the whole reply, where published.
    """

    key: str
    order: Order
    value: Answer | None
    text: str | None = None
    right: bool | None = None
    counted: Answer | None = None
    """What their own score counts, where that is another than ``value``."""


Replies = Mapping[str, Callable[[], Iterator[PublishedReply]]]


@dataclass(frozen=True, slots=True)
class Copy:
    """What a reader finds in a local copy: all questions, and the replies of each judge by name.

    ``labels_only``: the copy lacks images (or texts) that the questions are about. ``left_out``: records that have no
    label that could be used, one line each.
    """

    items: tuple[Item, ...]
    labels_only: bool
    replies: Replies = field(default_factory=dict)
    left_out: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One row of the table.

    ``scores`` gives the benchmark's own scores for the parts (tasks) that the copy holds.
    """

    name: str
    title: str
    licence: str
    use: Use
    source: str
    read: Callable[[Path], Copy]
    scores: Callable[[tuple[str, ...]], tuple[Score, ...]]
    layout: str
    """What ``--from`` must hold."""
    own: str = ""
    """What it must hold too for the benchmark's own prompts, where these are no assets of this package."""
    hub: str | None = None
    """The dataset on the Hugging Face Hub that ``--hub`` reads."""
    hub_parts: tuple[str | None, ...] = (None,)
    """Its configurations, each a folder of the copy; None: it has one alone."""


def by_part(name: str, rule: str, *overall: Score, digits: int = 2) -> Callable[[tuple[str, ...]], tuple[Score, ...]]:
    """The scores over all parts, and one a part."""

    def scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
        return (*overall, *(Score(f"{name}/{part}", rule, (part,), digits=digits) for part in parts))

    return scores
