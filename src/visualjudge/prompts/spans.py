"""Positions of the parts of a prompt, and prompts with exchanged options. The prompt is
made in ``question_text.py``.

Datasets store the positions with each question. Only for those of version 0.1, which do
not, prompts are parsed here.
"""

import itertools
import re
from dataclasses import replace

from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, LETTERS, Question, Span, Spans
from visualjudge.prompts.prompt_set import V1

_HEAD = "Options:"


def spans_of(question: Question) -> Spans:
    """Return the spans of a question, as stored or as found in its prompt.

    Raises
    ------
    DataError
        If none are stored and the prompt does not have the layout of version 0.1.
    """
    return question.spans or find_spans(
        question.prompt, len(question.annotation_ids)
    )


def images_within(question: Question, span: Span) -> slice:
    """Return which of the question's images are within ``span`` of its prompt."""
    start, end = span
    first = question.prompt.count(IMAGE_MARK, 0, start)
    return slice(first, first + question.prompt.count(IMAGE_MARK, start, end))


def swapped(question: Question) -> Question:
    """Return the question as shown with options A and B exchanged; applied twice, it
    shows the original.

    Its answer and scores are those of the question as stored.

    Raises
    ------
    DataError
        If the question does not have two options, or its numbers of marks and images
        differ.
    """
    spans = spans_of(question)
    images = question.images
    if len(spans.options) != 2:
        raise DataError(
            f"only a question of 2 options can be swapped, got {len(spans.options)}"
        )
    marks = question.prompt.count(IMAGE_MARK)
    if marks != len(images):
        raise DataError(
            f"the prompt has {marks} {IMAGE_MARK} marks for {len(images)} images"
        )
    first, second = (images_within(question, span) for span in spans.options)
    between = images[first.stop : second.start]
    after = images[second.stop :]
    images = (
        images[: first.start] + images[second] + between + images[first] + after
    )
    (a, b), (c, d) = spans.options
    text = question.prompt
    text = f"{text[:a]}{text[c:d]}{text[b:c]}{text[a:b]}{text[d:]}"
    moved = replace(spans, options=((a, a + d - c), (d - b + a, d)))
    return replace(question, prompt=text, spans=moved, images=images)


def find_spans(prompt: str, n_options: int = 2) -> Spans:
    """Find the options of a prompt of version 0.1: each follows its letter at the start
    of a line, below ``Options:``.

    Raises
    ------
    DataError
        If the letters or the final question are missing.
    """
    heads = _heads(prompt, n_options)
    end = _final_question(prompt)
    if len(heads) < n_options or end < heads[-1].end():
        letters = ", ".join(f"'{letter}.'" for letter in LETTERS[:n_options])
        raise DataError(
            f"the prompt must hold 'Options:', {letters} and a final question, in this "
            "order"
        )
    ends = [match.start() for match in heads[1:]] + [end]
    # White space at an option's end belongs to the layout.
    options = tuple(
        (head.end(), head.end() + len(prompt[head.end() : stop].rstrip()))
        for head, stop in zip(heads, ends, strict=True)
    )
    return Spans(options, final=(end, len(prompt)))


def _heads(prompt: str, n_options: int) -> list[re.Match[str]]:
    place = prompt.find(_HEAD)
    heads: list[re.Match[str]] = []
    for letter in LETTERS[:n_options] if place >= 0 else "":
        match = re.compile(rf"^[ \t]*{letter}\.(?=\s|$)", re.MULTILINE).search(
            prompt, place
        )
        if match is None:
            break
        heads.append(match)
        place = match.end()
    return heads


def _final_question(prompt: str) -> int:
    """Return where the final question begins: one of the known paraphrases, or the last
    paragraph.
    """
    choices = V1.asset("layout").choices
    known = max(prompt.rfind(question.rstrip("?")) for question in choices)
    return known if known >= 0 else prompt.rstrip().rfind("\n\n")


def interleaved(prompt: str, images: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Return the prompt's texts and its images (True) in the order of the marks,
    without blank texts.

    Raises
    ------
    DataError
        If the numbers of marks and images differ.
    """
    texts = prompt.split(IMAGE_MARK)
    if len(texts) != len(images) + 1:
        raise DataError(
            f"the prompt must have {len(images)} {IMAGE_MARK} marks, got "
            f"{len(texts) - 1}"
        )
    pairs = itertools.zip_longest(texts, images)
    parts = [
        part
        for text, image in pairs
        for part in ((text, False), (image, True))
        if part[0] is not None
    ]
    return [
        (text, is_image) for text, is_image in parts if is_image or text.strip()
    ]
