"""A pairwise question with its options exchanged: texts, legends and images together, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from visualjudge.errors import DataError
from visualjudge.prompts.spans import spans_of
from visualjudge.records import IMAGE_MARK, Question


def swapped(question: Question) -> Question:
    """The question as shown with options A and B exchanged; doing so twice shows the same again.

    Its answer and scores are those of the question as stored.

    Raises
    ------
    DataError
        If the question has no two options, or its marks are not as many as its images.
    """
    prompt, spans = question.prompt, spans_of(question)
    if len(spans.options) != 2:
        raise DataError(f"only a question of 2 options can be swapped, got {len(spans.options)}")
    (a0, a1), (b0, b1) = spans.options
    pieces = prompt[:a0], prompt[a0:a1], prompt[a1:b0], prompt[b0:b1], prompt[b1:]
    before, first, between, second, after = pieces
    shift = len(second) - len(first)
    return replace(
        question,
        prompt=before + second + between + first + after,
        images=_images([piece.count(IMAGE_MARK) for piece in pieces], question.images),
        spans=replace(spans, options=((a0, a1 + shift), (b0 + shift, b1))),
    )


def _images(marks: list[int], images: tuple[str, ...]) -> tuple[str, ...]:
    if sum(marks) != len(images):
        raise DataError(f"the prompt has {sum(marks)} {IMAGE_MARK} marks for {len(images)} images")
    a, b = marks[0], sum(marks[:3])
    first, second = images[a : a + marks[1]], images[b : b + marks[3]]
    return images[:a] + second + images[a + marks[1] : b] + first + images[b + marks[3] :]
