"""What a question shows: which images and which text belong to which option."""

from __future__ import annotations

from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, Question
from visualjudge.prompts.spans import images_within, spans_of
from visualjudge.vision.encodings import CATALOGUE


def _option_spans(question: Question) -> tuple[tuple[int, int], ...]:
    try:
        spans = spans_of(question).options
    except DataError:
        return ()
    return spans if len(spans) == len(question.final_scores) else ()


def option_images(question: Question) -> list[str | None]:
    """The image of each option, None where it is shown as text alone.

    Where the prompt does not tell (a question of another tool), the last images are the options', one each.
    """
    n = len(question.final_scores)
    spans = _option_spans(question)
    if not spans:
        row = CATALOGUE.get((question.task, question.encoding))
        textual = row is not None and row.kind == "text"
        return list(question.images[-n:]) if len(question.images) >= n and not textual else [None] * n
    return [next(iter(question.images[images_within(question, span)]), None) for span in spans]


def option_texts(question: Question) -> list[str]:
    """The text of each option without its image marks; empty where the prompt does not tell."""
    spans = _option_spans(question)
    texts = [question.prompt[start:stop].replace(IMAGE_MARK, "").strip() for start, stop in spans]
    return texts or [""] * len(question.final_scores)


def original_images(question: Question) -> list[str]:
    """The images that belong to no option: the original, a control image."""
    taken = set(option_images(question))
    return [name for name in question.images if name not in taken]
