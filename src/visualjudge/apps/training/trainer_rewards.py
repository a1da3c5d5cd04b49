"""The reward with each trainer's signature, for the rows of
:mod:`visualjudge.apps.training.trainer_exports`.

Sources: TRL (``reward_funcs`` of ``GRPOTrainer``), verl (``custom_reward_function``), EasyR1
(``reward_function`` of a batch), ms-swift (an ORM's ``__call__``), verifiers (a rubric's function).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from visualjudge.apps.training.reward import reward
from visualjudge.core.errors import UsageError

COLUMNS = ("question_type", "answer", "final_scores", "ties")
Said = str | Sequence[Mapping[str, Any]]


def text_of(completion: Said) -> str:
    """Return a completion as text: unchanged, or the content of the last message."""
    if isinstance(completion, str):
        return completion
    content = completion[-1].get("content") if completion else ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or "") for part in content or ())


def trl_reward(
    prompts: Sequence[Any], completions: Sequence[Said], **columns: Sequence[Any]
) -> list[float]:
    """Return rewards for TRL: ``GRPOTrainer(reward_funcs=trl_reward, …)`` with rows of ``export
    --format trl-grpo``.

    Raises
    ------
    UsageError
        If the rows lack ``question_type`` or ``answer``.
    """
    return [
        reward(text_of(said), row)
        for said, row in zip(completions, _rows(columns, len(completions)), strict=True)
    ]


def _rows(columns: Mapping[str, Sequence[Any]], count: int) -> list[dict[str, Any]]:
    missing = [name for name in COLUMNS[:2] if name not in columns]
    if missing:
        raise UsageError(
            f"the rows must have the columns {', '.join(missing)}; write them with visualjudge "
            "export"
        )
    known = [name for name in COLUMNS if name in columns]
    return [{name: columns[name][k] for name in known} for k in range(count)]


def verl_compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
) -> float:
    """Return the score for verl: ``custom_reward_function.path=…/trainer_rewards.py`` and
    ``.name=verl_compute_score``.
    """
    return reward(solution_str, _truth(ground_truth))


def easyr1_compute_score(reward_inputs: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return the scores of a batch for EasyR1:
    ``worker.reward.reward_function=…/trainer_rewards.py:easyr1_compute_score``.
    """
    found = [reward(str(row["response"]), _truth(row["ground_truth"])) for row in reward_inputs]
    return [
        {"overall": value, "accuracy": max(0.0, value), "format": float(value >= 0)}
        for value in found
    ]


def swift_reward(
    completions: Sequence[str], solution: Sequence[str], **columns: Any
) -> list[float]:
    """Return rewards for ms-swift: the body of an ORM (``orms["visualjudge"]``), called with the
    column ``solution``.
    """
    return [reward(said, _truth(truth)) for said, truth in zip(completions, solution, strict=True)]


def verifiers_reward(completion: Said, answer: str, **state: Any) -> float:
    """Return the reward for verifiers: ``vf.Rubric(funcs=[verifiers_reward])``."""
    return reward(text_of(completion), _truth(answer))


def truth_text(question: Mapping[str, Any]) -> str:
    """Return the ground truth of a question as one JSON text, for trainers with a single column for
    it.
    """
    return json.dumps({name: question[name] for name in COLUMNS if question.get(name) is not None})


def _truth(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UsageError(
            f"the ground truth must be the JSON that visualjudge export wrote, got {text[:80]!r}"
        )
    return found
