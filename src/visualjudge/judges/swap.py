"""A pairwise question with its options exchanged: texts, legends and pictures together, and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass

from visualjudge.data.wire import IMAGE_MARK
from visualjudge.errors import DataError
from visualjudge.prompts.questions import final_questions

_HEAD = "Options:"
_A = re.compile(r"^[ \t]*A\.(?=\s|$)", re.M)
_B = re.compile(r"^[ \t]*B\.(?=\s|$)", re.M)


@dataclass(frozen=True, slots=True)
class Cut:
    """A prompt cut at its options: ``before`` ends with ``A.``, ``between`` is ``B.``; joined they are the prompt."""

    before: str
    first: str
    between: str
    second: str
    after: str


def cut(prompt: str) -> Cut:
    """Find the two options of a pairwise prompt.

    Raises
    ------
    DataError
        If it has no ``Options:`` with ``A.`` and ``B.`` at the start of a line, or no final question after them.
    """
    head = prompt.find(_HEAD)
    a = _A.search(prompt, head) if head >= 0 else None
    b = _B.search(prompt, a.end()) if a else None
    end = _final_question(prompt)
    if a is None or b is None or end < b.end():
        raise DataError(
            "a pairwise prompt needs 'Options:', 'A.', 'B.' and a final question, in this order, to be swapped"
        )
    # White space at an option's end belongs to the layout and stays where it is.
    first_end = _rstrip(prompt, a.end(), b.start())
    second_end = _rstrip(prompt, b.end(), end)
    return Cut(
        prompt[: a.end()],
        prompt[a.end() : first_end],
        prompt[first_end : b.end()],
        prompt[b.end() : second_end],
        prompt[second_end:],
    )


def _final_question(prompt: str) -> int:
    """Where the final question begins: one of the known paraphrases, or the last paragraph."""
    known = max(prompt.rfind(question.rstrip("?")) for question in final_questions())
    return known if known >= 0 else prompt.rstrip().rfind("\n\n")


def _rstrip(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())


def swapped(prompt: str, images: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The prompt and its pictures with options A and B exchanged. Swapping twice gives the same back.

    Raises
    ------
    DataError
        As :func:`cut`, or if the marks are not as many as the pictures.
    """
    parts = cut(prompt)
    marks = [text.count(IMAGE_MARK) for text in (parts.before, parts.first, parts.between, parts.second, parts.after)]
    if sum(marks) != len(images):
        raise DataError(f"the prompt has {sum(marks)} {IMAGE_MARK} marks for {len(images)} pictures")
    a, b = marks[0], marks[0] + marks[1] + marks[2]
    first, second = images[a : a + marks[1]], images[b : b + marks[3]]
    order = images[:a] + second + images[a + marks[1] : b] + first + images[b + marks[3] :]
    return parts.before + parts.second + parts.between + parts.first + parts.after, order
