"""Look for faults that invalidate the figures of a dataset, also by the digests and
thumbnails of its images. How a *prediction* is wrong is in ``vision/faults.py``;
checksums are checked in ``dataset/validate.py``.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import cv2
import numpy as np

from visualjudge.analysis.estimate import holm
from visualjudge.analysis.figure_text import percent
from visualjudge.analysis.figures.bias import binomial_p
from visualjudge.analysis.figures.leaks import RULES, Leak, leak_audit
from visualjudge.analysis.study_table import question_table
from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, FloatArray, Pixels, Question
from visualjudge.core.text_tables import Table
from visualjudge.dataset.folder import Dataset
from visualjudge.prompts.spans import images_within, spans_of
from visualjudge.vision.raster.images import read_rgb

SIDE = 32
CORRELATED = 0.99
ALIKE = 3.0
"""Images count as the same if their thumbnails correlate so much, whatever their
brightness; of images without contrast, if their mean levels of 0..255 differ by no
more.
"""
_BLOCK = 512
Tick = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, slots=True)
class Look:
    """The SHA-256 of an image's pixels, and its average over 32×32×3."""

    digest: str
    thumbnail: FloatArray


def looks(
    dataset: Dataset, names: Iterable[str], tick: Tick
) -> dict[str, Look]:
    """Return the look of each image that can be read, by path."""
    collected = {}
    paths = list(dict.fromkeys(names))
    for done, name in enumerate(paths, 1):
        try:
            pixels = read_rgb(dataset.image(name))
        except DataError:  # validation names it
            continue
        size = f"{pixels.shape[1]}x{pixels.shape[0]}".encode()
        collected[name] = Look(
            hashlib.sha256(size + pixels.tobytes()).hexdigest(),
            thumbnail(pixels),
        )
        tick(done, len(paths))
    return collected


def thumbnail(pixels: Pixels) -> FloatArray:
    """Average the image to 32×32×3."""
    small = cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.float64)


def near(thumbnails: Sequence[FloatArray]) -> Iterator[tuple[int, int]]:
    """Yield the indices (the lower first) of thumbnails that show nearly the same
    image."""
    rows = (
        np.stack(thumbnails).reshape(len(thumbnails), -1)
        if thumbnails
        else np.zeros((0, 1))
    )
    level = rows.mean(1)
    centred = rows - level[:, None]
    length = np.linalg.norm(centred, axis=1)
    flat = length < np.sqrt(rows.shape[1])
    units = np.where(
        flat[:, None], 0.0, centred / np.where(flat, 1.0, length)[:, None]
    )
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        even = (
            flat[block, None]
            & flat
            & (np.abs(level[block, None] - level) <= ALIKE)
        )
        for i, j in np.argwhere((units[block] @ units.T >= CORRELATED) | even):
            if start + i < j:
                yield start + int(i), int(j)


def original(question: Question) -> str | None:
    """Return the file of the image that a question is about; None if it shows only
    options."""
    try:
        spans = spans_of(question)
    except DataError:
        return None
    first = question.prompt.find(IMAGE_MARK)
    inside = any(start <= first < end for start, end in spans.options)
    return (
        question.images[0]
        if first >= 0 and not inside and question.images
        else None
    )


Kind = Literal[
    "identical_options",
    "contradictory_labels",
    "near_duplicates",
    "constant_answer",
    "leak",
]
SHOWN = 10
LEVEL = 0.01
OFF = 0.05
"""An answer or a rule is at fault if its share of right answers is this far from ½
beyond chance (1 %, Holm over tasks).
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """A kind of fault: ``count`` of the ``total`` items checked are faulty;
    ``examples`` names up to ten.
    """

    kind: Kind
    count: int
    total: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Audit:
    """The checks made, one entry per kind."""

    dataset: str
    questions: int
    checked: tuple[Finding, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The kinds with at least one fault."""
        return tuple(row for row in self.checked if row.count)

    def json(self) -> dict[str, Any]:
        """Return the findings, and the number of items that each kind of check looked
        at."""
        return {
            "dataset": self.dataset,
            "questions": self.questions,
            "findings": [asdict(row) for row in self.findings],
            "checked": {row.kind: row.total for row in self.checked},
        }

    def __str__(self) -> str:
        rows = tuple(
            (row.kind, str(row.count), str(row.total)) for row in self.checked
        )
        notes = tuple(
            f"{row.kind}: {line}"
            for row in self.findings
            for line in row.examples
        )
        return Table(
            ("Kind", "Found", "Looked at"),
            rows,
            notes,
            f"Faults of {self.dataset}",
        ).text()


