"""What the reader of a benchmark gives: its pairs, and the replies that its authors published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.records import Order

Use = Literal["any", "evaluation only"]


@dataclass(frozen=True, slots=True)
class Option:
    """One response: its text, the images in it, and the model that made it, as far as the copy has them."""

    text: str = ""
    images: tuple[Path, ...] = ()
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One pair of a benchmark, in the order in which it is stored.

    Parameters
    ----------
    key
        Names the pair within the benchmark.
    task
        The benchmark's own name of its part; figures are reported by it.
    cluster
        What pairs of one prompt or image have in common; intervals are clustered by it.
    request
        What both responses answer.
    answer
        "A", "B", "tie" or "both_bad".
    scores
        The options' scores from 0 to 10; None: 10 for the better one, else 0 (a tie: both 10, both bad: both 0).
    ties
        Which ties the benchmark allows as answers.
    """

    key: str
    task: str
    cluster: str
    request: str
    options: tuple[Option, Option]
    answer: str
    scores: tuple[float, float] | None = None
    ties: tuple[str, ...] = ()
    image: Path | None = None


@dataclass(frozen=True, slots=True)
class PublishedReply:
    """A judge's reply as its authors published it.

    ``value`` is how they read it, in the letters of the pair as stored ("Failed" where they could not; None: they do
    not say); ``right`` whether they counted it as right, where they say; ``text`` the whole reply, where published.
    """

    key: str
    order: Order
    value: str | None
    text: str | None = None
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """What a reader finds in a local copy: all pairs, and the replies of each judge by name."""

    items: tuple[Item, ...]
    labels_only: bool
    replies: Mapping[str, Callable[[], Iterator[PublishedReply]]]


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
