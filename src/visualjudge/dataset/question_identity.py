"""A question apart from what it shows: drafted from annotations, named by its content,
and with its options exchanged. Storing questions is in ``question_storage.py``.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from visualjudge.core.records import (
    LETTERS,
    TURNED,
    Annotation,
    Answer,
    Question,
    QuestionType,
)
from visualjudge.prompts.spans import swapped


def draft(
    question_type: QuestionType,
    encoding: str,
    notes: Sequence[Annotation],
    subset: tuple[str, ...],
) -> Question:
    """Return a question about ``notes``, in the order of its options, without prompt
    and images. Until it is rendered, its ``id`` is the number of its closing question.
    """
    first = notes[0]
    return Question(
        id="0",
        task=first.task,
        encoding=encoding,
        question_type=question_type,
        subset=subset,
        image_id=first.image_id,
        class_of_interest=first.class_of_interest,
        error_type=first.error_type,
        annotation_ids=tuple(note.annotation_id for note in notes),
        final_scores=tuple(note.final_score for note in notes),
        sources=tuple(note.source for note in notes),
        prompt="",
        images=(),
        answer=_answer(question_type, notes),
    )


def _answer(kind: QuestionType, notes: Sequence[Annotation]) -> Answer:
    if kind == "scoring":
        return notes[0].final_score
    best_first = sorted(range(len(notes)), key=lambda k: -notes[k].final_score)
    letters = "".join(LETTERS[k] for k in best_first)
    return letters if kind == "ranking" else letters[0]


def identified(question: Question) -> Question:
    """Return the question with its id: 80 bits of the SHA-256 of its content, so that
    the same question has the same id in every build.
    """
    asked = [
        question.task,
        question.encoding,
        question.question_type,
        question.image_id,
        list(question.annotation_ids),
        question.prompt,
    ]
    return replace(
        question, id=hashlib.sha256(orjson.dumps(asked)).hexdigest()[:20]
    )


def turned(question: Question) -> Question:
    """Return a pairwise question with its options exchanged: another question, with its
    own id."""
    names = ("annotation_ids", "final_scores", "sources", "features", "faults")
    stated = {name: getattr(question, name) for name in names}
    fields: dict[str, Any] = {
        name: value[::-1] for name, value in stated.items() if value is not None
    }
    answer = TURNED[str(question.answer)]
    return identified(replace(swapped(question), answer=answer, **fields))
