"""What probes change in a question: a line at an option, an option's images, the original; spans
stay true.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, LETTERS, Pixels, Question, Span, Spans
from visualjudge.prompts.spans import images_within, spans_of

Paint = Callable[[Pixels], Pixels]
Edit = Callable[[str, str, Paint], str]
"""(path of an image in the dataset, name of the change, function) → path of the changed image."""


def _spliced(question: Question, start: int, end: int, text: str) -> Question:
    """The question with ``text`` in place of the prompt's characters ``start`` … ``end``; spans
    move along.
    """
    shift = len(text) - (end - start)

    def moved(span: Span) -> Span:
        first, last = span
        return (first + shift if first >= end and first > start else first), (
            last + shift if last >= end else last
        )

    spans = spans_of(question)
    return replace(
        question,
        prompt=question.prompt[:start] + text + question.prompt[end:],
        spans=Spans(
            tuple(map(moved, spans.options)),
            None if spans.original is None else moved(spans.original),
            None if spans.final is None else moved(spans.final),
        ),
    )


def with_lines(question: Question, lines: Sequence[str]) -> Question:
    """The question with a further line at the end of each option."""
    for k in reversed(range(len(lines))):
        end = spans_of(question).options[k][1]
        question = _spliced(question, end, end, "\n" + lines[k])
    return question


def option_text(question: Question, k: int) -> str:
    """What the prompt shows of option ``k``, without its letter."""
    start, end = spans_of(question).options[k]
    return question.prompt[start:end]


def option_images(question: Question, k: int) -> slice:
    """Which of the question's images belong to option ``k``.

    Raises
    ------
    DataError
        If the marks of the prompt are not as many as the images.
    """
    if question.prompt.count(IMAGE_MARK) != len(question.images):
        raise DataError(
            f"question {question.id}: the prompt must have one {IMAGE_MARK} for each image"
        )
    return images_within(question, spans_of(question).options[k])


def edited(question: Question, k: int | None, name: str, paint: Paint, edit: Edit) -> Question:
    """The question with the images of option ``k`` changed; of all options and the original where
    ``k`` is None.
    """
    places = range(len(question.images))[slice(None) if k is None else option_images(question, k)]
    images = list(question.images)
    for place in places:
        images[place] = edit(images[place], name, paint)
    return replace(question, images=tuple(images))


def doubled(question: Question, k: int, answer: int) -> Question:
    """A pair whose options are both option ``k``; ``answer`` is the place that is noted as
    right.
    """
    other = 1 - k
    images = list(question.images)
    images[option_images(question, other)] = images[option_images(question, k)]
    text, (start, end) = option_text(question, k), spans_of(question).options[other]
    question = _spliced(question, start, end, text)

    def both(values: Sequence[Any]) -> tuple[Any, Any]:
        return values[k], values[k]

    same = {
        name: both(getattr(question, name))
        for name in ("annotation_ids", "final_scores", "sources")
    }
    features = None if question.features is None else both(question.features)
    return replace(
        question,
        images=tuple(images),
        answer=LETTERS[answer],
        features=features,
        **same,  # type: ignore[arg-type]
    )


def without_original(question: Question, sentence: str) -> Question | None:
    """The question without its original, and without ``sentence``, which speaks of it; None where
    it shows none.
    """
    original = spans_of(question).original
    if original is None or original[0] == original[1]:
        return None
    start, end = original
    marks = question.prompt[start:end].count(IMAGE_MARK)
    after = len(question.prompt) - len(question.prompt[end:].lstrip())
    question = replace(_spliced(question, start, after, ""), images=question.images[marks:])
    spans = spans_of(question)
    question = replace(question, spans=replace(spans, original=None))
    place = question.prompt.find(sentence, 0, spans.options[0][0])
    return question if place < 0 else _spliced(question, place, place + len(sentence), "")
