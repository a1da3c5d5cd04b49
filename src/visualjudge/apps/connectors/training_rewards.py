"""Questions with graded ground truth as verifiable rewards for training. Preferences as
training data are in ``dataset/exports/preferences.py``.

:func:`reward` compares a reply with the truth of its question, as one number. Replies
are read by :mod:`visualjudge.replies`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from visualjudge.core.errors import UsageError
from visualjudge.core.records import FAILED, Answer, Question, QuestionType
from visualjudge.replies import Reading, read_reply

LARGEST_SCORE = 10.0
COLUMNS = ("question_type", "answer", "final_scores", "ties")
"""The columns of a row that a reward reads."""
UNREADABLE = -1.0
Completion = str | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Truth:
    """The fields of a question that a reward needs."""

    question_type: QuestionType
    answer: Answer
    options: int
    ties: tuple[str, ...]

    def read(self, reply: str, finish_reason: str = "stop") -> Reading:
        """Return the reading of a reply to the question."""
        kind = self.question_type
        return read_reply(
            reply,
            kind,
            self.options,
            finish_reason=finish_reason,
            ties=self.ties,
        )

    def worth(self, value: Answer, unreadable: float) -> float:
        """Return the reward of an answer in stored letters."""
        if value == FAILED:
            return unreadable
        if self.question_type == "scoring":
            return round(
                1.0 - abs(float(value) - float(self.answer)) / LARGEST_SCORE, 9
            )
        return float(value == self.answer)


def truth_of(question: Question | Mapping[str, Any]) -> Truth:
    """Return the ground truth of a question, or of a row of an export (``question_type,
    answer, final_scores, ties``).

    Raises
    ------
    UsageError
        If a row lacks a field.
    """
    if isinstance(question, Question):
        question = {name: getattr(question, name) for name in COLUMNS}
    missing = [name for name in COLUMNS[:2] if question.get(name) is None]
    if missing:
        raise UsageError(
            f"a question must have {' and '.join(missing)}, got "
            f"{', '.join(map(str, question))}"
        )
    kind = cast("QuestionType", str(question["question_type"]))
    answer = str(question["answer"])
    options = (
        len(answer)
        if kind == "ranking"
        else max(2, len(question.get("final_scores") or ()))
    )
    # Rows of a file contain only texts in this column.
    return Truth(
        kind,
        (float(answer) if kind == "scoring" else answer),
        options,
        tuple(question.get("ties") or ()),
    )


def reward(
    reply: str,
    question: Question | Mapping[str, Any],
    *,
    unreadable: float = UNREADABLE,
    finish_reason: str = "stop",
) -> float:
    """Return 1 for a right answer, 0 for a wrong one, ``unreadable`` for none, and 1 −
    |error|/10 for a score.

    Parameters
    ----------
    reply
        The complete reply of the model.
    question
        A question of a dataset, or a row of an export.
    unreadable
        Reward of a refusal or a reply without an answer; below 0, so that a wrong
        answer is better.
    finish_reason
        ``"length"``: the reply was truncated by the token limit, and has no answer.

    Examples
    --------
    >>> from visualjudge.rewards import reward
    >>> reward("Answer: A", {"question_type": "pairwise", "answer": "A"})
    1.0
    >>> reward("I cannot tell.", {"question_type": "pairwise", "answer": "A"})
    -1.0
    >>> reward("Score: 7", {"question_type": "scoring", "answer": 8.0})
    0.9
    """
    truth = truth_of(question)
    return truth.worth(truth.read(reply, finish_reason).value, unreadable)


def trl_reward(
    prompts: Sequence[Any],
    completions: Sequence[Completion],
    **columns: Sequence[Any],
) -> list[float]:
    """Return rewards for TRL: ``GRPOTrainer(reward_funcs=trl_reward, …)`` with rows of
    ``export --format trl``.

    Raises
    ------
    UsageError
        If the rows lack ``question_type`` or ``answer``.
    """
    missing = [name for name in COLUMNS[:2] if name not in columns]
    if missing:
        raise UsageError(
            f"the rows must have the columns {', '.join(missing)}; write them with "
            "visualjudge export, `format` trl"
        )
    present = [name for name in COLUMNS if name in columns]
    rows = (
        {name: columns[name][k] for name in present}
        for k in range(len(completions))
    )
    return [
        reward(_text(completion), row)
        for completion, row in zip(completions, rows, strict=True)
    ]


def _text(completion: Completion) -> str:
    last = (
        completion
        if isinstance(completion, str) or not completion
        else completion[-1]
    )
    content = last.get("content") or "" if isinstance(last, Mapping) else last
    return (
        content
        if isinstance(content, str)
        else "".join(str(part.get("text") or "") for part in content)
    )
