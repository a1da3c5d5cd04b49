"""A question as a card of the grid: its images, its scores, and what each judge said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from visualjudge.core.records import LETTERS, Question
from visualjudge.studio.facets import task_label
from visualjudge.studio.journal import VALUES
from visualjudge.studio.places import RunPlace
from visualjudge.studio.selection import Shelf
from visualjudge.studio.shown import option_images, option_texts, original_images
from visualjudge.studio.verdicts import CONSISTENCY, OUTCOMES, RunIndex
from visualjudge.vision.drawing.titles import encoding_title

EXCERPT = 220
LONGEST_PROMPT = 600


@dataclass(frozen=True, slots=True)
class CardOption:
    """One option on a card: an image, or the beginning of its text."""

    letter: str
    image: str | None
    text: str | None
    score: float
    source: str | None


@dataclass(frozen=True, slots=True)
class CardVerdict:
    """What one run says of the question."""

    run: str
    judge: str
    outcome: str
    said: str
    flipped: bool


@dataclass(frozen=True, slots=True)
class Card:
    """One question of the grid."""

    id: str
    type: str
    task: str
    encoding: str
    stem: str
    image: str
    original: str | None
    answer: str
    margin: float | None
    prompt: str | None
    """The beginning of the prompt where no option has an image or a text to show."""
    options: tuple[CardOption, ...]
    verdicts: tuple[CardVerdict, ...]
    """Of the runs that asked it."""


def card(shelf: Shelf, row: int) -> Card:
    """The card of one question."""
    question = shelf.index.question(row)
    margin = float(shelf.index.columns.margin[row])
    originals, options = original_images(question), tuple(_options(question))
    bare = not originals and not any(option.image or option.text for option in options)
    return Card(
        id=question.id,
        type=question.question_type,
        task=task_label(question.task),
        encoding=encoding_title(question.task, question.encoding),
        stem=question.encoding,
        image=str(question.image_id),
        original=originals[0] if originals else None,
        answer=said(question.answer),
        margin=None if np.isnan(margin) else round(margin, 2),
        prompt=question.prompt[:LONGEST_PROMPT].strip() if bare else None,
        options=options,
        verdicts=tuple(_verdict(place, run, row) for place, run in shelf.runs if run.summary().outcome[row]),
    )


def said(answer: str | float) -> str:
    """An answer as people read it."""
    return answer.replace("_", " ") if isinstance(answer, str) else f"{answer:g}"


def _options(question: Question) -> Sequence[CardOption]:
    images, texts = option_images(question), option_texts(question)
    letters = LETTERS if question.question_type != "scoring" else " " * 5
    return [
        CardOption(letters[k], images[k], None if images[k] else texts[k][:EXCERPT], score, question.sources[k])
        for k, score in enumerate(question.final_scores)
    ]


def _verdict(place: RunPlace, run: RunIndex, row: int) -> CardVerdict:
    summary = run.summary()
    code, number = int(summary.value[row]), float(summary.number[row])
    value = VALUES[code].replace("_", " ") if code >= 0 else "" if np.isnan(number) else f"{number:g}"
    flipped = CONSISTENCY[summary.consistency[row]] == "flipped by order"
    return CardVerdict(place.slug, place.name, OUTCOMES[summary.outcome[row]], value, flipped)
