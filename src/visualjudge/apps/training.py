"""Questions with graded ground truth as verifiable rewards for training.

:func:`reward` compares a reply with the truth of its question, as one number. Replies are read by
:mod:`visualjudge.replies`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from visualjudge.core.errors import UsageError
from visualjudge.core.records import FAILED, TURNED, Question
from visualjudge.replies import read_reply

LARGEST_SCORE = 10.0
COLUMNS = ("question_type", "answer", "final_scores", "ties")
"""The columns of a row that a reward reads."""
Completion = str | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Weights:
    """Parameters of a reward.

    Parameters
    ----------
    unreadable
        Reward of a refusal or a reply without an answer; below 0, so that a wrong answer is better.
    jnd
        The judge's just-noticeable difference, in points of the score (0..10). A pairwise answer
        then has the weight ``min(1, margin / jnd)``, because indistinguishable pairs teach nothing.
        None: all have the weight 1.
    swap_bonus
        Added by :func:`reward_both` for the same answer in both orders.
    tool_call
        Cost of each tool call before the reply, at least 0.
    """

    unreadable: float = -1.0
    jnd: float | None = None
    swap_bonus: float = 0.25
    tool_call: float = 0.0

    def __post_init__(self) -> None:
        if self.jnd is not None and not self.jnd > 0:
            raise UsageError(f"jnd must be above 0, got {self.jnd}")
        if not self.tool_call >= 0:
            raise UsageError(f"tool_call must be at least 0, got {self.tool_call}")


DEFAULT = Weights()


@dataclass(frozen=True, slots=True)
class Truth:
    """The fields of a question that a reward needs."""

    question_type: str
    answer: str | float
    final_scores: tuple[float, ...]
    ties: tuple[str, ...] = ()

    @property
    def margin(self) -> float:
        """Score difference between the best and the worst option, in points."""
        return max(self.final_scores) - min(self.final_scores) if self.final_scores else 0.0

    @property
    def options(self) -> int:
        """Number of options to choose from."""
        return (
            len(str(self.answer))
            if self.question_type == "ranking"
            else max(2, len(self.final_scores))
        )


def truth_of(question: Question | Mapping[str, Any]) -> Truth:
    """Return the ground truth of a question, or of a row of an export (``question_type, answer,
    final_scores, ties``).

    Raises
    ------
    UsageError
        If a row lacks a field.
    """
    if isinstance(question, Question):
        return Truth(
            question.question_type, question.answer, question.final_scores, question.ties or ()
        )
    missing = [name for name in ("question_type", "answer") if question.get(name) is None]
    if missing:
        raise UsageError(
            f"a question must have {' and '.join(missing)}, got {', '.join(map(str, question))}"
        )
    kind, answer = str(question["question_type"]), question["answer"]
    scores = tuple(float(score) for score in question.get("final_scores") or ())
    # Rows of a file contain only texts in this column.
    value = float(answer) if kind == "scoring" else str(answer)
    return Truth(kind, value, scores, tuple(question.get("ties") or ()))


def reward(
    reply: str,
    question: Question | Mapping[str, Any],
    weights: Weights = DEFAULT,
    *,
    finish_reason: str = "stop",
    tool_calls: int = 0,
) -> float:
    """Return 1 for a right answer, 0 for a wrong one, ``weights.unreadable`` for none, and 1 −
    |error|/10 for a score.

    Parameters
    ----------
    reply
        The complete reply of the model.
    question
        A question of a dataset, or a row of an export.
    weights
        Penalty, and the weight of the margin.
    finish_reason
        ``"length"``: the reply was truncated by the token limit, and has no answer.
    tool_calls
        Number of tool calls before the reply; each costs ``weights.tool_call``.

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
    found = _reward(_read(reply, truth, finish_reason), truth, weights)
    return found - tool_calls * weights.tool_call


def reward_both(
    reply: str,
    swapped_reply: str,
    question: Question | Mapping[str, Any],
    weights: Weights = DEFAULT,
) -> float:
    """Return the mean reward of both orders of a pair, plus ``weights.swap_bonus`` for the same
    answer in both.

    Parameters
    ----------
    swapped_reply
        The reply to the pair with its options exchanged, in the letters shown there.
    """
    truth = truth_of(question)
    first, second = _read(reply, truth), _read(swapped_reply, truth)
    turned = TURNED.get(str(second), second)
    same = first == turned and first != FAILED
    mean = (_reward(first, truth, weights) + _reward(turned, truth, weights)) / 2
    return mean + (weights.swap_bonus if same else 0.0)


def _read(reply: str, truth: Truth, finish_reason: str = "stop") -> str | float:
    kind: Any = truth.question_type
    return read_reply(
        reply, kind, truth.options, finish_reason=finish_reason, ties=truth.ties
    ).value


def _reward(value: str | float, truth: Truth, weights: Weights) -> float:
    if value == FAILED:
        return weights.unreadable
    if truth.question_type == "scoring":
        return round(1.0 - abs(float(value) - float(truth.answer)) / LARGEST_SCORE, 9)
    return _weight(truth, weights) if value == truth.answer else 0.0


def _weight(truth: Truth, weights: Weights) -> float:
    """Return the weight of a right answer; 1 for ties, which have no margin."""
    if (
        weights.jnd is None
        or truth.question_type != "pairwise"
        or truth.answer in truth.ties
        or not truth.margin
    ):
        return 1.0
    return min(1.0, truth.margin / weights.jnd)


def trl_reward(
    prompts: Sequence[Any], completions: Sequence[Completion], **columns: Sequence[Any]
) -> list[float]:
    """Return rewards for TRL: ``GRPOTrainer(reward_funcs=trl_reward, …)`` with rows of ``export
    --format trl``.

    Raises
    ------
    UsageError
        If the rows lack ``question_type`` or ``answer``.
    """
    missing = [name for name in COLUMNS[:2] if name not in columns]
    if missing:
        raise UsageError(
            f"the rows must have the columns {', '.join(missing)}; write them with visualjudge "
            "export --format trl"
        )
    present = [name for name in COLUMNS if name in columns]
    rows = ({name: columns[name][k] for name in present} for k in range(len(completions)))
    return [
        reward(_text(completion), row) for completion, row in zip(completions, rows, strict=True)
    ]


def _text(completion: Completion) -> str:
    """Return a completion as text: unchanged, or the content of its last message."""
    if isinstance(completion, str):
        return completion
    content = completion[-1].get("content") if completion else ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or "") for part in content or ())