def audit(dataset: Dataset, *, tick: Tick = lambda done, total: None) -> Audit:
    """Look for identical options, near duplicates, contradictory labels, answers that
    are constant, and rules that give the answer away.

    ``tick`` receives the number of images read.
    """
    seen = looks(
        dataset,
        (name for question in dataset for name in question.images),
        tick,
    )
    checked = (
        _identical_options(dataset, seen),
        _contradictory_labels(dataset),
        _near_duplicates(dataset, seen),
        _constant_answer(dataset),
        _leaks(dataset),
    )
    return Audit(str(dataset.root), len(dataset), checked)


def _finding(kind: Kind, faults: list[str], total: int) -> Finding:
    return Finding(kind, len(faults), total, tuple(faults[:SHOWN]))


def _identical_options(dataset: Dataset, seen: Mapping[str, Look]) -> Finding:
    faults = []
    total = 0
    for question in dataset:
        displayed = (
            ()
            if question.question_type == "scoring"
            else _options(question, seen)
        )
        if not any(map(any, displayed)) or question.answer in (
            question.ties or ()
        ):
            continue
        total += 1
        if len(set(displayed)) < len(displayed):
            faults.append(
                f"{question.id}: {question.task}: two options are the same"
            )
    return _finding("identical_options", faults, total)


def _options(
    question: Question, seen: Mapping[str, Look]
) -> tuple[tuple[str, ...], ...]:
    """Return the text and the image digests of each option; empty if the prompt does
    not show them."""
    try:
        spans = spans_of(question).options
    except DataError:
        return ()
    options = []
    for span in spans:
        names = question.images[images_within(question, span)]
        digests = [
            seen[name].digest if name in seen else name for name in names
        ]
        text = question.prompt[slice(*span)].replace(IMAGE_MARK, "").strip()
        options.append((text, *digests))
    return tuple(options)


def _contradictory_labels(dataset: Dataset) -> Finding:
    stated: dict[tuple[str, str, str], dict[float, str]] = defaultdict(dict)
    for question in dataset:
        for name, score in zip(
            question.annotation_ids, question.final_scores, strict=False
        ):
            if isinstance(score, int | float):
                key = question.task, question.image_id, name
                stated[key].setdefault(round(float(score), 6), question.id)
    faults = [
        f"{task}: {name}: has the scores "
        + ", ".join(f"{score:g} ({where})" for score, where in scores.items())
        for (task, _, name), scores in stated.items()
        if len(scores) > 1
    ]
    return _finding("contradictory_labels", faults, len(stated))


def _near_duplicates(dataset: Dataset, seen: Mapping[str, Look]) -> Finding:
    """Return originals of one task that occur under two names: a split by image could
    put them on both sides."""
    files: dict[str, dict[str, str]] = defaultdict(dict)
    for question in dataset:
        path = original(question)
        if path in seen:
            files[question.task].setdefault(question.image_id, str(path))
    faults = []
    for task, own in files.items():
        names = list(own)
        thumbnails = [seen[path].thumbnail for path in own.values()]
        faults += [
            f"{task}: images {names[i]} and {names[j]} are nearly the same"
            for i, j in near(thumbnails)
            if own[names[i]] != own[names[j]]
        ]
    return _finding("near_duplicates", faults, sum(map(len, files.values())))


def _constant_answer(dataset: Dataset) -> Finding:
    answers: dict[str, list[str]] = defaultdict(list)
    for question in dataset:
        if question.question_type == "pairwise" and question.answer in (
            "A",
            "B",
        ):
            answers[question.task].append(str(question.answer))
    shares = {task: (own.count("A"), len(own)) for task, own in answers.items()}
    adjusted = holm([binomial_p(right, n) for right, n in shares.values()])
    faults = [
        f"{task}: A is right in {percent(right / n)} of {n} pairs"
        for (task, (right, n)), p in zip(shares.items(), adjusted, strict=True)
        if p is not None and p < LEVEL and abs(right / n - 0.5) > OFF
    ]
    return _finding("constant_answer", faults, len(shares))


def _leaks(dataset: Dataset) -> Finding:
    """Return rules that ignore the content (the longer text, the larger file, more
    items) and are right more often than chance, or less often, since their reverse
    leaks."""
    rows = leak_audit(question_table(dataset.questions))
    rules = [row for row in rows if row.share.value is not None]
    return _finding("leak", list(_leaking(rules)), len(rules))


def _leaking(rows: list[Leak]) -> Iterator[str]:
    for row in rows:
        value = row.share.value or 0.0
        # A rule that is always right has no variance to test, so images count as signs.
        always = value in (0.0, 1.0) and 2 * 0.5**row.share.images < LEVEL
        if abs(value - 0.5) >= OFF and (row.flagged or always):
            verb = "right" if value > 0.5 else "wrong"
            share = percent(max(value, 1 - value))
            yield (
                f"{row.scope}: {RULES[row.rule]} is {verb} in {share} of {row.share.n} "
                "pairs whose options differ in it"
            )
