"""A question as ``questions.json`` has it, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from itertools import chain
from typing import Any

from visualjudge.core.errors import DataError
from visualjudge.core.records import LETTERS, TIES, OptionFeatures, Probe, Question, Span, Spans

QUESTIONS = "questions.json"
_OPTIONAL = ("features", "spans", "ties", "probe")
TUPLES = ("subset", "annotation_ids", "final_scores", "sources", "images")
"""Fields that are an array in the file and a tuple in the record."""


LARGEST_NUMBER = 1e15
_TEXT = frozenset({str})
_NUMBER = frozenset({int, float})
_NAMES: dict[type, str] = {str: "text", int: "a number", float: "a number", type(None): "null"}
_KINDS = {
    **dict.fromkeys(("task", "encoding", "question_type", "image_id", "prompt"), _TEXT),
    "error_type": _TEXT | {type(None)},
}
_ITEM_KINDS = {
    **dict.fromkeys(("subset", "class_of_interest", "annotation_ids", "images"), _TEXT),
    "final_scores": _NUMBER,
    "sources": _TEXT | {type(None)},
}
_ANSWERS = {"pairwise": _TEXT, "ranking": _TEXT, "scoring": _NUMBER}


def question_from_wire(raw: Any, position: int = 0) -> Question:
    """A question as the file has it.

    Raises
    ------
    DataError
        If it is no object, or a field is missing or of the wrong kind.
    """
    if not isinstance(raw, dict):
        raise DataError(f"{QUESTIONS}: question {position + 1}: must be an object")
    name = raw.get("id", f"question {position + 1}")
    try:
        classes = raw["class_of_interest"]
        features = raw.get("features")
        question = Question(
            id=_id(raw["id"]),
            task=raw["task"],
            encoding=raw["encoding"],
            question_type=raw["question_type"],
            image_id=raw["image_id"],
            class_of_interest=None if classes is None else _items("class_of_interest", classes),
            error_type=raw["error_type"],
            prompt=raw["prompt"],
            answer=raw["answer"],
            features=None if features is None else tuple(map(_features, _items("features", features))),
            spans=_spans(raw),
            ties=_ties(raw),
            probe=_probe(raw.get("probe")),
            **{field: _items(field, raw[field]) for field in TUPLES},
        )
        _check(question)
        return question
    except KeyError as error:
        raise DataError(f"{QUESTIONS}: {name}: {error.args[0]}: the field is missing") from None
    except (TypeError, ValueError) as error:
        raise DataError(f"{QUESTIONS}: {name}: a field is of the wrong kind: {error}") from None


def _features(stored: Any) -> OptionFeatures:
    """The features of an option, their values numbers or null."""
    found = OptionFeatures(**stored)
    for name in stored:
        value = getattr(found, name)
        if value is not None and type(value) not in _NUMBER:
            raise TypeError(f"features.{name} must be a number or null, got {str(value)[:40]!r}")
    return found


def _id(stored: Any) -> str:
    if type(stored) not in (str, int):
        raise TypeError(f"id must be text, got {str(stored)[:40]!r}")
    return str(stored)


def _items(name: str, value: Any) -> tuple[Any, ...]:
    """An array; a text would fall into its letters."""
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} must be an array, got {str(value)[:40]!r}")
    return tuple(value)


def _check(question: Question) -> None:
    """Refuse values of a wrong kind here, so that no command meets them.

    Raises
    ------
    TypeError, ValueError
        The message names the field.
    """
    for name, kinds in _KINDS.items():
        value = getattr(question, name)
        if type(value) not in kinds:
            raise TypeError(f"{name} must be {_named(kinds)}, got {str(value)[:40]!r}")
    for name, kinds in _ITEM_KINDS.items():
        items = getattr(question, name) or ()
        if not kinds.issuperset(map(type, items)):
            wrong = next(item for item in items if type(item) not in kinds)
            raise TypeError(f"{name} must be an array of {_named(kinds)}, got {str(wrong)[:40]!r} in it")
    if question.question_type not in _ANSWERS:
        raise ValueError(f"question_type must be one of {', '.join(_ANSWERS)}, got {question.question_type[:40]!r}")
    if type(question.answer) not in _ANSWERS[question.question_type]:
        raise TypeError(f"answer must be {_named(_ANSWERS[question.question_type])}, got {str(question.answer)[:40]!r}")
    answer = [] if isinstance(question.answer, str) else [question.answer]
    if not all(-LARGEST_NUMBER <= number <= LARGEST_NUMBER for number in (*question.final_scores, *answer)):
        raise ValueError(f"final_scores and answer must be finite and at most {LARGEST_NUMBER:g}")
    if not len(question.annotation_ids) == len(question.final_scores) == len(question.sources):
        raise ValueError("annotation_ids, final_scores and sources must have one item for each option")


def _named(kinds: frozenset[type]) -> str:
    return " or ".join(sorted({_NAMES[kind] for kind in kinds}))


def question_to_wire(question: Question) -> dict[str, Any]:
    """A question as the file has it; optional fields last, and only where there are any."""
    wire = {item.name: getattr(question, item.name) for item in fields(Question)}
    return {name: value for name, value in wire.items() if value is not None or name not in _OPTIONAL}


def _probe(stored: Any) -> Probe | None:
    """The stored record of a probe, its fields of the right kind."""
    if stored is None:
        return None
    probe = Probe(**stored)
    for name in ("name", "design", "group", "changed", "expected"):
        if not isinstance(getattr(probe, name), str):
            raise TypeError(f"probe.{name} must be a string, got {getattr(probe, name)!r}")
    if probe.cue is not None and probe.cue not in LETTERS:
        raise TypeError(f"probe.cue must be a letter of an option, got {probe.cue!r}")
    if probe.level is not None and type(probe.level) not in (int, float):
        raise TypeError(f"probe.level must be a number, got {probe.level!r}")
    return probe


def _ties(raw: Mapping[str, Any]) -> tuple[str, ...] | None:
    stored = raw.get("ties")
    if not stored:
        return None
    if not set(stored) <= set(TIES):
        raise TypeError(f"ties must be of {', '.join(TIES)}, got {stored}")
    return tuple(stored)


def _spans(raw: Mapping[str, Any]) -> Spans | None:
    """The stored spans; they must lie in the prompt in order, so that slicing by them cannot lose a character."""
    stored = raw.get("spans")
    if stored is None:
        return None
    original, final = (None if stored.get(name) is None else _span(stored[name]) for name in ("original", "final"))
    spans = Spans(tuple(map(_span, stored["options"])), original, final)
    if not spans_in_order(spans, raw["prompt"]):
        raise TypeError(f"spans must lie in the prompt in order, got {stored}")
    return spans


def spans_in_order(spans: Spans | None, prompt: str) -> bool:
    """Whether the spans, if there are any, lie in the prompt in order."""
    if spans is None:
        return True
    places = [*(spans.original or ()), *chain.from_iterable(spans.options), *(spans.final or ())]
    return places == sorted(places) and (not places or (places[0] >= 0 and places[-1] <= len(prompt)))


def _span(raw: Any) -> Span:
    start, end = raw
    if type(start) is not int or type(end) is not int:
        raise TypeError(f"a span must be two integers, got {raw!r}")
    return start, end
