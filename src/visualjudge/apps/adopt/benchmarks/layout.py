"""What a row of the table of benchmarks says, and what all readers of clones share. The
rows are in ``__init__.py``, the readers in ``of_answers.py`` and ``of_images.py``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from visualjudge.analysis.figures.published_scores import Score
from visualjudge.apps.adopt.adopted_question import Item, Option, Reply
from visualjudge.apps.adopt.files import Images, Row, at, records

Scores = Callable[[tuple[str, ...]], tuple[Score, ...]]
JudgeFile = tuple[Path, re.Match[str]]
"""A file with replies, and the match of its path: its judge and what else its name
says."""
OWN = r"replies/(?P<judge>[^/]+)\.jsonl"
"""A user's own replies to any benchmark."""


@dataclass(frozen=True, slots=True)
class Study:
    """What a copy holds: questions, the number of images not there, and a line for each
    record without a usable label. ``keys`` are the questions of a reply that names
    several.
    """

    items: Sequence[Item]
    missing: int = 0
    left_out: Sequence[str] = ()
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def labels_only(self) -> bool:
        """Whether images or texts are missing, so that no judge can be asked."""
        return self.missing > 0 or not all(
            (item.request or item.images)
            and all(option.content for option in item.options)
            for item in self.items
        )


def own_replies(path: Path, _: re.Match[str]) -> Iterator[Reply]:
    """Yield a user's own replies: ``{"id", "response"}``, or ``"value"``, and
    ``"order"``."""
    for row in records(path):
        row.setdefault("order", "AB")
        order = row.one_of("order", {"AB": "AB", "BA": "BA"})
        yield Reply(
            str(row.need("id")),
            "BA" if order == "BA" else "AB",
            row.get("value"),
            (
                None
                if row.get("value") is not None
                else str(row.need("response"))
            ),
        )


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: what ``dataset.json`` says of it, the files that a copy must have,
    the function that reads its questions, and its authors' scores for the parts (tasks)
    in a copy.

    ``paths`` are patterns of the files with replies (a group names the judge), relative
    to the copy, and ``replies`` reads one. ``answers`` are answers of its own, such as
    C for tie.
    """

    title: str
    licence: str
    use: str
    source: str
    files: str
    read: Callable[[Path, Sequence[JudgeFile]], Study]
    scores: Scores
    paths: tuple[str, ...] = ()
    replies: Callable[[Path, re.Match[str]], Iterator[Reply]] = own_replies
    answers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Where the records of a benchmark have a question of two options.

    ``fields`` are the paths (``response.0``) of its key, truth, request, image and
    cluster (else the image), and of each option's text, made image and model, with "{}"
    for each of ``sides``; the first path that has a value counts. ``answers`` spells
    the truth.
    """

    fields: Mapping[str, tuple[str, ...]]
    answers: Mapping[str, str]
    sides: tuple[str, str]
    ties: tuple[str, ...] = ()

    def item(
        self, row: Row, part: str, images: Images, key: str | None = None
    ) -> Item:
        """Return the question of a record."""
        key = key or str(row.need(self.fields["key"][0]))
        value = at(row, *self.fields["truth"])
        if str(value) not in self.answers:
            known = ", ".join(self.answers)
            raise row.fault(
                self.fields["truth"][0],
                f"must be one of {known}, got {value!r}",
            )
        image, cluster, request = (
            at(row, *self.fields.get(name, ()))
            for name in ("image", "cluster", "request")
        )
        name = image.get("path") if isinstance(image, dict) else image
        return Item(
            key,
            part,
            str(cluster or (name if isinstance(name, str) and name else key)),
            str(request or ""),
            tuple(self._option(row, side, images) for side in self.sides),
            self.answers[str(value)],
            ties=self.ties,
            images=images.all(image) if image is not None else (),
        )

    def _option(self, row: Row, side: str, images: Images) -> Option:
        text, made, model = (
            at(row, *(path.format(side) for path in self.fields.get(name, ())))
            for name in ("text", "made", "model")
        )
        displayed = images.all(made) if "made" in self.fields else ()
        return Option(
            str(text or ""), displayed, None if model is None else str(model)
        )


def unique(seen: Counter[str], name: object) -> str:
    """Return the key of the next record with this name: the second becomes
    ``name#2``."""
    seen[str(name)] += 1
    return str(name) if seen[str(name)] == 1 else f"{name}#{seen[str(name)]}"


def by_part(
    name: str, rule: str, *overall: tuple[str, str], digits: int = 2
) -> Scores:
    """Return scores over all parts (name, rule), and one per part."""

    def scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
        every = (Score(whole, how, digits=digits) for whole, how in overall)
        return (
            *every,
            *(
                Score(f"{name}/{part}", rule, (part,), digits=digits)
                for part in parts
            ),
        )

    return scores
