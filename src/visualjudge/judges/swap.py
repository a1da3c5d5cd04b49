"""A pairwise question with its options exchanged: texts, legends and images together, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from visualjudge.errors import DataError
from visualjudge.prompts.spans import spans_of
from visualjudge.records import IMAGE_MARK, Question, Spans


@dataclass(frozen=True, slots=True)
class Presentation:
    """What a judge is shown of a question: its prompt, its images in the order of the marks, and where they stand."""

    prompt: str
    images: tuple[str, ...]
    spans: Spans


def swapped(question: Question) -> Presentation:
    """The question with options A and B exchanged.

    Raises
    ------
    DataError
        If the question has no two options, or its marks are not as many as its images.
    """
    return exchanged(Presentation(question.prompt, question.images, spans_of(question)))


def exchanged(shown: Presentation) -> Presentation:
    """The presentation with its two options exchanged; doing so twice gives the same back.

    Raises
    ------
    DataError
        As :func:`swapped`.
    """
    prompt, images, spans = shown.prompt, shown.images, shown.spans
    if len(spans.options) != 2:
        raise DataError(f"only a question of 2 options can be swapped, got {len(spans.options)}")
    (a0, a1), (b0, b1) = spans.options
    pieces = prompt[:a0], prompt[a0:a1], prompt[a1:b0], prompt[b0:b1], prompt[b1:]
    before, first, between, second, after = pieces
    shift = len(second) - len(first)
    final = spans.final
    return Presentation(
        before + second + between + first + after,
        _images([piece.count(IMAGE_MARK) for piece in pieces], images),
        Spans(((a0, a1 + shift), (b0 + shift, b1)), spans.original, final),
    )


def _images(marks: list[int], images: tuple[str, ...]) -> tuple[str, ...]:
    if sum(marks) != len(images):
        raise DataError(f"the prompt has {sum(marks)} {IMAGE_MARK} marks for {len(images)} images")
    a, b = marks[0], sum(marks[:3])
    first, second = images[a : a + marks[1]], images[b : b + marks[3]]
    return images[:a] + second + images[a + marks[1] : b] + first + images[b + marks[3] :]
