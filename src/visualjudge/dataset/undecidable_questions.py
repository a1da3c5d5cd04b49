"""Questions that cannot be answered because an encoding shows two of their options identically."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.dataset.question_storage import columns
from visualjudge.dataset.sampling import Item
from visualjudge.prompts.spans import spans_of
from visualjudge.vision.encode import encodings
from visualjudge.vision.rows import Kind
from visualjudge.vision.tasks import TASKS

COMPARED = ("pairwise", "ranking")
"""Question types that compare options; others are always decidable."""
Counts = dict[str, dict[str, dict[str, int]]]


def counted(items: Sequence[Item], left_out: Collection[int]) -> Counts:
    """Count the omitted questions by task, encoding and type, for encodings that omit any."""
    counts: Counts = {}
    for place in sorted(left_out):
        item = items[place]
        cell = counts.setdefault(item.task, {}).setdefault(item.stem, dict.fromkeys(COMPARED, 0))
        cell[item.question_type] += 1
    return counts


def unseen_errors(
    items: Sequence[Item],
    left_out: Collection[int],
    error_types: Mapping[tuple[str, str], str | None],
) -> dict[str, dict[str, list[str]]]:
    """Return the error types that an encoding does not show in any sampled pair: task → encoding →
    sorted error types.

    ``error_types`` has the error type of each (task, annotation_id).
    """
    asked: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for place, item in enumerate(items):
        error_type = error_types[item.task, item.annotation_ids[0]]
        if item.question_type == "pairwise" and error_type is not None:
            asked[item.task, item.stem, error_type].append(place not in left_out)
    unseen: dict[str, dict[str, list[str]]] = {}
    for (task, stem, error_type), places in sorted(asked.items()):
        if not any(places):
            unseen.setdefault(task, {}).setdefault(stem, []).append(error_type)
    return unseen


def alike(question: Question, kind: Kind, digests: Mapping[str, str | None]) -> bool:
    """Return whether two options of a question have the same text and the same image.

    Parameters
    ----------
    question
        A question; if its type does not compare options, the result is False.
    kind
        Kind of its encoding: whether options have text, an image or both.
    digests
        Digest of the pixels of each file of ``question.images``.
    """
    if question.question_type not in COMPARED:
        return False
    count = len(question.annotation_ids)
    images = (
        [digests.get(path) for path in question.images[-count:]]
        if kind != "text"
        else [None] * count
    )
    texts = _texts(question, count) if kind != "pixel" else [""] * count
    if not len(texts) == len(images) == count:
        return False  # not one image each: another rule checks that
    return len(set(zip(texts, images, strict=True))) < count


def not_asked(questions: Sequence[Question]) -> Counts:
    """Estimate :func:`counted` from a dataset: the questions of a task that only other encodings
    ask.
    """
    asked: dict[tuple[str, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for task, kind, stem, options in columns(
        questions, "task", "question_type", "encoding", "annotation_ids"
    ):
        if kind in COMPARED:  # only hashes of the options are kept, as there may be millions
            asked[task, kind][stem].add(hash(tuple(sorted(options))))
    counts: Counts = {}
    for (task, question_type), by_stem in asked.items():
        if task not in TASKS:
            continue
        every = set().union(*by_stem.values())
        for stem in (row.stem for row in encodings(task) if row.is_final):
            missing = len(every - by_stem.get(stem, set()))
            if missing:
                cell = counts.setdefault(task, {}).setdefault(stem, dict.fromkeys(COMPARED, 0))
                cell[question_type] = missing
    return counts


def _texts(question: Question, count: int) -> list[str]:
    """Return the text of each option without its letter, or different texts if they cannot be
    found.
    """
    try:
        return [question.prompt[start:end] for start, end in spans_of(question).options]
    except DataError:
        return [str(k) for k in range(count)]
