"""A pairwise question with its options exchanged: texts, legends and images together, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, Question
from visualjudge.prompts.spans import exchanged, images_within, spans_of


def swapped(question: Question) -> Question:
    """The question as shown with options A and B exchanged; doing so twice shows the same again.

    Its answer and scores are those of the question as stored.

    Raises
    ------
    DataError
        If the question has no two options, or its marks are not as many as its images.
    """
    spans, images = spans_of(question), question.images
    if len(spans.options) != 2:
        raise DataError(f"only a question of 2 options can be swapped, got {len(spans.options)}")
    marks = question.prompt.count(IMAGE_MARK)
    if marks != len(images):
        raise DataError(f"the prompt has {marks} {IMAGE_MARK} marks for {len(images)} images")
    a, b = (images_within(question, span) for span in spans.options)
    images = images[: a.start] + images[b] + images[a.stop : b.start] + images[a] + images[b.stop :]
    prompt, turned = exchanged(question.prompt, spans)
    return replace(question, prompt=prompt, spans=turned, images=images)
