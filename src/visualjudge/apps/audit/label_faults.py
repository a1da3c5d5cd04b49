"""Faults of the labels: contradictory scores, answers that contradict their scores, one answer for
all.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from visualjudge.analysis import repeated_rows as scopes
from visualjudge.analysis.bias import binomial_p
from visualjudge.analysis.estimate import holm
from visualjudge.analysis.figure_text import percent
from visualjudge.analysis.figures import Leak
from visualjudge.analysis.leaks import leak_audit
from visualjudge.analysis.rule_text import RULES
from visualjudge.analysis.study_table import question_table
from visualjudge.apps.audit.findings import Finding, finding
from visualjudge.core.records import LETTERS, UNKNOWN, Question
from visualjudge.dataset.folder import Dataset

LEVEL = 0.01
OFF = 0.05
"""Distance from ½ at which an answer is out of balance, beyond chance (1 %, Holm over tasks)."""
ONE_VALUE = 0.8
FEWEST = 20


def contradictory_metrics(dataset: Dataset) -> Finding:
    """Return annotations with different scores in different questions."""
    stated: dict[tuple[str, str, str], dict[float, str]] = defaultdict(dict)
    for question in dataset:
        for name, score in zip(question.annotation_ids, question.final_scores, strict=False):
            if isinstance(score, int | float):
                stated[question.task, question.image_id, name].setdefault(
                    round(float(score), 6), question.id
                )
    faults = [
        f"{task}: {name}: has the scores "
        + ", ".join(f"{score:g} ({where})" for score, where in scores.items())
        for (task, _, name), scores in stated.items()
        if len(scores) > 1
    ]
    return finding("contradictory_metrics", faults, len(stated))


def answer_contradicts_scores(dataset: Dataset) -> Finding:
    """Return questions whose answer does not match their scores."""
    faults = [line for question in dataset if (line := _contradiction(question)) is not None]
    return finding("answer_contradicts_scores", faults, len(dataset))


def _contradiction(question: Question) -> str | None:
    scores, answer = question.final_scores, question.answer
    if answer == UNKNOWN:
        return None
    where = (
        f"{question.id}: {question.task}: the answer is {answer!r}, the scores are {list(scores)}"
    )
    if question.question_type == "scoring":
        fits = (
            not isinstance(answer, str)
            and len(scores) == 1
            and math.isclose(answer, scores[0], abs_tol=1e-6)
        )
        return None if fits else where
    if answer in (question.ties or ()):
        return None if len(set(scores)) == 1 else where
    order = "".join(
        LETTERS[k] for k in sorted(range(len(scores)), key=lambda k: -scores[k]) if k < len(LETTERS)
    )
    expected = order if question.question_type == "ranking" else order[:1]
    return None if answer == expected and len(set(scores)) == len(scores) else where


def leaks(dataset: Dataset) -> Finding:
    """Return rules that ignore the content and are right more often than chance (or less often,
    since their reverse leaks).
    """
    rows = leak_audit(question_table(dataset.questions))
    told = [
        row for row in scopes.leaks(rows) if row.rule != "position" and row.share.value is not None
    ]
    faults = [_leak(row) for row in told if _leaks(row)]
    return finding("leak", faults, len(told))


def _leaks(row: Leak) -> bool:
    """Return whether a rule leaks. A rule that is always right has no variance to test, so images
    count as independent signs.
    """
    value = row.share.value
    if value is None or abs(value - 0.5) < OFF:
        return False
    return row.flagged or (value in (0.0, 1.0) and 2 * 0.5**row.share.images < LEVEL)


def _leak(row: Leak) -> str:
    value = row.share.value or 0.0
    verb = "right" if value > 0.5 else "wrong"
    p = "" if row.p_holm is None else f" (p {row.p_holm:.2g})"
    return (
        f"{row.scope}: {RULES[row.rule]} is {verb} in {percent(max(value, 1 - value))} of "
        f"{row.share.n} pairs whose options differ in it{p}"
    )


def imbalance(dataset: Dataset) -> Finding:
    """Return tasks in which A (or B) is right too often, or nearly all scores have one value."""
    pairs: dict[str, list[str]] = defaultdict(list)
    scores: dict[str, list[float]] = defaultdict(list)
    for question in dataset:
        if question.question_type == "pairwise" and question.answer in ("A", "B"):
            pairs[question.task].append(str(question.answer))
        elif question.question_type == "scoring" and not isinstance(question.answer, str):
            scores[question.task].append(float(question.answer))
    scopes = {"all": [answer for answers in pairs.values() for answer in answers], **pairs}
    faults = [*_unequal(scopes), *_constant(scores)]
    return finding("imbalance", faults, len(scopes) + len(scores))


def _unequal(scopes: dict[str, list[str]]) -> Iterator[str]:
    tested = [
        (name, answers.count("A"), len(answers)) for name, answers in scopes.items() if answers
    ]
    adjusted = holm([binomial_p(right, n) for _, right, n in tested])
    for (name, right, n), p in zip(tested, adjusted, strict=True):
        if p is not None and p < LEVEL and abs(right / n - 0.5) > OFF:
            yield f"{name}: A is right in {percent(right / n)} of {n} pairs (p {max(p, 1e-99):.2g})"


def _constant(scores: Mapping[str, Sequence[float]]) -> Iterator[str]:
    for task, values in scores.items():
        value, count = Counter(values).most_common(1)[0]
        if len(values) >= FEWEST and count > ONE_VALUE * len(values):
            yield f"{task}: {count} of {len(values)} scores are {value:g}"
