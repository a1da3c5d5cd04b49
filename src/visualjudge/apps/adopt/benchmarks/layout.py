"""Where the records of a benchmark have a pair, and what all readers of clones share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.adopt.files import Images, Row, at, name_of
from visualjudge.apps.adopt.items import Item, Option, Study

Scores = Callable[[tuple[str, ...]], tuple[Score, ...]]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: what ``dataset.json`` says of it, the files that a copy must have, its reader,
    its authors' scores for the parts (tasks) in a copy, and answers of its own, such as C for tie.
    """

    title: str
    licence: str
    use: str
    source: str
    files: str
    read: Callable[[Path], Study]
    scores: Scores
    answers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Fields of a record that make a question of two options, by paths (``response.0``); the first
    that has a value counts.

    Parameters
    ----------
    key, truth
        The record's name and its answer, which ``answers`` spells.
    request, image, cluster
        What both options answer, and what questions have in common (else the image).
    text, made, model
        Text, image and source of an option, with "{}" for each of ``sides``.
    ties
        The ties that the benchmark allows.
    """

    key: str
    truth: tuple[str, ...]
    answers: Mapping[str, str]
    sides: tuple[str, str]
    request: tuple[str, ...] = ()
    image: tuple[str, ...] = ()
    cluster: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()

    def item(self, row: Row, part: str, images: Images, key: str | None = None) -> Item:
        """Return the question of a record."""
        key = key or str(row.need(self.key))
        value = at(row, *self.truth)
        if str(value) not in self.answers:
            raise row.fault(
                self.truth[0], f"must be one of {', '.join(self.answers)}, got {value!r}"
            )
        image, cluster = at(row, *self.image), at(row, *self.cluster)
        return Item(
            key,
            part,
            str(cluster) if cluster else name_of(image, key),
            str(at(row, *self.request) or ""),
            tuple(self._option(row, side, images) for side in self.sides),
            self.answers[str(value)],
            ties=self.ties,
            images=images.all(image) if image is not None else (),
        )

    def _option(self, row: Row, side: str, images: Images) -> Option:
        text, made, model = (
            at(row, *(path.format(side) for path in paths))
            for paths in (self.text, self.made, self.model)
        )
        shown = images.all(made) if self.made else ()
        return Option(str(text or ""), shown, None if model is None else str(model))


def unique(seen: Counter[str], name: object) -> str:
    """Return the key of the next record with this name: the second becomes ``name#2``."""
    seen[str(name)] += 1
    return str(name) if seen[str(name)] == 1 else f"{name}#{seen[str(name)]}"


def by_part(name: str, rule: str, *overall: tuple[str, str], digits: int = 2) -> Scores:
    """Return scores over all parts (name, rule), and one per part."""

    def scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
        every = (Score(whole, how, digits=digits) for whole, how in overall)
        return (*every, *(Score(f"{name}/{part}", rule, (part,), digits=digits) for part in parts))

    return scores
