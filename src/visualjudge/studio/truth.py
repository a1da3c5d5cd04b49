"""The ground truth of a question as an image, drawn as its options are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.records import Pixels, Question
from visualjudge.studio.annotations import Place
from visualjudge.vision.encode import encode, encodings
from visualjudge.vision.encodings import encoding_named


def drawn_stem(question: Question) -> str:
    """The encoding to draw the truth in: the question's own, or where that is a text the first one that is drawn."""
    if encoding_named(question.task, question.encoding).kind != "text":
        return question.encoding
    return next(row.stem for row in encodings(question.task) if row.kind == "pixel")


def truth_image(question: Question, peers: Sequence[Place], original: Pixels | None) -> Pixels | None:
    """The ground truth among ``peers`` over the ``original``; None if it is missing or cannot be drawn.

    Parameters
    ----------
    peers
        All annotations of what the question is about. Their labels give the order of colors, as in the build.
    """
    truth = next((place for place in peers if place.is_truth), None)
    size = None if original is None else (original.shape[0], original.shape[1])
    found = None if truth is None else truth.load(size)
    if truth is None or found is None:
        return None
    known = [found, *(place.load(size) for place in peers if place is not truth)] if found.labels else [found]
    classes = sorted({label for prediction in known if prediction is not None for label in prediction.labels})
    blank = np.zeros((1, 1, 3), dtype=np.uint8) if original is None else original
    expression = truth.entry.annotation.prompt
    try:
        drawn = encode(
            question.task, drawn_stem(question), found, blank, classes=classes or None, expression=expression
        )
    except VisualJudgeError:
        return None
    return drawn.image
