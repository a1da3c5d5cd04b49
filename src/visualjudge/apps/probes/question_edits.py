"""Edits of a question by probes: added lines, changed images, removal of the original.
Spans remain valid. Edits of images are at the end. Which probe makes which is in
``kinds.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import cv2
import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import (
    IMAGE_MARK,
    LETTERS,
    Pixels,
    Question,
    Span,
    Spans,
)
from visualjudge.prompts.spans import images_within, spans_of
from visualjudge.vision.raster.images import through_jpeg, to_uint8

Paint = Callable[[Pixels], Pixels]
Edit = Callable[[str, str, Paint], str]
"""(path of an image in the dataset, name of the change, function) → path of the changed
image."""


def _spliced(question: Question, start: int, end: int, text: str) -> Question:
    """Replace the prompt's characters ``start`` … ``end`` with ``text`` and shift the
    spans."""
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
    """Add a line at the end of each option."""
    for k in reversed(range(len(lines))):
        end = spans_of(question).options[k][1]
        question = _spliced(question, end, end, "\n" + lines[k])
    return question


def option_images(question: Question, k: int) -> slice:
    """Return which of the question's images belong to option ``k``.

    Raises
    ------
    DataError
        If the numbers of image marks and images differ.
    """
    if question.prompt.count(IMAGE_MARK) != len(question.images):
        raise DataError(
            f"question {question.id}: the prompt must have one {IMAGE_MARK} for each "
            "image"
        )
    return images_within(question, spans_of(question).options[k])


def edited(
    question: Question, k: int | None, name: str, paint: Paint, edit: Edit
) -> Question:
    """Change the images of option ``k``, or of all options and the original if ``k`` is
    None."""
    places = range(len(question.images))[
        slice(None) if k is None else option_images(question, k)
    ]
    images = list(question.images)
    for place in places:
        images[place] = edit(images[place], name, paint)
    return replace(question, images=tuple(images))


def doubled(question: Question, k: int, answer: int) -> Question:
    """Return a pair whose options are both option ``k``; ``answer`` is the position
    recorded as right.
    """
    other = 1 - k
    images = list(question.images)
    images[option_images(question, other)] = images[option_images(question, k)]
    spans = spans_of(question).options
    question = _spliced(
        question, *spans[other], question.prompt[slice(*spans[k])]
    )

    def both(values: Sequence[Any]) -> tuple[Any, Any]:
        return values[k], values[k]

    same = {
        name: both(getattr(question, name))
        for name in ("annotation_ids", "final_scores", "sources")
    }
    features = None if question.features is None else both(question.features)
    faults = None if question.faults is None else both(question.faults)
    return replace(
        question,
        images=tuple(images),
        answer=LETTERS[answer],
        features=features,
        faults=faults,
        **same,  # type: ignore[arg-type]
    )


def without_original(question: Question, sentence: str) -> Question | None:
    """Remove the original, and ``sentence``, which mentions it; None if the question
    shows no original.
    """
    original = spans_of(question).original
    if original is None or original[0] == original[1]:
        return None
    start, end = original
    marks = question.prompt[start:end].count(IMAGE_MARK)
    after = len(question.prompt) - len(question.prompt[end:].lstrip())
    question = replace(
        _spliced(question, start, after, ""), images=question.images[marks:]
    )
    spans = spans_of(question)
    question = replace(question, spans=replace(spans, original=None))
    place = question.prompt.find(sentence, 0, spans.options[0][0])
    return (
        question
        if place < 0
        else _spliced(question, place, place + len(sentence), "")
    )


JPEG_QUALITY = 50
WARM = (1.12, 1.0, 0.85)


def mirrored_image(image: Pixels) -> Pixels:
    """Exchange left and right."""
    return np.ascontiguousarray(image[:, ::-1])


def warmer(image: Pixels) -> Pixels:
    """Apply a warmer white balance; colours keep their names."""
    return to_uint8(image * np.array(WARM))


def recompressed(image: Pixels) -> Pixels:
    """Recompress as a JPEG of quality 50."""
    return through_jpeg(image, JPEG_QUALITY)


def toned(image: Pixels, saturation: float, light: float) -> Pixels:
    """Multiply the saturation, and add brightness in grey levels."""
    grey = image.mean(axis=2, keepdims=True)
    return to_uint8(grey + (image - grey) * saturation + light)


def with_banner(image: Pixels, text: str) -> Pixels:
    """Write ``text`` in black on a white band along the upper edge, as large as the
    image allows.
    """
    out = image.copy()
    width = image.shape[1]
    margin = 2
    height = max(8, min(48, image.shape[0] // 8))
    (wide, tall), below = cv2.getTextSize(
        text, cv2.FONT_HERSHEY_SIMPLEX, 1.0, 2
    )
    scale = min(
        (width - 2 * margin) / wide, (height - 2 * margin) / (tall + below)
    )
    band = np.full((height, width, 3), 255, dtype=np.uint8)
    place = (margin, round(height - margin - below * scale))
    thick = max(1, round(2 * scale))
    cv2.putText(
        band,
        text,
        place,
        cv2.FONT_HERSHEY_SIMPLEX,
        scale,
        (0, 0, 0),
        thick,
        cv2.LINE_AA,
    )
    out[:height] = band[: len(out)]
    return out
