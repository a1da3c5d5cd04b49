"""Leaks through image files: sizes, formats and brightness, measured from the files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from visualjudge.analysis.bias import binomial_p
from visualjudge.analysis.estimate import holm
from visualjudge.analysis.figure_text import percent
from visualjudge.apps.audit.findings import Finding, finding
from visualjudge.apps.audit.image_digests import FileLook, ImageLook
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.dataset.folder import Dataset
from visualjudge.prompts.spans import images_within, spans_of

LEVEL = 0.01
OFF = 0.1
"""A cue leaks if its accuracy, over images whose options differ in it, is at least this far from ½
and significantly so (1 %, Holm over cues and tasks).
"""
FEWEST = 10
CUES = {
    "pixels": "the image with more pixels",
    "bytes": "the larger file",
    "density": "the file with more bytes a pixel",
    "metadata": "the file with more metadata",
    "brightness": "the brighter image",
}


@dataclass(frozen=True, slots=True)
class _Tried:
    """``right`` of ``images`` images whose options differ in a cue."""

    task: str
    cue: str
    right: int
    images: int


def file_leaks(dataset: Dataset, seen: Mapping[str, ImageLook]) -> Finding:
    """Return rules that use only the options' files and are right more, or less, often than chance.

    Each image counts once, by the majority of its pairs, because pairs of one image are not
    independent.
    """
    tried = list(_tried(dataset, seen))
    adjusted = holm([binomial_p(one.right, one.images) for one in tried])
    faults = [
        _said(one)
        for one, p in zip(tried, adjusted, strict=True)
        if p is not None and p < LEVEL and abs(one.right / one.images - 0.5) > OFF
    ]
    return finding("file_leak", faults, len(tried))


def _tried(dataset: Dataset, seen: Mapping[str, ImageLook]) -> Iterator[_Tried]:
    votes: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for question in dataset:
        files = _files(question, seen)
        for cue, greater in _compared(*files) if files else ():
            right = greater == question.answer
            votes[question.task, cue][question.image_id] += 1 if right else -1
    for (task, cue), by_image in sorted(votes.items()):
        decided = [vote for vote in by_image.values() if vote]
        if len(decided) >= FEWEST:
            yield _Tried(task, cue, sum(vote > 0 for vote in decided), len(decided))


def _files(question: Question, seen: Mapping[str, ImageLook]) -> tuple[FileLook, FileLook] | None:
    """Return the measurements of both options, if each is one image and one of them is right."""
    if question.question_type != "pairwise" or question.answer not in ("A", "B"):
        return None
    try:
        spans = spans_of(question).options
    except DataError:
        return None
    named = [question.images[images_within(question, span)] for span in spans]
    looks = [seen[names[0]].file for names in named if len(names) == 1 and names[0] in seen]
    if len(looks) != 2 or looks[0] is None or looks[1] is None:
        return None
    return looks[0], looks[1]


def _compared(a: FileLook, b: FileLook) -> Iterator[tuple[str, str]]:
    """Yield each cue in which the options differ, and the option that has more of it."""
    for cue in CUES:
        first, second = getattr(a, cue), getattr(b, cue)
        if first != second:
            yield cue, "A" if first > second else "B"
    if a.format != b.format:
        yield f"format {max(a.format, b.format)}", "A" if a.format > b.format else "B"


def _said(one: _Tried) -> str:
    share = one.right / one.images
    verb = "right" if share > 0.5 else "wrong"
    rule = CUES.get(one.cue, f"the file of {one.cue}")
    return (
        f"{one.task}: {rule} is {verb} in {percent(max(share, 1 - share))} of {one.images} images"
    )
