"""A question as a rater sees it: what a judge is shown, and no source, score, verdict or file name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, Question
from visualjudge.prompts.spans import spans_of
from visualjudge.studio.people.plan import Slot
from visualjudge.studio.shown import option_images, option_texts, original_images

_LAYOUT = re.compile(r"^\s*(Options:|[A-E]\.|Image:.*)\s*$", re.MULTILINE)
_GAPS = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Choice:
    """One option under the letter that the rater sees."""

    letter: str
    image: str | None
    text: str


@dataclass(frozen=True, slots=True)
class View:
    """What is sent to the rater's page; images are addresses that tell nothing."""

    slot: str
    type: str
    before: str
    after: str
    originals: tuple[str, ...]
    options: tuple[Choice, ...]


def view(question: Question, slot: Slot, name: str, address: Callable[[str], str]) -> View:
    """The question in the order of the slot.

    Parameters
    ----------
    name
        Of the slot, for the answer.
    address
        From an image of the dataset to the address that serves it.
    """
    images, texts = option_images(question), option_texts(question)
    before, after = _around(question)
    choices = []
    for k, stored in enumerate(slot.shown):
        place = "ABCDE".index(stored)
        image = images[place]
        choices.append(Choice("ABCDE"[k], address(image) if image else None, texts[place]))
    originals = tuple(address(image) for image in original_images(question))
    return View(name, question.question_type, before, after, originals, tuple(choices))


def _around(question: Question) -> tuple[str, str]:
    """The prompt's text before the options and after them, without marks and letters that the page shows itself."""
    try:
        spans = spans_of(question).options
    except DataError:
        spans = ()
    if not spans:
        return _plain(question.prompt), ""
    return _plain(question.prompt[: spans[0][0]]), _plain(question.prompt[spans[-1][1] :])


def _plain(text: str) -> str:
    return _GAPS.sub("\n\n", _LAYOUT.sub("", text.replace(IMAGE_MARK, ""))).strip()
