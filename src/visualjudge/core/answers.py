"""What counts as an answer, record by record: usable, right, and whether a question has a right
answer. :mod:`visualjudge.analysis` has the same rules by column.
"""

from __future__ import annotations

from visualjudge.core.records import LETTERS, TIES, UNKNOWN, Question, Verdict

# Maximum distance at which a score counts as right.
CLOSE = 1.0


def has_answer(question: Question) -> bool:
    """Return whether one answer is right and known: not so in some questions of probes, and where
    nobody stated the truth.
    """
    probe = question.probe
    return question.answer != UNKNOWN and (probe is None or probe.expected == "answer")


def is_usable(question: Question, verdict: Verdict) -> bool:
    """Return whether a verdict answers its question: a letter or a tie, a permutation of the
    letters, or a number from 0 to 10. A value found by a second reader does not count.
    """
    value = verdict.value
    if verdict.status != "ok":
        return False
    if question.question_type == "scoring":
        return not isinstance(value, str) and 0 <= value <= 10
    if question.question_type == "pairwise":
        return value in ("A", "B", *TIES)
    letters = LETTERS[: len(question.final_scores)]
    return isinstance(value, str) and "".join(sorted(value)) == letters


def is_right(question: Question, verdict: Verdict) -> bool:
    """Return whether a verdict is usable and right; a score may be off by at most ``CLOSE``."""
    if not is_usable(question, verdict) or not has_answer(question):
        return False
    if isinstance(verdict.value, str) or isinstance(question.answer, str):
        return verdict.value == question.answer
    return abs(verdict.value - question.answer) <= CLOSE
